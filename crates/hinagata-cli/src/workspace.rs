//! The workspace that a command works in: its root, its settings, whether the user trusts it, its prompts.

use std::{
    env,
    path::{Path, PathBuf},
    sync::{Arc, Once},
};

use hinagata::{
    Catalog, Engine, ROOT_VARIABLE, Reason, WorkspaceRoot, exchange::Format as PromptFormat,
    secret::Redactor, source::ForeignPlace,
};
#[cfg(feature = "mcp")]
use hinagata_host::{Environment, ProcessKind};
use hinagata_host::{OpenOptions, OpenWorkspace};

use crate::{
    diagnostic::{Diagnostic, Level},
    failure::Failure,
    output::{self, Format},
    paths, python,
};

/// Options that every command takes.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Globals {
    /// The workspace root [default: HINAGATA_ROOT, or the nearest directory with hinagata.toml or user_data]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    root: Option<PathBuf>,

    /// Override a setting for this call; `hina config` lists all settings
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", help_heading = "Global options")]
    settings: Vec<String>,

    /// Print JSON
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,

    /// Disable colours; same as NO_COLOR
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) no_color: bool,

    /// Whether the workspace must be as it is locked.
    #[arg(skip)]
    frozen: bool,
}

/// The option of commands that can require the locked state.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct FrozenArgument {
    /// Fail if the workspace differs from hinagata.lock
    #[arg(long)]
    pub(crate) frozen: bool,
}

impl FrozenArgument {
    /// The options of a call that requires the locked state, if this one does.
    pub(crate) fn apply_to(self, globals: &Globals) -> Globals {
        Globals { frozen: globals.frozen || self.frozen, ..globals.clone() }
    }
}

impl Globals {
    /// Those of a call whose arguments could not be read, but for `--json`.
    pub(crate) fn for_scripts() -> Self {
        Self { json: true, ..Self::default() }
    }

    /// The workspace root; it may be no directory.
    pub(crate) fn root(&self) -> WorkspaceRoot {
        self.open_options().find_root(&current_directory())
    }

