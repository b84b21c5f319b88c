//! Metrics in the Prometheus format.
//!
//! Times are histograms with the same buckets in every daemon, so that those of several daemons can be added. Every
//! metric of the process has a row in the table below, whichever crate records it.

use std::{sync::OnceLock, time::Duration};

use metrics::{Counter, Histogram, Unit};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::route::RouteSpec;

/// The buckets of request times, in seconds.
const LATENCY_BUCKETS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 2.5, 10.0];

/// The buckets of all other times, in seconds: models and tools take longer.
const WAIT_BUCKETS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// The kind of a metric.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Times,
}

/// All metrics, sorted by name: name, kind, description.
const METRICS: &[(&str, Kind, &str)] = &[
    ("hinagata_audit_lost_total", Kind::Counter, "lines of the audit log that could not be written"),
    ("hinagata_bulkhead_limit", Kind::Gauge, "most requests that a bulkhead admits at once"),
    ("hinagata_bulkhead_used", Kind::Gauge, "requests in a bulkhead now"),
    ("hinagata_connections", Kind::Gauge, "open connections"),
    (
        "hinagata_model_call_seconds",
        Kind::Times,
        "time from a request to a model until its answer, by provider",
    ),
    ("hinagata_model_calls_total", Kind::Counter, "requests to models, by provider and outcome"),
    ("hinagata_refused_total", Kind::Counter, "requests refused before a handler ran, by reason"),
    ("hinagata_renders_queued", Kind::Gauge, "renders that wait for a core"),
    ("hinagata_request_seconds", Kind::Times, "time from a request to its response, by route"),
    ("hinagata_requests_total", Kind::Counter, "requests by route and status; 499 is a client that left"),
    ("hinagata_requests_under_way", Kind::Gauge, "requests that are handled now"),
    ("hinagata_store_documents", Kind::Gauge, "documents in the store, by kind"),
    ("hinagata_store_up", Kind::Gauge, "1 while the store answers, else 0"),
    (
        "hinagata_template_cache_entries",
        Kind::Gauge,
        "prompts whose templates are kept compiled (cache.templates)",
    ),
    (
        "hinagata_template_cache_evictions_total",
        Kind::Counter,
        "prompts that made room for others in the cache of templates",
    ),
    ("hinagata_template_cache_hits_total", Kind::Counter, "calls that found their templates compiled"),
    ("hinagata_template_cache_limit", Kind::Gauge, "the most prompts in the cache of templates"),
    ("hinagata_template_cache_misses_total", Kind::Counter, "calls that compiled their templates"),
    ("hinagata_tool_call_seconds", Kind::Times, "time from a call of a tool until its answer"),
    ("hinagata_tool_calls_total", Kind::Counter, "calls of tools, by tool and outcome"),
    ("hinagata_uptime_seconds", Kind::Gauge, "time since the daemon started"),
];

fn describe_metrics() {
    for (name, kind, description) in METRICS {
        match kind {
            Kind::Counter => metrics::describe_counter!(*name, *description),
            Kind::Gauge => metrics::describe_gauge!(*name, *description),
            Kind::Times => metrics::describe_histogram!(*name, Unit::Seconds, *description),
        }
    }
}

/// The metrics of the process. Libraries record theirs in the same registry.
pub(crate) struct Metrics {
    process: Option<PrometheusHandle>,
    /// The metrics of each route, in the order of the table, so that a response needs no lookup.
    routes: Vec<RouteMetrics>,
}

/// The metrics of one route.
struct RouteMetrics {
    method: &'static str,
    path: &'static str,
    ok: Counter,
    time: Histogram,
}

impl RouteMetrics {
    fn new(route: &RouteSpec) -> Self {
        let RouteSpec { method, path, .. } = *route;
        let time = metrics::histogram!("hinagata_request_seconds", "method" => method, "route" => path);
        Self { method, path, ok: request_counter(method, path, "200"), time }
    }
}

fn request_counter(method: &'static str, path: &'static str, status: &'static str) -> Counter {
    metrics::counter!("hinagata_requests_total", "method" => method, "route" => path, "status" => status)
}

impl Metrics {
    /// Installs the recorder of the process on first use, and prepares the metrics of `routes`. A process with another
    /// recorder keeps it.
    pub(crate) fn new(routes: impl Iterator<Item = &'static RouteSpec>) -> Self {
        static INSTALLED: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
        let install = || {
            let times = Matcher::Full("hinagata_request_seconds".to_owned());
            let builder = PrometheusBuilder::new().set_buckets(&WAIT_BUCKETS).ok()?;
            let builder = builder.set_buckets_for_metric(times, &LATENCY_BUCKETS).ok()?;
            let handle = builder.install_recorder().ok()?;
            describe_metrics();
            Some(handle)
        };
        let process = INSTALLED.get_or_init(install).clone();
        Self { process, routes: routes.map(RouteMetrics::new).collect() }
    }

    /// Records a response of the route at `number` in the table.
    pub(crate) fn record_answer(&self, number: usize, status: u16, time: Duration) {
        let Some(route) = self.routes.get(number) else { return };
        route.time.record(time.as_secs_f64());
        match status {
            200 => route.ok.increment(1),
            other => request_counter(route.method, route.path, status_label(other)).increment(1),
        }
    }

    /// Records a request that matched no route.
    pub(crate) fn record_unmatched(status: u16) {
        request_counter("other", "-", status_label(status)).increment(1);
    }

    /// Records a refused request.
    pub(crate) fn record_refusal(why: &'static str) {
        metrics::counter!("hinagata_refused_total", "why" => why).increment(1);
    }

    /// All metrics as text.
    pub(crate) fn render_text(&self) -> String {
        self.process.as_ref().map(PrometheusHandle::render).unwrap_or_default()
    }

    /// Bounds the memory of the recorder. Call it every few seconds.
    pub(crate) fn run_upkeep(&self) {
        if let Some(handle) = &self.process {
            handle.run_upkeep();
        }
    }
}

fn status_label(status: u16) -> &'static str {
    STATUSES.iter().find(|(number, _)| *number == status).map_or("other", |(_, name)| *name)
}

/// Statuses as labels that need no allocation.
const STATUSES: [(u16, &str); 21] = [
    (200, "200"),
    (201, "201"),
    (204, "204"),
    (304, "304"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (408, "408"),
    (409, "409"),
    (412, "412"),
    (413, "413"),
    (415, "415"),
    (422, "422"),
    (429, "429"),
    (499, "499"),
    (500, "500"),
    (502, "502"),
    (503, "503"),
    (504, "504"),
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The names after `counter!(`, `gauge!(` and `histogram!(` in the sources beneath `directory`.
    fn collect_names(directory: &Path, names: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).expect("can be listed") {
            let path = entry.expect("can be listed").path();
            if path.is_dir() {
                collect_names(&path, names);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("can be read");
                for kind in ["counter!(", "gauge!(", "histogram!("] {
                    let uses = text.split(kind).skip(1).map(str::trim_start);
                    let literals = uses.filter_map(|rest| rest.strip_prefix('"')?.split('"').next());
                    names.extend(literals.filter(|name| name.starts_with("hinagata_")).map(str::to_owned));
                }
            }
        }
    }

    #[test]
    fn every_metric_has_a_description() {
        let mut used = BTreeSet::new();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for entry in fs::read_dir(crates).expect("can be listed") {
            let sources = entry.expect("can be listed").path().join("src");
            if sources.is_dir() {
                collect_names(&sources, &mut used);
            }
        }
        let described: Vec<&str> = METRICS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(used.iter().map(String::as_str).collect::<Vec<_>>(), described);
    }
}
