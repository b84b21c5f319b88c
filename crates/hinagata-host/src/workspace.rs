//! A workspace on disk, opened: its root, its settings, its trust, and the engine that they describe.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use hinagata::{
    Approvals, Catalog, CatalogOptions, Code, Diagnostic, Distrust, Engine, EngineOptions, Error, Hint,
    Library, ROOT_VARIABLE, Reason, Result, Settings, StateDir, Trust, TrustState, WorkspaceRoot,
    ports::{Clock, Guard, Hooks, Store},
    settings::{Origin, SettingsSources, UserConfig},
    source::ForeignPlace,
};
use hinagata_agent::ProjectPacker;
#[cfg(feature = "llm")]
use hinagata_llm::Llm;
#[cfg(feature = "python")]
use hinagata_python::{HookOptions, HookPool};
#[cfg(feature = "tools")]
use hinagata_tools::{ToolSettings, Toolbox};

#[cfg(feature = "tools")]
use crate::locked_tools::LockedTools;
use crate::{
    environment::Environment,
    lock_guard::LockGuard,
    store::{self, OpenStore},
};

/// The deadline of a render in a daemon, unless the settings set one: a caller is waiting, and other callers behind it.
const DAEMON_DEADLINE: Duration = Duration::from_millis(500);

/// How to open a workspace.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The workspace root. Without it, the environment and the current directory decide.
    pub root: Option<PathBuf>,
    /// Settings of this process, as `section.key=value`. They override all other settings.
    pub settings: Vec<String>,
    /// Whether this process trusts the workspace, whatever the user's record says.
    pub trusted: bool,
    /// How long the process lives.
    pub process: ProcessKind,
    /// Files of other formats that the call names, read in place.
    pub named_files: Vec<ForeignPlace>,
    /// The environment variables that the workspace sees.
    pub environment: Environment,
    /// Whether renders fail where the workspace differs from its lock.
    pub frozen: bool,
}

/// How long a process lives: it decides about timeouts, watching and deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessKind {
    /// One command: a person is waiting for it.
    #[default]
    Command,
    /// A process that stays: it notices changes of the store and waits for a store that is unavailable.
    Daemon,
}

impl ProcessKind {
    /// How long to wait for a store server.
    #[cfg(feature = "redis")]
    pub(crate) const fn store_timeout(self) -> Duration {
        match self {
            Self::Command => Duration::from_secs(3),
            Self::Daemon => Duration::from_secs(5),
        }
    }
}

impl OpenOptions {
    /// The workspace root. It is not checked to be a directory.
    #[must_use]
    pub fn find_root(&self, current_directory: &Path) -> WorkspaceRoot {
        let variable = self.environment.get(ROOT_VARIABLE);
        WorkspaceRoot::find(self.root.as_deref(), variable.as_deref(), current_directory)
    }
}

/// An open workspace, with everything that its settings ask for.
pub struct OpenWorkspace {
    /// The workspace root, and how it was found.
    pub root: WorkspaceRoot,
    /// The settings, each with its origin.
    pub settings: Settings,
    /// The file with the user's own settings.
    pub user_config: UserConfig,
    /// Whether the user trusts the workspace.
    pub trust: TrustState,
    /// Why the trust could not be read. The workspace is untrusted then.
    pub trust_problem: Option<Diagnostic>,
    /// The values of settings that require trust.
    pub privileged_settings: Option<String>,
    /// The libraries that the settings name, each with the user's trust in it.
    pub libraries: Vec<Library>,
    /// The directory that records the user's decisions.
    pub state: Option<StateDir>,
    sources: SettingsSources,
    process: ProcessKind,
    named_files: Vec<ForeignPlace>,
    store: OnceLock<OpenStore>,
    #[cfg(feature = "llm")]
    llm: OnceLock<Llm>,
    environment: Environment,
    is_trusted_here: bool,
    clock: Option<Arc<dyn Clock>>,
    lock: Option<Arc<LockGuard>>,
}

