//! The workspace of a process: its root, its settings, whether the user trusts it, its prompts.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use hinagata::{
    Approvals, Catalog, CatalogOptions, Code, Diagnostic, Distrust, Engine, EngineOptions, Error,
    ROOT_VARIABLE, Result, Settings, StateDir, Trust, TrustState, WorkspaceRoot,
    ports::{Hooks, Store},
    settings::{Origin, SettingsSources, UserConfig},
};
use hinagata_llm::Llm;
use hinagata_python::{HookOptions, HookPool};
use hinagata_tools::{ToolSettings, Toolbox};

use crate::{
    environment::Environment,
    store::{self, OpenStore},
};

/// How long a daemon renders unless the settings say otherwise: a caller is waiting, and others behind it.
const DAEMON_DEADLINE: Duration = Duration::from_millis(500);

/// How a workspace is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The root, where it is named.
    pub root: Option<PathBuf>,
    /// Settings of this process, as `section.key=value`.
    pub settings: Vec<String>,
    /// How long the process lives.
    pub process: ProcessKind,
    /// The environment variables that it sees.
    pub environment: Environment,
}

/// How long a process lives: what it waits for, and how long it renders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessKind {
    /// Once, for one command: a person is waiting.
    #[default]
    Command,
    /// For good: changes of others are noticed, and a store that is away is waited for.
    Daemon,
}

impl ProcessKind {
    /// How long an unanswered server is waited for.
    pub(crate) const fn store_timeout(self) -> Duration {
        match self {
            Self::Command => Duration::from_secs(3),
            Self::Daemon => Duration::from_secs(5),
        }
    }
}

impl OpenOptions {
    /// The workspace root; it may be no directory.
    #[must_use]
    pub fn root(&self, current_directory: &Path) -> WorkspaceRoot {
        let variable = self.environment.get(ROOT_VARIABLE);
        WorkspaceRoot::find(self.root.as_deref(), variable.as_deref(), current_directory)
    }
}

/// A workspace with everything that its settings ask for.
pub struct OpenWorkspace {
    /// Its root, and why it is that.
    pub root: WorkspaceRoot,
    /// Its settings, each with its origin.
    pub settings: Settings,
    /// The file with the user's own settings.
    pub user_config: UserConfig,
    /// Whether the user trusts it.
    pub trust: TrustState,
    /// Why it is not known whether the user does; then it is not trusted.
    pub trust_problem: Option<Diagnostic>,
    /// What its settings set that needs trust.
    pub privileged_settings: Option<String>,
    /// Where the user's decisions are remembered, if anywhere.
    pub state: Option<StateDir>,
    sources: SettingsSources,
    process: ProcessKind,
    store: OnceLock<OpenStore>,
    llm: OnceLock<Llm>,
    environment: Environment,
}

impl OpenWorkspace {
    /// Opens the workspace; what is odd about its settings is told by them.
    ///
    /// # Errors
    /// Those of a root that is no directory and of settings that cannot be read.
    pub fn open(options: &OpenOptions, current_directory: &Path) -> Result<Self> {
        let root = options.root(current_directory).existing()?;
        let environment = options.environment.clone();
        let user_config = UserConfig::find(|name| environment.get(name));
        let mut sources = SettingsSources::read(&root.path, &user_config)?;
        sources.environment = environment.to_pairs();
        sources.flags.clone_from(&options.settings);
        let privileged_settings = sources.privileged_text();
        let state = StateDir::find(|name| environment.get(name), environment.home_directory()).ok();
        let (trust, trust_problem) = read_trust(state.as_ref(), &root, privileged_settings.as_deref());
        let settings = Settings::resolve(&sources, trust.is_trusted())?;
        let (process, store, llm) = (options.process, OnceLock::new(), OnceLock::new());
        Ok(Self {
            root,
            settings,
            user_config,
            trust,
            trust_problem,
            privileged_settings,
            state,
            sources,
            process,
            store,
            llm,
            environment,
        })
    }

