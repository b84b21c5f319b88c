//! Python of prompts: a call in a process of its own, and one in a process that is kept.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use hinagata::{Engine, Request};
use hinagata_python::{HookOptions, HookPool, Isolation};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{OnTheWall, ProcessSide, printed};
use crate::row::{Figure, Goal, Row};
use crate::side::{Entrant, Lap, Side};

const KIND: &str = "hooks";
const ISOLATED: Goal = Goal { must: 0.25, stretch: None };
const REUSED: Goal = Goal { must: 0.01, stretch: None };
/// Prompts whose workers are kept at once when their memory is looked at.
const WORKERS: usize = 4;

const SOURCE: &str = "\
METADATA = {'name': 'Hook'}
TEMPLATE = 'done {{ times }}'
VARIABLES = {'required': [], 'optional': [{'name': 'times', 'type': 'integer', 'default': 0}]}

def pre_render(variables, context):
    variables['times'] += 1
    return variables
";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let root = workspace(installer)?;
    let contest = |name: &str, isolation, goal| Contest {
        kind: KIND,
        name: name.to_owned(),
        expected: None,
        ours: calling(&root, isolation),
        peers: vec![Peer { name: "python -c pass", goal: Some(goal), entrant: Entrant::new(passing()) }],
    };
    Ok(vec![
        contest("isolated call", Isolation::Call, ISOLATED),
        contest("call of a kept worker", Isolation::Prompt, REUSED),
    ])
}

/// Memory of a worker that is kept.
pub(crate) fn amounts(installer: &Installer) -> Result<Vec<Row>> {
    let engine = engine(&workspace(installer)?, Isolation::Prompt);
    for number in 0..WORKERS {
        engine.render_blocking(&Request::new(&name(number)))?;
    }
    let workers = workers()?;
    if workers.len() < WORKERS {
        bail!("there are {} workers instead of {WORKERS}", workers.len());
    }
    let row = |what: &str, field: &str| -> Result<Row> {
        let sizes: Vec<f64> = workers.iter().map(|pid| mebibytes(*pid, field)).collect::<Result<_>>()?;
        let value = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let figure = Figure::Amount { value, unit: "MiB".to_owned() };
        Ok(Row { kind: KIND.to_owned(), name: what.to_owned(), figure, goal: None })
    };
    Ok(vec![row("resident memory of a worker", "VmRSS:")?, row("of that, not of files", "RssAnon:")?])
}

fn name(number: usize) -> String {
    format!("hook_{number}")
}

/// A workspace of prompts with a hook each.
fn workspace(installer: &Installer) -> Result<std::path::PathBuf> {
    let root = installer.cache.join("hooks-workspace");
    for number in 0..WORKERS {
        let prompt = root.join("user_data/shared/prompts").join(name(number));
        fs::create_dir_all(&prompt)?;
        fs::write(prompt.join("prompt.py"), SOURCE)?;
    }
    Ok(root)
}

fn engine(root: &Path, isolation: Isolation) -> Engine {
    let pool = HookPool::new(HookOptions { isolation, ..HookOptions::default() });
    Engine::builder(root).with_hooks(Arc::new(pool)).open()
}

/// Renders a prompt with a hook. Its work is spread over processes that outlive the call, so the clock on the wall is
/// the one that sees all of it.
struct Calling(Engine);

fn calling(root: &Path, isolation: Isolation) -> Entrant {
    Entrant::Ready(Box::new(Calling(engine(root, isolation))))
}

impl Side for Calling {
    fn version(&self) -> &str {
        ""
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        let text = self.0.render_blocking(&Request::new(&name(0)))?.into_text();
        if text == "done 1" { Ok(Vec::new()) } else { bail!("the hook made `{text}`") }
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let start = std::time::Instant::now();
        for _ in 0..iterations {
            self.0.render_blocking(&Request::new(&name(0)))?;
        }
        let wall = start.elapsed();
        Ok(Lap { wall, processor: wall })
    }
}

/// The interpreter that hooks run on, started to do nothing; on the wall as well.
fn passing() -> Result<Box<dyn Side>> {
    let python = HookPool::new(HookOptions::default()).find_interpreter()?.executable;
    let version = printed(Command::new(&python).arg("--version"))?;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    let command = move || {
        let mut command = Command::new(&python);
        command.args(["-c", "pass"]);
        command
    };
    Ok(Box::new(OnTheWall(ProcessSide::new(version, command, || Ok(Vec::new())))))
}

/// The numbers of the workers: each is a child of a zygote, which is a child of a supervisor, which is a child of this
/// process.
fn workers() -> Result<Vec<u32>> {
    let mut processes: Vec<(u32, u32)> = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse() else { continue };
        // It may have ended.
        let Ok(parent) = field(pid, "PPid:") else { continue };
        processes.push((pid, parent.parse()?));
    }
    let children = |parents: &[u32]| -> Vec<u32> {
        processes.iter().filter(|(_, parent)| parents.contains(parent)).map(|(pid, _)| *pid).collect()
    };
    Ok(children(&children(&children(&[std::process::id()]))))
}

fn field(pid: u32, name: &str) -> Result<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    let value = value.and_then(|value| value.split_whitespace().next());
    Ok(value.with_context(|| format!("process {pid} has no {name}"))?.to_owned())
}

fn mebibytes(pid: u32, name: &str) -> Result<f64> {
    Ok(field(pid, name)?.parse::<f64>()? / 1024.0)
}
