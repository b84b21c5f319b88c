//! A workspace with one prompt, and runs of test files on it.

use std::{fs, path::Path};

use hinagata::{Engine, Settings};
use hinagata_test::{CaseResult, Report, RunOptions, Runner, SnapshotMode, Status, read_cases};
use tempfile::TempDir;

pub(crate) const FILE: &str = "user_data/shared/prompts/greeting/tests/greeting.yaml";

pub(crate) struct Workspace {
    pub(crate) directory: TempDir,
}

impl Workspace {
    pub(crate) fn new(template: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let workspace = Self { directory };
        workspace.write("user_data/shared/prompts/greeting/template.md", template);
        workspace
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn run(&self, tests: &str) -> Report {
        self.run_with(tests, SnapshotMode::Refuse)
    }

    pub(crate) fn run_with(&self, tests: &str, snapshots: SnapshotMode) -> Report {
        let file =
            read_cases(FILE, tests, Some("greeting")).unwrap_or_else(|problems| panic!("{problems:#?}"));
        let engine = Engine::open(self.path());
        let options =
            RunOptions { jobs: 2, snapshots, is_complete: true, is_trusted: false, may_call_out: false };
        let runner = Runner { engine: &engine, settings: &Settings::default(), options, models: None };
        runner.run_files(&[file], &|_| ())
    }
}

/// What became of a case: nothing, or the messages of its failures.
pub(crate) fn outcome(result: &CaseResult) -> String {
    match &result.status {
        Status::Passed => String::new(),
        Status::Skipped(reason) => format!("skipped: {reason}"),
        Status::Failed(failures) => {
            let lines: Vec<String> =
                failures.iter().map(|failure| format!("{}: {}", failure.title, failure.message)).collect();
            lines.join("\n")
        }
    }
}

/// The outcome of one assertion about a text.
pub(crate) fn check(text: &str, assertion: &str) -> String {
    let workspace = Workspace::new(&format!("{{% raw %}}{text}{{% endraw %}}"));
    let report =
        workspace.run(&format!("tests:\n- name: one\n  vars: {{name: Rumi}}\n  assert:\n  - {assertion}\n"));
    outcome(&report.results[0])
}
