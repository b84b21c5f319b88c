//! `hina mcp install`: enters this program into the file of a host.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use hinagata::RootFound;
use serde_json::{Value, json};

use super::{
    config_file::ConfigFile,
    entry::Server,
    hosts::{HOSTS, HostSpec, Scope, Surroundings},
    skills,
};
use crate::{
    difference::unified_diff_text,
    exit,
    failure::Failure,
    output::{self, Format},
    terminal,
    workspace::Globals,
};

/// Enter the prompts into an MCP host
///
/// Shows the change of the host's file, asks, and writes it; comments, order and indentation of the rest stay as they
/// are. Without a terminal it requires --yes. The exit code is 6 if the change was shown and nothing was written.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The host: claude-code, claude-desktop, cursor, vscode, gemini-cli, qwen-code, opencode or zed
    #[arg(required_unless_present_any = ["list", "out"])]
    pub(super) host: Option<String>,

    /// For whom: all projects of the user, or the project in the current directory
    #[arg(long, value_enum, default_value = "user")]
    pub(super) scope: Scope,

    /// The name of the entry
    #[arg(long, default_value = "prompts")]
    name: String,

    /// Offer prompts as tools too
    #[arg(long, conflicts_with = "url")]
    tools: bool,

    /// Enter the workspace as a library, beside the prompts of the project that the host works in
    #[arg(long, conflicts_with_all = ["url", "skills", "remove"])]
    library: bool,

    /// Connect to a running `hina serve` at this address instead of starting a program
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The environment variable with the key of the daemon
    #[arg(long, value_name = "NAME", requires = "url")]
    key_env: Option<String>,

    /// Write each prompt as an Agent Skill into the skills directory of the host, instead of an entry
    #[arg(long, conflicts_with_all = ["url", "tools"])]
    pub(super) skills: bool,

    /// The directory for the skills, instead of the host's
    #[arg(long, value_name = "DIR", requires = "skills", conflicts_with_all = ["scope", "host"])]
    pub(super) out: Option<PathBuf>,

    /// Remove the entry, or the skills
    #[arg(long, conflicts_with_all = ["url", "tools"])]
    pub(super) remove: bool,

    /// Show the change and write nothing
    #[arg(long)]
    pub(super) print: bool,

    /// Skip the confirmation
    #[arg(long, short, conflicts_with = "print")]
    pub(super) yes: bool,

    /// List the hosts, their files, and whether an entry is there
    #[arg(long, conflicts_with_all = ["host", "url", "tools", "library", "skills", "remove", "print", "yes"])]
    list: bool,
}

const EXAMPLES: &str = "Examples:
  hina mcp install claude-code
  hina mcp install claude-code --root ~/prompts --library
  hina mcp install cursor --scope project --root prompts
  hina mcp install gemini-cli --url http://127.0.0.1:8700/mcp --key-env HINAGATA_KEY
  hina mcp install claude-code --skills
  hina mcp install zed --remove
  hina mcp install --list";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let surroundings = Surroundings::from_process()?;
    if arguments.list {
        return print_list(&surroundings, &arguments.name, globals);
    }
    let host = arguments.host.as_deref().map(HostSpec::from_name).transpose()?;
    if arguments.skills {
        return skills::run(arguments, host, &surroundings, globals);
    }
    let Some(host) = host else { return Err(Failure::usage_error("name a host")) };
    check_name(&arguments.name)?;
    let path = surroundings.config_file(host, arguments.scope).ok_or_else(|| no_project_file(host))?;
    let file = ConfigFile::read(host, arguments.scope, path)?;
    let new = match arguments.remove {
        true => NewEntry { entry: None, key: None, warnings: Vec::new() },
        false => new_entry(host, arguments, &surroundings, globals)?,
    };
    let change = Change::from_file(&file, &surroundings, &arguments.name, new)?;
    change.run(&file, arguments, &surroundings, globals)
}

fn no_project_file(host: &HostSpec) -> Failure {
    Failure::usage_error(format!("{} has no file for projects", host.title))
        .with_hint("leave out `--scope project`")
}

