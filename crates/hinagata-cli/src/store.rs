//! The store of a workspace, as its settings say.

use std::{path::PathBuf, sync::Arc, time::Duration};

use hinagata::{Diagnostic, Settings, ports::Store};
use hinagata_store::{DEFAULT_PREFIX, DIRECTORY, EmbeddedStore, FILE, MemoryStore, RedisOptions, RedisStore};

use crate::{failure::Failure, workspace::Workspace};

/// How long a command waits for a server: a person is waiting too.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens the store. One that cannot be reached is told, and everything works that does not need it.
pub(crate) fn open(workspace: &Workspace) -> Arc<dyn Store> {
    let settings = &workspace.settings;
    let prefix = settings.text("store.prefix").unwrap_or(DEFAULT_PREFIX);
    match settings.text("store.url").unwrap_or("embedded") {
        "embedded" => {
            let store = EmbeddedStore::open(&workspace.root.path, prefix);
            told(workspace, &store);
            Arc::new(store)
        }
        "memory" => Arc::new(MemoryStore::new(prefix)),
        url => match RedisStore::open(url, options(settings)) {
            Ok(store) => {
                told(workspace, &store);
                Arc::new(store)
            }
            Err(error) => {
                workspace.warn(&Diagnostic::error("store", error));
                Arc::new(MemoryStore::new(prefix))
            }
        },
    }
}

/// Whether the settings lead to a store.
pub(crate) fn check(settings: &Settings) -> Result<(), Failure> {
    match settings.text("store.url") {
        None | Some("embedded" | "memory") => Ok(()),
        Some(url) => Ok(RedisStore::check(url, &options(settings))?),
    }
}

fn options(settings: &Settings) -> RedisOptions {
    RedisOptions {
        prefix: settings.text("store.prefix").unwrap_or(DEFAULT_PREFIX).to_owned(),
        certificates: settings.text("store.certificates").map(PathBuf::from),
        patience: PATIENCE,
        timeout: PATIENCE,
        ..RedisOptions::default()
    }
}

/// Tells that a store does not answer.
fn told(workspace: &Workspace, store: &dyn Store) {
    if let Some((_, error)) = &store.snapshot().health.outage {
        workspace.warn(&Diagnostic::warning("store", error.clone()));
    }
}

/// Where the store is, as people may see it.
pub(crate) fn place(workspace: &Workspace) -> String {
    match workspace.settings.text("store.url").unwrap_or("embedded") {
        "embedded" => workspace.shown(&format!("{DIRECTORY}/{FILE}")),
        url => masked(url),
    }
}

/// An address without its password.
pub(crate) fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        Some((login, rest)) => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:•••@{rest}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(masked("redis://me:secret@host:1/2"), "redis://me:•••@host:1/2");
        assert_eq!(masked("redis://:sec@ret@host"), "redis://:•••@host");
        assert_eq!(masked("redis://host"), "redis://host");
        assert_eq!(masked("embedded"), "embedded");
    }
}