    /// The same with a store of the host's own, in the place of the one that the settings name.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = OnceLock::from(OpenStore { store, problem: None });
        self
    }

    /// Its settings as they would count if the user trusted it, from the files as they were read.
    ///
    /// # Errors
    /// Those of settings that cannot be used.
    pub fn settings_if_trusted(&self) -> Result<Settings> {
        Settings::resolve(&self.sources, true)
    }

    /// Whether a process may serve others: everything that the settings say about who may do what counts.
    ///
    /// Keys that are gone look like keys that nobody ever wrote. Only the trust of the user remembers them, so settings
    /// that changed since then are refused even where nothing of them is left.
    ///
    /// # Errors
    /// Code `approval` for settings that do not count, `definition` for names that nobody knows, `store` when it is not
    /// known what the user trusts.
    pub fn check_serving(&self) -> Result<()> {
        if let Some(problem) = &self.trust_problem {
            return Err(problem.error.clone());
        }
        self.settings.check_names(None)?;
        if self.trust == (TrustState::Untrusted { reason: Distrust::Changed }) {
            return Err(Error::new(
                Code::Approval,
                "the settings of this workspace changed since you trusted it, so it is not served",
            )
            .with("reason", "untrusted")
            .with_hint(
                "read hinagata.toml, then run `hina trust`; `hina trust --revoke` forgets that you trusted it",
            ));
        }
        self.settings.check_left_out(&["server", "keys", "store"])
    }

    /// Whether the settings of the store count: with another store, other prompts would be served.
    ///
    /// # Errors
    /// As [`OpenWorkspace::check_serving`].
    pub fn check_store_settings(&self) -> Result<()> {
        self.settings.check_names(Some(&["store"]))?;
        self.settings.check_left_out(&["store"])
    }

    /// Whether the settings lead to a store.
    ///
    /// # Errors
    /// Code `store` or `definition` for an address that is none.
    pub fn check_store(&self) -> Result<()> {
        store::check_settings(&self.settings, self.process)
    }

    /// The prompts of the workspace.
    #[must_use]
    pub fn open_catalog(&self) -> Catalog {
        Catalog::open(CatalogOptions {
            paths: self.settings.catalog_paths(),
            approvals: self.approvals(),
            store: Some(self.store().snapshot()),
            serve_stale: self.settings.is_on("store.serve_stale"),
            ..CatalogOptions::new(&self.root.path)
        })
    }

    /// What the user said about packs; without a place to remember it, nothing.
    fn approvals(&self) -> Approvals {
        self.state.as_ref().map_or_else(Approvals::default, |state| Approvals::load(state, &self.root.path))
    }

    fn open_store(&self) -> &OpenStore {
        self.store.get_or_init(|| OpenStore::new(&self.root.path, &self.settings, self.process))
    }

    /// The store, opened when it is first needed. One that cannot be reached is told by
    /// [`OpenWorkspace::store_problem`], and everything works that does not need it.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.open_store().store)
    }

    /// Why the store did not answer when it was opened.
    #[must_use]
    pub fn store_problem(&self) -> Option<&Diagnostic> {
        self.open_store().problem.as_ref()
    }

    /// Runs Python as the settings say. Nothing is started before a hook or a provider runs.
    #[must_use]
    pub fn new_hook_pool(&self, change: impl FnOnce(&mut HookOptions)) -> HookPool {
        let mut options = HookOptions::from(&self.settings);
        change(&mut options);
        HookPool::new(options)
    }

    /// The models of the workspace, with the keys of the environment: one for all calls, so that connections are shared. Nobody
    /// is asked before the first.
    ///
    /// # Errors
    /// Those of settings of models.
    pub fn llm(&self) -> Result<Llm> {
        if let Some(llm) = self.llm.get() {
            return Ok(llm.clone());
        }
        let llm = Llm::new(&self.settings, |name| self.environment.get(name))?;
        Ok(self.llm.get_or_init(|| llm).clone())
    }

    /// The engine of the workspace.
    ///
    /// # Errors
    /// Those of settings of tools and models.
    pub fn open_engine(&self) -> Result<Engine> {
        self.open_engine_with(Some(Arc::new(self.new_hook_pool(|_| {}))), |_| {})
    }

    /// As [`OpenWorkspace::open_engine`], with `hooks` for its Python, which fails without them, and with its options as
    /// `change` leaves them.
    ///
    /// # Errors
    /// As [`OpenWorkspace::open_engine`].
    pub fn open_engine_with(
        &self,
        hooks: Option<Arc<dyn Hooks>>,
        change: impl FnOnce(&mut EngineOptions),
    ) -> Result<Engine> {
        let mut options = EngineOptions::from(&self.settings);
        let deadline = self.settings.get("limits.deadline");
        if self.process == ProcessKind::Daemon && deadline.is_none_or(|found| found.origin == Origin::Default)
        {
            options.limits.deadline = Some(DAEMON_DEADLINE);
        }
        change(&mut options);
        let tools = Toolbox::new(ToolSettings::from_settings(&self.settings)?);
        let mut builder = Engine::builder(&self.root.path).options(options);
        if let Some(state) = &self.state {
            builder = builder.state(state.clone());
        }
        if let Some(hooks) = hooks {
            builder = builder.hooks(hooks);
        }
        let builder = builder.trusted(self.trust.is_trusted()).store(self.store());
        Ok(builder.tools(Arc::new(tools)).model(Arc::new(self.llm()?)).open())
    }
}

/// Whether the user trusts the workspace; records that cannot be read trust nothing, and are told.
fn read_trust(
    state: Option<&StateDir>,
    root: &WorkspaceRoot,
    settings: Option<&str>,
) -> (TrustState, Option<Diagnostic>) {
    let never = TrustState::Untrusted { reason: Distrust::Never };
    match state.map(|state| Trust::new(state).state(&root.path, settings)) {
        None => (never, None),
        Some(Ok(known)) => (known, None),
        Some(Err(error)) => (never, Some(Diagnostic::error("trust.json", error))),
    }
}
