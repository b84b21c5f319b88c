//! The workspace that a command works in: its root, its settings, whether the user trusts it, its prompts.

use std::{
    env,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use hinagata::{
    Approvals, Catalog, CatalogOptions, Distrust, Engine, EngineOptions, ROOT_VARIABLE, Settings, StateDir,
    Trust, TrustState, WorkspaceRoot,
    ports::Store,
    settings::{SettingsSources, UserConfig},
};
use hinagata_tools::{ToolSettings, Toolbox};

use crate::{
    diagnostic::{Diagnostic, Level},
    failure::Failure,
    output, paths, python, store,
};

/// Options that every command takes.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Globals {
    /// The workspace root [default: HINAGATA_ROOT, or the nearest directory with hinagata.toml or user_data]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    root: Option<PathBuf>,

    /// Set a setting for this call; `hina config` lists them
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", help_heading = "Global options")]
    settings: Vec<String>,

    /// Print JSON instead of text for people
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,

    /// Print no colours, as NO_COLOR does
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) no_color: bool,
}

impl Globals {
    /// Those of a call whose arguments could not be read, but for `--json`.
    pub(crate) fn for_scripts() -> Self {
        Self { json: true, ..Self::default() }
    }

    /// The workspace root; it may be no directory.
    pub(crate) fn root(&self) -> WorkspaceRoot {
        WorkspaceRoot::find(self.root.as_deref(), env::var_os(ROOT_VARIABLE).as_deref(), &current_directory())
    }

    /// The workspace root as the call or the environment names it.
    pub(crate) fn named_root(&self) -> Option<PathBuf> {
        let variable = || env::var_os(ROOT_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        self.root.clone().or_else(variable)
    }

    /// The same with one more setting.
    pub(crate) fn with_settings(&self, more: impl IntoIterator<Item = String>) -> Self {
        let mut globals = self.clone();
        globals.settings.extend(more);
        globals
    }

    /// The same with the workspace that the environment and the current directory lead to.
    pub(crate) fn without_root(&self) -> Self {
        Self { root: None, ..self.clone() }
    }
}

/// The current directory; where it is gone, a relative path still says what was meant.
pub(crate) fn current_directory() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

/// The workspace of a call.
pub(crate) struct Workspace {
    pub(crate) root: WorkspaceRoot,
    pub(crate) settings: Settings,
    pub(crate) user_config: UserConfig,
    pub(crate) trust: TrustState,
    /// The content of its `hinagata.toml`.
    pub(crate) settings_text: Option<String>,
    /// Where the user's decisions are remembered, if anywhere.
    pub(crate) state: Option<StateDir>,
    json: bool,
    store: OnceLock<Arc<dyn Store>>,
}

impl Workspace {
    /// Opens the workspace and says on standard error what is odd about its settings.
    pub(crate) fn open(globals: &Globals) -> Result<Self, Failure> {
        let workspace = Self::open_quietly(globals)?;
        store::check(&workspace.settings)?;
        let found = workspace.settings.diagnostics();
        let (untrusted, others): (Vec<_>, Vec<_>) =
            found.iter().partition(|found| found.error.reason() == Some("untrusted"));
        others.into_iter().for_each(|found| workspace.warn(found));
        workspace.warn_of_distrust(&untrusted);
        Ok(workspace)
    }

    /// One warning for all settings that do not count: it is in the way of every call.
    fn warn_of_distrust(&self, untrusted: &[&hinagata::Diagnostic]) {
        let name = |found: &&hinagata::Diagnostic| {
            found
                .error
                .details()
                .get("setting")
                .and_then(|name| name.as_str())
                .map(|name| format!("`{name}`"))
        };
        let mut names: Vec<String> = untrusted.iter().filter_map(name).collect();
        names.dedup();
        if !names.is_empty() {
            self.remark(
                format!("you do not trust this workspace, so its {} do not count", names.join(", ")),
                "`hina config` tells more; read hinagata.toml, then run `hina trust`",
            );
        }
    }

    /// Opens the workspace; what is odd about its settings is left to the caller.
    pub(crate) fn open_quietly(globals: &Globals) -> Result<Self, Failure> {
        let root = globals.root().existing()?;
        let user_config = UserConfig::find(|name| env::var_os(name));
        let mut sources = SettingsSources::read(&root.path, &user_config)?;
        sources.environment = env::vars_os().collect();
        sources.flags.clone_from(&globals.settings);
        let settings_text = sources.workspace.as_ref().map(|file| file.text.clone());
        let state = StateDir::of_user().ok();
        let trust = trust(state.as_ref(), &root, settings_text.as_deref());
        let settings = Settings::resolve(&sources, trust.is_trusted())?;
        Ok(Self {
            root,
            settings,
            user_config,
            trust,
            settings_text,
            state,
            json: globals.json,
            store: OnceLock::new(),
        })
    }

    /// The prompts of the workspace.
    pub(crate) fn catalog(&self) -> Catalog {
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

    /// The store, opened when it is first needed.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.store.get_or_init(|| store::open(self)))
    }

    /// The engine of the workspace.
    pub(crate) fn engine(&self) -> Result<Engine, Failure> {
        let options = EngineOptions::from(&self.settings);
        let builder = Engine::builder(&self.root.path).options(options).approvals(self.approvals());
        let hooks = Arc::new(python::pool(&self.settings, self.json));
        let tools = Arc::new(Toolbox::new(ToolSettings::read(&self.settings)?));
        Ok(builder.trusted(self.trust.is_trusted()).hooks(hooks).tools(tools).store(self.store()).open())
    }

    /// A path of the workspace as the user can open it.
    pub(crate) fn shown(&self, name: &str) -> String {
        paths::shown(&self.root.path, &current_directory(), name)
    }

    /// A finding as it is told.
    pub(crate) fn finding(&self, found: &hinagata::Diagnostic) -> Diagnostic {
        Diagnostic::from(found).shown(|name| self.shown(name))
    }

    /// Tells people of a finding; scripts are told by what they ask for.
    pub(crate) fn warn(&self, found: &hinagata::Diagnostic) {
        if !self.json {
            output::talk(&self.finding(found).text());
        }
    }

    /// Tells people of something that is no failure.
    pub(crate) fn remark(&self, message: impl Into<String>, advice: impl Into<String>) {
        if !self.json {
            let mut diagnostic = Diagnostic::new("", crate::exit::Code::Fine, message);
            diagnostic.level = Level::Warning;
            diagnostic.advice.push(advice.into());
            output::talk(&diagnostic.text());
        }
    }
}

/// Whether the user trusts the workspace; records that cannot be read trust nothing.
fn trust(state: Option<&StateDir>, root: &WorkspaceRoot, settings: Option<&str>) -> TrustState {
    let known = state.and_then(|state| Trust::new(state).state(&root.path, settings).ok());
    known.unwrap_or(TrustState::Untrusted { reason: Distrust::Never })
}
