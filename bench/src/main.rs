//! `bench/run`: measures Hinagata next to its peers.
//!
//! A figure is a ratio in one run on one machine. The sides take turns in rounds, after their
//! outputs were found equal; see `bench/README.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on its streams")]

mod chart;
mod child;
mod crowd;
mod daemon;
mod install;
mod isolate;
mod kinds;
mod load;
mod machine;
mod mcp;
mod measure;
mod process;
mod project;
mod provider;
mod proxy;
mod results;
mod row;
mod side;
mod sides;
mod stage;
mod table;
mod tree;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::install::Installer;
use crate::isolate::Measured;
use crate::kinds::KINDS;
use crate::measure::Effort;
use crate::results::Section;
use crate::row::Row;

/// Measure Hinagata next to its peers.
///
/// Rounds alternate the sides; a ratio is our best processor time by the peer's. A peer that is
/// missing is installed into the cache directory, or shown as absent.
#[derive(Parser)]
#[command(name = "bench/run")]
struct Arguments {
    /// The kinds to measure; all when none is named
    #[arg(value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(KINDS.iter().map(|(name, _)| *name)))]
    kinds: Vec<String>,
    /// Fewer and shorter rounds: under a minute for each kind
    #[arg(long)]
    quick: bool,
    /// Print the rows as JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Update RESULTS.md, results.json and results.svg
    #[arg(long)]
    write: bool,
    /// The directory of the benchmarks
    #[arg(long, hide = true)]
    home: PathBuf,
    /// Where peers are kept between runs
    #[arg(long, hide = true)]
    cache: PathBuf,
    /// Pass requests on to this address instead of measuring anything
    #[arg(long, hide = true, value_name = "ADDRESS")]
    proxy: Option<String>,
    /// Measure this kind in this process, and answer with its rows
    #[arg(long, hide = true, value_name = "KIND")]
    measure: Option<String>,
}

impl Arguments {
    fn takes(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind)
    }

    fn effort(&self) -> Effort {
        if self.quick { Effort::QUICK } else { Effort::FULL }
    }
}

fn main() -> ExitCode {
    // This may be the process that becomes Python.
    hinagata_python::launch_if_requested();
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and prints; false when a contest could not be measured, as when outputs differ.
fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(upstream) = &arguments.proxy {
        proxy::serve(upstream)?;
        return Ok(true);
    }
    std::fs::create_dir_all(&arguments.cache)
        .with_context(|| format!("cannot make {}", arguments.cache.display()))?;
    if let Some(kind) = &arguments.measure {
        return isolate::answer(&measure_kind(kind, arguments)?);
    }
    let effort = arguments.effort();
    let mut sections = Vec::new();
    let mut complete = true;
    for (kind, _) in KINDS.iter().filter(|(kind, _)| arguments.takes(kind)) {
        let measured = isolate::measure(kind, arguments)?;
        complete &= measured.complete;
        sections.push(Section::now(kind, measured.rows, effort.rounds));
    }
    let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
    if arguments.json {
        let list: Vec<_> = rows.iter().map(|row| row.to_json()).collect();
        println!("{}", serde_json::to_string_pretty(&list)?);
    } else {
        print!("{}", table::text(&rows));
    }
    if arguments.write {
        results::write(&arguments.home, sections)?;
    }
    Ok(complete)
}

fn measure_kind(kind: &str, arguments: &Arguments) -> Result<Measured> {
    let (kind, prepare) =
        KINDS.iter().find(|(known, _)| *known == kind).with_context(|| format!("there is no kind {kind}"))?;
    let installer = Installer { home: arguments.home.clone(), cache: arguments.cache.clone() };
    eprintln!("{kind}: preparing");
    let mut measured = Measured { rows: Vec::new(), complete: true };
    for contest in prepare(&installer)? {
        eprintln!("{kind}: {}", contest.name);
        let name = contest.name.clone();
        match contest.measure(arguments.effort()) {
            Ok(rows) => measured.rows.extend(rows),
            Err(error) => {
                measured.complete = false;
                eprintln!("error: {kind} {name}: {error:#}");
            }
        }
    }
    measured.rows.extend(kinds::amounts(kind, &installer, arguments.effort())?);
    Ok(measured)
}
