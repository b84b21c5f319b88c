//! Metrics in the Prometheus format.

use std::{sync::OnceLock, time::Duration};

use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::route::RouteSpec;

/// The buckets of request times, in seconds.
const LATENCY_BUCKETS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 2.5, 10.0];

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
            let builder = PrometheusBuilder::new().set_buckets_for_metric(times, &LATENCY_BUCKETS).ok()?;
            let handle = builder.install_recorder().ok()?;
            metrics::describe_counter!("hinagata_requests_total", "requests by route and status");
            metrics::describe_histogram!(
                "hinagata_request_seconds",
                metrics::Unit::Seconds,
                "time from a request to its response"
            );
            metrics::describe_counter!("hinagata_refused_total", "requests refused before a handler ran");
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
const STATUSES: [(u16, &str); 20] = [
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
