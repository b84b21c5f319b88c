//! Signals that stop the process.

use std::io;

use crate::{exit, failure::Failure};

/// A future that ends with the first stop signal. A second signal ends the process immediately.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    let failed = |error: io::Error| Failure::system_error(format!("cannot wait for signals: {error}"));
    #[cfg(unix)]
    let mut terminate =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(failed)?;
    #[cfg(unix)]
    let mut interrupt =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        #[cfg(unix)]
        {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tokio::spawn(async move {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                std::process::exit(exit::Code::Failed as i32);
            });
        }
        #[cfg(not(unix))]
        {
            let _ = failed;
            let _ = tokio::signal::ctrl_c().await;
        }
    })
}
