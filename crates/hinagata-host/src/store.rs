//! The store of a workspace, chosen by its settings.

#[cfg(feature = "redis")]
use std::path::PathBuf;
use std::{path::Path, sync::Arc};

use hinagata::{Diagnostic, Result, Settings, ports::Store};
use hinagata_store::{DEFAULT_PREFIX, EmbeddedStore, MemoryStore, STORE_DIRECTORY, STORE_FILE};
#[cfg(feature = "redis")]
use hinagata_store::{RedisOptions, RedisStore};

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
            url => Self::redis(url, settings, process).unwrap_or_else(|error| Self {
                store: Arc::new(MemoryStore::new(prefix)),
                problem: Some(Diagnostic::error("store", error)),
            }),
        }
    }

    #[cfg(feature = "redis")]
    fn redis(url: &str, settings: &Settings, process: ProcessKind) -> Result<Self> {
        RedisStore::open(url, redis_options(settings, process)).map(Self::from_store)
    }

    #[cfg(not(feature = "redis"))]
    fn redis(_url: &str, _settings: &Settings, _process: ProcessKind) -> Result<Self> {
        Err(redis_missing())
    }

    fn embedded(root: &Path, prefix: &str, process: ProcessKind) -> Self {
        #[cfg(feature = "watch")]
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
        #[cfg(not(feature = "watch"))]
        let _ = process;
        Self::from_store(EmbeddedStore::open(root, prefix))
    }

    fn from_store(store: impl Store + 'static) -> Self {
        let outage = store.snapshot().health.outage.clone();
        let problem = outage.map(|(_, error)| Diagnostic::warning("store", error));
        Self { store: Arc::new(store), problem }
    }
}

/// The error of a build without the feature `redis`.
#[cfg(not(feature = "redis"))]
fn redis_missing() -> hinagata::Error {
    hinagata::Error::new(hinagata::Code::Store, "this build has no Redis client")
        .with_hint("build with the feature `redis`, or set `store.url` to `embedded` or `memory`")
}

/// Checks that the settings name a usable store.
#[cfg(not(feature = "redis"))]
pub(crate) fn check_settings(settings: &Settings, _process: ProcessKind) -> Result<()> {
    match settings.text("store.url") {
        None | Some("embedded" | "memory") => Ok(()),
        Some(_) => Err(redis_missing()),
    }
}

/// Checks that the settings name a usable store.
#[cfg(feature = "redis")]
pub(crate) fn check_settings(settings: &Settings, process: ProcessKind) -> Result<()> {
    match settings.text("store.url") {
        None | Some("embedded" | "memory") => Ok(()),
        Some(url) => RedisStore::check_address(url, &redis_options(settings, process)),
    }
}

#[cfg(feature = "redis")]
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
