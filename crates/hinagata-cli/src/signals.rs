//! Signals that stop the process or ask it to reload.

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

/// The hangup signals (SIGHUP) of this process. Other systems than Unix have none.
pub(crate) struct Hangups(#[cfg(unix)] tokio::signal::unix::Signal);

impl Hangups {
    /// Listens. From here on, the signal does not end the process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        #[cfg(unix)]
        {
            let hangup = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup());
            let failed =
                |error: io::Error| Failure::system_error(format!("cannot wait for signals: {error}"));
            hangup.map(Self).map_err(failed)
        }
        #[cfg(not(unix))]
        Ok(Self())
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        if self.0.recv().await.is_some() {
            return;
        }
        std::future::pending::<()>().await;
    }
}
