//! The results that are kept: a file for the program, a page and a chart for people.
//!
//! A run may measure some kinds only, so `results.json` holds the last figures of each kind with
//! the machine and date they were measured on, and the page and the chart are made from all of them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::row::{Figure, Row};
use crate::{chart, kinds, machine, table};

const STORE: &str = "results.json";
const PAGE: &str = "RESULTS.md";
const CHART: &str = "results.svg";

/// The figures of one kind.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Section {
    kind: String,
    date: String,
    machine: String,
    compiler: String,
    rounds: usize,
    pub(crate) rows: Vec<Row>,
}

impl Section {
    /// Figures that were just measured here.
    pub(crate) fn now(kind: &str, rows: Vec<Row>, rounds: usize) -> Self {
        Self {
            kind: kind.to_owned(),
            date: machine::today(),
            machine: machine::machine(),
            compiler: machine::compiler(),
            rounds,
            rows,
        }
    }
}

impl Section {
    /// The compiler, and each peer that has a version.
    fn versions(&self) -> Vec<&str> {
        let mut versions = vec![self.compiler.as_str()];
        for row in &self.rows {
            if let Figure::Times { peer_version, .. } = &row.figure
                && !peer_version.is_empty()
                && !versions.contains(&peer_version.as_str())
            {
                versions.push(peer_version);
            }
        }
        versions
    }
}

/// Replaces the sections of the same kinds, and writes all three files.
pub(crate) fn write(home: &Path, new: Vec<Section>) -> Result<()> {
    let mut sections = stored(home)?;
    sections.retain(|old| new.iter().all(|section| section.kind != old.kind));
    sections.extend(new);
    sections.sort_by_key(|section| kinds::KINDS.iter().position(|(kind, _)| *kind == section.kind));
    let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
    save(home, STORE, &(serde_json::to_string_pretty(&sections)? + "\n"))?;
    save(home, CHART, &chart::svg(&rows))?;
    save(home, PAGE, &page(&sections))
}

fn stored(home: &Path) -> Result<Vec<Section>> {
    let path = home.join(STORE);
    match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("{} is damaged; remove it", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn save(home: &Path, name: &str, text: &str) -> Result<()> {
    let path = home.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn page(sections: &[Section]) -> String {
    let mut text = String::from(
        "# Results\n\nWritten by `bench/run --write`; [README.md](README.md) explains the figures. Times are \
         processor time of one operation, the best round and the median; the ratio is ours by theirs, of the best \
         rounds. Absolute times hold for the machine named, ratios are what counts.\n\n\
         ![Ratios to the peers on a logarithmic axis](results.svg)\n",
    );
    for section in sections {
        text += &format!(
            "\n## {}\n\n{}; {}; {}; {} rounds.\n\n{}",
            section.kind,
            section.date,
            section.machine,
            section.versions().join("; "),
            section.rounds,
            table::markdown(&section.rows)
        );
    }
    text
}