impl OpenWorkspace {
    /// Opens the workspace. [`Settings::diagnostics`] reports problems of single settings.
    ///
    /// # Errors
    /// The root is not a directory, or a settings file cannot be read.
    pub fn open(options: &OpenOptions, current_directory: &Path) -> Result<Self> {
        let root = options.find_root(current_directory).require_directory()?;
        let environment = options.environment.clone();
        let user_config = UserConfig::find(|name| environment.get(name));
        let mut sources = SettingsSources::read(&root.path, &user_config)?;
        sources.environment = environment.to_pairs();
        sources.flags.clone_from(&options.settings);
        let privileged_settings = sources.privileged_text();
        let state = StateDir::find(|name| environment.get(name), environment.home_directory()).ok();
        let (trust, trust_problem) = match options.trusted {
            true => (TrustState::Trusted, None),
            false => read_trust(state.as_ref(), &root.path, privileged_settings.as_deref()),
        };
        let settings = Settings::resolve(&sources, trust.is_trusted())?;
        let libraries = settings.library_roots().into_iter().map(|path| {
            read_library(library_root(&path, &root.path, environment.home_directory()), state.as_ref())
        });
        let libraries = libraries.collect();
        let lock = options.frozen.then(|| LockGuard::open(&root.path, &settings)).transpose()?.map(Arc::new);
        Ok(Self {
            root,
            settings,
            user_config,
            trust,
            trust_problem,
            privileged_settings,
            libraries,
            state,
            sources,
            process: options.process,
            named_files: options.named_files.clone(),
            store: OnceLock::new(),
            #[cfg(feature = "llm")]
            llm: OnceLock::new(),
            environment,
            is_trusted_here: options.trusted,
            clock: None,
            lock,
        })
    }

