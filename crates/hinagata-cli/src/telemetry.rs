//! Sends trace spans to an OpenTelemetry collector, if the environment names one.

use std::sync::Arc;

use hinagata_llm::SPANS;
use hinagata_server::LinkSpan;
use opentelemetry::{
    propagation::{Extractor, TextMapPropagator as _},
    trace::TracerProvider as _,
};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::{Resource, propagation::TraceContextPropagator, trace::SdkTracerProvider};
use tracing::{Level, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

use crate::{collector::is_collector_named, failure::Failure};

/// The exporter of trace spans. Dropping it waits until they are sent.
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Starts to collect trace spans, if the environment names a collector.
    ///
    /// Not on a thread of a runtime: the sender waits for its answers on a thread of its own.
    pub(crate) fn start() -> Result<Option<Self>, Failure> {
        if !is_collector_named(|name| std::env::var(name).ok()) {
            return Ok(None);
        }
        hinagata_http::install_tls();
        let exporter = SpanExporter::builder().with_http().build().map_err(|error| {
            Failure::usage_error(format!("invalid OpenTelemetry variables in the environment: {error}"))
                .with_hint("check the variables that start with OTEL_EXPORTER_OTLP_")
        })?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("hinagata");
        }
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build());
        Ok(Some(Self(provider.build())))
    }

    /// A layer for trace spans, without log events.
    pub(crate) fn layer<S: Subscriber + for<'s> LookupSpan<'s>>(&self) -> impl Layer<S> + use<S> {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("hinagata"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_level(false)
            .with_target(false)
            .with_filter(Targets::new().with_target(SPANS, Level::TRACE))
    }

    /// Links the spans of requests to the traces of their callers.
    #[expect(clippy::unused_self, reason = "only a sender of spans links them")]
    pub(crate) fn link_spans(&self) -> LinkSpan {
        let propagator = TraceContextPropagator::new();
        Arc::new(move |span, headers| {
            let parent = propagator.extract(&Headers(headers));
            // A span that is not collected has no parent either.
            let _ = span.set_parent(parent);
        })
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

/// The headers of a request, for extracting a trace.
struct Headers<'h>(&'h hinagata_server::HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(AsRef::<str>::as_ref).collect()
    }
}
