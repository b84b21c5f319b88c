//! Compares a workspace with its lock.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use hinagata_catalog::{Approval, Catalog};
use hinagata_document::{Code, Digest, Error, Hint, Reason, Result};
use hinagata_workspace::{Settings, layout::PACKS};

use super::{LOCK_FILE, Lock, LockDrift, SEMANTICS, state};
use crate::{
    location::{PackLocation, WantedPack},
    range::VersionRange,
    wanted::WantedPacks,
};

/// A lock to compare snapshots of a workspace with.
#[derive(Clone, Debug)]
pub struct LockCheck {
    lock: Lock,
    wanted: WantedPacks,
    root: PathBuf,
    tokenizers: Vec<(String, PathBuf)>,
}

impl LockCheck {
    /// Reads the lock and the wanted packs of the workspace at `root`.
    ///
    /// # Errors
    /// Code `lock` if the lock is missing or invalid; code `definition` if `[packs]` is invalid.
    pub fn open(root: &Path, settings: &Settings) -> Result<Self> {
        let lock = Lock::read(root)?.ok_or_else(missing_error)?;
        let wanted = WantedPacks::from_settings(settings)?;
        Ok(Self { lock, wanted, root: root.to_owned(), tokenizers: state::tokenizer_files(settings, root) })
    }

    /// The lock.
    #[must_use]
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Everything in which the workspace differs from the lock.
    pub(super) fn differences(&self, catalog: &Catalog) -> Vec<LockDrift> {
        let mut all = self.differences_without_files(catalog);
        match state::tokenizer_digests(&self.tokenizers) {
            Ok(now) => {
                all.extend(list_differences("tokenizer", &pairs(&self.lock.tokenizers), &pairs(&now)));
            }
            Err(error) => all.push(LockDrift::new("tokenizer", "", error.message())),
        }
        all
    }

    /// The differences that take no time to find: without the files of tokenizers.
    pub(super) fn differences_without_files(&self, catalog: &Catalog) -> Vec<LockDrift> {
        let mut all = wanted_differences(&self.wanted, &self.lock);
        if self.lock.semantics != SEMANTICS {
            let message = format!(
                "the lock is for semantics {} of the engine, and this is {SEMANTICS}",
                self.lock.semantics
            );
            all.push(LockDrift::new("lock", "", message));
        }
        all.extend(self.pack_differences(catalog));
        let choices = |choices: &BTreeMap<String, super::LockedChoice>| -> Vec<(String, String)> {
            choices.iter().map(|(id, choice)| (id.clone(), choice.source.clone())).collect()
        };
        all.extend(list_differences(
            "resolution",
            &choices(&self.lock.resolutions),
            &choices(&state::read_choices(catalog)),
        ));
        all.extend(list_differences("tool", &pairs(&self.lock.tools), &pairs(&state::tool_digests(catalog))));
        all
    }

    fn pack_differences(&self, catalog: &Catalog) -> Vec<LockDrift> {
        let mut all = Vec::new();
        let drift = |id: &str, message: String| LockDrift::new("pack", id, message);
        for (id, locked) in &self.lock.packs {
            let Some(pack) = catalog.opened_packs().iter().find(|pack| pack.id.as_str() == id) else {
                all.push(drift(id, format!("pack `{id}` {} is locked, but not installed", locked.version)));
                continue;
            };
            match (pack.approved_content(), pack.approval()) {
                (Some(content), _) if content == locked.tree => {}
                (Some(_), _) => {
                    let message =
                        format!("pack `{id}` has other files than the locked version {}", locked.version);
                    all.push(drift(id, message));
                }
                (None, Approval::Approved) => {}
                (None, state) => {
                    all.push(drift(id, format!("pack `{id}` is locked, but {state} and therefore not used")));
                }
            }
        }
        let is_locked = |id: &str| self.lock.packs.contains_key(id);
        let extra = catalog.opened_packs().iter().filter(|pack| !is_locked(pack.id.as_str()));
        for pack in extra.filter(|pack| catalog.is_active(&pack.id)) {
            let message = format!("pack `{}` in {PACKS} is used, but not locked", pack.id);
            all.push(drift(pack.id.as_str(), message));
        }
        all
    }

    /// Checks that a snapshot is what was locked.
    ///
    /// # Errors
    /// Code `lock`, naming what differs.
    pub fn check_catalog(&self, catalog: &Catalog) -> Result<()> {
        let Some(error) = lock_error(messages(self.differences(catalog))) else { return Ok(()) };
        let is_unapproved = |id: &&String| {
            let pack = catalog.opened_packs().iter().find(|pack| pack.id.as_str() == id.as_str());
            pack.is_some_and(|pack| pack.approval() != Approval::Approved)
        };
        Err(match self.lock.packs.keys().find(is_unapproved) {
            Some(id) => error.with_hint(Hint::ApprovePack { pack: id.clone() }.then(Hint::SyncPacks)),
            None => error,
        })
    }

    /// Checks the files of a prompt, if prompts are locked.
    ///
    /// # Errors
    /// Code `lock`.
    pub fn check_prompt(&self, id: &str, definition_hash: &str) -> Result<()> {
        let difference = self.prompt_difference(id, definition_hash);
        lock_error(messages(difference)).map_or(Ok(()), Err)
    }

