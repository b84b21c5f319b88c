//! The reach of a caller: the prompts and environs that the caller can use.
//!
//! A caller with a limited reach must not read other prompts by a detour: a template that includes one, a parent, a
//! list, a similar name in an error, a file that a part embeds. So nothing is checked route by route. The caller
//! gets an engine (`Engine::with_reach`) whose catalog and store contain only what the caller can use.
//! Everything else cannot be included, inherited, listed or proposed, and fails as an unknown name fails.
//!
//! The author of a template does not matter: a document of the store does not name its author, and writer and
//! renderer may be two callers. So the caller who renders decides.
//!
//! Partials and presets belong to no prompt and are for everybody. So are tools: they are functions of all templates.
//!
//! The reasons are in `docs/design/keys-in-the-engine.md`.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use hinagata_document::{Code, Diagnostic, Error, Reason, Result};
use hinagata_workspace::layout::{USER_DATA, is_settings_file};
use serde_json::Value;

use crate::{
    Catalog, PromptId,
    source::{Entry, Index},
    store::{StoreKind, StoreSnapshot, StoredMap, environ_tree},
};

type Takes = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// The prompts and environs that a caller can use.
pub struct Reach {
    prompts: Takes,
    environs: Takes,
}

impl Reach {
    /// The prompts whose ids `prompts` accepts, and the environs whose ids `environs` accepts.
    pub fn new(
        prompts: impl Fn(&str) -> bool + Send + Sync + 'static,
        environs: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { prompts: Box::new(prompts), environs: Box::new(environs) }
    }

    /// Whether the caller can use the prompt with this id in normal form.
    #[must_use]
    pub fn has_prompt(&self, id: &str) -> bool {
        (self.prompts)(id)
    }

    /// Whether the caller can use the environ with this id.
    #[must_use]
    pub fn has_environ(&self, id: &str) -> bool {
        (self.environs)(id)
    }

    /// Whether the caller can use all of the document `value` of the store. Tools are excluded: they contain addresses
    /// and headers, and belong to no prompt.
    #[must_use]
    pub fn has_document(&self, kind: StoreKind, id: &str, value: &serde_json::Value) -> bool {
        let has = |name: &str| PromptId::from_store_name(name).is_ok_and(|id| self.has_prompt(id.as_str()));
        match kind {
            StoreKind::Template => has(id),
            StoreKind::Extension => {
                let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
                let name = value.get("name").and_then(text).unwrap_or_else(|| id.to_owned());
                let prompts = value.pointer("/contributes/prompts").and_then(serde_json::Value::as_array);
                let named = |prompt: &serde_json::Value| {
                    prompt.get("name").and_then(text).is_some_and(|prompt| has(&format!("{name}.{prompt}")))
                };
                prompts.is_some_and(|prompts| !prompts.is_empty() && prompts.iter().all(named))
            }
            StoreKind::Environ => self.has_environ(id),
            StoreKind::Tool => false,
        }
    }

    /// The part of the store that the caller can use.
    fn narrow(&self, store: &StoreSnapshot) -> StoreSnapshot {
        let some = |kind: StoreKind| -> StoredMap {
            let all = store
                .documents(kind)
                .iter()
                .filter(|(id, stored)| self.has_document(kind, id, &stored.value));
            all.map(|(id, stored)| (Arc::clone(id), stored.clone())).collect()
        };
        let environs = some(StoreKind::Environ);
        let is_theirs = |found: &&Diagnostic| {
            let environ = found.error.details().get("environ").and_then(Value::as_str);
            environ.is_some_and(|id| self.has_environ(id))
        };
        StoreSnapshot {
            extensions: Arc::new(some(StoreKind::Extension)),
            templates: Arc::new(some(StoreKind::Template)),
            tree: Arc::new(environ_tree(&environs)),
            environs: Arc::new(environs),
            tools: Arc::default(),
            // Templates can call every tool.
            tool_documents: Arc::clone(&store.tool_documents),
            diagnostics: Arc::new(store.diagnostics.iter().filter(is_theirs).cloned().collect()),
            health: store.health.clone(),
        }
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").finish_non_exhaustive()
    }
}

/// A cache with one value for each reach. The least recently used value is evicted first.
#[derive(Debug)]
pub struct ReachCache<T>(Mutex<Vec<(Arc<Reach>, T)>>);

/// Most values of a cache.
const MOST: usize = 256;

impl<T> Default for ReachCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> ReachCache<T> {
    /// The cached value for `reach` if it still `fits`, else the result of `make`. The lock is held meanwhile, so that
    /// the value is made once.
    pub fn get(&self, reach: &Arc<Reach>, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|(other, _)| Arc::ptr_eq(other, reach));
        let found = place.map(|place| known.remove(place)).filter(|(_, made)| fits(made));
        let made = found.map_or_else(make, |(_, made)| made);
        if known.len() >= MOST {
            known.remove(0);
        }
        known.push((Arc::clone(reach), made.clone()));
        made
    }
}

