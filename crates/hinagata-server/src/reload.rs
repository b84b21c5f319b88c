//! Reloading: a running daemon takes over changed settings without dropping a connection.
//!
//! Keys, limits and addresses of clients can change at any time. The engine, the store, the listener and the log are made
//! from settings once, so other changes are reported and need a restart.

use std::sync::{Arc, Weak};

use hinagata::{Code, Error, Result, Settings};

use crate::{hints::hint_text, mcp::read_served, settings::ServerSettings, state::App};

/// The settings that a running daemon takes over.
const RELOADABLE: [&str; 16] = [
    "keys",
    "mcp.builtin_prompts",
    "mcp.expose",
    "mcp.rate",
    "resources",
    "server.hosts",
    "server.local_chat",
    "server.max_chats",
    "server.max_connections",
    "server.max_queued",
    "server.max_requests",
    "server.max_waits",
    "server.open",
    "server.origins",
    "server.rate",
    "server.workspaces",
];

/// Reloads the settings of a running daemon. Cheap to clone.
#[derive(Clone)]
pub struct Reloader(Weak<App>);

/// What a reload found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// The number of keys.
    pub keys: usize,
    /// The names of settings that changed since the start and need a restart.
    pub needs_restart: Vec<String>,
}

impl Reloader {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self(Arc::downgrade(app))
    }

    /// Reads prompts, approvals and settings again, on a blocking thread, and logs the result. After an error, the daemon
    /// goes on with the settings that it has.
    ///
    /// # Errors
    /// As when the daemon starts: settings that cannot be read, are invalid, or are not trusted.
    pub async fn reload_workspace(&self) -> Result<Reloaded> {
        let Some(app) = self.0.upgrade() else { return Err(stopped_error()) };
        let reloaded = tokio::task::spawn_blocking(move || {
            drop(app.engine.reload());
            app.reload_settings()
        });
        let reloaded = reloaded.await.unwrap_or_else(|_| Err(stopped_error()));
        match &reloaded {
            Ok(Reloaded { keys, needs_restart }) if needs_restart.is_empty() => {
                tracing::info!(keys, "reloaded");
            }
            Ok(Reloaded { keys, needs_restart }) => {
                let settings = needs_restart.join(", ");
                tracing::warn!(keys, settings, "reloaded, but some changed settings need a restart");
            }
            Err(error) => tracing::error!(%error, hint = error.hint().map(hint_text), "cannot reload"),
        }
        reloaded
    }
}

fn stopped_error() -> Error {
    Error::new(Code::System, "the daemon has stopped")
}

impl App {
    fn reload_settings(&self) -> Result<Reloaded> {
        let _one_at_a_time = self.change_lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let workspace = self.workspace.reopen()?;
        workspace.check_serving()?;
        let settings = ServerSettings::from_settings(&workspace.settings)?;
        let (resources, exposure) = read_served(&workspace)?;
        if let Err(warning) = settings.check_openness(self.address) {
            tracing::warn!("{warning}");
        }
        // Nothing fails from here on, so that all of it counts or nothing.
        let keys = settings.keys.len();
        self.access.set_keys(settings.keys.clone());
        self.origins.set_names(&settings.hosts, &settings.origins);
        self.rates.set_rate(settings.rate);
        self.mcp_rates.set_rate(settings.mcp_rate);
        if let Some(mcp) = self.mcp.get() {
            mcp.set_served(resources, exposure);
        }
        self.bulkheads.set_limits(&settings);
        self.connections.set_limit(settings.max_connections);
        self.render_pool.set_max_queued(settings.max_queued);
        self.current_settings.store(Arc::new(settings));
        Ok(Reloaded { keys, needs_restart: changed_names(&self.workspace.settings, &workspace.settings) })
    }
}

/// The names of settings that differ and cannot be reloaded.
fn changed_names(before: &Settings, after: &Settings) -> Vec<String> {
    let value = |settings: &Settings, name: &str| settings.get(name).map(|found| found.value.clone());
    let mut names: Vec<&str> = before.iter().chain(after.iter()).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let is_changed = |name: &&str| !RELOADABLE.contains(name) && value(before, name) != value(after, name);
    names.into_iter().filter(is_changed).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reloadable_setting_exists() {
        for name in RELOADABLE {
            assert!(hinagata::settings::setting(name).is_some(), "{name}");
        }
    }
}
