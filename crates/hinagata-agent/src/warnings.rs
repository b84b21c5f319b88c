//! Warnings about requested files that are not in the context.

use hinagata::{Code, Diagnostic, Error, Hint, Reason, Warning, secret::redaction_warning};
use hinagata_context::{Entry, FileState, LeftOutReason, Notice, PackedForm, RedactedFile, Report};

use crate::{
    error::{left_out_reason, withheld_hint},
    project::Project,
};

/// Most redacted files that have a warning of their own.
const MOST_REDACTED: usize = 5;

/// Most paths in a warning; the report lists all.
const FEW: usize = 3;

impl Project {
    /// Warnings about the configuration, and about requested files that are missing or changed in the context.
    #[must_use]
    pub fn warnings(&self, report: &Report) -> Vec<Warning> {
        let others = [LeftOutReason::Secret, LeftOutReason::Outside];
        let others = others.into_iter().filter(|reason| self.profile.withheld_cause(*reason).is_none());
        let others = others.filter_map(|reason| self.reason_warning(reason, report));
        let named = self.named_warnings(report).into_iter();
        named.chain(self.budget_warning(report)).chain(others).collect()
    }

    /// As [`Self::warnings`], without files that were not named explicitly, unless a profile would pack them: for doors
    /// that print their number anyway.
    #[must_use]
    pub fn named_warnings(&self, report: &Report) -> Vec<Warning> {
        let odd = self.diagnostics.iter().map(diagnostic_warning);
        let unmatched = report.unmatched.iter().map(|pattern| {
            let error = Error::new(Code::NotFound, format!("no file matches `{pattern}`"));
            warning(pattern, error.with_reason(Reason::Unmatched))
        });
        let notices = report.notices.iter().map(|notice| self.notice_warning(notice));
        let withheld = [LeftOutReason::Secret, LeftOutReason::Outside, LeftOutReason::Ignored];
        let withheld = withheld.into_iter().filter(|reason| self.profile.withheld_cause(*reason).is_some());
        let withheld = withheld.filter_map(|reason| self.reason_warning(reason, report));
        let (first, more) = report.redacted.split_at(report.redacted.len().min(MOST_REDACTED));
        let redacted = redaction_warnings(first).into_iter().chain(more_redacted(more));
        odd.chain(unmatched).chain(notices).chain(withheld).chain(redacted).collect()
    }

    /// Warnings of the settings about the project, for doors whose callers do not see the warnings of opening a
    /// workspace.
    #[must_use]
    pub fn settings_warnings(&self) -> Vec<Warning> {
        self.settings_diagnostics.iter().map(diagnostic_warning).collect()
    }

    fn notice_warning(&self, notice: &Notice) -> Warning {
        let Some(reason) = notice.reason else {
            return warning(&notice.about, Error::definition(Reason::Context, notice.message.clone()));
        };
        let withheld = self.profile.withheld_cause(reason);
        let why = withheld.as_ref().map_or_else(String::new, |(why, _)| format!(", {why}"));
        let error = Error::new(code_of_reason(reason), format!("{}{why}", notice.message))
            .with_reason(left_out_reason(reason));
        let hint = match reason {
            LeftOutReason::Secret | LeftOutReason::Ignored | LeftOutReason::Outside => {
                Some(withheld_hint(reason))
            }
            _ => None,
        };
        let hint = withheld.map(|(_, hint)| hint).or(hint);
        warning(&notice.about, hint.into_iter().fold(error, Error::with_hint))
    }

    /// One warning for all files that were not named explicitly and do not fit.
    fn budget_warning(&self, report: &Report) -> Option<Warning> {
        let lowered = |state: FileState| match state {
            FileState::LeftOut(reason) => reason == LeftOutReason::Budget,
            FileState::Packed(PackedForm::Outlined) => !self.context.form.compress,
            FileState::Packed(form) => matches!(form, PackedForm::Named | PackedForm::Cut),
        };
        let counts: Vec<String> = FileState::all()
            .filter(|state| lowered(*state) && report.count_state(*state) > 0)
            .map(|state| format!("{} {}", report.count_state(state), state.as_str()))
            .collect();
        let left = unreported_paths(report, |entry| lowered(entry.state));
        let message =
            format!("files do not fit into the context ({}): {}", counts.join(", "), list_few(&left));
        let hint =
            "raise `context.max_tokens`, `context.max_bytes` or `context.max_files`, or include fewer files";
        let error = Error::new(Code::Definition, message)
            .with_reason(Reason::Budget)
            .with("paths", left.clone())
            .with_hint(hint);
        (!left.is_empty()).then(|| warning("context", error))
    }

    /// One warning for all files that were not named explicitly and are left out for `reason`.
    fn reason_warning(&self, reason: LeftOutReason, report: &Report) -> Option<Warning> {
        let withheld = self.profile.withheld_cause(reason);
        let left = unreported_paths(report, |entry| entry.reason() == Some(reason));
        let (what, hint) = match reason {
            LeftOutReason::Secret => ("files that contain secrets", Hint::ListLeftOut),
            LeftOutReason::Outside => {
                ("links to files outside of the project", "replace the links by the files".into())
            }
            _ => ("files that ignore files exclude", Hint::ListLeftOut),
        };
        let (why, hint) = withheld.map_or((String::new(), hint), |(why, hint)| (format!(" {why}"), hint));
        let message = format!("{what} are left out of the context{why}: {}", list_few(&left));
        let error = Error::new(code_of_reason(reason), message)
            .with_reason(left_out_reason(reason))
            .with("paths", left.clone());
        (!left.is_empty()).then(|| warning("context", error.with_hint(hint)))
    }
}

/// The paths of entries without a notice of their own.
fn unreported_paths(report: &Report, wanted: impl Fn(&Entry) -> bool) -> Vec<&str> {
    let is_reported = |entry: &&Entry| report.notices.iter().any(|notice| entry.path == notice.about);
    let left = report.entries.iter().filter(|entry| wanted(entry) && !is_reported(entry));
    left.map(|entry| entry.path.as_str()).collect()
}

/// The first paths, and the number of the others.
fn list_few(paths: &[&str]) -> String {
    let named = paths.iter().take(FEW).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(FEW) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Warnings about files whose secrets are redacted.
#[must_use]
pub fn redaction_warnings(files: &[RedactedFile]) -> Vec<Warning> {
    files.iter().map(|file| warning(&file.path, redaction_warning(file))).collect()
}

/// One warning about all of these files.
fn more_redacted(files: &[RedactedFile]) -> Option<Warning> {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let message = format!("secrets in more files are redacted: {}", list_few(&paths));
    let error = Error::new(Code::Approval, message)
        .with_reason(Reason::Secret)
        .with("paths", paths.clone())
        .with_hint(Hint::ListLeftOut);
    (!paths.is_empty()).then(|| warning("context", error))
}

fn diagnostic_warning(found: &Diagnostic) -> Warning {
    warning(&found.source, found.error.clone())
}

fn warning(about: &str, error: Error) -> Warning {
    Warning { about: about.to_owned(), error }
}

const fn code_of_reason(reason: LeftOutReason) -> Code {
    match reason {
        LeftOutReason::Secret | LeftOutReason::Ignored | LeftOutReason::Outside => Code::Approval,
        _ => Code::Definition,
    }
}