/// Names end up in commands such as `/mcp__NAME__PROMPT`.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if (1..=64).contains(&name.len()) && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Failure::usage_error(format!("invalid name `{}`", output::sanitize_text(name)))
        .with_hint("use up to 64 letters, digits, `_` and `-`"))
}

/// The entry to write, and what the user should know about it.
struct NewEntry {
    /// `None` to remove the entry.
    entry: Option<Value>,
    /// The key, if the entry contains it in clear.
    key: Option<String>,
    warnings: Vec<String>,
}

fn new_entry(
    host: &HostSpec,
    arguments: &Arguments,
    surroundings: &Surroundings,
    globals: &Globals,
) -> Result<NewEntry, Failure> {
    let mut warnings = Vec::new();
    let (server, key) = match &arguments.url {
        Some(url) => remote_server(host, url, arguments, globals, &mut warnings)?,
        None => (program_server(host, arguments, surroundings, globals, &mut warnings)?, None),
    };
    let entry = server.to_entry(host).ok_or_else(|| {
        Failure::usage_error(format!("{} starts programs only: its file cannot name an address", host.title))
            .with_hint("leave out `--url`, or add the address in its settings under Connectors")
    })?;
    Ok(NewEntry { entry: Some(entry), key, warnings })
}

fn remote_server(
    host: &HostSpec,
    url: &str,
    arguments: &Arguments,
    globals: &Globals,
    warnings: &mut Vec<String>,
) -> Result<(Server, Option<String>), Failure> {
    if globals.named_by_flag().is_some() || !globals.settings().is_empty() {
        return Err(Failure::usage_error("`--root` and `--set` have no effect on a running daemon")
            .with_hint("pass them to `hina serve`"));
    }
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    if !rest.is_some_and(|rest| {
        rest.split_once('/').is_some_and(|(name, path)| !name.is_empty() && !path.is_empty())
    }) {
        return Err(Failure::usage_error(format!(
            "`{}` is not the address of a daemon",
            output::sanitize_text(url)
        ))
        .with_hint("write it as http://127.0.0.1:8700/mcp"));
    }
    let reference = host.remote.as_ref().and_then(|shape| shape.reference);
    let (header, key) = match (&arguments.key_env, reference) {
        (None, _) => (None, None),
        (Some(name), Some((before, after))) => {
            if env::var_os(name).is_none() {
                warnings.push(format!("{name} is not set here; set it where {} starts", host.title));
            }
            (Some(format!("{before}{name}{after}")), None)
        }
        (Some(name), None) => {
            let key = clear_key(host, name, arguments.scope)?;
            warnings.push(format!(
                "{} reads no environment variables in headers: the key itself is written to its file",
                host.title
            ));
            (Some(key.clone()), Some(key))
        }
    };
    let header = header.map(|value| ("Authorization".to_owned(), format!("Bearer {value}")));
    Ok((Server::Remote { url: url.to_owned(), headers: header.into_iter().collect() }, key))
}

/// The key for a host that needs it in clear. Files of projects are often published.
fn clear_key(host: &HostSpec, name: &str, scope: Scope) -> Result<String, Failure> {
    if scope == Scope::Project {
        return Err(Failure::usage_error(format!(
            "{} needs the key itself in its file, and the file of a project is not private",
            host.title
        ))
        .with_hint("install it with `--scope user`"));
    }
    let key = env::var(name).ok().filter(|key| !key.trim().is_empty());
    key.ok_or_else(|| {
        Failure::usage_error(format!("{name} is not set, and {} needs its value", host.title))
            .with_hint(format!("set {name} to the key"))
    })
}

