//! What could not be read and may have changed an answer: a file that cannot be read is never the same as one that is
//! not there.

use serde_json::Value;

use crate::{
    Catalog, Choice, Code, Diagnostic, Error, PACKS, PromptId, SHARED_PROMPTS, Severity, resolution,
    source::Index, store::StoreSnapshot,
};

impl Catalog {
    /// Search places that cannot be read, or that the settings name and nobody made. Packs tell of themselves.
    fn unread_places(&self) -> impl Iterator<Item = &Diagnostic> {
        let of_pack = |source: &str| source.strip_prefix(PACKS).is_some_and(|rest| rest.starts_with('/'));
        self.opening().iter().filter(move |found| !of_pack(&found.source))
    }

    fn unread_vocabulary(&self) -> impl Iterator<Item = &Diagnostic> {
        self.vocabulary_problems().iter().filter(|found| found.severity == Severity::Error)
    }

    /// That recorded choices do not count; told already where the directory that they are in cannot be read.
    fn resolution_problem(&self, problem: Option<&Error>) -> Option<Diagnostic> {
        let file = format!("{SHARED_PROMPTS}/{}", resolution::FILE);
        let error = problem.filter(|_| self.unread_prompts().is_none())?.clone().reworded(|message| {
            format!("{file} cannot be used, so what it decides does not count: {message}")
        });
        Some(Diagnostic::warning(file, error))
    }

    /// What could not be read and may have changed a list of prompts: search places, links, recorded choices, packs.
    #[must_use]
    pub fn unread(&self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self.opening().to_vec();
        all.extend(self.roots().iter().flat_map(|index| index.left_out.clone()));
        all.extend(self.resolution_problem(self.resolutions().problem()));
        all.extend(self.opened_packs().iter().flat_map(|pack| pack.problems()));
        all
    }

    /// What could not be read and may have changed what a call gives that asked for `name` and was answered by `choice`.
    #[must_use]
    pub fn unread_for(&self, name: &str, choice: &Choice) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self.unread_places().cloned().collect();
        all.extend(self.roots().iter().flat_map(|index| index.left_out_of(&choice.id)).cloned());
        all.extend(self.resolution_problem(self.resolutions().problem_of(&choice.id)));
        // The vocabulary is asked only about names that are no prompt.
        if PromptId::new(name).is_ok_and(|id| id != choice.id) {
            all.extend(self.unread_vocabulary().cloned());
        }
        // A document of the store: as it was, or without what cannot be read of it.
        let source = choice.entry.source();
        let of_store = self.store().into_iter().flat_map(|store| store.diagnostics.iter());
        all.extend(
            self.store_problems().iter().chain(of_store).filter(|found| found.source == source).cloned(),
        );
        all
    }

    /// `error`, that there is no prompt `id`, with what could not be read and may have held it.
    pub(crate) fn with_unread(&self, error: Error, id: &PromptId) -> Error {
        let left_out: Vec<&Diagnostic> =
            self.roots().iter().flat_map(|index: &Index| index.left_out_of(id)).collect();
        let outage = self.store().and_then(|store| store.unread());
        let others = self.unread_places().chain(self.unread_vocabulary()).chain(&outage);
        let unread: Vec<&Diagnostic> = left_out.iter().copied().chain(others).collect();
        let Some(first) = unread.first() else { return error };
        let listed: Vec<Value> = unread.iter().map(|found| told(found).into()).collect();
        let error = error.with("unread", listed);
        match left_out.first() {
            Some(link) => {
                let error = error.reworded(|message| format!("{message}: {}", link.error.message()));
                link.error.hint().into_iter().fold(error, Error::with_hint)
            }
            None => {
                let error = error.reworded(|message| {
                    format!("{message}, but `{}` cannot be read and may hold it", first.source)
                });
                error.with_hint("`hina doctor` tells what is wrong with it")
            }
        }
    }
}

/// That the variable `name` holds a number that is not what was written: JSON data has integers of 64 bits.
#[must_use]
pub fn long_number(name: &str, value: &Value) -> Option<Error> {
    hinagata_value::has_long_number(value).then(|| {
        let message = format!(
            "`{name}` holds a number beyond 64 bits, which is a float here: digits of an integer of that length are lost"
        );
        Error::new(Code::Validation, message).with_hint("pass it as text")
    })
}

impl StoreSnapshot {
    /// That the store cannot be read now.
    pub(crate) fn unread(&self) -> Option<Diagnostic> {
        let (_, error) = self.health.outage.as_ref()?;
        let error = error.clone().reworded(|message| {
            format!("the store cannot be read, so what was last read of it counts: {message}")
        });
        Some(Diagnostic::warning("store", error.with_hint("`hina store status` tells more")))
    }

    /// What is wrong with the store and may have changed what a template reads of shared variables.
    pub(crate) fn unread_environs(&self) -> impl Iterator<Item = Diagnostic> {
        let of_environ = |found: &&Diagnostic| found.error.details().contains_key("environ");
        self.unread().into_iter().chain(self.diagnostics.iter().filter(of_environ).cloned())
    }
}

/// A finding in one line, with its file.
fn told(found: &Diagnostic) -> String {
    match found.error.message() {
        message if message.contains(&found.source) => message.to_owned(),
        message => format!("{}: {message}", found.source),
    }
}
