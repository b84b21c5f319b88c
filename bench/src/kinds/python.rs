//! The package for Python: ours, Jinja2's sandbox, minijinja-py, and the same render in Rust.

use std::process::Command;

use anyhow::Result;

use crate::child::ChildSide;
use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::row::Goal;
use crate::side::{Entrant, Side};
use crate::sides;
use crate::workload::{self, JinjaWorkload};

const KIND: &str = "python";

const fn goal(must: f64, stretch: f64) -> Option<Goal> {
    Some(Goal { must, stretch: Some(stretch) })
}

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let mut all = Vec::new();
    for name in ["small", "medium", "large"] {
        let sides = Sides::new(installer, name)?;
        all.push(sides.contest(
            "",
            "template",
            vec![
                sides.peer("jinja2 sandboxed", goal(0.2, 0.1), "jinja2"),
                sides.peer("minijinja-py", goal(1.0, 0.6), "minijinja"),
            ],
        ));
        let mut peers = vec![sides.peer("jinja2 sandboxed", goal(0.08, 0.04), "jinja2")];
        let in_rust = if name == "large" { goal(1.3, 1.1) } else { None };
        peers.push(Peer { name: "in Rust", goal: in_rust, entrant: sides::ours_jinja::entrant(&sides.work) });
        all.push(sides.contest(" prepared", "prepared", peers));
    }
    let sides = Sides::new(installer, "medium")?;
    all.push(sides.contest(
        " two threads",
        "threads",
        vec![sides.peer("one thread", goal(0.6, 0.55), "thread")],
    ));
    let sides = Sides::new(installer, "small")?;
    all.push(sides.contest(" awaited", "await", vec![sides.peer("sync", goal(2.0, 1.3), "sync")]));
    let mut import =
        sides.contest("", "import:hinagata", vec![sides.peer("jinja2", goal(0.5, 0.2), "import:jinja2")]);
    import.name = "import".to_owned();
    import.expected = None;
    all.push(import);
    Ok(all)
}

/// The sides of one workload.
struct Sides<'i> {
    installer: &'i Installer,
    name: &'static str,
    work: JinjaWorkload,
}

impl<'i> Sides<'i> {
    fn new(installer: &'i Installer, name: &'static str) -> Result<Self> {
        let work = workload::load(&workload::path(&installer.home, "jinja", name))?;
        Ok(Self { installer, name, work })
    }

    fn side(&self, mode: &str) -> Result<Box<dyn Side>> {
        let mut command = Command::new(self.installer.wheel()?);
        command.arg(self.installer.home.join("peers/python/side.py")).arg(mode);
        let path = workload::path(&self.installer.home, "jinja", self.name);
        Ok(Box::new(ChildSide::start(command, &path)?))
    }

    fn peer(&self, name: &'static str, goal: Option<Goal>, mode: &str) -> Peer {
        Peer { name, goal, entrant: Entrant::new(self.side(mode)) }
    }

    fn contest(&self, what: &str, mode: &str, peers: Vec<Peer>) -> Contest {
        Contest {
            kind: KIND,
            name: format!("{}{what}", self.name),
            expected: Some(self.work.expect.clone().into_bytes()),
            ours: Entrant::new(self.side(mode)),
            peers,
        }
    }
}