fn program_server(
    host: &HostSpec,
    arguments: &Arguments,
    surroundings: &Surroundings,
    globals: &Globals,
    warnings: &mut Vec<String>,
) -> Result<Server, Failure> {
    let running = env::current_exe()
        .map_err(|error| Failure::system_error(format!("the path of this program is unknown: {error}")))?;
    let is_in_path = find_in_path(Path::new("hina")).is_some_and(|found| is_same_file(&found, &running));
    // Programs that a desktop starts do not have the PATH of a shell.
    let command = match is_in_path && (arguments.scope == Scope::Project || !host.is_desktop) {
        true => "hina".to_owned(),
        false => path_text(&running)?,
    };
    if arguments.scope == Scope::Project && !is_in_path {
        warnings.push(format!("hina is not in PATH: the entry names {command}, which others may not have"));
    }
    let mut words = vec!["mcp".to_owned()];
    if arguments.library {
        words.extend(library_words(host, arguments.scope, globals)?);
    } else if let Some(root) = entry_root(host, arguments.scope, surroundings, globals, warnings)? {
        words.extend(["--root".to_owned(), root]);
    }
    words.extend(globals.settings().iter().flat_map(|setting| ["--set".to_owned(), setting.clone()]));
    if arguments.tools {
        words.push("--tools".to_owned());
    }
    Ok(Server::from_command(command, words))
}

/// What the entry passes so that the workspace of this call is a library, and that of the project is served.
fn library_words(host: &HostSpec, scope: Scope, globals: &Globals) -> Result<Vec<String>, Failure> {
    if scope == Scope::Project {
        return Err(Failure::usage_error("a library is entered for the user, not for a project")
            .with_hint("leave out `--scope project`; the file of a project names its own workspace"));
    }
    if !host.has_projects() {
        return Err(Failure::usage_error(format!("{} has no projects", host.title))
            .with_hint("leave out `--library`"));
    }
    let root = globals.root();
    if root.found == RootFound::Current || !root.path.is_dir() {
        return Err(Failure::not_found(format!("{} is not a workspace", root.path.display()))
            .with_hint("name the library with `--root`"));
    }
    let path = path_text(&root.path.canonicalize().unwrap_or(root.path))?;
    if path.contains(',') {
        return Err(Failure::usage_error(format!("{path} contains a comma, which separates libraries"))
            .with_hint("name the library in your own settings: `catalog.libraries` is a list there"));
    }
    let project = host.project_directory.map(|directory| ["--root".to_owned(), directory.to_owned()]);
    let library = ["--set".to_owned(), format!("catalog.libraries={path}")];
    Ok(project.into_iter().flatten().chain(library).collect())
}

/// What the entry passes as `--root`: the workspace of this call.
fn entry_root(
    host: &HostSpec,
    scope: Scope,
    surroundings: &Surroundings,
    globals: &Globals,
    warnings: &mut Vec<String>,
) -> Result<Option<String>, Failure> {
    let root = globals.root();
    if root.found == RootFound::Current {
        warnings.push(
            "no workspace found here: the entry names none, and hina serves the nearest one above the directory that \
             it is started in"
                .to_owned(),
        );
        return Ok(None);
    }
    let path = std::path::absolute(&root.path).unwrap_or(root.path);
    if !path.is_dir() {
        return Err(Failure::not_found(format!("{} is not a directory", path.display()))
            .with_hint("name a workspace with `--root`"));
    }
    let path = path.canonicalize().unwrap_or(path);
    if scope == Scope::User {
        return path_text(&path).map(Some);
    }
    let project = surroundings.current.canonicalize().unwrap_or_else(|_| surroundings.current.clone());
    match path.strip_prefix(&project) {
        Ok(inner) => {
            let inner = path_text(inner)?;
            Ok(Some(match (host.project_directory, inner.is_empty()) {
                (Some(directory), true) => directory.to_owned(),
                (Some(directory), false) => format!("{directory}/{inner}"),
                (None, true) => ".".to_owned(),
                (None, false) => inner,
            }))
        }
        Err(_) => {
            warnings.push(format!(
                "{} is outside of the project: others who use the project may not have it",
                path.display()
            ));
            path_text(&path).map(Some)
        }
    }
}

fn path_text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().ok_or_else(|| {
        Failure::usage_error(format!("{} is not Unicode, which the file of a host has to be", path.display()))
    });
    text.map(str::to_owned)
}

