//! Spans of a build without the feature `telemetry`: none are collected.

use tracing_subscriber::layer::Identity;

/// A sender of spans, which this build cannot make.
pub(crate) enum Telemetry {}

impl Telemetry {
    #[cfg(feature = "server")]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the environment can be invalid in a build that sends spans"
    )]
    pub(crate) fn start() -> Result<Option<Self>, crate::failure::Failure> {
        Ok(None)
    }

    pub(crate) fn layer(&self) -> Identity {
        match *self {}
    }

    #[cfg(feature = "server")]
    pub(crate) fn tie(&self) -> hinagata_server::LinkSpan {
        match *self {}
    }
}
