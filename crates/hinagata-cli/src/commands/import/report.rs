//! What an import did, as text, JSON and SARIF.

use std::path::Path;

use hinagata::{
    Error,
    edit::PlannedImport,
    exchange::{Loss, LossLevel},
};
use serde_json::{Value, json};

use super::from_here;
use crate::{
    diagnostic::Diagnostic,
    exit,
    failure::Failure,
    output::{self, Format, sanitize_text},
    workspace::Workspace,
};

/// What became of the files of an import.
pub(super) struct Outcome {
    pub(super) prompts: Vec<PlannedImport>,
    pub(super) unrecognised: Vec<String>,
    pub(super) failed: Vec<(String, Error)>,
    /// How many prompts were written.
    pub(super) written: usize,
    pub(super) is_trial: bool,
    /// Whether `--strict` kept everything from being written.
    pub(super) is_refused: bool,
}

impl Outcome {
    pub(super) fn new(is_trial: bool) -> Self {
        let (prompts, unrecognised, failed) = (Vec::new(), Vec::new(), Vec::new());
        Self { prompts, unrecognised, failed, written: 0, is_trial, is_refused: false }
    }

    pub(super) fn exit_code(&self) -> exit::Code {
        let mut failed = self.failed.iter();
        // A single file of an unknown format is a wrong call.
        match failed.next() {
            Some((_, error)) if self.prompts.is_empty() && failed.next().is_none() => {
                exit::Code::from_number(error.exit_code())
            }
            Some(_) => exit::Code::Failed,
            None if self.is_refused => exit::Code::Failed,
            None if self.conflicts() > 0 => exit::Code::Conflict,
            None => exit::Code::Success,
        }
    }

    fn conflicts(&self) -> usize {
        self.prompts.iter().filter(|planned| planned.is_taken).count()
    }

    fn losses(&self) -> impl Iterator<Item = &Loss> {
        self.prompts.iter().flat_map(|planned| planned.report.losses())
    }

    /// Prints the outcome, and writes the report to a file if one is named.
    pub(super) fn print(
        &self,
        workspace: &Workspace,
        format: Format,
        report_format: &str,
        file: Option<&Path>,
    ) -> Result<(), Failure> {
        if let Some(file) = file {
            let text = serde_json::to_string_pretty(&self.to_json()).unwrap_or_default();
            hinagata::write::replace_file(
                file,
                format!("{text}\n").as_bytes(),
                hinagata::write::Readers::AsUsual,
            )?;
        }
        match (format, report_format) {
            (_, "sarif") => output::print_json(&self.to_sarif()),
            (Format::Json, _) => output::print_json(&self.to_json()),
            _ => self.print_text(workspace),
        }
    }

    fn print_text(&self, workspace: &Workspace) -> Result<(), Failure> {
        let mut rows = Vec::new();
        for planned in &self.prompts {
            let state = match (planned.is_taken, self.is_refused, self.is_trial) {
                (true, ..) => "exists",
                (_, true, _) => "not written",
                (.., true) => "would import",
                _ => "imported",
            };
            rows.push(vec![
                state.to_owned(),
                planned.id.to_string(),
                planned.format.as_str().to_owned(),
                sanitize_text(&from_here(workspace, &planned.from)),
            ]);
        }
        output::print_text(&output::align_columns(&rows))?;
        for (file, error) in &self.failed {
            let mut diagnostic = Diagnostic::from(error).map_paths(|name| from_here(workspace, name));
            if diagnostic.place.is_none() && !diagnostic.message.contains(file.as_str()) {
                diagnostic.about = Some(from_here(workspace, file));
            }
            output::print_diagnostic(&diagnostic, Format::Text);
        }
        for loss in self.losses() {
            output::print_status(&loss_line(workspace, loss));
        }
        output::print_status(&self.summary(workspace));
        Ok(())
    }

