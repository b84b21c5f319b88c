//! Prompts of other programs: rendering a file where it lies, beside the same prompt written natively and beside the
//! original; importing a directory, beside copying it.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context, Result};
use hinagata::source::ForeignPlace;
use hinagata::{Engine, EngineOptions, Rendered, Request};
use serde::Deserialize;
use serde_json::Value;

use crate::child::ChildSide;
use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{ProcessSide, printed};
use crate::row::Goal;
use crate::side::{Entrant, Side};
use crate::stage::Stage;

const KIND: &str = "exchange";
const NATIVE: Goal = Goal { must: 1.3, stretch: None };
const DOTPROMPT: Goal = Goal { must: 0.25, stretch: None };
const COPY: Goal = Goal { must: 10.0, stretch: None };
/// Files that are imported.
const FILES: usize = 1_000;

/// One prompt in two languages, with its values.
#[derive(Deserialize)]
struct Workload {
    /// As dotprompt reads it.
    dotprompt: String,
    /// As a person writes it here.
    native: String,
    data: Value,
    output: String,
}

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let path = installer.home.join("workloads/exchange/review.json");
    let work: Workload = serde_json::from_str(&fs::read_to_string(&path)?)
        .with_context(|| format!("{} is no workload", path.display()))?;
    Ok(vec![in_place(installer, &path, &work)?, importing(installer, &work)?])
}

/// A file of dotprompt in a directory of the catalog.
fn in_place(installer: &Installer, path: &Path, work: &Workload) -> Result<Contest> {
    let root = installer.cache.join("exchange-workspace");
    let native = root.join("user_data/shared/prompts/native");
    fs::create_dir_all(&native)?;
    fs::create_dir_all(root.join("foreign"))?;
    fs::write(native.join("template.md"), &work.native)?;
    fs::write(root.join("foreign/review.prompt"), &work.dotprompt)?;
    let place = ForeignPlace { path: "foreign".to_owned(), format: None, unknown_format: None, named: None };
    let options = EngineOptions { foreign: vec![place], ..EngineOptions::default() };
    let engine = || Engine::builder(&root).with_options(options.clone()).open();
    Ok(Contest {
        kind: KIND,
        name: "render in place".to_owned(),
        expected: Some(work.output.clone().into_bytes()),
        ours: rendering(engine(), "review", work),
        peers: vec![
            Peer {
                name: "written natively",
                goal: Some(NATIVE),
                entrant: rendering(engine(), "native", work),
            },
            Peer {
                name: "dotprompt",
                goal: Some(DOTPROMPT),
                entrant: Entrant::new(dotprompt(installer, path)),
            },
        ],
    })
}

fn rendering(engine: Engine, id: &'static str, work: &Workload) -> Entrant {
    let variables = work.data.clone();
    let render = move || {
        let request = Request::new(id).with_variables(&variables);
        engine.render_blocking(&request).map(Rendered::into_text)
    };
    let again = render.clone();
    Entrant::local("", move || Ok(again()?.into_bytes()), move || drop(black_box(render())))
}

fn dotprompt(installer: &Installer, workload: &Path) -> Result<Box<dyn Side>> {
    let mut command = Command::new("node");
    command.arg(installer.home.join("peers/dotprompt/peer.mjs")).arg(installer.dotprompt()?);
    Ok(Box::new(ChildSide::start(command, workload)?))
}

/// A directory of prompts, imported into a workspace that has none, beside `cp -r` of it.
fn importing(installer: &Installer, work: &Workload) -> Result<Contest> {
    let stage = Rc::new(Stage::new(installer, "exchange-import")?);
    let source = installer.cache.join("exchange-prompts");
    for number in 0..FILES {
        let directory = source.join(format!("group{}", number % 10));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("review{number}.prompt")), &work.dotprompt)?;
    }
    let (target, copied) = (stage.root.join("user_data"), installer.cache.join("exchange-copied"));
    let (from, to) = (source.clone(), copied.clone());
    let copy = move || {
        empty(&to);
        let mut command = Command::new("cp");
        command.arg("-r").arg(&from).arg(&to);
        command
    };
    let place = target.clone();
    let import = move || {
        empty(&place);
        let mut command = stage.command();
        command.arg("import").arg(&source);
        command
    };
    Ok(Contest {
        kind: KIND,
        name: format!("import {FILES} files"),
        expected: Some(FILES.to_string().into_bytes()),
        ours: Entrant::new(counted(String::new(), import, target, "template.md")),
        peers: vec![Peer {
            name: "cp -r",
            goal: Some(COPY),
            entrant: Entrant::new(counted(version_of_cp()?, copy, copied, ".prompt")),
        }],
    })
}

fn version_of_cp() -> Result<String> {
    let version = printed(Command::new("cp").arg("--version"))?;
    Ok(String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned())
}

/// Removes what the command before left.
fn empty(directory: &Path) {
    if directory.exists() {
        fs::remove_dir_all(directory).expect("the directory of a benchmark can be removed");
    }
}

/// A command whose work is told by how many files of a name it makes.
fn counted(
    version: String,
    make: impl Fn() -> Command + Clone + 'static,
    made: PathBuf,
    ending: &'static str,
) -> Result<Box<dyn Side>> {
    let again = make.clone();
    let output = move || {
        printed(&mut again())?;
        Ok(count_files(&made, ending)?.to_string().into_bytes())
    };
    Ok(Box::new(ProcessSide::new(version, make, output)))
}

fn count_files(directory: &Path, ending: &str) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count += count_files(&entry.path(), ending)?;
        } else {
            count += usize::from(entry.file_name().to_string_lossy().ends_with(ending));
        }
    }
    Ok(count)
}
