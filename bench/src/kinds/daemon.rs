//! The daemon: what a render costs over HTTP beside a daemon written in Go, what the size of the store adds, and what a
//! chat costs beside a proxy that only passes it on.
//!
//! A time is processor time of the daemon's process for one request, as the kernel counts it. Both daemons do what
//! is asked of one: they limit the time of a render, and leave a line about each in a file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use crate::daemon::Daemon;
use crate::install::Installer;
use crate::load::{Load, quantile};
use crate::measure::{Contest, Peer};
use crate::process::printed;
use crate::provider;
use crate::row::{Figure, Goal, Row};
use crate::side::{Entrant, Lap, Side};
use crate::stage::{Stage, token_of};

const KIND: &str = "daemon";
const MANY: usize = 10_000;
const FEW: usize = 20;
const GO: Goal = Goal { must: 0.4, stretch: None };
const AMONG: Goal = Goal { must: 1.1, stretch: None };
const CHAT: Goal = Goal { must: 2.0, stretch: None };
/// Requests after which latencies and memory are looked at.
const WATCHED: u64 = 10_000;

const PROMPT: &str = "review";
const MODEL: &str = "gpt-4o";
const TEMPLATE: &str = "You review {{.module0.subject0.language}} code.\n\
                        {{range .module1.subject1.rules}}- {{.}}\n{{end}}\
                        {{if .module1.subject2.strict}}Be strict.{{end}} {{.variables.question}}\n";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let few = Filled::new(installer, FEW)?;
    let many = Filled::new(installer, MANY)?;
    let go = installer.go_daemon();
    let go = |filled: &Filled| match &go {
        Ok(program) => entrant(filled.go(program)),
        Err(error) => Entrant::Absent(format!("{error:#}")),
    };
    let contest = |name: String, ours, peers| Contest { kind: KIND, name, expected: None, ours, peers };
    let upstream = provider::start()?;
    Ok(vec![
        contest(
            format!("render, {FEW} environs"),
            entrant(few.ours()),
            vec![Peer { name: "Go daemon", goal: Some(GO), entrant: go(&few) }],
        ),
        contest(
            format!("render, {MANY} environs"),
            entrant(many.ours()),
            vec![
                Peer { name: "with 20", goal: Some(AMONG), entrant: entrant(few.ours()) },
                Peer { name: "Go daemon", goal: None, entrant: go(&many) },
            ],
        ),
        contest(
            "chat".to_owned(),
            entrant(few.chat(upstream)),
            vec![Peer { name: "pass-through proxy", goal: Some(CHAT), entrant: entrant(proxy(upstream)) }],
        ),
    ])
}

/// Latencies and memory, of both daemons; and what a chat takes longer than without anybody in between.
pub(crate) fn amounts(installer: &Installer) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for environs in [FEW, MANY] {
        let filled = Filled::new(installer, environs)?;
        let go = installer.go_daemon().and_then(|program| filled.go(&program));
        for (who, side) in [("hina", filled.ours()), ("Go daemon", go)] {
            // Who is absent stands among the times already.
            let Ok(mut side) = side else { continue };
            rows.extend(side.watched(&format!("{who}, {environs} environs"))?);
        }
    }
    let upstream = provider::start()?;
    let few = Filled::new(installer, FEW)?;
    let mut direct = Load::new(upstream, "/v1/chat/completions", &completion(), None)?;
    let without = median(&mut direct)?;
    for (who, side) in [("hina", few.chat(upstream)), ("proxy", proxy(upstream))] {
        let Ok(mut side) = side else { continue };
        let added = median(&mut side.load)?.saturating_sub(without);
        rows.push(amount(format!("chat, {who}: added to the median"), microseconds(added), "µs"));
    }
    Ok(rows)
}

fn median(load: &mut Load) -> Result<Duration> {
    load.run(WATCHED / 10)?;
    Ok(quantile(&mut load.run(WATCHED)?, 0.5))
}

