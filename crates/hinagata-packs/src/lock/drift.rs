//! What differs from the lock, each with its place.

use hinagata_catalog::Catalog;
use hinagata_document::{Code, Diagnostic, Error, Hint, Place, Result};
use hinagata_workspace::{Settings, layout::PACKS};

use serde_json::Value;

use super::{LOCK_FILE, Lock, LockCheck, read_lock_text, schema_digest};

/// A difference between a workspace and its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockDrift {
    /// The table of the lock that it is about: `pack`, `resolution`, `tool`, `tokenizer` or `prompt`; `lock` for all of it.
    pub table: &'static str,
    /// The name in that table.
    pub name: String,
    /// What differs, as a sentence.
    pub message: String,
    /// The entry in the lock; the lock itself if it has none.
    pub place: Place,
}

impl LockDrift {
    pub(super) fn new(table: &'static str, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { table, name: name.into(), message: message.into(), place: Place::of_file(LOCK_FILE) }
    }

    /// The same with the place of its entry in the text of the lock.
    fn in_lock(mut self, text: &str) -> Self {
        let (mut table, header) = ("", format!("[[{}]]", self.table));
        for (line, number) in text.lines().zip(1..) {
            if line.starts_with("[[") {
                table = line;
            }
            let value =
                line.split_once(" = ").filter(|(key, _)| matches!(*key, "id" | "prompt" | "tool" | "model"));
            let is_named = value.is_some_and(|(_, value)| value.trim_matches('"') == self.name);
            if table == header && is_named {
                self.place = Place::at_line(LOCK_FILE, text, number, 1);
                return self;
            }
        }
        self
    }

    /// The error about it, for a warning.
    #[must_use]
    pub fn to_error(&self) -> Error {
        let hint = match self.table {
            "tool" => {
                Hint::from("see what changed in its definition or on its server").then(Hint::LockWorkspace)
            }
            _ => Hint::SyncPacks.then(Hint::LockWorkspace),
        };
        Error::new(Code::Lock, format!("the workspace differs from {LOCK_FILE}: {}", self.message))
            .with("table", self.table)
            .with("name", self.name.as_str())
            .with_hint(hint)
            .at(self.place.clone())
    }

    /// The warning about it.
    #[must_use]
    pub fn to_diagnostic(&self) -> Diagnostic {
        Diagnostic::warning(LOCK_FILE, self.to_error())
    }

    /// Whether it can change what a prompt renders that was read from `source`.
    fn concerns(&self, prompt: &str, source: &str) -> bool {
        let in_pack = source.strip_prefix(PACKS).and_then(|rest| rest.strip_prefix('/')?.split('/').next());
        match self.table {
            "pack" => in_pack == Some(&self.name),
            "resolution" | "prompt" => self.name == prompt,
            "lock" => true,
            _ => false,
        }
    }
}

impl LockCheck {
    /// The same differences, each with the place of its entry.
    fn with_places(&self, drifts: Vec<LockDrift>) -> Vec<LockDrift> {
        if drifts.is_empty() {
            return drifts;
        }
        // The lock was read a moment ago. Without its text, the place of each is the file.
        let text = read_lock_text(self.root()).ok().flatten().unwrap_or_default();
        drifts.into_iter().map(|drift| drift.in_lock(&text)).collect()
    }

    /// The difference of a tool whose server states `schema`, if another one is locked.
    #[must_use]
    pub fn schema_drift(&self, tool: &str, schema: Option<&Value>) -> Option<LockDrift> {
        let locked = self.lock().tool_schemas.get(tool)?;
        if schema.is_some_and(|schema| schema_digest(schema) == *locked) {
            return None;
        }
        let message = format!("the server of the tool `{tool}` states another schema than the locked one");
        self.with_places(vec![LockDrift::new("tool", tool, message)]).pop()
    }

    /// The differences that can change what one prompt renders that was read from `source`, a path from the workspace root.
    /// `definition_hash` is the SHA-256 of all its files.
    #[must_use]
    pub fn prompt_drifts(
        &self,
        catalog: &Catalog,
        prompt: &str,
        source: &str,
        definition_hash: impl FnOnce() -> String,
    ) -> Vec<LockDrift> {
        let mut found = self.differences_without_files(catalog);
        if self.lock().prompts.is_some() {
            found.extend(self.prompt_difference(prompt, &definition_hash()));
        }
        found.retain(|drift| drift.concerns(prompt, source));
        self.with_places(found)
    }
}

/// In what the workspace of `catalog` differs from its lock, each with its place; nothing without a lock. Fetches nothing,
/// and hashes no more than the files of models' tokenizers and of packs that changed. `definition_hash` is the SHA-256 of all
/// files of a prompt, and `None` for one that cannot be used.
///
/// # Errors
/// Code `lock` if the lock is invalid; code `definition` if `[packs]` is invalid.
pub fn find_drifts(
    catalog: &Catalog,
    settings: &Settings,
    definition_hash: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<LockDrift>> {
    if Lock::read(catalog.root())?.is_none() {
        return Ok(Vec::new());
    }
    let check = LockCheck::open(catalog.root(), settings)?;
    let mut found = check.differences(catalog);
    for id in check.lock().prompts.iter().flatten().map(|(id, _)| id) {
        found.extend(match definition_hash(id) {
            Some(hash) => check.prompt_difference(id, &hash),
            None => {
                let message = format!("prompt `{id}` is locked, but cannot be used");
                Some(LockDrift::new("prompt", id, message))
            }
        });
    }
    Ok(check.with_places(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_entry_of_the_same_table() {
        let text =
            "version = 1\n\n[[pack]]\nid = \"a\"\n\n[[tool]]\nid = \"a\"\n\n[[resolution]]\nprompt = \"p\"\n";
        let line = |table, name: &str| LockDrift::new(table, name, "x").in_lock(text).place.line;
        assert_eq!((line("pack", "a"), line("tool", "a"), line("resolution", "p")), (4, 7, 10));
        assert_eq!(LockDrift::new("pack", "b", "x").in_lock(text).place, Place::of_file(LOCK_FILE));
    }

    #[test]
    fn a_prompt_is_concerned_by_its_pack_its_resolution_and_its_files() {
        let concerns = |table, name: &str| {
            LockDrift::new(table, name, "x").concerns("greet", "user_data/packs/a/prompts/greet")
        };
        assert!(concerns("pack", "a") && concerns("resolution", "greet") && concerns("lock", ""));
        assert!(!concerns("pack", "b") && !concerns("prompt", "other") && !concerns("tool", "a"));
    }
}
