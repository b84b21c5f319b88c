//! The workspace of a process: its root, its settings, whether the user trusts it, its prompts.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use hinagata::{
    Approvals, Catalog, CatalogOptions, Code, Diagnostic, Distrust, Engine, EngineOptions, Error,
    ROOT_VARIABLE, Result, Settings, StateDir, Trust, TrustState, WorkspaceRoot,
    ports::Store,
    settings::{SettingsSources, UserConfig},
};
use hinagata_llm::Llm;
use hinagata_python::{HookOptions, HookPool};
use hinagata_tools::{ToolSettings, Toolbox};

use crate::store::{self, OpenStore};

/// How a workspace is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The root, where it is named.
    pub root: Option<PathBuf>,
    /// Settings of this process, as `section.key=value`.
    pub settings: Vec<String>,
    /// How long the process lives.
    pub process: ProcessKind,
    /// Variables that stand before those of the environment, where models look for theirs.
    pub environment: Vec<(&'static str, String)>,
}

/// How a process waits for its store.
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
        WorkspaceRoot::find(self.root.as_deref(), env::var_os(ROOT_VARIABLE).as_deref(), current_directory)
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
    environment: Vec<(&'static str, String)>,
}

impl OpenWorkspace {
    /// Opens the workspace; what is odd about its settings is told by them.
    ///
    /// # Errors
    /// Those of a root that is no directory and of settings that cannot be read.
    pub fn open(options: &OpenOptions, current_directory: &Path) -> Result<Self> {
        let root = options.root(current_directory).existing()?;
        let user_config = UserConfig::find(|name| env::var_os(name));
        let mut sources = SettingsSources::read(&root.path, &user_config)?;
        sources.environment = env::vars_os().collect::<Vec<(OsString, OsString)>>();
        sources.flags.clone_from(&options.settings);
        let privileged_settings = sources.privileged_text();
        let state = StateDir::of_user().ok();
        let (trust, trust_problem) = read_trust(state.as_ref(), &root, privileged_settings.as_deref());
        let settings = Settings::resolve(&sources, trust.is_trusted())?;
        let (process, store, llm) = (options.process, OnceLock::new(), OnceLock::new());
        let environment = options.environment.clone();
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
                "the settings of this workspace are not those that you trusted, so nobody is served by them",
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
        let given = |name: &str| self.environment.iter().find(|(known, _)| *known == name);
        let llm = Llm::new(&self.settings, |name| {
            given(name).map(|(_, value)| value.into()).or_else(|| env::var_os(name))
        })?;
        Ok(self.llm.get_or_init(|| llm).clone())
    }

    /// The engine of the workspace; `hooks` runs its Python.
    ///
    /// # Errors
    /// Those of settings of tools and models.
    pub fn open_engine(&self, hooks: HookPool) -> Result<Engine> {
        self.open_engine_with(hooks, |_| {})
    }

    /// As [`OpenWorkspace::open_engine`], with its options as `change` leaves them.
    ///
    /// # Errors
    /// As [`OpenWorkspace::open_engine`].
    pub fn open_engine_with(
        &self,
        hooks: HookPool,
        change: impl FnOnce(&mut EngineOptions),
    ) -> Result<Engine> {
        let mut options = EngineOptions::from(&self.settings);
        change(&mut options);
        let tools = Toolbox::new(ToolSettings::from_settings(&self.settings)?);
        let mut builder = Engine::builder(&self.root.path).options(options);
        if let Some(state) = &self.state {
            builder = builder.state(state.clone());
        }
        let builder = builder.trusted(self.trust.is_trusted()).store(self.store());
        Ok(builder.hooks(Arc::new(hooks)).tools(Arc::new(tools)).model(Arc::new(self.llm()?)).open())
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
