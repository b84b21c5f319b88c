//! Rendering a prompt written as a Go template: ours, Go itself, the crate gotmpl.

use std::process::Command;

use anyhow::Result;

use crate::child::ChildSide;
use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::row::Goal;
use crate::side::{Entrant, Side};
use crate::sides;
use crate::workload::{self, GoWorkload};

const KIND: &str = "gotemplate";
const GO: Goal = Goal { must: 0.3, stretch: Some(0.15) };
const GOTMPL: Goal = Goal { must: 0.7, stretch: None };

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    ["small", "medium", "range50", "large"].into_iter().map(|name| contest(installer, name)).collect()
}

fn contest(installer: &Installer, name: &str) -> Result<Contest> {
    let path = workload::path(&installer.home, KIND, name);
    let work: GoWorkload = workload::load(&path)?;
    let go = || -> Result<Box<dyn Side>> {
        Ok(Box::new(ChildSide::start(Command::new(installer.go_peer()?), &path)?))
    };
    Ok(Contest {
        kind: KIND,
        name: name.to_owned(),
        expected: Some(work.output.clone().into_bytes()),
        ours: sides::ours_gotemplate::entrant(&work),
        peers: vec![
            Peer { name: "go", goal: Some(GO), entrant: Entrant::new(go()) },
            Peer { name: "gotmpl", goal: Some(GOTMPL), entrant: sides::gotmpl::entrant(&work) },
        ],
    })
}
