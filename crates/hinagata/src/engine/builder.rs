//! Builds an engine from options and ports.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use hinagata_value::Limits;
use hinagata_workspace::secret::SecretPolicy;

use super::Engine;
use crate::{
    Approvals, Catalog, CatalogOptions, Library, PackId, StateDir,
    definition::{PromptLimits, UndefinedMode},
    ports::{Clock, Guard, Hooks, Model, Ports, ProjectReader, Store, Tools},
    settings::Settings,
    source::ForeignPlace,
};

/// Default number of cached plans.
const CACHED: usize = 100;

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Additional prompt directories, relative to the root.
    pub paths: Vec<String>,
    /// Places with prompts of other formats, read in place.
    pub foreign: Vec<ForeignPlace>,
    /// Other workspaces whose prompts can be rendered, each with its own trust.
    pub libraries: Vec<Library>,
    /// The time zone of `system` variables; that of the machine if `None`.
    pub timezone: Option<String>,
    /// The value of `system.os`; that of the machine if `None`.
    pub os: Option<String>,
    /// The value of `system.language`; that of the environment if `None`.
    pub language: Option<String>,
    /// How undefined variables behave in prompts that do not set it.
    pub undefined: Option<UndefinedMode>,
    /// Limits of template runs. `output` is ignored in favour of the prompt's `max_output_size`.
    pub limits: Limits,
    /// Limits of prompts that neither they nor `defaults.json` set.
    pub prompt_limits: PromptLimits,
    /// Caps on the limits of prompts and `defaults.json`.
    pub caps: PromptLimits,
    /// Whether the user trusts the workspace. Otherwise Python gets no `http_request`, `llm_call` or `subprocess`.
    pub trusted: bool,
    /// The rules for secrets in files that prompts of an untrusted workspace name.
    pub secrets: SecretPolicy,
    /// Number of cached plans.
    pub cached_templates: usize,
    /// Whether to serve the last valid version of a store prompt that became invalid.
    pub serve_stale: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            foreign: Vec::new(),
            libraries: Vec::new(),
            timezone: None,
            os: None,
            language: None,
            undefined: None,
            limits: Limits::default(),
            prompt_limits: PromptLimits::default(),
            caps: PromptLimits::default(),
            trusted: false,
            secrets: SecretPolicy::default(),
            cached_templates: CACHED,
            serve_stale: false,
        }
    }
}

impl From<&Settings> for EngineOptions {
    fn from(settings: &Settings) -> Self {
        Self {
            paths: settings.catalog_paths(),
            foreign: ForeignPlace::from_settings(settings),
            // Whether the user trusts a library is not part of the settings.
            libraries: Vec::new(),
            timezone: settings.timezone().map(str::to_owned),
            os: None,
            language: settings.language().map(str::to_owned),
            undefined: settings.undefined().and_then(UndefinedMode::from_name),
            limits: settings.limits(),
            prompt_limits: PromptLimits::from_settings(settings),
            caps: PromptLimits::caps_from_settings(settings),
            trusted: false,
            secrets: settings.secret_policy(false),
            cached_templates: settings.template_cache(),
            serve_stale: settings.is_on("store.serve_stale"),
        }
    }
}

/// Builds an [`Engine`].
#[derive(Clone)]
pub struct EngineBuilder {
    root: PathBuf,
    options: EngineOptions,
    approvals: Approvals,
    replaced_packs: BTreeMap<PackId, PathBuf>,
    state: Option<StateDir>,
    ports: Ports,
}

impl EngineBuilder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            options: EngineOptions::default(),
            approvals: Approvals::default(),
            replaced_packs: BTreeMap::new(),
            state: None,
            ports: Ports::default(),
        }
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(mut self, options: EngineOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the approvals of packs.
    #[must_use]
    pub fn with_approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    /// Puts a directory in the place of that of a pack: a version that is compared. The pack counts as approved.
    #[must_use]
    pub fn with_pack_directory(mut self, pack: PackId, directory: impl Into<PathBuf>) -> Self {
        self.replaced_packs.insert(pack, directory.into());
        self
    }

    /// Reads the approvals of packs from the user's state directory, now and at every reload.
    #[must_use]
    pub fn with_state_dir(mut self, state: StateDir) -> Self {
        self.state = Some(state);
        self
    }

    /// Sets whether the user trusts the workspace.
    #[must_use]
    pub fn with_trust(mut self, trusted: bool) -> Self {
        self.options.trusted = trusted;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.ports.clock = clock;
        self
    }

    /// Sets the port that runs Python.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.ports.hooks = Some(hooks);
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<dyn Tools>) -> Self {
        self.ports.tools = Some(tools);
        self
    }

    /// Sets the store.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn Store>) -> Self {
        self.ports.store = Some(store);
        self
    }

    /// Sets the model.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Self {
        self.ports.model = Some(model);
        self
    }

    /// Sets the port that every snapshot of the workspace has to pass before a render uses it.
    #[must_use]
    pub fn with_guard(mut self, guard: Arc<dyn Guard>) -> Self {
        self.ports.guard = Some(guard);
        self
    }

    /// Sets the port that reads project directories.
    #[must_use]
    pub fn with_project_reader(mut self, project: Arc<dyn ProjectReader>) -> Self {
        self.ports.project = Some(project);
        self
    }

    /// Opens the engine.
    #[must_use]
    pub fn open(self) -> Engine {
        let approvals = match &self.state {
            Some(state) => Approvals::load(state, &self.root),
            None => self.approvals,
        };
        let catalog = Catalog::open(CatalogOptions {
            paths: self.options.paths.clone(),
            foreign: self.options.foreign.clone(),
            libraries: self.options.libraries.clone(),
            approvals,
            replaced_packs: self.replaced_packs,
            serve_stale: self.options.serve_stale,
            store: self.ports.store.as_ref().map(|store| store.snapshot()),
            ..CatalogOptions::new(self.root)
        });
        Engine::new(catalog, self.options, self.state, self.ports)
    }
}