    /// Checks that the prompts of `catalog` are those of the lock, if the workspace is frozen.
    ///
    /// # Errors
    /// Code `lock`, naming what differs.
    pub fn check_lock(&self, catalog: &Catalog) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), |lock| lock.check_catalog(catalog))
    }

    /// Whether only what is locked may be rendered.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.lock.is_some()
    }

    /// Opens the workspace again, as it was opened: the same root, flags and environment, with files as they are now. The
    /// result has its own store and models, which are opened on first use.
    ///
    /// # Errors
    /// As [`OpenWorkspace::open`].
    pub fn reopen(&self) -> Result<Self> {
        let options = OpenOptions {
            root: Some(self.root.path.clone()),
            settings: self.sources.flags.clone(),
            trusted: self.is_trusted_here,
            process: self.process,
            named_files: self.named_files.clone(),
            environment: self.environment.clone(),
            frozen: self.lock.is_some(),
        };
        let again = Self::open(&options, &self.root.path)?;
        Ok(Self { clock: self.clock.clone(), ..again })
    }

    /// Takes the time from `clock` instead of the operating system.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Uses `store` instead of the store that the settings name.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = OnceLock::from(OpenStore { store, problem: None });
        self
    }

    /// The settings as they would be if the user trusted the workspace, from the files as they were read.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn settings_if_trusted(&self) -> Result<Settings> {
        Settings::resolve(&self.sources, true)
    }

    /// Checks that the workspace may be served to others: every setting about access is in effect.
    ///
    /// A removed key leaves no trace in the settings; only the recorded trust shows that it existed. So changed
    /// settings are refused even where nothing of them is left.
    ///
    /// # Errors
    /// Code `approval` for settings without effect, `definition` for unknown names, `store` when the trust cannot be
    /// read.
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
            .with_reason(Reason::Untrusted)
            .with_hint(Hint::TrustWorkspace.then(Hint::RevokeTrust)));
        }
        self.settings.check_left_out(&["server", "keys", "store"])
    }

    /// Checks that the settings of the store are in effect: another store would serve other prompts.
    ///
    /// # Errors
    /// As [`OpenWorkspace::check_serving`].
    pub fn check_store_settings(&self) -> Result<()> {
        self.settings.check_names(Some(&["store"]))?;
        self.settings.check_left_out(&["store"])
    }

    /// Checks that the settings name a usable store.
    ///
    /// # Errors
    /// Code `store` or `definition` for an invalid store URL.
    pub fn check_store(&self) -> Result<()> {
        store::check_settings(&self.settings, self.process)
    }

    /// Opens a catalog of all prompts of the workspace.
    #[must_use]
    pub fn open_catalog(&self) -> Catalog {
        Catalog::open(CatalogOptions {
            paths: self.settings.catalog_paths(),
            foreign: self.foreign_places(),
            libraries: self.libraries.clone(),
            approvals: self.approvals(),
            store: Some(self.store().snapshot()),
            serve_stale: self.settings.is_on("store.serve_stale"),
            ..CatalogOptions::new(&self.root.path)
        })
    }

    /// The places with prompts of other formats: those of the settings, and the files that the call names.
    fn foreign_places(&self) -> Vec<ForeignPlace> {
        let mut places = ForeignPlace::from_settings(&self.settings);
        places.extend(self.named_files.iter().cloned());
        places
    }

    /// The approvals of packs; none without a state directory.
    fn approvals(&self) -> Approvals {
        self.state.as_ref().map_or_else(Approvals::default, |state| Approvals::load(state, &self.root.path))
    }

    fn open_store(&self) -> &OpenStore {
        self.store.get_or_init(|| OpenStore::new(&self.root.path, &self.settings, self.process))
    }

    /// The store, opened on first use. [`OpenWorkspace::store_problem`] reports a store that is unavailable; everything
    /// that does not need the store works without it.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.open_store().store)
    }

    /// Why the store did not answer when it was opened.
    #[must_use]
    pub fn store_problem(&self) -> Option<&Diagnostic> {
        self.open_store().problem.as_ref()
    }

    /// Creates a pool that runs Python as the settings say. It starts no process before a hook or a variable provider
    /// runs.
    #[cfg(feature = "python")]
    #[must_use]
    pub fn new_hook_pool(&self, change: impl FnOnce(&mut HookOptions)) -> HookPool {
        let mut options = HookOptions::from(&self.settings);
        change(&mut options);
        HookPool::new(options)
    }

    /// The models of the workspace, with the API keys from the environment. All callers share one instance and its
    /// connections; it opens no connection before the first request.
    ///
    /// # Errors
    /// A setting of models is invalid.
    #[cfg(feature = "llm")]
    pub fn llm(&self) -> Result<Llm> {
        if let Some(llm) = self.llm.get() {
            return Ok(llm.clone());
        }
        let llm = Llm::for_workspace(&self.settings, &self.root.path, |name| self.environment.get(name))?;
        Ok(self.llm.get_or_init(|| llm).clone())
    }

    /// Opens the engine of the workspace, with its store, Python, tools and models.
    ///
    /// # Errors
    /// A setting of tools or models is invalid.
    pub fn open_engine(&self) -> Result<Engine> {
        #[cfg(feature = "python")]
        let hooks: Option<Arc<dyn Hooks>> = Some(Arc::new(self.new_hook_pool(|_| {})));
        #[cfg(not(feature = "python"))]
        let hooks = None;
        self.open_engine_with(hooks, |_| {})
    }

    /// As [`OpenWorkspace::open_engine`], with `hooks` to run Python and with options that `change` adjusts. Without
    /// `hooks`, prompts that need Python fail.
    ///
    /// # Errors
    /// As [`OpenWorkspace::open_engine`].
    pub fn open_engine_with(
        &self,
        hooks: Option<Arc<dyn Hooks>>,
        change: impl FnOnce(&mut EngineOptions),
    ) -> Result<Engine> {
        let mut options = EngineOptions {
            libraries: self.libraries.clone(),
            foreign: self.foreign_places(),
            ..EngineOptions::from(&self.settings)
        };
        let deadline = self.settings.get("limits.deadline");
        if self.process == ProcessKind::Daemon && deadline.is_none_or(|found| found.origin == Origin::Default)
        {
            options.limits.deadline = Some(DAEMON_DEADLINE);
        }
        change(&mut options);
        let mut builder = Engine::builder(&self.root.path).with_options(options);
        if let Some(state) = &self.state {
            builder = builder.with_state_dir(state.clone());
        }
        let trusted = self.trust.is_trusted();
        let project_reader = Arc::new(ProjectPacker::new(&self.settings, trusted));
        builder = builder.with_trust(trusted).with_store(self.store()).with_project_reader(project_reader);
        if let Some(hooks) = hooks {
            builder = builder.with_hooks(hooks);
        }
        if let Some(clock) = &self.clock {
            builder = builder.with_clock(Arc::clone(clock));
        }
        if let Some(lock) = &self.lock {
            builder = builder.with_guard(Arc::clone(lock) as Arc<dyn Guard>);
        }
        #[cfg(feature = "tools")]
        {
            let tools = Arc::new(Toolbox::new(ToolSettings::from_settings(&self.settings)?));
            builder = match &self.lock {
                Some(lock) => builder.with_tools(Arc::new(LockedTools::new(tools, Arc::clone(lock)))),
                None => builder.with_tools(tools),
            };
        }
        #[cfg(feature = "llm")]
        {
            builder = builder.with_model(Arc::new(self.llm()?));
        }
        Ok(builder.open())
    }
}

