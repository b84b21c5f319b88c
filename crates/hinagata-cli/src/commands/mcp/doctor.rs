//! `hina mcp doctor`: what a user would check when a host does not show the prompts.

mod probe;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use hinagata::{Listing, Severity};
use hinagata_mcp::Exposure;
use rmcp::model::Prompt;
use serde_json::{Value, json};

use self::probe::{Answers, Era, ask_server};
use super::{
    config_file::ConfigFile,
    entry::Server,
    hosts::{HOSTS, HostSpec, Scope, Surroundings},
    install::{find_in_path, is_executable, own_servers},
};
use crate::{
    exit,
    failure::Failure,
    output::{self, Format, sanitize_text},
    workspace::{Globals, Workspace},
};

/// Names in one message.
const MOST_NAMES: usize = 5;

/// Check the entries of MCP hosts
///
/// Reads the files of the hosts, starts each entry of hina as the host would, lists its prompts in both generations of
/// the protocol and gets one. The exit code is 1 if there is a problem.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The host [default: all]
    host: Option<String>,

    /// The name of the entry, if its command is not hina
    #[arg(long, default_value = "prompts")]
    name: String,

    /// Check a running `hina serve` at this address too
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The environment variable with the key of the daemon
    #[arg(long, value_name = "NAME", requires = "url")]
    key_env: Option<String>,

    /// Seconds that a server may take for all answers of one generation
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
}

const EXAMPLES: &str = "Examples:
  hina mcp doctor
  hina mcp doctor claude-code --json
  hina mcp doctor --url http://127.0.0.1:8700/mcp --key-env HINAGATA_KEY";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    Warning,
    Problem,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One line of the result.
struct Check {
    /// What was checked: an entry or an address.
    about: String,
    subject: &'static str,
    state: State,
    text: String,
    /// What to do.
    advice: Option<String>,
}

/// The checks of a call.
struct Report<'r> {
    checks: Vec<Check>,
    limit: Duration,
    surroundings: &'r Surroundings,
    globals: &'r Globals,
    /// The prompts of each entry that answered, by host.
    served: Vec<(&'static str, String, BTreeSet<String>)>,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let host = arguments.host.as_deref().map(HostSpec::from_name).transpose()?;
    let surroundings = Surroundings::from_process()?;
    let mut report = Report {
        checks: Vec::new(),
        limit: Duration::from_secs(arguments.timeout),
        surroundings: &surroundings,
        globals,
        served: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::system_error(format!("cannot start threads: {error}")))?;
    runtime.block_on(report.check_all(host, arguments))?;
    runtime.shutdown_background();
    report.compare_entries();
    report.print(globals)?;
    match report.checks.iter().any(|check| check.state == State::Problem) {
        true => Err(Failure::Printed(exit::Code::Failed)),
        false => Ok(()),
    }
}

