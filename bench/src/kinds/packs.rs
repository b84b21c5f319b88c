//! Packs: installing and approving many small files, beside `tar` that unpacks the same archive.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{OnTheWall, ProcessSide};
use crate::row::Goal;
use crate::side::Entrant;

const KIND: &str = "packs";
const FILES: usize = 2_000;
const GOAL: Goal = Goal { must: 3.0, stretch: None };

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let hina = installer.hina()?;
    let place = installer.cache.join("packs");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    write_archive(&place)?;
    let ours = {
        let archive = place.join("p.tar.gz");
        side(place.clone(), "hina", move |root| {
            let mut command = Command::new("sh");
            command.args(["-c", r#""$1" pack install "$2" && "$1" pack approve p --yes"#, "sh"]);
            command.arg(&hina).arg(&archive).current_dir(root);
            command.env("HINAGATA_ROOT", root).env("HINAGATA_STATE", root.join("state"));
            command
        })
    };
    let theirs = {
        let archive = place.join("p.tar.gz");
        side(place, "tar", move |root| {
            let mut command = Command::new("tar");
            command.arg("-xf").arg(&archive).arg("-C").arg(root);
            command
        })
    };
    Ok(vec![Contest {
        kind: KIND,
        name: format!("install and approve {FILES} files"),
        expected: None,
        ours,
        peers: vec![Peer { name: "tar x", goal: Some(GOAL), entrant: theirs }],
    }])
}

/// A pack of small files, as an archive.
fn write_archive(place: &Path) -> Result<()> {
    let pack = place.join("pack");
    fs::create_dir_all(pack.join("prompts/partials"))?;
    fs::write(pack.join("pack.json"), r#"{"pack_id": "p", "version": "1.0.0"}"#)?;
    for number in 0..FILES {
        let name = pack.join(format!("prompts/partials/part{number}.md"));
        fs::write(name, format!("Part {number}: be brief, and name your sources.\n"))?;
    }
    let made =
        Command::new("tar").arg("-czf").arg(place.join("p.tar.gz")).arg("-C").arg(&pack).arg(".").status()?;
    ensure!(made.success(), "tar failed");
    Ok(())
}

/// A command that works in a new directory each time.
fn side(place: PathBuf, name: &'static str, command: impl Fn(&Path) -> Command + 'static) -> Entrant {
    let count = Cell::new(0_u32);
    let make = move || {
        count.set(count.get() + 1);
        let root = place.join(format!("{name}{}", count.get()));
        // Without the directory, the command reports that it failed.
        let _ = fs::create_dir(&root);
        let mut command = command(&root);
        command.stderr(Stdio::null());
        command
    };
    Entrant::new(Ok(Box::new(OnTheWall(ProcessSide::new(String::new(), make, || Ok(Vec::new()))))))
}
