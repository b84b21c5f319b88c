//! Rendering a prompt written in Jinja: ours, minijinja, Jinja2, nunjucks.

use std::process::Command;

use anyhow::Result;

use crate::child::ChildSide;
use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::row::Goal;
use crate::side::{Entrant, Side};
use crate::sides;
use crate::workload::{self, JinjaWorkload};

const KIND: &str = "jinja";
const MINIJINJA: Goal = Goal { must: 0.7, stretch: Some(0.4) };
/// At least twenty times as fast.
const SANDBOXED: Goal = Goal { must: 0.05, stretch: None };
const NUNJUCKS: Goal = Goal { must: 1.0, stretch: None };

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    ["small", "medium", "large"].into_iter().map(|name| contest(installer, name)).collect()
}

fn contest(installer: &Installer, name: &str) -> Result<Contest> {
    let path = workload::path(&installer.home, KIND, name);
    let work: JinjaWorkload = workload::load(&path)?;
    let jinja2 = |mode: &str| -> Result<Box<dyn Side>> {
        let mut command = Command::new(installer.python()?);
        command.arg(installer.home.join("peers/jinja2/peer.py")).arg(mode);
        Ok(Box::new(ChildSide::start(command, &path)?))
    };
    let nunjucks = || -> Result<Box<dyn Side>> {
        let mut command = Command::new("node");
        command.arg(installer.home.join("peers/nunjucks/peer.mjs")).arg(installer.node()?);
        Ok(Box::new(ChildSide::start(command, &path)?))
    };
    let peer = |name, goal, entrant| Peer { name, goal, entrant };
    Ok(Contest {
        kind: KIND,
        name: name.to_owned(),
        expected: Some(work.expect.clone().into_bytes()),
        ours: sides::ours_jinja::entrant(&work),
        peers: vec![
            peer("minijinja", Some(MINIJINJA), sides::minijinja::entrant(&work)),
            peer("jinja2 sandboxed", Some(SANDBOXED), Entrant::new(jinja2("sandboxed"))),
            peer("jinja2", None, Entrant::new(jinja2("plain"))),
            peer("nunjucks", Some(NUNJUCKS), Entrant::new(nunjucks())),
        ],
    })
}
