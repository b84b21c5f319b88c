//! The log of a daemon: lines on standard error, trace spans to a collector.

use std::{fmt, io};

use tracing::{
    Event, Metadata,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter, Layer as _,
    filter::FilterExt as _,
    layer::{Context, Filter, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use crate::{failure::Failure, telemetry::Telemetry, workspace::Workspace};

/// Sends logs to standard error, filtered by the settings, and trace spans to a collector.
pub(crate) fn start_log(workspace: &Workspace, telemetry: Option<&Telemetry>) -> Result<(), Failure> {
    let wanted = workspace.host.settings.text("server.log").unwrap_or("info");
    // The MCP library warns of every error response.
    let filter = EnvFilter::builder().parse(format!("rmcp=error,{wanted}")).map_err(|error| {
        Failure::usage_error(format!("invalid filter `{wanted}` in the setting server.log: {error}"))
            .with_hint("one of error, warn, info, debug, trace")
    })?;
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let log = match workspace.host.settings.text("server.log_format") {
        Some("json") => log.json().boxed(),
        _ => log.with_ansi(anstream::stderr().is_terminal()).with_target(false).boxed(),
    };
    let registry = tracing_subscriber::registry();
    let log = log.with_filter(filter.and(WithoutLeaving));
    // A second start in one process keeps the first log. Without a collector there is no layer for it, not even an empty one:
    // that would take part in every span that the log does not want.
    let _ = match telemetry {
        Some(telemetry) => registry.with(log).with(telemetry.layer()).try_init(),
        None => registry.with(log).try_init(),
    };
    Ok(())
}

/// Leaves out one error of the MCP library: to it, a client that leaves before its response is sent is an error.
struct WithoutLeaving;

impl<S> Filter<S> for WithoutLeaving {
    fn enabled(&self, _metadata: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _context: &Context<'_, S>) -> bool {
        let mut leaving = LeavingClient(false);
        if event.metadata().target() == "rmcp::service" {
            event.record(&mut leaving);
        }
        !leaving.0
    }
}

/// Whether an event says that a client left.
struct LeavingClient(bool);

impl Visit for LeavingClient {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 |= field.name() == "message"
            && format!("{value:?}") == "failed to send pending response during drain";
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// The lines of a log.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().map_err(|_| io::ErrorKind::Other)?.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_client_that_leaves_is_no_error_and_others_are_logged() {
        let lines = Lines::default();
        let writer = lines.clone();
        let filter = EnvFilter::new("rmcp=error,info").and(WithoutLeaving);
        let log = tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).with_filter(filter);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log), || {
            tracing::error!(target: "rmcp::service", error = "closed", "failed to send pending response during drain");
            tracing::error!(target: "rmcp::service", error = "panicked", "response send task failed");
            tracing::warn!(target: "rmcp::service", "response error");
            tracing::info!("our own");
        });
        let text = String::from_utf8(lines.0.lock().expect("is not poisoned").clone()).expect("is text");
        assert!(!text.contains("during drain") && !text.contains("response error"), "{text}");
        assert!(text.contains("response send task failed") && text.contains("our own"), "{text}");
    }
}
