//! The workspace that a command works in: its root, its settings, whether the user trusts it, its prompts.

use std::{
    env,
    path::PathBuf,
    sync::{Arc, Once},
};

use hinagata::{Catalog, Engine, ROOT_VARIABLE, WorkspaceRoot};
#[cfg(feature = "mcp")]
use hinagata_host::{Environment, ProcessKind};
use hinagata_host::{OpenOptions, OpenWorkspace};
use serde_json::json;

use crate::{
    diagnostic::{Diagnostic, Level},
    failure::Failure,
    output, paths, python,
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
        self.open_options().root(&current_directory())
    }

    /// How the workspace is opened.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions { root: self.root.clone(), settings: self.settings.clone(), ..OpenOptions::default() }
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

    /// The same with settings that those of the call win over.
    #[cfg(feature = "server")]
    pub(crate) fn below_settings(&self, more: impl IntoIterator<Item = String>) -> Self {
        let mut globals = self.clone();
        globals.settings = more.into_iter().chain(globals.settings).collect();
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
    pub(crate) host: Arc<OpenWorkspace>,
    json: bool,
    /// Whether people were told that the store does not answer.
    told: Once,
}

impl Workspace {
    /// Opens the workspace and says on standard error what is odd about its settings.
    pub(crate) fn open(globals: &Globals) -> Result<Self, Failure> {
        Self::open_as(globals, &globals.open_options(), |_| Ok(()))
    }

    /// Opens the workspace for a process that stays, if its settings are such that it may serve.
    #[cfg(feature = "mcp")]
    pub(crate) fn open_daemon(
        globals: &Globals,
        environment: Environment,
        may_serve: fn(&OpenWorkspace) -> hinagata::Result<()>,
    ) -> Result<Self, Failure> {
        let options = OpenOptions { process: ProcessKind::Daemon, environment, ..globals.open_options() };
        Self::open_as(globals, &options, may_serve)
    }

    fn open_as(
        globals: &Globals,
        options: &OpenOptions,
        may_go_on: fn(&OpenWorkspace) -> hinagata::Result<()>,
    ) -> Result<Self, Failure> {
        let workspace = Self::open_quietly_as(globals, options)?;
        may_go_on(&workspace.host)?;
        workspace.host.check_store()?;
        let found = workspace.host.settings.diagnostics();
        let (untrusted, others): (Vec<_>, Vec<_>) =
            found.iter().partition(|found| found.error.reason() == Some("untrusted"));
        others.into_iter().for_each(|found| workspace.warn(found));
        if let Some(problem) = &workspace.host.trust_problem {
            // The call goes on without trust.
            let mut diagnostic = workspace.finding(problem);
            diagnostic.level = Level::Warning;
            workspace.talk(&diagnostic);
        }
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
        Self::open_quietly_as(globals, &globals.open_options())
    }

    fn open_quietly_as(globals: &Globals, options: &OpenOptions) -> Result<Self, Failure> {
        let host = Arc::new(OpenWorkspace::open(options, &current_directory())?);
        Ok(Self { host, json: globals.json, told: Once::new() })
    }

    /// The prompts of the workspace.
    pub(crate) fn catalog(&self) -> Catalog {
        self.tell_of_store();
        self.host.open_catalog()
    }

    /// The engine of the workspace.
    pub(crate) fn engine(&self) -> Result<Engine, Failure> {
        self.tell_of_store();
        Ok(self.host.open_engine_with(python::hooks(&self.host.settings, self.json), |_| {})?)
    }

    /// The engine of a process that stays.
    #[cfg(feature = "mcp")]
    pub(crate) fn daemon_engine(&self) -> Result<Engine, Failure> {
        self.tell_of_store();
        Ok(self.host.open_engine_with(python::logged_hooks(&self.host.settings), |_| {})?)
    }

    /// Tells once that the store does not answer.
    fn tell_of_store(&self) {
        self.told.call_once(|| {
            if let Some(problem) = self.host.store_problem() {
                self.warn(problem);
            }
        });
    }

    /// A path of the workspace as the user can open it.
    pub(crate) fn shown(&self, name: &str) -> String {
        paths::shown(&self.host.root.path, &current_directory(), name)
    }

    /// A finding as it is told.
    pub(crate) fn finding(&self, found: &hinagata::Diagnostic) -> Diagnostic {
        Diagnostic::from(found).shown(|name| self.shown(name))
    }

    /// Whether it was told when the store was opened; every call finds it again.
    fn is_told(&self, about: &str) -> bool {
        about == "store" && self.told.is_completed() && self.host.store_problem().is_some()
    }

    /// Tells of a finding on standard error.
    pub(crate) fn warn(&self, found: &hinagata::Diagnostic) {
        if !self.is_told(&found.source) {
            self.talk(&self.finding(found));
        }
    }

    /// Tells of what went wrong in a call and did not stop it, where the result has no room for it.
    pub(crate) fn warn_of_call(&self, warning: &hinagata::Warning) {
        if self.is_told(&warning.about) {
            return;
        }
        let mut diagnostic = Diagnostic::from(&warning.error).shown(|name| self.shown(name));
        diagnostic.level = Level::Warning;
        // Several providers may fail alike.
        if warning.about.starts_with("provider ") && !diagnostic.message.contains(&warning.about) {
            diagnostic.message = format!("{}: {}", output::clean(&warning.about), diagnostic.message);
        }
        self.talk(&diagnostic);
    }

    /// Tells of what could not be read and may be missing in a list of prompts.
    pub(crate) fn tell_unread(&self, catalog: &Catalog) {
        for found in catalog.unread() {
            let mut diagnostic = self.finding(&found);
            diagnostic.level = Level::Warning;
            self.talk(&diagnostic);
        }
    }

    /// Tells of something that is no failure.
    pub(crate) fn remark(&self, message: impl Into<String>, advice: impl Into<String>) {
        let mut diagnostic = Diagnostic::new("", crate::exit::Code::Fine, message);
        diagnostic.level = Level::Warning;
        diagnostic.advice.push(advice.into());
        self.talk(&diagnostic);
    }

    /// Scripts read a line of JSON.
    fn talk(&self, diagnostic: &Diagnostic) {
        match self.json {
            false => output::talk(&diagnostic.text()),
            true => output::talk(&format!("{}\n", json!({diagnostic.level.as_str(): diagnostic.json()}))),
        }
    }
}
