//! Checking many prompts: beside Jinja2, which only parses them and lists their variables, and beside ruff on as many
//! files and bytes of Python.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hinagata::{Catalog, CatalogOptions};
use hinagata_check::{CheckOptions, Checker};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{OnTheWall, ProcessSide};
use crate::row::{Figure, Goal, Row};
use crate::side::{Entrant, Side};

const KIND: &str = "check";
const JINJA2: Goal = Goal { must: 0.05, stretch: Some(0.02) };
const RUFF: Goal = Goal { must: 2.0, stretch: Some(1.0) };
const AFTER_CHANGE: Goal = Goal { must: 0.2, stretch: Some(0.1) };

/// How many prompts, and so many bytes of each: 24 MB in all.
const PROMPTS: usize = 10_000;
const BYTES: usize = 2_400;
/// Each prompt whose number is a multiple of this has a misspelt name.
const MISSPELT: usize = 100;
/// How many prompts use the partial that changes.
const DEPENDANTS: usize = 1_000;
/// How often a figure is measured; the best counts.
const ROUNDS: usize = 5;
const PROMPTS_DIRECTORY: &str = "user_data/shared/prompts";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let files = Files::make(&installer.cache)?;
    let contest = |name: &str, with_cache: bool| -> Result<Contest> {
        let mut peers = vec![Peer {
            name: if with_cache { "ruff check with its cache" } else { "ruff check --no-cache" },
            goal: Some(RUFF),
            entrant: Entrant::new(files.ruff(installer, with_cache)),
        }];
        if !with_cache {
            let jinja2 = Entrant::new(files.jinja2(installer));
            peers.insert(0, Peer { name: "Jinja2's parse and meta", goal: Some(JINJA2), entrant: jinja2 });
        }
        Ok(Contest {
            kind: KIND,
            name: name.to_owned(),
            expected: Some(misspelt()),
            ours: Entrant::new(files.ours(installer)),
            peers,
        })
    };
    Ok(vec![contest("checking 10 000 prompts", false)?, contest("checking 10 000 unchanged prompts", true)?])
}

/// The time after a change of a partial that 1 000 prompts use, beside that of all prompts.
pub(crate) fn amounts(installer: &Installer) -> Result<Vec<Row>> {
    let files = Files::make(&installer.cache)?;
    let partial = format!("{PROMPTS_DIRECTORY}/partials/shared.md");
    let path = files.prompts.join(&partial);
    let text = fs::read_to_string(&path)?;
    let (mut all, mut changed) = (Duration::MAX, Duration::MAX);
    for round in 0..ROUNDS {
        let mut checker = Checker::new(CheckOptions::default());
        let start = Instant::now();
        let catalog = Catalog::open(CatalogOptions::new(&files.prompts));
        checker.check_all(&catalog);
        ensure!(checker.findings().len() >= PROMPTS / MISSPELT, "the misspelt names are found");
        all = all.min(start.elapsed());
        fs::write(&path, format!("{text}{}\n", "x".repeat(round + 1)))?;
        let start = Instant::now();
        let checked = checker.check_changes(&catalog.reload(), std::slice::from_ref(&partial));
        ensure!(checker.findings().len() >= PROMPTS / MISSPELT, "the other findings stay");
        changed = changed.min(start.elapsed());
        ensure!(checked.len() == DEPENDANTS, "{} prompts use the partial", checked.len());
        fs::write(&path, &text)?;
    }
    Ok(vec![Row {
        kind: KIND.to_owned(),
        name: "after a change in a partial of 1 000 prompts, beside all 10 000".to_owned(),
        figure: Figure::Amount { value: changed.as_secs_f64() / all.as_secs_f64(), unit: "times".to_owned() },
        goal: Some(AFTER_CHANGE),
    }])
}

/// The names of the prompts with a misspelt variable, one on each line.
fn misspelt() -> Vec<u8> {
    (0..PROMPTS).step_by(MISSPELT).flat_map(|number| format!("p{number:05}\n").into_bytes()).collect()
}

/// The names that start like those of the prompts, sorted.
fn names_in(text: &str) -> Vec<u8> {
    let is_digit = |c: char| c.is_ascii_digit();
    let starts = text.match_indices(['p']).filter_map(|(at, _)| text.get(at..at + 6));
    let names: BTreeSet<&str> = starts.filter(|name| name[1..].chars().all(is_digit)).collect();
    names.iter().flat_map(|name| format!("{name}\n").into_bytes()).collect()
}

/// What is checked: a workspace with prompts, and a directory with as many bytes of Python.
struct Files {
    prompts: PathBuf,
    python: PathBuf,
}

