//! The engine: from a call to a rendered prompt.
//!
//! id → candidates → choice → definition and inheritance → validation → layers → `pre_render` → template →
//! `post_render` → result. Everything that does not depend on the call is in a [`plan::Plan`], built once per prompt and
//! snapshot of the workspace; the rest is in [`pipeline`].

mod builder;
mod chat;
mod explain;
mod export;
mod file_secrets;
mod files;
mod fill;
mod history;
mod hooks;
mod late;
mod layers;
mod load;
mod media;
mod module;
mod module_plan;
mod notices;
mod own_files;
mod pipeline;
mod places;
mod plain;
mod plan;
mod project_values;
mod provided;
mod python_time;
mod render_job;
mod rendered;
mod request;
mod run;
mod schema;
mod secret_values;
mod snapshot;
mod source_view;
mod sources;
mod spans;
mod surroundings;
mod system;
mod tool_calls;
mod tools;
mod trace;
mod undefined;
mod unknown;
mod validate;
mod wait;
mod withheld;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use hinagata_catalog::{StoreReachCache, source::UnsavedTexts};
use hinagata_template::Cache;
use serde_json::{Map, Value};

pub use builder::{EngineBuilder, EngineOptions};
pub use hinagata_template::{Content, Message};
pub use layers::Layer;
pub use render_job::{RenderJob, Strictness};
pub use rendered::{Rendered, RenderedBody, Warning};
pub use request::{Context, Request};
pub use snapshot::PlanCacheStats;
pub use source_view::{SourceKind, SourceView};
pub use spans::{AbsentRow, ExplainMap, MapUnits, RequestMap, RequestRow, Share, Shares, SpanRow};
pub use surroundings::Surroundings;
pub use trace::{
    Chosen, OverriddenValue, ReadAt, Size, Times, TokensOf, Trace, TracedCall, TracedTemplate, TracedUse,
    TracedVariable,
};
pub use unknown::UsedVariables;
pub use validate::{SchemaProblem, TypeProblem, UnknownVariable, Validation, from_text};

use self::{
    file_secrets::FileSecrets,
    load::PlanError,
    plan::{Plan, Planning},
    snapshot::Snapshot,
    system::Host,
};
use crate::{
    Approvals, Catalog, Code, Diagnostic, Error, LocalPlaces, Reach, Result, StateDir,
    definition::Inherited,
    ports::{Ports, ToolSet},
    store::{StoreChange, StoreSnapshot, check_change},
};
#[cfg(feature = "watch")]
use crate::{
    Library,
    watch::{self, Change, Watcher},
};

/// Renders prompts. Cheap to clone and shared between threads.
///
/// ```
/// use hinagata::{Engine, Request};
/// use serde_json::json;
///
/// // The built-in prompts need no workspace.
/// let engine = Engine::open("no/such/workspace");
/// let variables = json!({"agent_name": "Rumi"});
/// let rendered = engine.render_blocking(&Request::new("general_system").with_variables(&variables))?;
/// assert!(rendered.text().starts_with("You are Rumi"));
///
/// let error = engine.render_blocking(&Request::new("general_system")).expect_err("a variable is missing");
/// assert_eq!(error.code().as_str(), "validation");
/// # Ok::<(), hinagata::Error>(())
/// ```
#[derive(Clone)]
pub struct Engine(Arc<Inner>, Option<Arc<Reach>>);

/// A weak reference to an engine.
#[derive(Clone)]
pub struct WeakEngine(Weak<Inner>, Option<Arc<Reach>>);

impl WeakEngine {
    /// The engine, if it still exists.
    #[must_use]
    pub fn upgrade(&self) -> Option<Engine> {
        Some(Engine(self.0.upgrade()?, self.1.clone()))
    }
}

struct Inner {
    options: EngineOptions,
    state: Option<StateDir>,
    ports: Ports,
    host: Host,
    cache: Arc<Cache>,
    /// The tools of the last render.
    tools: ArcSwapOption<tools::KnownTools>,
    current: ArcSwap<Snapshot>,
    /// The store as callers with a restricted reach see it.
    stores: StoreReachCache,
    /// Cached constants of computed definitions.
    loaded: Arc<load::LoadedDefinitions>,
    /// Held while a new snapshot is built, so that an older one never replaces a newer one.
    changing: Mutex<()>,
    /// Whether its prompts never change, including those of the store.
    frozen: bool,
}

impl Engine {
    /// The engine of the workspace at `root`, with default settings and without any ports.
    ///
    /// It never fails; [`Catalog::diagnostics`] reports problems of the workspace.
    #[must_use]
    pub fn open(root: impl Into<PathBuf>) -> Self {
        Self::builder(root).open()
    }

