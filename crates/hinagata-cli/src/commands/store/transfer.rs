//! `hina store export` and `import`: all documents of a store as one JSON document.

use std::path::Path;

use hinagata::{
    Diagnostic, Engine, Error, Severity,
    store::{StoreChange, StoreKind, StoreSnapshot, Stored, check_change},
};
use serde_json::{Map, Value, json};

use super::{live_snapshot, write};
use crate::{
    diagnostic, exit,
    failure::Failure,
    input::Inputs,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Prints all documents. Fails afterwards if the store has some that are not part of it.
pub(super) fn export_documents(snapshot: &StoreSnapshot) -> Result<(), Failure> {
    let documents = |kind: StoreKind| {
        let pair = |(id, stored): (&std::sync::Arc<str>, &Stored)| (id.to_string(), (*stored.value).clone());
        Value::Object(snapshot.documents(kind).iter().map(pair).collect())
    };
    let all: Map<String, Value> =
        StoreKind::ALL.into_iter().map(|kind| (kind.to_string(), documents(kind))).collect();
    output::print_json(&all)?;
    let bad = snapshot.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let keys: Vec<&str> = bad.map(|found| found.source.trim_start_matches("store:")).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let mut failure = diagnostic::Diagnostic::new(
        hinagata::Code::Definition.as_str(),
        exit::Code::Failed,
        format!(
            "the export is incomplete: {} left out, as reported above",
            count_documents(keys.len(), "invalid ")
        ),
    );
    failure.details.insert("keys".to_owned(), json!(keys));
    failure.advice.push("correct or delete these keys in the store, then export again".to_owned());
    Err(Failure::Reported(Box::new(failure)))
}

/// Writes all documents of an export, or none if some are invalid.
pub(super) fn import_documents(
    engine: &Engine,
    workspace: &Workspace,
    file: &Path,
    replace: bool,
    globals: &Globals,
) -> Result<(), Failure> {
    let text = Inputs::default().read_text(file, "FILE")?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage_error(format!("`{}` is not valid JSON: {error}", file.display())))?;
    let Value::Object(kinds) = document else {
        return Err(Failure::usage_error(
            "the document is not an object of extensions, templates, environs and tools",
        )
        .with_hint("`hina store export` prints such a document"));
    };
    let Import { mut changes, rejected } = Import::from_kinds(kinds);
    if !rejected.is_empty() {
        return Err(rejection(workspace, &rejected, changes.len(), globals));
    }
    let written = changes.len();
    let mut deleted = 0;
    if replace {
        let gone = missing_documents(&*live_snapshot(engine, workspace)?, &changes);
        deleted = gone.len();
        changes.extend(gone);
    }
    write(engine, changes)?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&json!({"written": written, "deleted": deleted})),
        Format::Text => output::print_text(&match replace {
            true => format!("{written} written, {deleted} deleted\n"),
            false => format!("{written} written\n"),
        }),
    }
}

/// An export that was read: what it says, and what of it cannot be written.
#[derive(Default)]
struct Import {
    changes: Vec<StoreChange>,
    rejected: Vec<Diagnostic>,
}

impl Import {
    /// Reads and checks everything. One bad document does not keep the others from being checked.
    fn from_kinds(kinds: Map<String, Value>) -> Self {
        let mut import = Self::default();
        for (name, documents) in kinds {
            match (name.parse::<StoreKind>(), documents) {
                (Ok(kind), Value::Object(documents)) => {
                    for (id, value) in documents {
                        import.push(StoreChange::set(kind, id, value));
                    }
                }
                (Ok(_), _) => import.reject(&name, no_documents(&name)),
                (Err(error), _) => import.reject(&name, error),
            }
        }
        import
    }

    fn push(&mut self, change: StoreChange) {
        match check_change(&change) {
            Ok(()) => self.changes.push(change),
            Err(error) => self.reject(&format!("{} {}", change.kind, change.id), error),
        }
    }

    fn reject(&mut self, about: &str, error: Error) {
        self.rejected.push(Diagnostic::error(about, error));
    }
}

fn no_documents(name: &str) -> Error {
    Error::definition(hinagata::Reason::NoMap, format!("`{name}` is not an object of documents by id"))
        .with_hint("`hina store export` prints such a document")
}

/// Reports every rejected document and returns the failure of the import, with the code of the first one.
fn rejection(workspace: &Workspace, rejected: &[Diagnostic], good: usize, globals: &Globals) -> Failure {
    let is_json = Format::from_globals(globals) == Format::Json;
    if !is_json {
        rejected.iter().for_each(|found| workspace.print_warning(found));
    }
    let message = format!(
        "nothing was imported: {} of {} invalid",
        rejected.len(),
        count_documents(rejected.len() + good, "")
    );
    let first = rejected.first().map(|found| &found.error);
    let code = first.map_or(hinagata::Code::Definition, Error::code);
    let exit = first.map_or(exit::Code::Failed, |error| exit::Code::from_number(error.exit_code()));
    let mut failure = diagnostic::Diagnostic::new(code.as_str(), exit, message);
    if is_json {
        let described = rejected.iter().map(|found| {
            let mut described = workspace.to_diagnostic(found).to_json();
            described["document"] = json!(found.source);
            described
        });
        failure.details.insert("documents".to_owned(), described.collect());
    }
    Failure::Reported(Box::new(failure))
}

/// Changes that delete the documents of the store that `changes` does not write.
fn missing_documents(snapshot: &StoreSnapshot, changes: &[StoreChange]) -> Vec<StoreChange> {
    let written: std::collections::HashSet<(StoreKind, &str)> =
        changes.iter().map(|change| (change.kind, change.id.as_str())).collect();
    StoreKind::ALL
        .into_iter()
        .flat_map(|kind| snapshot.documents(kind).keys().map(move |id| (kind, &**id)))
        .filter(|document| !written.contains(document))
        .map(|(kind, id)| StoreChange::delete(kind, id))
        .collect()
}

/// A number of documents, in words.
fn count_documents(count: usize, which: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    let noun = if count == 1 { "document" } else { "documents" };
    format!("{count} {which}{noun} {verb}")
}