/// Whether the user trusts the workspace. A record that cannot be read grants no trust and is reported.
fn read_trust(
    state: Option<&StateDir>,
    root: &Path,
    settings: Option<&str>,
) -> (TrustState, Option<Diagnostic>) {
    let never = TrustState::Untrusted { reason: Distrust::Never };
    match state.map(|state| Trust::new(state).state(root, settings)) {
        None => (never, None),
        Some(Ok(known)) => (known, None),
        Some(Err(error)) => (never, Some(Diagnostic::error("trust.json", error))),
    }
}

/// The root of a library as the settings write it: absolute, beneath the home directory as `~/…`, or relative to the
/// workspace root.
fn library_root(path: &str, workspace: &Path, home: Option<PathBuf>) -> PathBuf {
    match (path.strip_prefix("~").filter(|rest| rest.is_empty() || rest.starts_with('/')), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ if Path::new(path).is_absolute() => PathBuf::from(path),
        // Sources are paths that users read, so they have no `..`.
        _ => workspace.join(path).canonicalize().unwrap_or_else(|_| workspace.join(path)),
    }
}

/// The library at `root`: of its settings, only the directories of its prompts count. If they cannot be read, neither do
/// these directories, and the library is not trusted.
fn read_library(root: PathBuf, state: Option<&StateDir>) -> Library {
    let no_user = UserConfig { path: None, named: false };
    let read = SettingsSources::read(&root, &no_user).and_then(|sources| {
        let (trust, problem) = read_trust(state, &root, sources.privileged_text().as_deref());
        let settings = Settings::resolve(&sources, trust.is_trusted())?;
        Ok((settings.catalog_paths(), trust.is_trusted(), problem.map(|found| found.error)))
    });
    match read {
        Ok((paths, trusted, problem)) => Library { root, paths, trusted, problem },
        Err(error) => {
            let shown = root.display().to_string();
            let error = error.map_message(|message| {
                format!("the settings of the library `{shown}` are ignored, and it is not trusted: {message}")
            });
            Library { root, paths: Vec::new(), trusted: false, problem: Some(error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::SystemTime};

    use super::*;

    /// A workspace `work` beside a library `home/prompts`, whose settings have this text.
    fn places(settings: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        for directory in ["work", "home/prompts/more"] {
            fs::create_dir_all(place.path().join(directory)).expect("made");
        }
        fs::write(place.path().join("home/prompts/hinagata.toml"), settings).expect("written");
        place
    }

    fn open(place: &Path, setting: &str) -> OpenWorkspace {
        let environment = Environment::without_variables()
            .with_variable("HOME", place.join("home"))
            .with_variable(StateDir::VARIABLE, place.join("state"));
        let options = OpenOptions {
            root: Some(place.join("work")),
            settings: vec![format!("catalog.libraries={setting}")],
            environment,
            ..OpenOptions::default()
        };
        OpenWorkspace::open(&options, place).expect("opens")
    }

    #[test]
    fn a_library_is_named_from_the_home_directory_the_root_or_the_workspace() {
        let place = places("");
        let library = place.path().join("home/prompts");
        for written in ["~/prompts", &library.display().to_string(), "../home/prompts", "~/prompts/"] {
            let found = open(place.path(), written);
            let real = found.libraries[0].root.canonicalize().expect("is there");
            assert_eq!(real, library.canonicalize().expect("is there"), "{written}");
            assert!(!found.libraries[0].root.display().to_string().contains(".."), "{written}");
        }
        assert!(open(place.path(), "").libraries.is_empty());
        assert_eq!(open(place.path(), "~other/x").libraries[0].root, place.path().join("work/~other/x"));
    }

    #[test]
    fn a_library_has_its_own_trust_and_directories() {
        let settings = "[catalog]\npaths = [\"more\"]\n[hooks]\nallowed_hosts = [\"example.com\"]\n";
        let place = places(settings);
        let library = || open(place.path(), "~/prompts").libraries.remove(0);
        assert_eq!((library().trusted, library().paths), (false, vec!["more".to_owned()]));
        let root = place.path().join("home/prompts");
        let no_user = UserConfig { path: None, named: false };
        let privileged = SettingsSources::read(&root, &no_user).expect("reads").privileged_text();
        let trust = Trust::new(&StateDir::from_path(place.path().join("state")));
        trust.record(&place.path().join("work"), None, SystemTime::now()).expect("is written");
        assert!(!library().trusted, "that is the trust in the workspace");
        trust.record(&root, privileged.as_deref(), SystemTime::now()).expect("is written");
        assert!(library().trusted);
        let opened = open(place.path(), "~/prompts");
        assert_eq!(
            opened.settings.texts("hooks.allowed_hosts"),
            [] as [&str; 0],
            "its settings do not count"
        );
        fs::write(root.join("hinagata.toml"), settings.replace("example.com", "example.org"))
            .expect("written");
        assert!(!library().trusted, "its settings changed");
    }

    #[test]
    fn a_process_can_trust_a_workspace_that_its_user_does_not() {
        let place = places("");
        fs::write(place.path().join("work/hinagata.toml"), "[hooks]\nallowed_hosts = [\"example.com\"]\n")
            .expect("written");
        let open = |trusted| {
            let environment =
                Environment::without_variables().with_variable("HOME", place.path().join("home"));
            let root = Some(place.path().join("work"));
            let options = OpenOptions { root, trusted, environment, ..OpenOptions::default() };
            OpenWorkspace::open(&options, place.path()).expect("opens")
        };
        assert!(!open(false).trust.is_trusted());
        assert_eq!(open(false).settings.texts("hooks.allowed_hosts"), [] as [&str; 0]);
        let trusted = open(true);
        assert!(trusted.trust.is_trusted() && trusted.reopen().expect("opens").trust.is_trusted());
        assert_eq!(trusted.settings.texts("hooks.allowed_hosts"), ["example.com"]);
    }

    #[test]
    fn a_library_whose_settings_are_broken_is_reported_and_not_trusted() {
        let place = places("[catalog\n");
        let trust = Trust::new(&StateDir::from_path(place.path().join("state")));
        trust.record(&place.path().join("home/prompts"), None, SystemTime::now()).expect("is written");
        let opened = open(place.path(), "~/prompts");
        let library = &opened.libraries[0];
        assert!(!library.trusted && library.paths.is_empty());
        let problem = library.problem.as_ref().expect("is reported");
        assert!(problem.message().contains("are ignored, and it is not trusted"), "{problem:?}");
        let found = opened.open_catalog().diagnostics();
        assert!(found.iter().any(|found| found.error.message() == problem.message()), "{found:?}");
    }
}