/// A cache of snapshots of the store: the full one, and the part for a caller.
pub type StoreReachCache = ReachCache<(Arc<StoreSnapshot>, Arc<StoreSnapshot>)>;

impl StoreReachCache {
    /// The part of `store` within `reach`.
    pub fn narrow_for(&self, store: &Arc<StoreSnapshot>, reach: &Arc<Reach>) -> Arc<StoreSnapshot> {
        let is_of = |(full, _): &(Arc<StoreSnapshot>, _)| Arc::ptr_eq(full, store);
        self.get(reach, is_of, || (Arc::clone(store), Arc::new(reach.narrow(store)))).1
    }
}

/// The hint for a caller whose key may be the reason that something is missing.
pub const BOUND_CALLER_HINT: &str =
    "this caller can use some prompts only; the operator of the daemon can add more to `prompts` of the key";

/// Directories of the workspace that contain prompts, packs, agents and the store.
const OWN: [&str; 2] = [USER_DATA, "ecosystem"];

impl Catalog {
    /// Whether the caller of the catalog can use the prompt with this id.
    pub(crate) fn reaches_prompt(&self, id: &PromptId) -> bool {
        self.reach().is_none_or(|reach| reach.has_prompt(id.as_str()))
    }

    /// Whether the file at `path`, from the workspace root, belongs to a prompt that the caller cannot use: a path must
    /// not circumvent the check of ids.
    pub(crate) fn hides_file(&self, path: &str) -> bool {
        if self.reach().is_none() {
            return false;
        }
        let path = plain(&self.root().join(path));
        let is_hidden = |index: &Index| {
            let beneath = path.strip_prefix(plain(&self.root().join(&index.root.prefix))).ok();
            let first = beneath.and_then(|beneath| beneath.iter().next()?.to_str());
            let id = first.and_then(PromptId::from_directory_name);
            id.is_some_and(|id| !self.reaches_prompt(&id) && index.find(&id).next().is_some())
        };
        self.roots().iter().any(is_hidden)
    }

    /// Checks that a file of the workspace may be read for `prompt`. A caller with a limited reach cannot read files of
    /// the workspace itself, and no files at all through a prompt of the store, which the caller may have written.
    ///
    /// # Errors
    /// Code `validation`, reason `file`.
    pub fn check_file(&self, prompt: Option<&Entry>, path: &Path) -> Result<()> {
        if self.reach().is_none() {
            return Ok(());
        }
        let is_stored = prompt.is_none_or(|prompt| prompt.store_prompt().is_some());
        if is_stored || self.is_own_file(path) {
            return Err(Error::new(Code::Validation, "the caller may not read this file")
                .with_reason(Reason::File)
                .with_hint(BOUND_CALLER_HINT));
        }
        Ok(())
    }

    /// Whether the file at `path` is part of the workspace itself, or of a library: prompts, packs, agents, the store or
    /// settings.
    fn is_own_file(&self, path: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| plain(path));
        let path = real(path);
        let has_settings = path.file_name().and_then(|name| name.to_str()).is_some_and(is_settings_file);
        let is_of_workspace = |root: &Path| {
            let root = real(root);
            OWN.into_iter().any(|prefix| path.starts_with(real(&root.join(prefix))))
                || (has_settings && path.parent() == Some(&root))
        };
        let mut prefixes = self.roots().iter().map(|index| real(&self.root().join(&index.root.prefix)));
        // A source root may be the workspace root itself; then every file is.
        prefixes.any(|place| path.starts_with(place))
            || is_of_workspace(self.root())
            || self.libraries().iter().any(|library| is_of_workspace(&library.root))
    }
}

