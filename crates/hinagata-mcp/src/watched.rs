//! Watches what subscribed resources depend on: files, packed directories, and prompts.
//!
//! All subscriptions share one watcher, which is replaced when another resource is subscribed to. A resource is watched
//! until its last subscription is dropped.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use hinagata::{
    Engine,
    watch::{Change, Watcher},
};
use hinagata_context::{ContextOptions, Packer};
use rmcp::ErrorData;

use crate::failure::{invalid_params, truncate_for_display};

/// Maximum resources that are watched for all clients together.
const MAX_WATCHED: usize = 256;

/// What a resource depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchPlan {
    /// Files, which need not exist.
    pub(crate) files: Vec<PathBuf>,
    /// The files that are packed.
    pub(crate) context: Option<Arc<ContextOptions>>,
    /// The id of the prompt that it belongs to, and the hash of its definition.
    pub(crate) prompt: Option<(String, String)>,
}

impl WatchPlan {
    /// A plan that watches one file.
    pub(crate) fn for_file(file: &Path) -> Self {
        Self { files: watched_files(file), ..Self::default() }
    }

    /// The files and directories to watch.
    fn places(&self) -> Vec<PathBuf> {
        let directories = self.context.iter().flat_map(|options| packed_directories(options));
        self.files.iter().cloned().chain(directories).collect()
    }

    fn is_affected(&self, change: &Change) -> bool {
        let is_file = |path: &PathBuf| self.files.iter().any(|file| file.starts_with(path));
        let is_packed =
            |path: &PathBuf| self.context.as_ref().is_some_and(|options| is_packed(options, path));
        match change.more {
            true => !self.files.is_empty() || self.context.is_some(),
            false => change.paths.iter().any(|path| is_file(path) || is_packed(path)),
        }
    }
}

/// The paths to watch for a file: as the system reports it, and the target of a link.
pub(crate) fn watched_files(file: &Path) -> Vec<PathBuf> {
    let above = file.parent().and_then(|above| above.canonicalize().ok());
    let resolved =
        above.zip(file.file_name()).map_or_else(|| file.to_owned(), |(above, name)| above.join(name));
    let target = file.canonicalize().ok().filter(|target| *target != resolved);
    std::iter::once(resolved).chain(target).collect()
}

/// The directories that hold all packed files: the parts of patterns without wildcards.
fn packed_directories(options: &ContextOptions) -> Vec<PathBuf> {
    let base = options.base.canonicalize().unwrap_or_else(|_| options.base.clone());
    let is_wild = |part: &&str| part.contains(['*', '?', '[', '{', '!', '(']);
    let fixed = |pattern: &String| {
        let parts: Vec<&str> = pattern.split('/').take_while(|part| !is_wild(part)).collect();
        base.join(parts.join("/"))
    };
    let wanted = options.include.iter().chain(&options.paths).filter(|pattern| !pattern.starts_with('!'));
    let directories: Vec<PathBuf> = wanted.map(fixed).collect();
    match directories.is_empty() || !options.resources.is_empty() {
        true => vec![base],
        false => directories,
    }
}

/// Whether a change of `path` may change the packed text.
fn is_packed(options: &ContextOptions, path: &Path) -> bool {
    let base = options.base.canonicalize().unwrap_or_else(|_| options.base.clone());
    let Some(inner) = path.strip_prefix(base).ok().and_then(Path::to_str) else { return false };
    // A directory that moved in has files that were not reported.
    !options.resources.is_empty()
        || path.is_dir()
        || Packer::new(options).covers_path(&inner.replace('\\', "/")).unwrap_or(true)
}

/// What all subscribed resources depend on.
#[derive(Debug, Default)]
pub(crate) struct WatchedResources {
    resources: Mutex<BTreeMap<String, Watched>>,
    /// Held while a watcher replaces another one. The callback of a watcher must not take it.
    watcher: Mutex<Option<Watcher>>,
}

