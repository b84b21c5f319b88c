//! Loads definitions whose constants are not literals: runs the file once in the sandbox and caches the result by
//! content.

use std::{sync::Arc, time::Instant};

use serde_json::{Map, Value};

use super::{
    Engine,
    own_files::OwnFiles,
    plan::{Plan, seconds},
    snapshot::Snapshot,
    wait::block_on,
};
use crate::{
    Catalog, Code, Digest, Error, Reason, ResolvedPrompt, Result,
    definition::{Computed, Definition, Inherited},
    ports::{Capabilities, HookJob, ModelRequest, PortFuture, QueueTime, Stage},
    source::Entry,
    store::StoreSnapshot,
};

/// Maximum prompts of one inheritance chain that have to run.
const MOST: usize = 40;

/// Constants of files that ran, by the hash of path, content and approved pack content.
pub(super) type LoadedDefinitions = hinagata_value::BoundedCache<Digest, Arc<Computed>>;

/// Why planning failed.
pub(super) enum PlanError {
    /// An error.
    Failed(Error),
    /// This definition has to run first.
    NeedsLoading(Box<Definition>),
}

impl From<Error> for PlanError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The definition of a chosen prompt and its parents, completed with cached constants.
pub(super) fn load_inherited(
    catalog: &Catalog,
    choice: &ResolvedPrompt,
    loaded: &LoadedDefinitions,
) -> Result<Inherited, PlanError> {
    let mut open = None;
    let result = catalog.inherited_definition_with(choice, |entry, definition| {
        let Some(source) = source_to_run(&definition) else { return Ok(definition) };
        match loaded.get(&key(entry, source)) {
            Some(computed) => Ok(Arc::new(complete(entry, &definition, &computed)?)),
            None => {
                let error = needs_loading_error(&definition);
                open = Some(Box::new((*definition).clone()));
                Err(error)
            }
        }
    });
    match open {
        Some(definition) => Err(PlanError::NeedsLoading(definition)),
        None => Ok(result?),
    }
}

/// The source that has to run to know the definition.
fn source_to_run(definition: &Definition) -> Option<&Arc<str>> {
    definition.hooks.source.as_ref().filter(|_| !definition.hooks.needs_loading.is_empty())
}

/// The cache key. A file can read the files beside it, so its path and the approved content of its pack are included.
fn key(entry: &Entry, source: &str) -> Digest {
    let approved = entry.approved_content().map(|content| content.to_string()).unwrap_or_default();
    Digest::sha256(format!("{}\0{approved}\0{source}", entry.source()).as_bytes())
}

/// Completes a definition with the constants of its file.
fn complete(entry: &Entry, definition: &Definition, computed: &Computed) -> Result<Definition> {
    crate::definition::read_again(definition, entry.name(), computed, entry)
}

impl Engine {
    /// Runs the `prompt.py` of a prompt and of its parents if their declarations are computed and not cached. Afterwards
    /// [`Engine::definition`] and [`Engine::validate`], which run nothing, know the declarations.
    ///
    /// # Errors
    /// Errors of finding and reading the prompt; code `hook` if the file cannot run or fails.
    pub async fn load_definition(&self, prompt: &str) -> Result<()> {
        let (snapshot, store) = self.current();
        self.load_plan(&snapshot, store.as_deref(), prompt, None).await.map(|_| ())
    }

    /// As [`Engine::load_definition`], blocking the thread.
    ///
    /// # Errors
    /// As [`Engine::load_definition`].
    pub fn load_definition_blocking(&self, prompt: &str) -> Result<()> {
        block_on(self.load_definition(prompt))
    }

    /// The plan of a prompt. Runs definitions that have to run first.
    pub(super) async fn load_plan(
        &self,
        snapshot: &Snapshot,
        store: Option<&StoreSnapshot>,
        name: &str,
        deadline: Option<Instant>,
    ) -> Result<Arc<Plan>> {
        for _ in 0..MOST {
            let definition = match self.try_plan(snapshot, store, name) {
                Ok(plan) => return Ok(plan),
                Err(PlanError::Failed(error)) => return Err(error),
                Err(PlanError::NeedsLoading(definition)) => definition,
            };
            self.run_definition(&snapshot.catalog, &definition, deadline).await.map_err(|error| {
                error.with_default("prompt_id", definition.id.as_str()).with_default("stage", "load")
            })?;
        }
        Err(Error::definition(Reason::ExtendsDepth, format!("`{name}` has too many parents")))
    }

    /// Runs the file of a definition and caches its constants.
    async fn run_definition(
        &self,
        catalog: &Catalog,
        definition: &Definition,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let Some(hooks) = &self.0.ports.hooks else {
            return Err(needs_loading_error(definition)
                .with_hint("install Python, or write METADATA, VARIABLES and TEMPLATE as literals"));
        };
        let source = definition.hooks.source.as_deref().unwrap_or_default();
        let entry = catalog.entry_at(&definition.source).ok_or_else(|| needs_loading_error(definition))?;
        let options = &self.0.options;
        let limits =
            catalog.defaults()?.limits_within(&definition.limits, &options.prompt_limits, &options.caps);
        let file = format!("{}/prompt.py", definition.source);
        let own = OwnFiles::for_prompt(catalog, &entry, &file)?;
        let job = HookJob {
            stage: Stage::Load,
            file: &file,
            source,
            permissions: Vec::new(),
            withheld: Vec::new(),
            context: Map::new(),
            root: catalog.root(),
            workspace: catalog.root().to_owned(),
            own_directory: own.directory,
            path: own.file,
            owner: entry.pack().map_or(definition.source.as_str(), |pack| pack.as_str()),
            time: seconds(&limits.max_execution_time),
            deadline,
            fixed: None,
            waited: &QueueTime::default(),
            secrets: Arc::default(),
            capabilities: &NoCapabilities,
        };
        let told = hooks.run_hook(job).await?;
        let computed = Computed::from_answer(&told)
            .ok_or_else(|| Error::new(Code::Hook, format!("`{file}` returned no declarations")))?;
        self.0.loaded.insert(key(&entry, source), Arc::new(computed));
        Ok(())
    }
}

/// The error of a definition that has to run first.
pub(super) fn needs_loading_error(owner: &Definition) -> Error {
    let error = Error::new(
        Code::Hook,
        format!("the declarations of `{}` are computed, and its prompt.py has not run", owner.id),
    )
    .with("prompt_id", owner.id.as_str())
    .with_reason(Reason::Unavailable)
    .with_hint("load the prompt first, or write METADATA, VARIABLES and TEMPLATE as literals");
    match owner.hooks.needs_loading.first() {
        Some((_, place)) => error.at(place.clone()),
        None => error,
    }
}

/// Refuses every request while a file is loaded.
struct NoCapabilities;

fn refused<T>() -> PortFuture<'static, Result<T>>
where
    T: Send + 'static,
{
    Box::pin(async { Err(Error::new(Code::Hook, "not available while a definition is loaded")) })
}

impl Capabilities for NoCapabilities {
    fn render_template<'a>(
        &'a self,
        _: &'a str,
        _: &'a Map<String, Value>,
    ) -> PortFuture<'a, Result<String>> {
        refused()
    }

    fn get_variable<'a>(&'a self, _: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
        refused()
    }

    fn read_file<'a>(&'a self, _: &'a str) -> PortFuture<'a, Result<String>> {
        refused()
    }

    fn llm_call<'a>(&'a self, _: ModelRequest) -> PortFuture<'a, Result<Value>> {
        refused()
    }
}