    /// How the workspace is opened.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions {
            root: self.root.clone(),
            settings: self.settings.clone(),
            frozen: self.frozen,
            ..OpenOptions::default()
        }
    }

    /// How the workspace is opened for a call of the prompt `name`.
    pub(crate) fn open_options_for(&self, name: &str, format: Option<PromptFormat>) -> OpenOptions {
        let named_files = named_file(name, format).into_iter().collect();
        OpenOptions { named_files, ..self.open_options() }
    }

    /// The workspace root as the call or the environment names it.
    pub(crate) fn named_root(&self) -> Option<PathBuf> {
        let variable = || env::var_os(ROOT_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        self.root.clone().or_else(variable)
    }

    /// The workspace root as the call names it.
    #[cfg(feature = "mcp")]
    pub(crate) fn named_by_flag(&self) -> Option<&std::path::Path> {
        self.root.as_deref()
    }

    /// The settings of the call, as `KEY=VALUE`.
    #[cfg(feature = "mcp")]
    pub(crate) fn settings(&self) -> &[String] {
        &self.settings
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

    /// The same with the workspace at `root`.
    #[cfg(feature = "mcp")]
    pub(crate) fn with_root(&self, root: PathBuf) -> Self {
        Self { root: Some(root), ..self.clone() }
    }

    /// The same with the workspace that the environment and the current directory lead to.
    pub(crate) fn without_root(&self) -> Self {
        Self { root: None, ..self.clone() }
    }
}

/// The current directory, or `.` if it was deleted.
pub(crate) fn current_directory() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

/// The file that `name` is the path of, if it is one: it has a slash, or it is a file with an ending.
fn named_file(name: &str, format: Option<PromptFormat>) -> Option<ForeignPlace> {
    let full = current_directory().join(name);
    let is_file = |path: &Path| path.is_file() && path.extension().is_some();
    let without_id = name.rsplit_once('#').map_or(name, |(file, _)| file);
    let path = if full.exists() { full } else { current_directory().join(without_id) };
    (name.contains(['/', '\\']) || is_file(&path)).then(|| ForeignPlace {
        path: path.display().to_string(),
        format,
        unknown_format: None,
        named: Some(name.to_owned()),
    })
}

/// The workspace of a call.
pub(crate) struct Workspace {
    pub(crate) host: Arc<OpenWorkspace>,
    json: bool,
    /// Whether the warning about an unreachable store was printed.
    store_reported: Once,
}

impl Workspace {
    /// Opens the workspace and prints warnings about its settings to standard error.
    pub(crate) fn open(globals: &Globals) -> Result<Self, Failure> {
        Self::open_as(globals, &globals.open_options(), |_| Ok(()))
    }

    /// As [`Workspace::open`], for a call of the prompt `name`, which may be the path of a file of another format. Such a
    /// file is read in place.
    pub(crate) fn open_for(
        globals: &Globals,
        name: &str,
        format: Option<PromptFormat>,
    ) -> Result<Self, Failure> {
        Self::open_as(globals, &globals.open_options_for(name, format), |_| Ok(()))
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
            found.iter().partition(|found| found.error.reason() == Some(Reason::Untrusted));
        others.into_iter().for_each(|found| workspace.print_warning(found));
        if let Some(problem) = &workspace.host.trust_problem {
            // The call continues without trust.
            let mut diagnostic = workspace.to_diagnostic(problem);
            diagnostic.level = Level::Warning;
            workspace.print_diagnostic(&diagnostic);
        }
        workspace.warn_untrusted(&untrusted);
        Ok(workspace)
    }

    /// Redacts the secrets of the files of one output, as the settings say.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(self.host.settings.secret_policy(self.host.trust.is_trusted()))
    }

    /// One warning for all settings that do not count: it is in the way of every call.
    fn warn_untrusted(&self, untrusted: &[&hinagata::Diagnostic]) {
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
            self.print_advice(
                format!("this workspace is not trusted; ignoring its {}", names.join(", ")),
                "`hina config` tells more; read hinagata.toml, then run `hina trust`",
            );
        }
    }

    /// Opens the workspace. The caller reports warnings about its settings.
    pub(crate) fn open_quietly(globals: &Globals) -> Result<Self, Failure> {
        Self::open_quietly_as(globals, &globals.open_options())
    }

    fn open_quietly_as(globals: &Globals, options: &OpenOptions) -> Result<Self, Failure> {
        let host = Arc::new(OpenWorkspace::open(options, &current_directory())?);
        Ok(Self { host, json: globals.json, store_reported: Once::new() })
    }

    /// The prompts of the workspace.
    pub(crate) fn open_catalog(&self) -> Catalog {
        self.report_store_problem();
        self.host.open_catalog()
    }

    /// The engine of the workspace.
    pub(crate) fn open_engine(&self) -> Result<Engine, Failure> {
        self.report_store_problem();
        Ok(self.host.open_engine_with(python::find_hooks(&self.host.settings, self.json), |_| {})?)
    }

    /// The engine of a process that stays.
    #[cfg(feature = "mcp")]
    pub(crate) fn daemon_engine(&self) -> Result<Engine, Failure> {
        self.report_store_problem();
        Ok(self.host.open_engine_with(python::logged_hooks(&self.host.settings), |_| {})?)
    }

    /// Warns once that the store is unreachable.
    fn report_store_problem(&self) {
        self.store_reported.call_once(|| {
            if let Some(problem) = self.host.store_problem() {
                self.print_warning(problem);
            }
        });
    }

    /// A path of the workspace as the user can open it.
    pub(crate) fn display_path(&self, name: &str) -> String {
        self.path_from(&current_directory(), name)
    }

    /// The path from `directory` of a file of the workspace; of others the name.
    pub(crate) fn path_from(&self, directory: &Path, name: &str) -> String {
        paths::display_path(&self.host.root.path, directory, name)
    }

    /// The diagnostic of a finding.
    pub(crate) fn to_diagnostic(&self, found: &hinagata::Diagnostic) -> Diagnostic {
        Diagnostic::from(found).map_paths(|name| self.display_path(name))
    }

    /// Whether it was reported when the store was opened. Every call finds it again.
    fn is_reported(&self, about: &str) -> bool {
        about == "store" && self.store_reported.is_completed() && self.host.store_problem().is_some()
    }

    /// Prints a finding to standard error.
    pub(crate) fn print_warning(&self, found: &hinagata::Diagnostic) {
        if !self.is_reported(&found.source) {
            self.print_diagnostic(&self.to_diagnostic(found));
        }
    }

    /// Prints the warnings of a call that are not part of the result.
    pub(crate) fn print_call_warning(&self, warning: &hinagata::Warning) {
        if self.is_reported(&warning.about) {
            return;
        }
        let mut diagnostic = Diagnostic::from(&warning.error).map_paths(|name| self.display_path(name));
        diagnostic.level = Level::Warning;
        // Several providers may fail alike.
        if warning.about.starts_with("provider ") && !diagnostic.message.contains(&warning.about) {
            diagnostic.message = format!("{}: {}", output::sanitize_text(&warning.about), diagnostic.message);
        }
        self.print_diagnostic(&diagnostic);
    }

    /// Warns about unreadable sources, whose prompts may be missing in a list.
    pub(crate) fn warn_unread(&self, catalog: &Catalog) {
        for found in catalog.unread_for_list() {
            let mut diagnostic = self.to_diagnostic(&found);
            diagnostic.level = Level::Warning;
            self.print_diagnostic(&diagnostic);
        }
    }

    /// Prints a warning with a hint.
    pub(crate) fn print_advice(&self, message: impl Into<String>, advice: impl Into<String>) {
        let mut diagnostic = Diagnostic::new("", crate::exit::Code::Success, message);
        diagnostic.level = Level::Warning;
        diagnostic.advice.push(advice.into());
        self.print_diagnostic(&diagnostic);
    }

    fn print_diagnostic(&self, diagnostic: &Diagnostic) {
        output::print_diagnostic(diagnostic, if self.json { Format::Json } else { Format::Text });
    }
}