#[derive(Debug)]
struct Watched {
    plan: WatchPlan,
    subscriptions: usize,
}

/// A subscription to one resource; dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct WatchGuard {
    uri: String,
    watched: Weak<WatchedResources>,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        if let Some(watched) = self.watched.upgrade() {
            watched.end_subscription(&self.uri);
        }
    }
}

impl WatchedResources {
    fn resources(&self) -> MutexGuard<'_, BTreeMap<String, Watched>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches the resource at `uri` until the guard is dropped. `on_change` is called with each change of a file. It
    /// blocks while watches are set.
    ///
    /// # Errors
    /// Too many resources are watched, or the system refuses to watch.
    pub(crate) fn start_watching(
        self: &Arc<Self>,
        uri: &str,
        plan: WatchPlan,
        on_change: impl FnMut(Change) + Send + 'static,
    ) -> Result<WatchGuard, ErrorData> {
        let has_files = !plan.places().is_empty();
        let is_new = {
            let mut resources = self.resources();
            if resources.len() >= MAX_WATCHED && !resources.contains_key(uri) {
                return Err(invalid_params(format!(
                    "cannot watch `{}`: {MAX_WATCHED} resources are watched already",
                    truncate_for_display(uri)
                )));
            }
            let known = resources.entry(uri.to_owned()).or_insert(Watched { plan, subscriptions: 0 });
            known.subscriptions += 1;
            known.subscriptions == 1
        };
        let guard = WatchGuard { uri: uri.to_owned(), watched: Arc::downgrade(self) };
        if is_new && has_files {
            self.replace_watcher(on_change).map_err(|error| {
                tracing::warn!(uri, error = error.message(), "cannot watch a resource");
                invalid_params(format!("cannot watch `{}`: {}", truncate_for_display(uri), error.message()))
            })?;
        }
        Ok(guard)
    }

    /// Watches all places. The watcher before ends after the new one has started, so that no change is missed.
    fn replace_watcher(&self, on_change: impl FnMut(Change) + Send + 'static) -> hinagata::Result<()> {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let places: Vec<PathBuf> =
            self.resources().values().flat_map(|watched| watched.plan.places()).collect();
        *watcher = Some(Watcher::new(places, on_change)?);
        Ok(())
    }

    fn end_subscription(&self, uri: &str) {
        let mut resources = self.resources();
        if let Some(known) = resources.get_mut(uri) {
            known.subscriptions -= 1;
            if known.subscriptions == 0 {
                resources.remove(uri);
            }
        }
        let is_unused = resources.is_empty();
        drop(resources);
        if is_unused {
            let unused = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(unused);
        }
    }

    /// The URIs that a change of files affects, each with the prompt that it belongs to.
    pub(crate) fn changed_by_files(&self, change: &Change) -> Vec<(Option<String>, String)> {
        let resources = self.resources();
        let affected = resources.iter().filter(|(_, watched)| watched.plan.is_affected(change));
        affected.map(|(uri, watched)| (watched.prompt_id(), uri.clone())).collect()
    }

    /// The URIs whose prompts changed: the id and the URI of each. With `anything`, all that belong to a prompt.
    pub(crate) fn changed_by_prompts(&self, engine: &Engine, anything: bool) -> Vec<(String, String)> {
        let mut changed = Vec::new();
        for (uri, watched) in self.resources().iter_mut() {
            let Some((id, hash)) = &mut watched.plan.prompt else { continue };
            // A broken prompt is served in its last good state.
            let now = engine.definition_hash(id).unwrap_or_else(|_| hash.clone());
            if anything || now != *hash {
                changed.push((id.clone(), uri.clone()));
                *hash = now;
            }
        }
        changed
    }
}

impl Watched {
    fn prompt_id(&self) -> Option<String> {
        self.plan.prompt.as_ref().map(|(id, _)| id.clone())
    }
}