fn amount(name: String, value: f64, unit: &str) -> Row {
    Row { kind: KIND.to_owned(), name, figure: Figure::Amount { value, unit: unit.to_owned() }, goal: None }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A store with a number of environs, for both daemons.
struct Filled {
    stage: Stage,
    /// The document with everything.
    document: PathBuf,
}

impl Filled {
    fn new(installer: &Installer, environs: usize) -> Result<Self> {
        let document = installer.cache.join(format!("daemon-store-{environs}.json"));
        fs::write(&document, store(environs).to_string())?;
        let stage = Stage::new(installer, &format!("daemon-{environs}"))?;
        stage.import(&document)?;
        Ok(Self { stage, document })
    }

    fn ours(&self) -> Result<Asked> {
        Asked::new(&mut self.stage.serve(), String::new(), Work::Render)
    }

    fn go(&self, program: &Path) -> Result<Asked> {
        let mut command = Command::new(program);
        command.arg("-state").arg(&self.document).arg("-log").arg(self.stage.state.join("go.log"));
        Asked::new(&mut command, go_version(program)?, Work::Render)
    }

    fn chat(&self, upstream: SocketAddr) -> Result<Asked> {
        let mut serve = self.stage.serve();
        serve.env("OPENAI_BASE_URL", format!("http://{upstream}/v1")).env("OPENAI_API_KEY", "none");
        Asked::new(&mut serve, String::new(), Work::Chat)
    }
}

/// What a program in Go says it was built with.
pub(crate) fn go_version(program: &Path) -> Result<String> {
    let version = printed(Command::new(program).arg("-version"))?;
    Ok(String::from_utf8_lossy(&version).trim().to_owned())
}

fn proxy(upstream: SocketAddr) -> Result<Asked> {
    let mut command = Command::new(std::env::current_exe()?);
    // What a benchmark needs is asked for, but not looked at.
    command.args(["--home", ".", "--cache", "."]).arg("--proxy").arg(upstream.to_string());
    Asked::new(&mut command, "hyper 1".to_owned(), Work::Pass)
}

/// Modules with ten subjects each, and a template that looks at three of them.
fn store(environs: usize) -> Value {
    let environ = |number: usize| {
        let id = format!("module{}.subject{}", number / 10, number % 10);
        let rules = ["clear names", "small functions"];
        (id, json!({"language": "Go", "strict": true, "number": number, "rules": rules}))
    };
    let environs: Map<String, Value> = (0..environs).map(environ).collect();
    json!({"environs": environs, "templates": {PROMPT: {"name": PROMPT, "prompt": TEMPLATE}}})
}

fn variables() -> Value {
    json!({"question": "What is wrong here?"})
}

/// What a client of the provider itself would send.
fn completion() -> Value {
    let said = "You review Go code.\n- clear names\n- small functions\nBe strict. What is wrong here?\n";
    json!({"model": MODEL, "messages": [{"role": "user", "content": said}]})
}

/// What a daemon is asked to do.
#[derive(Clone, Copy)]
enum Work {
    Render,
    Chat,
    Pass,
}

impl Work {
    fn path(self) -> String {
        match self {
            Self::Render => format!("/api/render/prompts/{PROMPT}"),
            Self::Chat => format!("/api/chat/prompts/{PROMPT}"),
            Self::Pass => "/v1/chat/completions".to_owned(),
        }
    }

    fn body(self) -> Value {
        match self {
            Self::Render => json!({"variables": variables()}),
            Self::Chat => json!({"model": MODEL, "variables": variables()}),
            Self::Pass => completion(),
        }
    }
}

/// A daemon with a client.
struct Asked {
    daemon: Daemon,
    load: Load,
    work: Work,
    version: String,
}

impl Asked {
    fn new(command: &mut Command, version: String, work: Work) -> Result<Self> {
        let mut daemon = Daemon::start(command)?;
        // Chats need the token that the daemon makes when it starts.
        let token = matches!(work, Work::Chat).then(|| token_of(&mut daemon)).transpose()?;
        let load = Load::new(daemon.address(), &work.path(), &work.body(), token.as_deref())?;
        let mut asked = Self { daemon, load, work, version };
        // Once beforehand: who cannot do it is absent.
        asked.output()?;
        Ok(asked)
    }

    /// Latencies, and memory after all of it.
    fn watched(&mut self, who: &str) -> Result<Vec<Row>> {
        self.load.run(WATCHED / 10)?;
        let mut times = self.load.run(WATCHED)?;
        let mut row = |name: &str, share| {
            amount(format!("{who}: {name}"), microseconds(quantile(&mut times, share)), "µs")
        };
        let mut rows = vec![row("median", 0.5), row("99 of 100 under", 0.99)];
        rows.push(amount(format!("{who}: most memory"), self.daemon.peak_memory()?, "MiB"));
        Ok(rows)
    }
}

impl Side for Asked {
    fn version(&self) -> &str {
        &self.version
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        let body = self.load.once()?;
        let answer: Value = serde_json::from_slice(&body).context("the answer is no JSON")?;
        match self.work {
            Work::Render => {
                ensure!(answer["status"] == "success", "the answer is {answer}");
                let text = answer["rendered_prompt"].as_str().context("nothing was rendered")?;
                Ok(text.as_bytes().to_vec())
            }
            Work::Chat | Work::Pass => {
                ensure!(body == provider::answer().into_bytes(), "the answer is {answer}");
                Ok(body)
            }
        }
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        self.daemon.time_work(|| self.load.run(iterations).map(drop))
    }
}

fn entrant(asked: Result<Asked>) -> Entrant {
    Entrant::new(asked.map(|asked| Box::new(asked) as Box<dyn Side>))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_the_environs_that_the_template_looks_at() {
        let store = store(FEW);
        assert_eq!(store["environs"].as_object().map(Map::len), Some(FEW));
        for id in ["module0.subject0", "module1.subject1", "module1.subject2"] {
            assert!(store["environs"][id]["strict"].is_boolean(), "{id}");
        }
    }
}
