//! Prompts over the Model Context Protocol beside FastMCP: the rate of answers to one client, and the time from the start
//! of a process to its first answer. By the clock on the wall, as rates are.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::daemon::Daemon;
use crate::install::Installer;
use crate::mcp::{Called, Era, PROMPT, Piped, text_of};
use crate::measure::{Contest, Peer};
use crate::row::{Figure, Goal, Row};
use crate::side::{Entrant, Lap, Side};
use crate::stage::Stage;

const KIND: &str = "mcp";
/// 25 times the rate.
const STDIO: Goal = Goal { must: 0.04, stretch: None };
/// 8 times the rate.
const HTTP: Goal = Goal { must: 0.125, stretch: None };
const FIRST: Goal = Goal { must: 0.05, stretch: None };
/// Answers after which memory is looked at.
const WATCHED: usize = 1_000;

const DECLARED: &str = "description: Review code
parameters:
  - {name: language, type: string, required: true}
  - {name: code, type: string, required: true}
  - {name: focus, type: string, default: ''}
  - {name: project, type: string, default: an internal service}
";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let shared = Shared::new(installer)?;
    let mut contests = Vec::new();
    for era in Era::ALL {
        contests.push(shared.contest(format!("stdio, {}", era.revision()), era, Wire::Stdio, STDIO));
        contests.push(shared.contest(format!("HTTP, {}", era.revision()), era, Wire::Http, HTTP));
    }
    contests.push(shared.contest("first answer, stdio".to_owned(), Era::Modern, Wire::Start, FIRST));
    Ok(contests)
}

/// Memory of both after some answers.
pub(crate) fn amounts(installer: &Installer) -> Result<Vec<Row>> {
    let shared = Shared::new(installer)?;
    let mut rows = Vec::new();
    let commands = [("hina", Some(shared.ours(&["mcp"]))), ("FastMCP", shared.fastmcp("stdio").ok())];
    for (who, command) in commands {
        // Who is absent stands among the times already.
        let Some(mut command) = command else { continue };
        let mut piped = Piped::start(&mut command, Era::Modern)?;
        for _ in 0..WATCHED {
            piped.call()?;
        }
        let figure = Figure::Amount { value: piped.memory()?, unit: "MiB".to_owned() };
        rows.push(Row { kind: KIND.to_owned(), name: format!("stdio, {who}: memory"), figure, goal: None });
    }
    Ok(rows)
}

/// A peer: its name, how its server is started, and the goal.
type Way = (&'static str, &'static str, Option<Goal>);

/// How a server is asked.
#[derive(Clone, Copy)]
enum Wire {
    Stdio,
    Http,
    /// Started anew for each answer.
    Start,
}

/// The prompt for both.
struct Shared {
    stage: Stage,
    template: PathBuf,
    server: PathBuf,
    python: Result<PathBuf, String>,
}

impl Shared {
    fn new(installer: &Installer) -> Result<Self> {
        let stage = Stage::new(installer, "mcp")?;
        let template = installer.home.join("workloads/mcp/prompt.jinja");
        let prompt = stage.root.join("user_data/shared/prompts").join(PROMPT);
        fs::create_dir_all(&prompt)?;
        fs::write(prompt.join("prompt.yaml"), DECLARED)?;
        fs::copy(&template, prompt.join("template.md"))?;
        Ok(Self {
            stage,
            template,
            server: installer.home.join("peers/fastmcp/server.py"),
            python: installer.fastmcp().map_err(|error| format!("{error:#}")),
        })
    }

    fn ours(&self, arguments: &[&str]) -> Command {
        let mut command = self.stage.command();
        command.args(arguments);
        command
    }

    fn fastmcp(&self, way: &str) -> Result<Command, String> {
        let mut command = Command::new(self.python.as_ref().map_err(Clone::clone)?);
        command.arg(&self.server).arg(&self.template).arg(way);
        Ok(command)
    }

    fn contest(&self, name: String, era: Era, wire: Wire, goal: Goal) -> Contest {
        let (ours, ways): (Command, &[Way]) = match wire {
            Wire::Stdio | Wire::Start => (self.ours(&["mcp"]), &[("FastMCP", "stdio", Some(goal))]),
            Wire::Http => (
                // The rate limit is for callers, not for contests.
                self.ours(&["serve", "--listen", "127.0.0.1:0", "--set", "mcp.rate=-"]),
                &[("FastMCP", "http", Some(goal)), ("FastMCP as it comes", "http-plain", None)],
            ),
        };
        let peer = |(name, way, goal): &Way| Peer {
            name,
            goal: *goal,
            entrant: match self.fastmcp(way) {
                Ok(command) => Entrant::new(asked(command, era, wire, "4.1.2")),
                Err(reason) => Entrant::Absent(reason),
            },
        };
        let peers = ways.iter().map(peer).collect();
        Contest { kind: KIND, name, expected: None, ours: Entrant::new(asked(ours, era, wire, "")), peers }
    }
}

fn asked(mut command: Command, era: Era, wire: Wire, version: &'static str) -> Result<Box<dyn Side>> {
    Ok(match wire {
        Wire::Stdio => Box::new(Asked {
            version,
            server: Piped::start(&mut command, era)?,
            call: |piped| Ok(piped.call()?.to_vec()),
        }),
        Wire::Http => {
            let daemon = Daemon::start(&mut command)?;
            let called = Called::connect(daemon.address(), era)?;
            Box::new(Asked { version, server: (daemon, called), call: |(_, called)| called.call() })
        }
        Wire::Start => Box::new(Asked {
            version,
            server: (command, era),
            call: |(command, era)| Ok(Piped::start(command, *era)?.call()?.to_vec()),
        }),
    })
}

/// A server with a client.
struct Asked<S> {
    version: &'static str,
    server: S,
    call: fn(&mut S) -> Result<Vec<u8>>,
}

impl<S> Side for Asked<S> {
    fn version(&self) -> &str {
        self.version
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        text_of(&(self.call)(&mut self.server)?)
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let started = Instant::now();
        for _ in 0..iterations {
            (self.call)(&mut self.server)?;
        }
        let wall = started.elapsed();
        Ok(Lap { wall, processor: wall })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_workload_is_there() {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let template = fs::read_to_string(home.join("workloads/mcp/prompt.jinja")).expect("is there");
        assert!(template.len() > 1_000 && template.contains("verdict"));
    }
}