/// The program that a shell would start.
pub(super) fn find_in_path(name: &Path) -> Option<PathBuf> {
    let directories = env::var_os("PATH")?;
    let name = name.with_extension(env::consts::EXE_EXTENSION);
    env::split_paths(&directories).map(|directory| directory.join(&name)).find(|file| is_executable(file))
}

/// Whether this is a file that may be executed.
pub(super) fn is_executable(file: &Path) -> bool {
    let Ok(data) = fs::metadata(file) else { return false };
    #[cfg(unix)]
    let is_permitted = std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let is_permitted = true;
    data.is_file() && is_permitted
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// A change of the file of a host.
struct Change {
    name: String,
    new: NewEntry,
    kind: &'static str,
    /// The difference of the file. A key in clear is not shown.
    difference: String,
}

impl Change {
    fn from_file(
        file: &ConfigFile,
        surroundings: &Surroundings,
        name: &str,
        new: NewEntry,
    ) -> Result<Self, Failure> {
        let known = file.servers()?.get(name).cloned();
        let kind = match (&known, &new.entry) {
            (None, None) => "absent",
            (Some(_), None) => "removed",
            (None, Some(_)) => "added",
            (Some(known), Some(entry)) if known == entry => "unchanged",
            (Some(_), Some(_)) => "replaced",
        };
        let difference = match kind {
            "absent" | "unchanged" => String::new(),
            _ => {
                let shown = surroundings.display_path(&file.path);
                let before = if file.text.is_some() { shown.as_str() } else { "/dev/null" };
                let after = file.with_entry(name, new.entry.as_ref())?;
                unified_diff_text(before, &shown, file.text.as_deref().unwrap_or_default(), &after)
            }
        };
        let difference = match &new.key {
            Some(key) => difference.replace(key.as_str(), hinagata::HIDDEN),
            None => difference,
        };
        Ok(Self { name: name.to_owned(), new, kind, difference })
    }

    fn run(
        &self,
        file: &ConfigFile,
        arguments: &Arguments,
        surroundings: &Surroundings,
        globals: &Globals,
    ) -> Result<(), Failure> {
        print_warnings(&self.new.warnings, globals);
        let consent = match self.difference.is_empty() {
            true => Consent::NotNeeded,
            false => {
                ask_consent(&self.difference, &surroundings.display_path(&file.path), arguments, globals)?
            }
        };
        if consent == Consent::Given {
            file.write_entry(&self.name, self.new.entry.as_ref())?;
        }
        self.report(file, consent, surroundings, globals)?;
        consent.to_result()
    }

    fn report(
        &self,
        file: &ConfigFile,
        consent: Consent,
        surroundings: &Surroundings,
        globals: &Globals,
    ) -> Result<(), Failure> {
        if Format::from_globals(globals) == Format::Json {
            return output::print_json(&json!({
                "host": file.host.name, "scope": file.scope.as_str(), "file": file.path, "name": self.name,
                "change": self.kind, "written": consent == Consent::Given, "difference": self.difference,
                "warnings": self.new.warnings,
            }));
        }
        let (path, name, host) = (surroundings.display_path(&file.path), &self.name, file.host);
        match self.kind {
            "absent" => output::print_text(&format!("{path} has no entry `{name}`\n")),
            "unchanged" => output::print_text(&format!("{path} has this entry already: `{name}`\n")),
            _ if consent != Consent::Given => Ok(()),
            "removed" => output::print_text(&format!("removed `{name}` from {path}\n")),
            _ => {
                output::print_text(&format!("wrote `{name}` to {path}\n"))?;
                let call = host.call.replace("SERVER", name);
                output::print_status(&format!(
                    "\nNext:\n  {}\n  prompts are called with {call}\n  hina mcp doctor {}   checks the entry\n",
                    host.next_step, host.name
                ));
                Ok(())
            }
        }
    }
}

/// Whether the user agreed to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    Given,
    /// The user said no, or cannot be asked.
    Refused,
    /// Nothing changes, or nothing should be written.
    NotNeeded,
}