    fn summary(&self, workspace: &Workspace) -> String {
        let lossy = self.prompts.iter().filter(|planned| planned.report.is_lossy()).count();
        let (count, verb) = match self.is_trial || self.is_refused {
            true => (self.prompts.len() - self.conflicts(), "can be imported"),
            false => (self.written, "imported"),
        };
        let mut parts = vec![format!("{count} {verb}")];
        let mut add = |count: usize, words: &str| {
            if count > 0 {
                parts.push(format!("{count} {words}"));
            }
        };
        add(lossy, "with losses");
        add(self.conflicts(), "exist already and stay as they are");
        add(self.failed.len(), "failed");
        add(self.unrecognised.len(), "not recognised");
        let mut text = format!("{}\n", parts.join(", "));
        if self.is_refused {
            text.push_str("nothing was written, because `--strict` allows no losses\n");
        }
        if let Some(taken) = self.prompts.iter().find(|planned| planned.is_taken) {
            let place = from_here(workspace, &taken.source);
            text.push_str(&format!(
                "help: `{}` exists; use `--as ID` or `--in DIR`, or `hina import --update` for prompts that were imported\n",
                sanitize_text(&place)
            ));
        }
        text
    }

    /// The outcome for scripts.
    pub(super) fn to_json(&self) -> Value {
        let prompts = self.prompts.iter().map(|planned| {
            let mut shown = planned.to_json();
            shown["written"] = (!self.is_trial && !self.is_refused && !planned.is_taken).into();
            shown
        });
        let failed = self
            .failed
            .iter()
            .map(|(file, error)| json!({"file": file, "error": Diagnostic::from(error).to_json()}));
        json!({
            "summary": {
                "imported": if self.is_trial { self.prompts.len() - self.conflicts() } else { self.written },
                "with_losses": self.prompts.iter().filter(|planned| planned.report.is_lossy()).count(),
                "conflicts": self.conflicts(),
                "unrecognised": self.unrecognised.len(),
                "failed": self.failed.len(),
            },
            "dry_run": self.is_trial,
            "refused": self.is_refused,
            "prompts": prompts.collect::<Value>(),
            "unrecognised": self.unrecognised,
            "failed": failed.collect::<Value>(),
        })
    }

    /// The losses and failures in the format of static analysis results, version 2.1.0.
    fn to_sarif(&self) -> Value {
        let result = |rule: &str, level: &str, text: String, (file, line, column): (&str, u32, u32)| {
            json!({
                "ruleId": format!("exchange.{rule}"),
                "level": level,
                "message": {"text": text},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": file},
                    "region": {"startLine": line.max(1), "startColumn": column.max(1)},
                }}],
            })
        };
        let losses = self.losses().map(|loss| {
            let level = match loss.code.level() {
                LossLevel::Lost | LossLevel::Changed => "warning",
                LossLevel::Kept => "note",
            };
            result(loss.code.as_str(), level, loss_text(loss), (&loss.file, loss.at.line, loss.at.column))
        });
        let failed = self.failed.iter().map(|(file, error)| {
            let place = error.place();
            let at = (file.as_str(), place.map_or(1, |at| at.line), place.map_or(1, |at| at.column));
            result("failed", "error", error.message().to_owned(), at)
        });
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {"name": "hina import", "version": env!("CARGO_PKG_VERSION")}},
                "results": failed.chain(losses).collect::<Value>(),
            }],
        })
    }
}

/// A loss in words.
fn loss_text(loss: &Loss) -> String {
    match loss.instead.is_empty() {
        true => loss.what.clone(),
        false => format!("{}; instead: {}", loss.what, loss.instead),
    }
}

/// A loss in one line, with its place.
pub(in crate::commands) fn loss_line(workspace: &Workspace, loss: &Loss) -> String {
    let place = format!("{}:{}:{}", from_here(workspace, &loss.file), loss.at.line, loss.at.column);
    let level = loss.code.level().as_str();
    format!(
        "{}: {level} [{}]: {}\n",
        sanitize_text(&place),
        loss.code.as_str(),
        sanitize_text(&loss_text(loss))
    )
}