/// The path without `.` components.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{CatalogOptions, Library, store::Stored};
    use hinagata_workspace::layout::SETTINGS_FILE;

    fn team() -> Arc<Reach> {
        Arc::new(Reach::new(|id| id.starts_with("team"), |id| id.starts_with("team.")))
    }

    #[test]
    fn a_document_is_usable_when_all_of_it_is() {
        let reach = team();
        let has = |kind, id: &str, value| reach.has_document(kind, id, &value);
        assert!(
            has(StoreKind::Template, "Team.A", json!({})) && !has(StoreKind::Template, "other", json!({}))
        );
        let extension = |prompts: &[&str]| {
            let prompts: Vec<_> = prompts.iter().map(|name| json!({"name": name})).collect();
            json!({"name": "team", "contributes": {"prompts": prompts}})
        };
        assert!(has(StoreKind::Extension, "x", extension(&["a", "b"])));
        assert!(
            !has(StoreKind::Extension, "x", extension(&[])),
            "an extension without prompts belongs to nobody"
        );
        let other = json!({"name": "other", "contributes": {"prompts": [{"name": "a"}]}});
        assert!(!has(StoreKind::Extension, "team", other));
        assert!(has(StoreKind::Environ, "team.x", json!(1)) && !has(StoreKind::Environ, "team", json!(1)));
        assert!(!has(StoreKind::Tool, "team.x", json!({})));
    }

    #[test]
    fn the_store_of_a_caller_has_only_the_usable_part() {
        let stored = |id: &str, value| (Arc::from(id), Stored::new(id, value));
        let environs =
            [stored("a", json!("secret")), stored("team.x", json!(1)), stored("team", json!({"y": 2}))];
        let full = Arc::new(
            StoreSnapshot::default().with_documents(StoreKind::Environ, environs.into_iter().collect()),
        );
        let (made, reach) = (StoreReachCache::default(), team());
        let narrow = made.narrow_for(&full, &reach);
        assert_eq!(*narrow.tree, json!({"team": {"x": 1}}));
        assert!(Arc::ptr_eq(&narrow, &made.narrow_for(&full, &reach)), "it is made once");
        assert!(
            !Arc::ptr_eq(&narrow, &made.narrow_for(&Arc::new((*full).clone()), &reach)),
            "and again for another state"
        );
    }

    #[test]
    fn a_path_does_not_circumvent_an_id() {
        let place = tempfile::tempdir().expect("a temporary directory");
        for file in [
            "prompts/inner/Other-One/template.md",
            "prompts/inner/team/template.md",
            "prompts/inner/partials/p.md",
        ] {
            let path = place.path().join(file);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("made");
            std::fs::write(path, "x").expect("written");
        }
        for paths in
            [vec!["prompts/inner".to_owned()], vec!["prompts/inner".to_owned(), "prompts".to_owned()]]
        {
            let full = Catalog::open(CatalogOptions { paths, ..CatalogOptions::new(place.path()) });
            let catalog = full.with_reach(&team());
            for name in ["Other-One/template.md", "other_one/template.md", "inner/Other-One/template.md"] {
                for index in full.roots() {
                    let found = catalog.template(&index.root.kind, name).expect("looks");
                    assert!(found.is_none(), "{name} from {:?}", index.root.kind);
                }
            }
            let from = &crate::source::RootKind::Path(0);
            assert!(catalog.template(from, "team/template.md").expect("looks").is_some());
            assert!(catalog.template(from, "partials/p.md").expect("looks").is_some());
            assert!(full.template(from, "Other-One/template.md").expect("looks").is_some());
            assert!(!catalog.template_names().iter().any(|name| name.contains("ther")));
        }
    }

    #[test]
    fn similar_names_and_lists_contain_nothing_else() {
        let catalog = Catalog::open(CatalogOptions::new("no/such/workspace")).with_reach(&team());
        assert!(catalog.list().is_empty());
        let error = catalog.choose("general_systen").expect_err("is not there");
        assert!(error.near().is_empty() && error.hint() == Some(&BOUND_CALLER_HINT.into()), "{error:?}");
        assert!(catalog.candidates("general_system").is_err());
    }

    #[test]
    fn files_of_the_workspace_itself_are_not_read() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path();
        for file in
            [SETTINGS_FILE, "src/main.rs", "user_data/shared/prompts/team/template.md", "p/team/template.md"]
        {
            std::fs::create_dir_all(root.join(file).parent().expect("has one")).expect("made");
            std::fs::write(root.join(file), "x").expect("written");
        }
        let options = CatalogOptions { paths: vec!["p".to_owned()], ..CatalogOptions::new(root) };
        let catalog = Catalog::open(options).with_reach(&team());
        assert!(!catalog.is_own_file(&root.join("src/main.rs")));
        for file in [
            SETTINGS_FILE,
            "./hinagata.toml",
            "user_data/shared/prompts/team/template.md",
            "p/team/template.md",
        ] {
            assert!(catalog.is_own_file(&root.join(file)), "{file}");
        }
        let library = Library { root: root.to_owned(), paths: Vec::new(), trusted: true, problem: None };
        let options = CatalogOptions { libraries: vec![library], ..CatalogOptions::new(root.join("src")) };
        let beside = Catalog::open(options).with_reach(&team());
        assert!(beside.is_own_file(&root.join(SETTINGS_FILE)) && !beside.is_own_file(&root.join("note.txt")));
        assert!(catalog.check_file(None, &root.join("src/main.rs")).is_err(), "not by the store");
    }
}