    /// A builder for an engine with options and ports.
    #[must_use]
    pub fn builder(root: impl Into<PathBuf>) -> EngineBuilder {
        EngineBuilder::new(root.into())
    }

    fn new(catalog: Catalog, options: EngineOptions, state: Option<StateDir>, ports: Ports) -> Self {
        let host = Host::new(options.timezone.as_deref(), options.os.as_deref(), options.language.as_deref());
        let cache = Arc::new(Cache::new(options.cached_templates.saturating_mul(4)));
        let current = ArcSwap::from_pointee(Snapshot::new(catalog, options.cached_templates, Arc::default()));
        let loaded = Arc::new(load::LoadedDefinitions::new(options.cached_templates));
        let (tools, changing) = (ArcSwapOption::empty(), Mutex::new(()));
        let (stores, frozen) = (StoreReachCache::default(), false);
        let inner =
            Inner { options, state, ports, host, cache, tools, current, stores, loaded, changing, frozen };
        Self(Arc::new(inner), None)
    }

    /// A weak reference to the engine.
    #[must_use]
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.0), self.1.clone())
    }

    /// The same engine, restricted to the prompts and shared variables within `reach`. Everything else does not exist for
    /// it. Plans are cached for as long as the [`Reach`] is the same one.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use hinagata::{Engine, Reach};
    ///
    /// let engine = Engine::open("no/such/workspace");
    /// let reach = Arc::new(Reach::new(|prompt| prompt.starts_with("general"), |_| false));
    /// let narrow = engine.with_reach(&reach);
    /// assert_eq!(narrow.catalog().list().len(), 1);
    /// assert!(narrow.template_variables("coding_system").is_err());
    /// ```
    #[must_use]
    pub fn with_reach(&self, reach: &Arc<Reach>) -> Self {
        Self(Arc::clone(&self.0), Some(Arc::clone(reach)))
    }

    /// An engine whose prompts never change: neither a reload nor the store affects them. Shared variables stay current.
    #[must_use]
    pub fn with_frozen_prompts(&self) -> Self {
        self.frozen_with(self.0.ports.clone())
    }

    /// An engine with the prompts of this moment that calls neither Python nor tools nor models: what needs them fails.
    #[must_use]
    pub fn without_calls(&self) -> Self {
        self.frozen_with(Ports { hooks: None, tools: None, model: None, ..self.0.ports.clone() })
    }

    /// An engine with the prompts of this moment and unsaved texts in the place of some files, by prefix of a source root and
    /// path beneath it.
    #[must_use]
    pub fn with_unsaved(&self, texts: BTreeMap<String, UnsavedTexts>) -> Self {
        let catalog = self.all().0.catalog.with_unsaved(texts);
        let engine = self.frozen_with(self.0.ports.clone());
        let capacity = self.0.options.cached_templates;
        engine.0.current.store(Arc::new(Snapshot::new(catalog, capacity, Arc::default())));
        engine
    }

    fn frozen_with(&self, ports: Ports) -> Self {
        self.frozen_on(self.0.host.clone(), ports)
    }

    fn frozen_on(&self, host: Host, ports: Ports) -> Self {
        let Inner { options, cache, loaded, tools, .. } = &*self.0;
        let inner = Inner {
            options: options.clone(),
            state: None,
            ports,
            host,
            cache: Arc::clone(cache),
            // They count for the same set only.
            tools: ArcSwapOption::new(tools.load_full()),
            current: ArcSwap::new(self.all().0),
            stores: StoreReachCache::default(),
            loaded: Arc::clone(loaded),
            changing: Mutex::new(()),
            frozen: true,
        };
        Self(Arc::new(inner), self.1.clone())
    }

    /// Checks the fields of a part of the type `kind` that a prompt declares, and adds the content of the file that it names.
    /// Returns warnings about secrets that are redacted in it, too.
    ///
    /// # Errors
    /// Errors of finding the prompt; code `validation` for a missing file or an invalid URI, `definition` for a file of
    /// another type.
    pub fn filled_part(
        &self,
        prompt: &str,
        kind: &str,
        fields: Map<String, Value>,
    ) -> Result<(Value, Vec<Warning>)> {
        let catalog = self.catalog();
        let owner = self.definition(prompt)?.body_definition()?.source.clone();
        let home = catalog.entry_at(&owner);
        let is_trusted = catalog.untrusted_home([&*owner], self.0.options.trusted).is_none();
        let secrets = FileSecrets::new(&self.0.options, is_trusted);
        let files = media::PartFiles { home: home.as_deref(), catalog: &catalog, secrets: &secrets };
        let filled = media::fill_part(kind, Value::Object(fields), &files)?;
        Ok((filled, secrets.take_warnings()))
    }

    /// The sorted names of the variables that the templates of a prompt read, without those that the engine supplies. Runs
    /// nothing.
    ///
    /// # Errors
    /// Errors of finding, reading and compiling the prompt.
    pub fn template_variables(&self, prompt: &str) -> Result<Vec<String>> {
        let (snapshot, store) = self.current();
        Ok(self.plan(&snapshot, store.as_deref(), prompt)?.template_variables())
    }

    /// What a render of a prompt can reach outside of the workspace, sorted: the permissions `http_request`, `llm_call` and
    /// `subprocess` of its hooks and providers, and the ids of the tools that its templates can call; `tools` where only a
    /// render shows which. Empty for a prompt whose preview is safe at any time. Runs nothing.
    ///
    /// # Errors
    /// Errors of finding and reading the prompt.
    pub fn prompt_effects(&self, prompt: &str) -> Result<Vec<String>> {
        let (snapshot, store) = self.current();
        match self.plan(&snapshot, store.as_deref(), prompt) {
            Ok(plan) => Ok(plan.effects()),
            // Templates that cannot be compiled are not run; hooks are.
            Err(_) => Ok(plan::definition_effects(&self.definition(prompt)?).collect()),
        }
    }

    /// The SHA-256 of all files that a prompt is read from: its definition, its parents, and the templates that they
    /// include. Runs nothing.
    ///
    /// # Errors
    /// Errors of finding, reading and compiling the prompt.
    pub fn definition_hash(&self, prompt: &str) -> Result<String> {
        let (snapshot, store) = self.current();
        Ok(self.plan(&snapshot, store.as_deref(), prompt)?.about.definition_hash().to_owned())
    }

    /// The files that a prompt is read from, in order, as paths from the workspace root: its definition, its parents, and the
    /// templates that they include. Runs nothing.
    ///
    /// # Errors
    /// Errors of finding, reading and compiling the prompt.
    pub fn definition_files(&self, prompt: &str) -> Result<Vec<String>> {
        let (snapshot, store) = self.current();
        let plan = self.plan(&snapshot, store.as_deref(), prompt)?;
        Ok(plan.about.files.iter().map(|read| read.file.clone()).collect())
    }

    /// How well the cache of prepared prompts serves.
    #[must_use]
    pub fn plan_cache_stats(&self) -> PlanCacheStats {
        self.0.current.load().plan_cache_stats()
    }

    /// The workspace root.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.catalog().root().to_owned()
    }

    /// The directories of the workspace and its user, which callers on other machines do not see.
    #[must_use]
    pub fn local_places(&self) -> LocalPlaces {
        let libraries = self.0.options.libraries.iter().map(|library| &*library.root);
        LocalPlaces::new(&self.root(), self.0.state.as_ref()).with_libraries(libraries)
    }

    /// The current catalog.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        self.current().0.catalog.clone()
    }

    /// The current snapshot of the store, if there is a store.
    #[must_use]
    pub fn store(&self) -> Option<Arc<StoreSnapshot>> {
        self.0.ports.store.as_ref().map(|store| self.narrow_store(store.snapshot()))
    }

    fn narrow_store(&self, store: Arc<StoreSnapshot>) -> Arc<StoreSnapshot> {
        match &self.1 {
            None => store,
            Some(reach) => self.0.stores.narrow_for(&store, reach),
        }
    }

    /// Checks all changes, then writes them to the store.
    ///
    /// # Errors
    /// Those of [`crate::store::check_change`], without writing anything; code `store` if there is no store or writing fails.
    pub async fn write_store(&self, changes: Vec<StoreChange>) -> Result<()> {
        changes.iter().try_for_each(check_change)?;
        match &self.0.ports.store {
            Some(store) => store.write_changes(changes).await,
            None => Err(Error::new(Code::Store, "no store is configured")),
        }
    }

    /// As [`Engine::write_store`], blocking the thread.
    ///
    /// # Errors
    /// As [`Engine::write_store`].
    pub fn write_store_blocking(&self, changes: Vec<StoreChange>) -> Result<()> {
        wait::block_on(self.write_store(changes))
    }

    /// The current snapshots of workspace and store, which belong together, within the reach of the caller.
    fn current(&self) -> (Arc<Snapshot>, Option<Arc<StoreSnapshot>>) {
        let (snapshot, store) = self.all();
        match &self.1 {
            None => (snapshot, store),
            Some(reach) => (snapshot.with_reach(reach), store.map(|store| self.narrow_store(store))),
        }
    }

    /// The same without a reach.
    fn all(&self) -> (Arc<Snapshot>, Option<Arc<StoreSnapshot>>) {
        let snapshot = self.0.current.load_full();
        let Some(store) = &self.0.ports.store else { return (snapshot, None) };
        let now = store.snapshot();
        if self.0.frozen || snapshot.has_prompts_of(&now) {
            return (snapshot, Some(now));
        }
        // Another thread may have stored a newer one meanwhile.
        let _ = self.update_catalog(|catalog| match catalog.store() {
            Some(known) if known.has_same_prompts(&store.snapshot()) => Ok(catalog.clone()),
            _ => Ok(catalog.with_store(store.snapshot())),
        });
        let snapshot = self.0.current.load_full();
        let of_catalog = snapshot.catalog.store().cloned();
        (snapshot, of_catalog)
    }

    /// Lists the workspace again. Renders in progress continue with the snapshot they started on.
    pub fn reload(&self) -> Catalog {
        let again = |catalog: &Catalog| match &self.0.state {
            Some(state) => catalog.with_approvals(Approvals::load(state, catalog.root())),
            None => catalog.reload(),
        };
        self.update_catalog(|catalog| Ok(again(catalog))).unwrap_or_else(|_| self.catalog())
    }

    /// Reloads whenever files of the workspace change, until the watcher is dropped, and calls `on_change` with the new
    /// catalog and the change.
    ///
    /// # Errors
    /// Code `store` if the system refuses to watch.
    #[cfg(feature = "watch")]
    pub fn watch_files(
        &self,
        mut on_change: impl FnMut(&Catalog, &Change) + Send + 'static,
    ) -> Result<Watcher> {
        let mut places = watch::watched_paths(&self.root(), &self.0.options.paths, self.0.state.as_ref());
        places.extend(self.0.options.foreign.iter().map(|place| self.root().join(&place.path)));
        places.extend(self.0.options.libraries.iter().flat_map(Library::prompt_directories));
        // A watcher alone does not keep an engine alive.
        let engine = Arc::downgrade(&self.0);
        Watcher::new(places, move |change| {
            if let Some(inner) = engine.upgrade() {
                on_change(&Self(inner, None).reload(), &change);
            }
        })
    }

    /// Replaces the catalog by the result of `change`, which gets the whole catalog without a reach.
    ///
    /// # Errors
    /// Those of `change`; the catalog then stays the same.
    pub fn update_catalog(&self, change: impl FnOnce(&Catalog) -> Result<Catalog>) -> Result<Catalog> {
        let _one_at_a_time = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.0.current.load();
        let catalog = change(&before.catalog)?;
        let counts = Arc::clone(&before.counts);
        let snapshot = Snapshot::new(catalog.clone(), self.0.options.cached_templates, counts);
        self.0.current.store(Arc::new(snapshot));
        Ok(match &self.1 {
            None => catalog,
            Some(reach) => catalog.with_reach(reach),
        })
    }

    /// Records that `prompt` resolves to `source`.
    ///
    /// # Errors
    /// Those of [`Catalog::set_resolution`].
    pub fn set_resolution(&self, prompt: &str, source: &str) -> Result<Catalog> {
        let now = self.0.ports.clock.now();
        self.update_catalog(|catalog| match &self.1 {
            None => catalog.set_resolution(prompt, source, now),
            Some(reach) => {
                catalog.with_reach(reach).set_resolution(prompt, source, now).map(|made| made.without_reach())
            }
        })
    }

    /// Takes back the last decision about which prompt a name refers to; `None` if nothing was decided.
    ///
    /// # Errors
    /// Those of [`Catalog::undo_resolution`].
    pub fn undo_resolution(&self, prompt: &str) -> Result<Option<Catalog>> {
        let now = self.0.ports.clock.now();
        let mut is_decided = true;
        let catalog = self.update_catalog(|catalog| {
            let narrow = self.1.as_ref().map_or_else(|| catalog.clone(), |reach| catalog.with_reach(reach));
            let undone = narrow.undo_resolution(prompt, now)?;
            is_decided = undone.is_some();
            Ok(undone.map_or_else(|| catalog.clone(), |made| made.without_reach()))
        })?;
        Ok(is_decided.then_some(catalog))
    }

    /// The definition of a prompt and its parents. Runs nothing; see [`Engine::load_definition`].
    ///
    /// # Errors
    /// Those of [`Catalog::definition`].
    pub fn definition(&self, prompt: &str) -> Result<Inherited> {
        let catalog = self.catalog();
        let choice = catalog.choose(prompt)?;
        match load::load_inherited(&catalog, &choice, &self.0.loaded) {
            Ok(inherited) => Ok(inherited),
            Err(PlanError::Failed(error)) => Err(error),
            Err(PlanError::NeedsLoading(_)) => catalog.inherited_definition(&choice),
        }
    }

    /// Problems in the definitions of tools.
    #[must_use]
    pub fn tool_diagnostics(&self) -> Vec<Diagnostic> {
        let (snapshot, store) = self.current();
        let known = self.known_tools(&snapshot, store.as_deref());
        known.map(|known| known.set.diagnostics().to_vec()).unwrap_or_default()
    }

    /// The tools of the store and of packs; `None` if there are none.
    #[must_use]
    pub fn tool_set(&self) -> Option<Arc<dyn ToolSet>> {
        let (snapshot, store) = self.current();
        self.tools(&snapshot, store.as_deref()).map(|known| Arc::clone(&known.set))
    }

    /// The schemas that the servers of tools state, by id, for tools whose servers state one. Asks each server.
    ///
    /// # Errors
    /// Code `tool`, for the first tool whose server cannot be asked or does not know it.
    pub fn server_schemas_blocking(&self) -> Result<BTreeMap<String, Value>> {
        let mut schemas = BTreeMap::new();
        let Some(set) = self.tool_set() else { return Ok(schemas) };
        for (name, tool) in set.tools() {
            if schemas.contains_key(&tool.id) {
                continue;
            }
            if let Some(schema) = wait::block_on(set.server_schema(name))? {
                schemas.insert(tool.id.clone(), schema);
            }
        }
        Ok(schemas)
    }

    /// The preferred word for `word` in `namespace`, such as `tool`.
    #[must_use]
    pub fn preferred_word(&self, namespace: &str, word: &str) -> Option<String> {
        self.current().0.catalog.preferred_word(namespace, word)
    }

    /// Converts variables from text to their declared types, for doors that carry only text.
    ///
    /// # Errors
    /// Those of [`Engine::definition`]; code `validation` with every text that is not a value of its type.
    pub fn variables_from_text<'t>(
        &self,
        prompt: &str,
        pairs: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Map<String, Value>> {
        let parameters = self.definition(prompt)?.parameters;
        let (mut variables, mut problems) = (Map::new(), Validation::default());
        for (name, text) in pairs {
            let value = match parameters.get(name) {
                Some(parameter) => from_text(parameter, text),
                None => Ok(Value::String(text.to_owned())),
            };
            match value {
                Ok(value) => {
                    variables.insert(name.to_owned(), value);
                }
                Err(problem) => problems.type_errors.push(problem),
            }
        }
        if problems.type_errors.is_empty() {
            return Ok(variables);
        }
        let id = self.catalog().resolve_id(prompt)?;
        Err(problems
            .into_error(&id, &parameters)
            .unwrap_or_else(|| Error::new(Code::Validation, "invalid types")))
    }

    /// The plan of a prompt in a snapshot of workspace and store.
    fn plan(&self, snapshot: &Snapshot, store: Option<&StoreSnapshot>, name: &str) -> Result<Arc<Plan>> {
        self.try_plan(snapshot, store, name).map_err(|unplanned| match unplanned {
            PlanError::Failed(error) => error,
            PlanError::NeedsLoading(definition) => load::needs_loading_error(&definition),
        })
    }

    fn try_plan(
        &self,
        snapshot: &Snapshot,
        store: Option<&StoreSnapshot>,
        name: &str,
    ) -> Result<Arc<Plan>, PlanError> {
        let guard = self.0.ports.guard.as_deref();
        if let Some(guard) = guard {
            snapshot.check_guard(guard)?;
        }
        let tools = self.tools(snapshot, store);
        if let Some(plan) = snapshot.plans.get(name).filter(|plan| plan.has_tools(tools.as_ref())) {
            snapshot.counts.record_hit();
            return Ok(plan);
        }
        let choice = snapshot.catalog.choose(name)?;
        let planning = Planning {
            asked: name,
            catalog: &snapshot.catalog,
            cache: &self.0.cache,
            options: &self.0.options,
            loaded: &self.0.loaded,
            tools,
        };
        let plan = Arc::new(Plan::build(choice, &planning)?);
        if let Some(guard) = guard.filter(|guard| guard.checks_prompts()) {
            guard.check_prompt(&plan.about.id, plan.about.definition_hash())?;
        }
        snapshot.insert_plan(name, &plan);
        Ok(plan)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("root", &self.root()).finish_non_exhaustive()
    }
}
