//! A thousand test cases of one prompt: `hina test` beside `promptfoo eval` with its provider `echo`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{ProcessSide, printed};
use crate::row::Goal;
use crate::side::{Entrant, Side};

const KIND: &str = "test";
const CASES: usize = 1_000;
const GOAL: Goal = Goal { must: 0.05, stretch: None };

/// The prompt of both sides.
const TEMPLATE: &str =
    "Answer the letter of {{ name }} in {{ language }}. Be brief, and do not invent facts.\n";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let place = installer.cache.join("test-cases");
    fs::create_dir_all(&place)?;
    Ok(vec![Contest {
        kind: KIND,
        name: format!("{CASES} cases"),
        expected: Some(passed_line(CASES as u64)),
        ours: Entrant::new(hina(installer, &place)),
        peers: vec![Peer {
            name: "promptfoo eval (echo)",
            goal: Some(GOAL),
            entrant: Entrant::new(promptfoo(installer, &place)),
        }],
    }])
}

/// What both sides print: how many cases passed.
fn passed_line(count: u64) -> Vec<u8> {
    format!("{count} passed\n").into_bytes()
}

/// The assertions of a case, the same in both formats.
fn cases_text(indent: &str) -> String {
    let mut text = String::new();
    for index in 0..CASES {
        let _ = write!(
            text,
            "{indent}- description: case {index}\n{indent}  vars: {{name: Person {index}, language: Language {index}}}\n\
             {indent}  assert:\n{indent}  - {{type: contains, value: Person {index}}}\n\
             {indent}  - {{type: not-contains, value: undefined}}\n{indent}  - {{type: starts-with, value: Answer}}\n",
        );
    }
    text
}

fn hina(installer: &Installer, place: &Path) -> Result<Box<dyn Side>> {
    let (hina, root) = (installer.hina()?, place.join("hina"));
    let prompt = root.join("user_data/shared/prompts/letter");
    fs::create_dir_all(prompt.join("tests"))?;
    fs::write(root.join("hinagata.toml"), "")?;
    fs::write(prompt.join("template.md"), TEMPLATE)?;
    fs::write(prompt.join("tests/letter.yaml"), format!("tests:\n{}", cases_text("")))?;
    let version = String::from_utf8_lossy(&printed(Command::new(&hina).arg("--version"))?).trim().to_owned();
    let command = move || {
        let mut command = Command::new(&hina);
        command.arg("--root").arg(&root).args(["test", "--json"]);
        command
    };
    let again = command.clone();
    let answer = move || -> Result<Vec<u8>> {
        let report: Value = serde_json::from_slice(&printed(&mut again())?)?;
        Ok(passed_line(report["passed"].as_u64().context("the report has no count")?))
    };
    Ok(Box::new(ProcessSide::new(version, command, answer)))
}

fn promptfoo(installer: &Installer, place: &Path) -> Result<Box<dyn Side>> {
    let program = installer.promptfoo()?;
    let root = place.join("promptfoo");
    fs::create_dir_all(&root)?;
    let template = TEMPLATE.trim_end();
    let config = format!("prompts:\n- {template:?}\nproviders: [echo]\ntests:\n{}", cases_text(""));
    fs::write(root.join("promptfooconfig.yaml"), config)?;
    let version =
        String::from_utf8_lossy(&printed(with_settings(&program, &root).arg("--version"))?).trim().to_owned();
    let results = root.join("results.json");
    let output = results.clone();
    let command = move || {
        let mut command = with_settings(&program, &root);
        command.args(["eval", "-c", "promptfooconfig.yaml", "--no-cache", "--no-write", "--no-table"]);
        command.args(["--no-progress-bar", "-o"]).arg(&output);
        command
    };
    let again = command.clone();
    let answer = move || -> Result<Vec<u8>> {
        printed(&mut again())?;
        let report: Value = serde_json::from_str(&fs::read_to_string(&results)?)?;
        let count = report["results"]["stats"]["successes"].as_u64();
        Ok(passed_line(count.context("the results have no count")?))
    };
    Ok(Box::new(ProcessSide::new(version, command, answer)))
}

/// The command, which keeps its files in the cache and asks nobody.
fn with_settings(program: &PathBuf, root: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root).env("PROMPTFOO_CONFIG_DIR", root.join("config"));
    for name in ["PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE", "PROMPTFOO_DISABLE_SHARING"] {
        command.env(name, "1");
    }
    command
}
