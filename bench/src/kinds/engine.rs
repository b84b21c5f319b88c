//! The engine in a workspace with many prompts: opening it, and what that costs those who want one.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::process::Command;

use anyhow::{Context, Result};
use hinagata::{Catalog, CatalogOptions};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{ProcessSide, printed};
use crate::row::Goal;
use crate::side::{Entrant, Side};
use crate::tree::Workspace;

const KIND: &str = "engine";
/// Prompts in the large workspace.
const MANY: usize = 10_000;
const OPENING: Goal = Goal { must: 3.0, stretch: None };

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let many = Workspace::make(&installer.cache, MANY)?;
    Ok(vec![opening(&many)])
}

/// Opens the workspace and resolves every id, which finds out for each directory whether it holds a prompt.
fn opening(many: &Workspace) -> Contest {
    let (workspace, again) = (many.clone(), many.clone());
    let open = |workspace: &Workspace| -> Result<Catalog> {
        let catalog = Catalog::open(CatalogOptions::new(&workspace.root));
        for name in &workspace.names {
            catalog.resolve_id(name)?;
        }
        Ok(catalog)
    };
    let names = move || -> Result<Vec<u8>> {
        let catalog = open(&again)?;
        let source = |name: &String| -> Result<String> {
            let source = catalog.choose(name)?.entry.name().to_owned();
            Ok(source)
        };
        lines(again.names.iter().map(source).collect::<Result<_>>()?)
    };
    let ours = Entrant::local("", names, move || drop(black_box(open(&workspace))));
    Contest {
        kind: KIND,
        name: format!("open {MANY} prompts"),
        expected: None,
        ours,
        peers: vec![Peer { name: "find", goal: Some(OPENING), entrant: Entrant::new(find(many)) }],
    }
}

/// `find` over the prompts.
fn find(many: &Workspace) -> Result<Box<dyn Side>> {
    let version = printed(Command::new("find").arg("--version"))?;
    let version = String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned();
    let (prompts, again) = (many.prompts(), many.prompts());
    let everything = move || {
        let mut command = Command::new("find");
        command.arg(&prompts);
        command
    };
    let directories = move || {
        let mut command = Command::new("find");
        command.arg(&again).args(["-mindepth", "1", "-maxdepth", "1", "-type", "d", "-printf", "%f\\n"]);
        let printed = String::from_utf8(printed(&mut command)?).context("names are text")?;
        lines(printed.lines().map(str::to_owned).collect())
    };
    Ok(Box::new(ProcessSide::new(version, everything, directories)))
}

fn lines(names: BTreeSet<String>) -> Result<Vec<u8>> {
    Ok(names.into_iter().collect::<Vec<_>>().join("\n").into_bytes())
}
