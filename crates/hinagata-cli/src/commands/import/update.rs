//! `hina import --update` and `--check`: prompts whose foreign files changed since they were imported.

use hinagata::{
    Digest,
    edit::{ImportRecord, PlannedImport},
    exchange::ImportOptions,
    source::ForeignFiles,
};
use serde_json::json;

use super::{Arguments, edit_failure, from_here, report::loss_line, shown_path};
use crate::{
    difference::unified_diff_text,
    exit,
    failure::Failure,
    output::{self, Format, sanitize_text},
    workspace::{Globals, Workspace},
};

/// What is the matter with an imported prompt.
enum State {
    Unchanged,
    /// The foreign file is not there, cannot be read or is not a prompt any more.
    Missing(String),
    /// The foreign file changed.
    Changed(Box<PlannedImport>),
    /// The foreign file changed, and the prompt was edited.
    Edited(Box<PlannedImport>),
}

impl State {
    const fn name(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Missing(_) => "missing",
            Self::Changed(_) => "changed",
            Self::Edited(_) => "edited",
        }
    }
}

pub(super) fn run(arguments: &Arguments, workspace: &Workspace, globals: &Globals) -> Result<(), Failure> {
    let catalog = workspace.open_catalog();
    let mut records = catalog.import_records();
    for id in &arguments.paths {
        let wanted = catalog.resolve_id(id)?;
        if !records.iter().any(|record| record.id == wanted) {
            return Err(Failure::not_found(format!("`{wanted}` was not imported"))
                .with_hint("`hina import --check` lists the prompts that were"));
        }
    }
    if !arguments.paths.is_empty() {
        let wanted: Vec<_> = arguments.paths.iter().filter_map(|id| catalog.resolve_id(id).ok()).collect();
        records.retain(|record| wanted.contains(&record.id));
    }
    let (mut rows, mut shown) = (Vec::new(), Vec::new());
    let (mut is_stale, mut has_conflict) = (false, false);
    for record in &records {
        let state = find_state(workspace, record);
        is_stale |= !matches!(state, State::Unchanged);
        let mut word = state.name();
        match &state {
            State::Changed(planned) if arguments.update => {
                write(workspace, planned)?;
                word = "updated";
            }
            State::Edited(planned) if arguments.update && arguments.force => {
                write(workspace, planned)?;
                word = "replaced";
            }
            State::Edited(planned) => {
                has_conflict = true;
                show_difference(workspace, record, planned)?;
            }
            State::Missing(problem) => output::print_status(&format!(
                "{}: {}\n",
                sanitize_text(&from_here(workspace, &record.from)),
                sanitize_text(problem)
            )),
            _ => {}
        }
        rows.push(vec![
            word.to_owned(),
            record.id.to_string(),
            sanitize_text(&from_here(workspace, &record.from)),
        ]);
        shown.push(json!({"prompt_id": record.id.as_str(), "state": word, "from": record.from}));
    }
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&json!({"prompts": shown}))?,
        Format::Text if rows.is_empty() => output::print_status("no prompt was imported\n"),
        Format::Text => output::print_text(&output::align_columns(&rows))?,
    }
    match (arguments.check, is_stale, has_conflict) {
        (true, true, _) => Err(Failure::Printed(exit::Code::Failed)),
        (false, _, true) => Err(Failure::Printed(exit::Code::Conflict)),
        _ => Ok(()),
    }
}

/// Reads the foreign file of a prompt again.
fn find_state(workspace: &Workspace, record: &ImportRecord) -> State {
    let path = workspace.host.root.path.join(&record.from);
    let found = match ForeignFiles::read(&path) {
        Ok(found) => found,
        Err(error) => return State::Missing(error.message().to_owned()),
    };
    let text = found.entry.as_deref().and_then(|entry| found.files.get(entry)).unwrap_or_default();
    let digest = Digest::sha256(text.as_bytes());
    if digest.to_string() == record.sha256 {
        return State::Unchanged;
    }
    let batch = found.import(&ImportOptions { format: Some(record.format), ..ImportOptions::default() });
    if let Some((_, error)) = batch.failed.first() {
        return State::Missing(error.message().to_owned());
    }
    let several = batch.prompts.len() > 1;
    let is_meant = |id: &str| !several || id.replace('.', "_") == record.id.as_str();
    let Some(mut imported) = batch.prompts.into_iter().find(|found| is_meant(&found.prompt.id)) else {
        return State::Missing("the file does not have this prompt any more".to_owned());
    };
    record.id.as_str().clone_into(&mut imported.prompt.id);
    imported.prompt.from.clone_from(&record.from);
    imported.report.map_files(|file| shown_path(workspace, file));
    let place = record.source.rsplit_once('/').map_or("", |(place, _)| place);
    let catalog = workspace.open_catalog();
    let planned = catalog.plan_imports(place, vec![imported], (&|_| Some(digest), true));
    match planned.into_iter().next() {
        Some(Ok(planned)) if record.is_edited => State::Edited(Box::new(planned)),
        Some(Ok(planned)) => State::Changed(Box::new(planned)),
        Some(Err(error)) => State::Missing(error.message().to_owned()),
        None => State::Missing("the file has no prompt".to_owned()),
    }
}

fn write(workspace: &Workspace, planned: &PlannedImport) -> Result<(), Failure> {
    workspace.open_catalog().write_import(planned, true).map_err(edit_failure)?;
    for loss in planned.report.losses() {
        output::print_status(&loss_line(workspace, loss));
    }
    Ok(())
}

/// Shows how an edited prompt differs from what its file gives now.
fn show_difference(
    workspace: &Workspace,
    record: &ImportRecord,
    planned: &PlannedImport,
) -> Result<(), Failure> {
    for file in &planned.files {
        let path = format!("{}/{}", record.source, file.path);
        let mine = std::fs::read_to_string(workspace.host.root.path.join(&path)).unwrap_or_default();
        let theirs = String::from_utf8_lossy(&file.content);
        let names = (workspace.display_path(&path), from_here(workspace, &record.from));
        output::print_status(&unified_diff_text(&names.0, &names.1, &mine, &theirs));
    }
    output::print_status(&format!(
        "`{}` was edited after its import and stays as it is; `--update --force` replaces it\n",
        record.id
    ));
    Ok(())
}
