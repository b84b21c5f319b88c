//! The store of a workspace, chosen by its settings.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use hinagata::{Diagnostic, Result, Settings, ports::Store};
use hinagata_store::{
    DEFAULT_PREFIX, EmbeddedStore, MemoryStore, RedisOptions, RedisStore, STORE_DIRECTORY, STORE_FILE,
};

use crate::ProcessKind;

/// An open store.
pub(crate) struct OpenStore {
    pub(crate) store: Arc<dyn Store>,
    /// Why the store did not answer.
    pub(crate) problem: Option<Diagnostic>,
}

impl OpenStore {
    pub(crate) fn new(root: &Path, settings: &Settings, process: ProcessKind) -> Self {
        let prefix = settings.text("store.prefix").unwrap_or(DEFAULT_PREFIX);
        match settings.text("store.url").unwrap_or("embedded") {
            "embedded" => Self::embedded(root, prefix, process),
            "memory" => Self::from_store(MemoryStore::new(prefix)),
            url => match RedisStore::open(url, redis_options(settings, process)) {
                Ok(store) => Self::from_store(store),
                Err(error) => Self {
                    store: Arc::new(MemoryStore::new(prefix)),
                    problem: Some(Diagnostic::error("store", error)),
                },
            },
        }
    }

    fn embedded(root: &Path, prefix: &str, process: ProcessKind) -> Self {
        if process == ProcessKind::Daemon {
            match EmbeddedStore::open(root, prefix).with_watcher() {
                Ok(store) => return Self::from_store(store),
                Err(error) => {
                    let mut open = Self::from_store(EmbeddedStore::open(root, prefix));
                    open.problem = open.problem.or_else(|| Some(Diagnostic::warning("store", error)));
                    return open;
                }
            }
        }
        Self::from_store(EmbeddedStore::open(root, prefix))
    }

    fn from_store(store: impl Store + 'static) -> Self {
        let outage = store.snapshot().health.outage.clone();
        let problem = outage.map(|(_, error)| Diagnostic::warning("store", error));
        Self { store: Arc::new(store), problem }
    }
}

/// Checks that the settings name a usable store.
pub(crate) fn check_settings(settings: &Settings, process: ProcessKind) -> Result<()> {
    match settings.text("store.url") {
        None | Some("embedded" | "memory") => Ok(()),
        Some(url) => RedisStore::check_address(url, &redis_options(settings, process)),
    }
}

fn redis_options(settings: &Settings, process: ProcessKind) -> RedisOptions {
    RedisOptions {
        prefix: settings.text("store.prefix").unwrap_or(DEFAULT_PREFIX).to_owned(),
        certificates: settings.text("store.certificates").map(PathBuf::from),
        open_timeout: process.store_timeout(),
        timeout: process.store_timeout(),
        ..RedisOptions::default()
    }
}

/// Where the store is, for display: a URL without its password, or the path of its file, which `display_path` formats
/// from the path relative to the workspace root.
#[must_use]
pub fn store_location(settings: &Settings, display_path: impl FnOnce(&str) -> String) -> String {
    match settings.text("store.url").unwrap_or("embedded") {
        "embedded" => display_path(&format!("{STORE_DIRECTORY}/{STORE_FILE}")),
        url => mask_password(url),
    }
}

/// Replaces the password in a URL.
#[must_use]
pub fn mask_password(url: &str) -> String {
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
        assert_eq!(mask_password("redis://me:secret@host:1/2"), "redis://me:•••@host:1/2");
        assert_eq!(mask_password("redis://:sec@ret@host"), "redis://:•••@host");
        assert_eq!(mask_password("redis://host"), "redis://host");
        assert_eq!(mask_password("embedded"), "embedded");
    }
}
