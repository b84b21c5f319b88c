//! The log of a daemon: lines on standard error, trace spans to a collector.

use std::io;

use tracing_subscriber::{EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::{failure::Failure, telemetry::Telemetry, workspace::Workspace};

/// Sends logs to standard error, filtered by the settings, and trace spans to a collector.
pub(crate) fn start_log(workspace: &Workspace, telemetry: Option<&Telemetry>) -> Result<(), Failure> {
    let wanted = workspace.host.settings.text("server.log").unwrap_or("info");
    // The MCP library logs every error response, and each client that leaves as an error.
    let filter =
        EnvFilter::builder().parse(format!("rmcp=error,rmcp::service=off,{wanted}")).map_err(|error| {
            Failure::usage_error(format!("invalid filter `{wanted}` in the setting server.log: {error}"))
                .with_hint("one of error, warn, info, debug, trace")
        })?;
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let log = match workspace.host.settings.text("server.log_format") {
        Some("json") => log.json().boxed(),
        _ => log.with_ansi(anstream::stderr().is_terminal()).with_target(false).boxed(),
    };
    let registry = tracing_subscriber::registry();
    let log = log.with_filter(filter);
    // A second start in one process keeps the first log. Without a collector there is no layer for it, not even an empty one:
    // that would take part in every span that the log does not want.
    let _ = match telemetry {
        Some(telemetry) => registry.with(log).with(telemetry.layer()).try_init(),
        None => registry.with(log).try_init(),
    };
    Ok(())
}