    /// The difference of a prompt, if prompts are locked.
    #[must_use]
    pub(super) fn prompt_difference(&self, id: &str, definition_hash: &str) -> Option<LockDrift> {
        let message = match self.lock.prompts.as_ref()?.get(id) {
            Some(locked) if locked == definition_hash => return None,
            Some(_) => format!("prompt `{id}` has other files than the locked ones"),
            None => format!("prompt `{id}` is not locked"),
        };
        Some(LockDrift::new("prompt", id, message))
    }

    /// The workspace root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn missing_error() -> Error {
    Error::new(Code::Lock, format!("the workspace has no {LOCK_FILE}"))
        .with_reason(Reason::Missing)
        .with("path", LOCK_FILE)
        .with_hint(Hint::LockWorkspace)
}

/// The sentences of differences.
pub(crate) fn messages(drifts: impl IntoIterator<Item = LockDrift>) -> Vec<String> {
    drifts.into_iter().map(|drift| drift.message).collect()
}

fn pairs(locked: &BTreeMap<String, Digest>) -> Vec<(String, String)> {
    locked.iter().map(|(id, digest)| (id.clone(), digest.to_string())).collect()
}

/// The error for these differences; `None` if there are none.
pub(crate) fn lock_error(differences: Vec<String>) -> Option<Error> {
    let first = differences.first()?;
    let message = match differences.len() {
        1 => format!("the workspace differs from {LOCK_FILE}: {first}"),
        count => {
            format!("the workspace differs from {LOCK_FILE} in {count} ways:\n  {}", differences.join("\n  "))
        }
    };
    let error = Error::new(Code::Lock, message)
        .with("differences", differences)
        .with_hint(Hint::SyncPacks.then(Hint::LockWorkspace));
    Some(error)
}

/// In what the lock does not fit the wanted packs.
pub(crate) fn wanted_differences(wanted: &WantedPacks, lock: &Lock) -> Vec<LockDrift> {
    let mut all = Vec::new();
    let mut add = |id: &str, message: String| all.push(LockDrift::new("pack", id, message));
    for (id, wanted_pack) in &wanted.packs {
        let Some(locked) = lock.packs.get(id) else {
            add(id, format!("pack `{id}` is wanted, but not locked"));
            continue;
        };
        match (wanted_pack, &locked.location) {
            (WantedPack::Location(wanted), Some(location)) if wanted == location => {}
            (WantedPack::Location(wanted), _) => {
                add(
                    id,
                    format!("pack `{id}` is wanted from {}, but locked from elsewhere", wanted.describe()),
                );
            }
            (WantedPack::Range(range), Some(PackLocation::Index { .. })) => {
                if !range.contains_version(&locked.version) {
                    add(id, format!("pack `{id}` is wanted in {range}, but locked at {}", locked.version));
                }
            }
            (WantedPack::Range(_), _) => {
                add(id, format!("pack `{id}` is wanted from the index, but locked from elsewhere"));
            }
        }
    }
    for (asker, locked) in &lock.packs {
        for (id, range) in &locked.requires {
            let fits = lock.packs.get(id).is_some_and(|found| {
                VersionRange::parse(range).is_ok_and(|range| range.contains_version(&found.version))
            });
            if !fits {
                add(
                    asker,
                    format!(
                        "pack `{asker}` requires `{id}` {range}, and the lock has {}",
                        match lock.packs.get(id) {
                            Some(found) => found.version.as_str(),
                            None => "none",
                        }
                    ),
                );
            }
        }
    }
    let is_reachable = reachable_packs(wanted, lock);
    for (id, locked) in &lock.packs {
        if locked.location.is_some() && !is_reachable.contains(id) {
            add(id, format!("pack `{id}` is locked, but neither wanted nor required"));
        }
    }
    all
}

/// The locked packs that are wanted, or required by one that is.
fn reachable_packs(wanted: &WantedPacks, lock: &Lock) -> std::collections::BTreeSet<String> {
    let by_hand = lock.packs.iter().filter(|(_, pack)| pack.location.is_none()).map(|(id, _)| id);
    let mut left: Vec<&String> = wanted.packs.keys().chain(by_hand).collect();
    let mut reached = std::collections::BTreeSet::new();
    while let Some(id) = left.pop() {
        if reached.insert(id.clone()) {
            left.extend(lock.packs.get(id).into_iter().flat_map(|pack| pack.requires.keys()));
        }
    }
    reached
}

/// In what two sorted lists of names and values differ.
fn list_differences(
    kind: &'static str,
    locked: &[(String, String)],
    now: &[(String, String)],
) -> Vec<LockDrift> {
    let mut all = Vec::new();
    // Resolutions of tools are written as `tool:ID`.
    let drift = |name: &str, message: String| LockDrift::new(kind, name.trim_start_matches("tool:"), message);
    for (name, value) in locked {
        match now.iter().find(|(known, _)| known == name) {
            Some((_, found)) if found == value => {}
            Some((_, found)) if kind == "resolution" => {
                all.push(drift(name, format!("{kind} of `{name}` is {found}, and was locked as {value}")));
            }
            Some(_) => all.push(drift(name, format!("{kind} `{name}` differs from the locked one"))),
            None => all.push(drift(name, format!("{kind} `{name}` is locked, but missing"))),
        }
    }
    let is_new = |(name, _): &&(String, String)| !locked.iter().any(|(known, _)| known == name);
    let new = now.iter().filter(is_new);
    all.extend(new.map(|(name, _)| drift(name, format!("{kind} `{name}` is not locked"))));
    all
}