impl Consent {
    /// The result of a call after everything is printed.
    pub(super) fn to_result(self) -> Result<(), Failure> {
        match self {
            Self::Refused => Err(Failure::Printed(exit::Code::Permission)),
            Self::Given | Self::NotNeeded => Ok(()),
        }
    }
}

/// Shows the difference of `path` and asks whether to write it.
pub(super) fn ask_consent(
    difference: &str,
    path: &str,
    arguments: &Arguments,
    globals: &Globals,
) -> Result<Consent, Failure> {
    if !globals.json {
        output::print_text(difference)?;
    }
    if arguments.print {
        return Ok(Consent::NotNeeded);
    }
    if arguments.yes {
        return Ok(Consent::Given);
    }
    let can_ask = !globals.json && terminal::can_ask();
    if can_ask && terminal::ask_yes(&format!("write {path}?"))? {
        return Ok(Consent::Given);
    }
    let why = if can_ask { "" } else { ": there is no terminal to confirm the change; `--yes` writes it" };
    output::print_status(&format!("nothing was written{why}\n"));
    Ok(Consent::Refused)
}

/// Prints warnings to standard error; the result contains them for scripts.
pub(super) fn print_warnings(warnings: &[String], globals: &Globals) {
    if !globals.json {
        for warning in warnings {
            output::print_status(&format!("warning: {}\n", output::sanitize_text(warning)));
        }
    }
}

/// One file of a host and the entries of this program in it.
struct Listed {
    host: &'static HostSpec,
    scope: Scope,
    path: PathBuf,
    state: String,
    entries: Vec<String>,
}

fn print_list(surroundings: &Surroundings, name: &str, globals: &Globals) -> Result<(), Failure> {
    let listed: Vec<Listed> = HOSTS
        .iter()
        .flat_map(|host| Scope::ALL.map(|scope| (host, scope)))
        .filter_map(|(host, scope)| {
            Some(list_file(host, scope, surroundings.config_file(host, scope)?, name))
        })
        .collect();
    match Format::from_globals(globals) {
        Format::Json => {
            let all: Vec<Value> = listed
                .iter()
                .map(|found| {
                    json!({
                        "host": found.host.name, "title": found.host.title, "scope": found.scope.as_str(),
                        "file": found.path, "entries": found.entries, "state": found.state,
                    })
                })
                .collect();
            output::print_json(&all)
        }
        Format::Text => {
            let row = |found: &Listed| {
                vec![
                    found.host.name.to_owned(),
                    found.scope.as_str().to_owned(),
                    surroundings.display_path(&found.path),
                    found.state.clone(),
                ]
            };
            let rows: Vec<Vec<String>> = listed.iter().map(row).collect();
            output::print_text(&output::format_table(&["HOST", "SCOPE", "FILE", "STATE"], &rows))
        }
    }
}

fn list_file(host: &'static HostSpec, scope: Scope, path: PathBuf, name: &str) -> Listed {
    let read = ConfigFile::read(host, scope, path.clone());
    let servers = read.and_then(|file| Ok((file.text.is_some(), own_servers(&file, name)?)));
    let (state, entries) = match servers {
        Err(error) => (format!("unreadable: {}", error.message()), Vec::new()),
        Ok((false, _)) => ("no file".to_owned(), Vec::new()),
        Ok((true, own)) if own.is_empty() => ("no entry".to_owned(), Vec::new()),
        Ok((true, own)) => {
            let names: Vec<String> = own.into_iter().map(|(name, _)| name).collect();
            (format!("installed as {}", names.join(", ")), names)
        }
    };
    Listed { host, scope, path, state, entries }
}

/// The servers of a file that run this program, and the one called `name`.
pub(super) fn own_servers(file: &ConfigFile, name: &str) -> hinagata::Result<Vec<(String, Value)>> {
    let is_own = |(known, entry): &(String, Value)| {
        known == name || Server::from_entry(entry, file.host).is_ok_and(|server| server.is_hina())
    };
    Ok(file.servers()?.into_iter().filter(is_own).collect())
}
