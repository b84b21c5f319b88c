//! Unreadable files that may have changed a result: an unreadable file is never treated as a missing one.
//!
//! The reasons are in `docs/design/unreadable-files.md`.

use hinagata_document::{Code, Diagnostic, Error, Hint, Severity};
use hinagata_workspace::layout::{PACKS, SHARED_PROMPTS};
use serde_json::Value;

use crate::{Catalog, PromptId, ResolvedPrompt, resolution, source::Index, store::StoreSnapshot};

/// The source of findings about the store as a whole.
const STORE: &str = "store";

impl Catalog {
    /// Source roots that cannot be read or are missing, the store, and decisions about packs. Other problems of packs
    /// are diagnostics of the packs.
    fn unread_places(&self) -> impl Iterator<Item = Diagnostic> {
        let of_pack = |source: &str| source.strip_prefix(PACKS).is_some_and(|rest| rest.starts_with('/'));
        let places = self.opening_diagnostics().iter().filter(move |found| !of_pack(&found.source));
        places.cloned().chain(self.unread_store()).chain(self.undecided_packs())
    }

    /// Packs that are not used because the decisions about them cannot be read. Only a caller without a limited reach
    /// learns their names and the place of the decisions.
    fn undecided_packs(&self) -> impl Iterator<Item = Diagnostic> {
        self.opened_packs().iter().filter_map(|pack| {
            let error = pack.decision_error()?;
            if self.reach().is_some() {
                let message = "the decisions about a pack cannot be read, so the pack is not used";
                return Some(Diagnostic::warning(PACKS, Error::new(Code::Store, message)));
            }
            Some(Diagnostic::warning(pack.path(), error))
        })
    }

    /// The warning that the store does not answer, so its content may have changed. Only a caller without a limited
    /// reach learns its address.
    fn unread_store(&self) -> Option<Diagnostic> {
        let (_, error) = self.store()?.health.outage.as_ref()?;
        let error = match self.reach() {
            None => error.clone(),
            Some(_) => Error::new(Code::Store, "the store cannot be read"),
        };
        Some(Diagnostic::warning(STORE, error))
    }

    fn unread_vocabulary(&self) -> impl Iterator<Item = &Diagnostic> {
        self.vocabulary_problems().iter().filter(|found| found.severity == Severity::Error)
    }

    /// The warning that resolutions are ignored; `None` when their directory cannot be read, which is reported
    /// elsewhere.
    fn resolution_problem(&self, problem: Option<&Error>) -> Option<Diagnostic> {
        let file = format!("{SHARED_PROMPTS}/{}", resolution::FILE);
        let error = problem.filter(|_| self.unread_prompts().is_none())?.clone().map_message(|message| {
            format!("{file} cannot be used, so its resolutions are ignored: {message}")
        });
        Some(Diagnostic::warning(file, error))
    }

    /// Unreadable sources that may have changed a list of prompts: source roots, links, resolutions, packs.
    #[must_use]
    pub fn unread_for_list(&self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self.opening_diagnostics().to_vec();
        all.extend(self.foreign_problems().iter().cloned());
        all.extend(self.roots().iter().flat_map(|index| index.left_out.clone()));
        all.extend(self.resolution_problem(self.resolutions().problem()));
        all.extend(self.opened_packs().iter().flat_map(|pack| pack.problems()));
        all
    }

    /// Unreadable sources that may have changed the result of a call for `name`, which `choice` answers.
    #[must_use]
    pub fn unread_for(&self, name: &str, choice: &ResolvedPrompt) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self.unread_places().collect();
        all.extend(self.roots().iter().flat_map(|index| index.left_out_of(&choice.id)).cloned());
        all.extend(self.resolution_problem(self.resolutions().problem_of(&choice.id)));
        // The vocabulary is used only for names that are not ids.
        if PromptId::from_store_name(name).is_ok_and(|id| id != choice.id) {
            all.extend(self.unread_vocabulary().cloned());
        }
        // A document of the store may be stale, or lack its unreadable parts.
        let source = choice.entry.source();
        let of_store = self.store().into_iter().flat_map(|store| store.diagnostics.iter());
        all.extend(
            self.store_problems().iter().chain(of_store).filter(|found| found.source == source).cloned(),
        );
        all
    }

    /// Adds to `error`, that prompt `id` was not found, the unreadable sources that may contain it.
    pub(crate) fn with_unread(&self, error: Error, id: &PromptId) -> Error {
        let left_out: Vec<&Diagnostic> =
            self.roots().iter().flat_map(|index: &Index| index.left_out_of(id)).collect();
        let others = self.unread_places().chain(self.unread_vocabulary().cloned());
        let unread: Vec<Diagnostic> = left_out.iter().map(|&found| found.clone()).chain(others).collect();
        let Some(first) = unread.first() else { return error };
        let listed: Vec<Value> = unread.iter().map(|found| describe_finding(found).into()).collect();
        let error = error.with("unread", listed);
        match left_out.first() {
            Some(link) => {
                let error = error.map_message(|message| format!("{message}: {}", link.error.message()));
                link.error.hint().into_iter().fold(error, Error::with_hint)
            }
            None => {
                let error = error.map_message(|message| {
                    format!("{message}, but `{}` cannot be read and may contain it", place(first))
                });
                error.with_hint(Hint::DiagnoseWorkspace)
            }
        }
    }
}

impl StoreSnapshot {
    /// Diagnostics of environs that cannot be read or are stale.
    pub fn unread_environs(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|found| found.error.details().contains_key("environ"))
    }
}

/// A finding in one line, with its file.
fn describe_finding(found: &Diagnostic) -> String {
    match found.error.message() {
        message if message.contains(&found.source) => message.to_owned(),
        message => format!("{}: {message}", place(found)),
    }
}

/// The place of a finding, with line and column where known.
fn place(found: &Diagnostic) -> String {
    let known = found.error.place().filter(|place| place.file == found.source);
    known.map_or_else(|| found.source.clone(), ToString::to_string)
}
