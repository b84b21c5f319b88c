//! Opening an engine.

use std::{path::PathBuf, sync::Arc};

use hinagata_value::Limits;

use super::Engine;
use crate::{
    Approvals, Catalog, CatalogOptions, StateDir,
    definition::{OwnLimits, UndefinedMode},
    ports::{Clock, Hooks, Model, Ports, Store, Tools},
    settings::Settings,
};

/// Plans and compiled templates that are kept, unless set otherwise.
const CACHED: usize = 100;

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// More directories with prompts, relative to the root.
    pub paths: Vec<String>,
    /// The zone that times are told in; that of the machine unless given.
    pub timezone: Option<String>,
    /// The operating system that prompts are told; that of the machine unless given.
    pub os: Option<String>,
    /// The language that prompts are told; that of the environment unless given.
    pub language: Option<String>,
    /// What variables that are not there do, for prompts that do not say.
    pub undefined: Option<UndefinedMode>,
    /// What a template may use. Its `output` is not looked at: prompts have `max_output_size`.
    pub limits: Limits,
    /// Limits of prompts where neither they nor `defaults.json` set any.
    pub prompt_limits: OwnLimits,
    /// What no prompt and no `defaults.json` can go beyond.
    pub caps: OwnLimits,
    /// Whether the user trusts the workspace: only then Python gets `http_request`, `llm_call` and `subprocess`.
    pub trusted: bool,
    /// Prompts that are kept ready.
    pub cached_templates: usize,
    /// Whether a prompt of the store that cannot be used any more is served as it was.
    pub serve_stale: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            timezone: None,
            os: None,
            language: None,
            undefined: None,
            limits: Limits::default(),
            prompt_limits: OwnLimits::default(),
            caps: OwnLimits::default(),
            trusted: false,
            cached_templates: CACHED,
            serve_stale: false,
        }
    }
}

impl From<&Settings> for EngineOptions {
    fn from(settings: &Settings) -> Self {
        Self {
            paths: settings.catalog_paths(),
            timezone: settings.timezone().map(str::to_owned),
            os: None,
            language: settings.language().map(str::to_owned),
            undefined: settings.undefined().and_then(UndefinedMode::from_name),
            limits: settings.limits(),
            prompt_limits: OwnLimits::from_settings(settings),
            caps: OwnLimits::caps_from_settings(settings),
            trusted: false,
            cached_templates: settings.template_cache(),
            serve_stale: settings.is_on("store.serve_stale"),
        }
    }
}

/// Opens an [`Engine`].
#[derive(Clone)]
pub struct EngineBuilder {
    root: PathBuf,
    options: EngineOptions,
    approvals: Approvals,
    state: Option<StateDir>,
    ports: Ports,
}

impl EngineBuilder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            options: EngineOptions::default(),
            approvals: Approvals::default(),
            state: None,
            ports: Ports::default(),
        }
    }

    /// The same with these settings.
    #[must_use]
    pub fn options(mut self, options: EngineOptions) -> Self {
        self.options = options;
        self
    }

    /// The same with what the user said about packs.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    /// The same with what the user's state directory remembers about packs, now and whenever the engine looks again.
    #[must_use]
    pub fn state(mut self, state: StateDir) -> Self {
        self.state = Some(state);
        self
    }

    /// The same in a workspace that the user trusts.
    #[must_use]
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.options.trusted = trusted;
        self
    }

    /// The same with another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.ports.clock = clock;
        self
    }

    /// The same with something that runs Python.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.ports.hooks = Some(hooks);
        self
    }

    /// The same with tools.
    #[must_use]
    pub fn tools(mut self, tools: Arc<dyn Tools>) -> Self {
        self.ports.tools = Some(tools);
        self
    }

    /// The same with a store.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.ports.store = Some(store);
        self
    }

    /// The same with a model.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.ports.model = Some(model);
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
            approvals,
            serve_stale: self.options.serve_stale,
            store: self.ports.store.as_ref().map(|store| store.snapshot()),
            ..CatalogOptions::new(self.root)
        });
        Engine::new(catalog, self.options, self.state, self.ports)
    }
}