impl Files {
    fn make(cache: &Path) -> Result<Self> {
        let (prompts, python) = (cache.join("check/prompts"), cache.join("check/python"));
        let mark = cache.join("check/made");
        if !mark.exists() {
            let directory = prompts.join(PROMPTS_DIRECTORY);
            fs::create_dir_all(directory.join("partials"))?;
            fs::create_dir_all(&python)?;
            fs::write(prompts.join("hinagata.toml"), "")?;
            fs::write(directory.join("partials/shared.md"), "Answer in {{ language }}, {{ tone|lower }}.\n")?;
            for number in 0..PROMPTS {
                let name = format!("p{number:05}");
                fs::create_dir_all(directory.join(&name))?;
                fs::write(directory.join(&name).join("template.md"), prompt(number))?;
                fs::write(python.join(format!("{name}.py")), python_file(number))?;
            }
            fs::write(mark, "")?;
        }
        Ok(Self { prompts, python })
    }

    fn ours(&self, installer: &Installer) -> Result<Box<dyn Side>> {
        let (hina, root) = (installer.hina()?, self.prompts.clone());
        let command = move || {
            let mut command = Command::new(&hina);
            command.args(["check", "--format", "github", "--root"]).arg(&root).stderr(Stdio::null());
            command
        };
        Ok(side("hina check".to_owned(), command))
    }

    fn jinja2(&self, installer: &Installer) -> Result<Box<dyn Side>> {
        let (python, root) = (installer.checkers()?, self.prompts.clone());
        let script = installer.home.join("peers/check/peer.py");
        let command = move || {
            let mut command = Command::new(&python);
            command.arg(&script).arg(&root);
            command
        };
        Ok(side("Jinja2 3.1.6".to_owned(), command))
    }

    fn ruff(&self, installer: &Installer, with_cache: bool) -> Result<Box<dyn Side>> {
        let ruff = installer.checkers()?.with_file_name("ruff");
        let (root, cache) = (self.python.clone(), installer.cache.join("check/ruff"));
        let version = String::from_utf8(Command::new(&ruff).arg("--version").output()?.stdout)?;
        let command = move || {
            let mut command = Command::new(&ruff);
            command.args(["check", "--isolated", "--quiet", "--exit-zero", "--select", "F"]);
            command.args(["--output-format", "concise"]);
            match with_cache {
                true => command.arg("--cache-dir").arg(&cache),
                false => command.arg("--no-cache"),
            };
            command.arg(&root);
            command
        };
        Ok(side(version.trim().to_owned(), command))
    }
}

/// A command whose output names the prompts with a misspelt variable.
fn side(version: String, command: impl Fn() -> Command + Clone + 'static) -> Box<dyn Side> {
    let once = command.clone();
    let output = move || {
        let output = once().output().context("cannot start a checker")?;
        Ok(names_in(&String::from_utf8_lossy(&output.stdout)))
    };
    Box::new(OnTheWall(ProcessSide::new(version, command, output)))
}

/// A prompt as people write them: declarations, instructions, conditions, loops.
fn prompt(number: usize) -> String {
    let mut text =
        "---\nparameters:\n  task: string\n  tone: string\n  language: string\n  steps: list\n---\n"
            .to_owned();
    let wrong = if number.is_multiple_of(MISSPELT) { "{{ tsak }}" } else { "{{ task }}" };
    let _ = writeln!(text, "You are assistant number {number}. Your task: {wrong}");
    if number < DEPENDANTS {
        text.push_str("{% include \"partials/shared.md\" %}\n");
    }
    let mut paragraph = 0;
    while text.len() < BYTES {
        paragraph += 1;
        let _ = writeln!(
            text,
            "\n## Part {paragraph}\n\nRead what follows with care, and answer in {{{{ language }}}}.\n\
             {{% if tone == \"formal\" %}}Write formally.{{% else %}}Write as to a friend, {{{{ tone|lower }}}}.{{% endif %}}\n\
             {{% for step in steps %}}\n{{{{ loop.index }}}}. {{{{ step|trim }}}}\n{{% endfor %}}\n\
             Keep to the facts of part {paragraph}: what is not there is not known."
        );
    }
    text
}

/// As many bytes of Python with the same names.
fn python_file(number: usize) -> String {
    let wrong = if number.is_multiple_of(MISSPELT) { "tsak" } else { "task" };
    let mut text =
        format!("def describe(task, tone, language, steps):\n    lines = [f\"{{{wrong}}} {number}\"]\n");
    let mut part = 0;
    while text.len() < BYTES {
        part += 1;
        let _ = writeln!(
            text,
            "    # Part {part}: read what follows with care, and answer in the language.\n    lines.append(language)\n    \
             if tone == \"formal\":\n        lines.append(\"Write formally.\")\n    else:\n        \
             lines.append(f\"Write as to a friend, {{tone.lower()}}.\")\n    for index, step in enumerate(steps, 1):\n        \
             lines.append(f\"{{index}}. {{step.strip()}}\")"
        );
    }
    text.push_str("    return \"\\n\".join(lines)\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_have_the_size_that_is_measured() {
        let all: usize = (0..100).map(|number| prompt(number).len()).sum();
        assert!((BYTES..BYTES * 6 / 5).contains(&(all / 100)), "{all}");
        assert!(prompt(0).contains("tsak") && !prompt(1).contains("tsak"));
    }

    #[test]
    fn names_are_found_in_any_report() {
        assert_eq!(names_in("x/p00100/template.md:1 p00100 p7 p00002.py"), b"p00002\np00100\n");
    }
}