impl Report<'_> {
    fn add(
        &mut self,
        about: &str,
        subject: &'static str,
        state: State,
        text: impl Into<String>,
    ) -> &mut Check {
        let (about, text) = (about.to_owned(), sanitize_text(&text.into()));
        self.checks.push(Check { about, subject, state, text, advice: None });
        let last = self.checks.len() - 1;
        &mut self.checks[last]
    }

    async fn check_all(
        &mut self,
        host: Option<&'static HostSpec>,
        arguments: &Arguments,
    ) -> Result<(), Failure> {
        if let Some(url) = &arguments.url {
            self.check_url(url, arguments.key_env.as_deref()).await?;
        }
        if arguments.url.is_some() && host.is_none() {
            return Ok(());
        }
        let mut found = 0;
        for known in HOSTS.iter().filter(|known| host.is_none_or(|host| host.name == known.name)) {
            for scope in Scope::ALL {
                if let Some(path) = self.surroundings.config_file(known, scope) {
                    found += self.check_file(known, scope, path, &arguments.name).await;
                }
            }
        }
        if found == 0 {
            let (about, install) = host.map_or(("hosts", "HOST"), |host| (host.name, host.name));
            self.add(about, "entry", State::Problem, "there is no entry of hina").advice =
                Some(format!("run `hina mcp install {install}`"));
        }
        Ok(())
    }

    /// Checks the entries of one file, and returns how many there are. A broken file counts as one.
    async fn check_file(
        &mut self,
        host: &'static HostSpec,
        scope: Scope,
        path: PathBuf,
        name: &str,
    ) -> usize {
        let shown = self.surroundings.display_path(&path);
        let about = format!("{} ({})", host.name, scope.as_str());
        let read = ConfigFile::read(host, scope, path);
        let own = match read.and_then(|file| own_servers(&file, name)) {
            Ok(own) => own,
            Err(error) => {
                let place = error.place().map(|place| format!(" at {place}")).unwrap_or_default();
                self.add(&about, "file", State::Problem, format!("{}{place}", error.message())).advice =
                    Some(format!("correct {shown}"));
                return 1;
            }
        };
        for (name, entry) in &own {
            let about = format!("{about} `{}`", sanitize_text(name));
            match Server::from_entry(entry, host) {
                Ok(server) => self.check_entry(host, &about, &shown, &server).await,
                Err(problem) => {
                    self.add(&about, "entry", State::Problem, format!("{shown}: {problem}")).advice =
                        Some(format!("run `hina mcp install {}`", host.name));
                }
            }
        }
        own.len()
    }

    async fn check_entry(&mut self, host: &'static HostSpec, about: &str, file: &str, server: &Server) {
        self.add(about, "entry", State::Good, format!("{file}: {}", server.display_text()));
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let server = match server.expand_variables(host, &self.surroundings.current, &variable) {
            Ok(server) => server,
            Err(unset) => {
                let text = format!("the entry reads {}, which is not set here", unset.join(", "));
                self.add(about, "variables", State::Problem, text).advice =
                    Some(format!("set it in the environment that {} is started in", host.title));
                return;
            }
        };
        let is_startable = match &server {
            Server::Program { command, .. } => self.check_command(host, about, command),
            Server::Remote { .. } => true,
        };
        if !is_startable {
            return;
        }
        if let Some(answers) = self.ask_both(about, &server).await {
            self.check_answers(host.title, about, &server, &answers);
            let names = answers.prompts.into_iter().map(|prompt| prompt.name).collect();
            self.served.push((host.name, about.to_owned(), names));
        }
    }

    /// Whether the program of an entry can be started.
    fn check_command(&mut self, host: &HostSpec, about: &str, command: &str) -> bool {
        let path = Path::new(command);
        let found = match path.components().count() {
            1 => find_in_path(path),
            _ => Some(self.surroundings.current.join(path)),
        };
        let advice = format!("run `hina mcp install {}` again with the hina that you use", host.name);
        let (state, text) = match found {
            Some(found) if is_executable(&found) => {
                (State::Good, format!("{} is executable", found.display()))
            }
            Some(found) if found.exists() => {
                (State::Problem, format!("{} is not executable", found.display()))
            }
            Some(found) => (State::Problem, format!("{} does not exist", found.display())),
            None => (State::Problem, format!("`{command}` is not in PATH")),
        };
        let check = self.add(about, "command", state, text);
        check.advice = (state == State::Problem).then_some(advice);
        state == State::Good
    }

    /// Asks in both eras; the answers of the last one that succeeded.
    async fn ask_both(&mut self, about: &str, server: &Server) -> Option<Answers> {
        let mut last = None;
        for era in Era::ALL {
            match ask_server(server, era, self.limit).await {
                Ok(answers) => {
                    let time = answers.first_answer.as_millis();
                    let text = format!("first answer after {time} ms, {} prompts", answers.prompts.len());
                    self.add(about, era.revision(), State::Good, text);
                    last = Some(answers);
                }
                Err(problem) => {
                    let advice = advice_for(server, &problem);
                    self.add(about, era.revision(), State::Problem, problem).advice = Some(advice);
                }
            }
        }
        last
    }

    fn check_answers(&mut self, host: &str, about: &str, server: &Server, answers: &Answers) {
        let own = env!("CARGO_PKG_VERSION");
        match &answers.server {
            Some((name, version)) if name == "hinagata" && version != own => {
                self.add(
                    about,
                    "version",
                    State::Warning,
                    format!("the entry runs hina {version}, this is {own}"),
                )
                .advice =
                    Some("install the entry again with the newer hina, or restart the daemon".to_owned());
            }
            Some((name, _)) if name != "hinagata" => {
                self.add(about, "version", State::Warning, format!("the server calls itself `{name}`"))
                    .advice = Some("check that the entry starts hina".to_owned());
            }
            _ => {}
        }
        match &answers.rendered {
            Some((name, Ok(()))) => {
                self.add(about, "get", State::Good, format!("`{name}` was rendered"));
            }
            Some((name, Err(problem))) => {
                self.add(about, "get", State::Problem, format!("`{name}` fails: {problem}")).advice =
                    Some(format!("run `hina render {name}`"));
            }
            None => {
                self.add(about, "get", State::Good, "every prompt requires arguments; none was rendered");
            }
        }
        let is_short = |prompt: &&Prompt| prompt.name.starts_with("p-") && prompt.title.is_some();
        let short: Vec<String> = answers
            .prompts
            .iter()
            .filter(is_short)
            .map(|prompt| format!("`{}` as `{}`", prompt.title.as_deref().unwrap_or_default(), prompt.name))
            .collect();
        if !short.is_empty() {
            let text = format!("{host} cannot show these names: {}", join_names(&short));
            self.add(about, "names", State::Warning, text).advice =
                Some("name the directories with a-z, 0-9, `_`, `.` and `-`".to_owned());
        }
        self.check_left_out(about, server, &answers.prompts);
    }

    /// Reports the prompts of the workspace that the server does not offer.
    fn check_left_out(&mut self, about: &str, server: &Server, served: &[Prompt]) {
        let Server::Program { arguments, directory, .. } = server else { return };
        if !server.is_hina() {
            return;
        }
        let named = arguments.iter().position(|word| word == "--root").and_then(|at| arguments.get(at + 1));
        let base = self.surroundings.current.join(directory.as_deref().unwrap_or("."));
        let globals = match named {
            Some(root) => self.globals.with_root(base.join(root)),
            None => self.globals.without_root(),
        };
        let Ok(workspace) = Workspace::open_quietly(&globals) else {
            self.add(about, "prompts", State::Warning, "the workspace of the entry cannot be opened here")
                .advice = Some("run `hina doctor` in the workspace".to_owned());
            return;
        };
        let catalog = workspace.open_catalog();
        let problems = catalog.check();
        let is_served = |id: &str| {
            served.iter().any(|prompt| {
                let meta = prompt.meta.as_ref().and_then(|meta| meta.0.get("hinagata/id")?.as_str());
                meta == Some(id) || prompt.name == id
            })
        };
        let exposure = match Exposure::from_settings(&workspace.host.settings) {
            Ok(exposure) => exposure,
            Err(error) => {
                self.add(about, "prompts", State::Problem, error.message()).advice =
                    Some("correct `mcp.expose` in the settings of the workspace".to_owned());
                return;
            }
        };
        let is_hidden = |listing: &Listing| {
            let definition = listing.definition.as_ref().ok();
            definition
                .and_then(|found| exposure.hidden_reason(&catalog, listing.id.as_str(), found))
                .is_some()
        };
        let not_served = catalog.list().into_iter().filter(|listing| !is_served(listing.id.as_str()));
        let (hidden, absent): (Vec<Listing>, Vec<Listing>) = not_served.partition(is_hidden);
        let missing: Vec<String> = absent
            .iter()
            .map(|listing| listing.id.as_str().to_owned())
            .map(|id| {
                let error = problems.iter().find(|found| {
                    found.severity == Severity::Error
                        && (found.source == id || found.source.ends_with(&format!("/{id}")))
                });
                match error {
                    Some(found) => format!("`{id}` ({})", found.error.message()),
                    None => format!("`{id}`"),
                }
            })
            .collect();
        match missing.is_empty() {
            true => {
                let text = match hidden.len() {
                    0 => "every prompt of the workspace is offered".to_owned(),
                    count => format!("every exposed prompt is offered; not exposed: {count}"),
                };
                self.add(about, "prompts", State::Good, text);
            }
            false => {
                let text = format!("not offered, because broken or in conflict: {}", join_names(&missing));
                self.add(about, "prompts", State::Warning, text).advice =
                    Some("run `hina doctor` in the workspace".to_owned());
            }
        }
    }

    async fn check_url(&mut self, url: &str, key: Option<&str>) -> Result<(), Failure> {
        let mut headers = BTreeMap::new();
        if let Some(name) = key {
            let value = env::var(name).ok().filter(|value| !value.is_empty()).ok_or_else(|| {
                Failure::usage_error(format!("{name} is not set")).with_hint(format!("set {name} to the key"))
            })?;
            headers.insert("Authorization".to_owned(), format!("Bearer {value}"));
        }
        let server = Server::Remote { url: url.to_owned(), headers };
        if let Some(answers) = self.ask_both(url, &server).await {
            self.check_answers("a host", url, &server, &answers);
        }
        Ok(())
    }

    /// Warns about entries of one host that serve the same prompts.
    fn compare_entries(&mut self) {
        let mut found = Vec::new();
        for (at, (host, about, names)) in self.served.iter().enumerate() {
            for (other_host, other, other_names) in &self.served[at + 1..] {
                let same: Vec<String> =
                    names.intersection(other_names).map(|name| format!("`{name}`")).collect();
                if host == other_host && !same.is_empty() {
                    found.push((
                        about.clone(),
                        format!("{other} serves the same prompts: {}", join_names(&same)),
                    ));
                }
            }
        }
        for (about, text) in found {
            self.add(&about, "duplicates", State::Warning, text).advice =
                Some("remove one of them with `hina mcp install HOST --remove --name NAME`".to_owned());
        }
    }

    fn print(&self, globals: &Globals) -> Result<(), Failure> {
        if Format::from_globals(globals) == Format::Json {
            let check = |check: &Check| {
                json!({
                    "about": check.about, "subject": check.subject, "state": check.state.as_str(),
                    "text": check.text, "advice": check.advice,
                })
            };
            return output::print_json(&self.checks.iter().map(check).collect::<Value>());
        }
        let mut text = String::new();
        let mut about = "";
        for check in &self.checks {
            if check.about != about {
                about = &check.about;
                text.push_str(&format!("{about}\n"));
            }
            text.push_str(&format!("  {:<8} {:<11} {}\n", check.state.as_str(), check.subject, check.text));
            if let Some(advice) = &check.advice {
                text.push_str(&format!("           {:<11} help: {advice}\n", ""));
            }
        }
        output::print_text(&text)
    }
}

/// What to do about a server that does not answer.
fn advice_for(server: &Server, problem: &str) -> String {
    // The address is no part of the answer: its port may read 401.
    let is_refused = |url: &str| {
        let answer = problem.replace(url, "");
        ["401", "uthoriz", "Auth"].iter().any(|word| answer.contains(word))
    };
    match server {
        Server::Remote { url, .. } if is_refused(url) => {
            "the key was not accepted: pass one with the scopes `read` and `render`".to_owned()
        }
        Server::Remote { url, .. } => format!("check that `hina serve` answers at {url}"),
        Server::Program { .. } => format!("run it yourself: {}", server.display_text()),
    }
}

fn join_names(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_not_taken_for_a_status() {
        let url = "http://127.0.0.1:40155/mcp";
        let server = Server::Remote { url: url.to_owned(), headers: BTreeMap::new() };
        let refused = advice_for(&server, &format!("HTTP 401 for url ({url})"));
        assert!(refused.contains("the key was not accepted"), "{refused}");
        let gone = advice_for(&server, &format!("error sending request for url ({url})"));
        assert_eq!(gone, format!("check that `hina serve` answers at {url}"));
    }
}
