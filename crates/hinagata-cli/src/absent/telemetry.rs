//! Spans of a build without the feature `telemetry`: none are collected, and a daemon that should send some warns.

use tracing_subscriber::layer::Identity;

#[cfg(feature = "server")]
use crate::{collector::is_collector_named, output::print_status};

/// A sender of spans, which this build cannot make.
pub(crate) enum Telemetry {}

impl Telemetry {
    #[cfg(feature = "server")]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the environment can be invalid in a build that sends spans"
    )]
    pub(crate) fn start() -> Result<Option<Self>, crate::failure::Failure> {
        if is_collector_named(|name| std::env::var(name).ok()) {
            print_status(
                "warning: this build of hina sends no spans to the collector that the OTEL variables name\n\
                 help: build it with the feature `telemetry`\n",
            );
        }
        Ok(None)
    }

    pub(crate) fn layer(&self) -> Identity {
        match *self {}
    }

    #[cfg(feature = "server")]
    pub(crate) fn link_spans(&self) -> hinagata_server::LinkSpan {
        match *self {}
    }
}
