//! Brings the packs of a workspace to what its settings want, or to what its lock says.
//!
//! Everything is fetched, checked and hashed in a directory beside the packs first. Then each pack takes its place in
//! one step, and at last the lock is written in one step. A process that is killed in between leaves each pack and the
//! lock as they were or as they shall be; the next run does the rest. Nothing here approves a pack, except where the
//! caller asks for that.

mod index;
mod outdated;
mod run;
mod solve;

use std::{collections::BTreeSet, time::SystemTime};

use hinagata_catalog::{Approval, PackId, PromptId, pack::PackLimits};
use hinagata_document::{Code, Error, Result};
use hinagata_workspace::{
    Settings,
    layout::PACKS,
    write::{Readers, Writer, directory_beneath, io_error},
};
use serde::Serialize;

pub use outdated::OutdatedPack;

use self::run::{ChosenPack, SyncRun};
pub(crate) use self::{
    index::IndexedVersion,
    outdated::split_tag,
    run::{check_hash, local_repository, read_index_file, read_local},
};
use crate::{
    Packs,
    install::{place_pack, recover_interrupted},
    location::WantedPack,
    lock::{LOCK_FILE, Lock, LockedPack, lock_error},
    remove::LOCK,
    signature::SignaturePolicy,
    source::PackSource,
    wanted::{WantedPacks, check_key, write_wanted},
};

/// How to synchronize packs.
pub struct SyncOptions<'o> {
    /// The settings of the workspace.
    pub settings: &'o Settings,
    /// What fetches packs from elsewhere.
    pub source: &'o dyn PackSource,
    /// Only do what the lock says, and fail where something differs.
    pub frozen: bool,
    /// Approve the packs whose files are the locked ones, and record the locked choices.
    pub approve_locked: bool,
    /// Whose versions and revisions are chosen again.
    pub update: UpdateChoice,
    /// Replace packs in whose directories files were changed by hand.
    pub replace: bool,
    /// The limits of each pack.
    pub limits: PackLimits,
    /// The time of approvals.
    pub now: SystemTime,
}

impl<'o> SyncOptions<'o> {
    /// Options that change nothing that the lock says, unless the settings want it.
    #[must_use]
    pub fn new(settings: &'o Settings, source: &'o dyn PackSource) -> Self {
        Self {
            settings,
            source,
            frozen: false,
            approve_locked: false,
            update: UpdateChoice::None,
            replace: false,
            limits: PackLimits::DEFAULT,
            now: SystemTime::now(),
        }
    }
}

/// The packs whose versions and revisions are chosen again, whatever the lock says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UpdateChoice {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// These.
    Packs(BTreeSet<String>),
}

impl UpdateChoice {
    pub(super) fn has_pack(&self, id: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Packs(ids) => ids.contains(id),
        }
    }
}

/// The result of synchronizing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SyncReport {
    /// The packs by id.
    pub packs: Vec<SyncedPack>,
    /// Whether the lock was written.
    pub lock_changed: bool,
    /// The prompts and tools whose locked choices were recorded.
    pub choices: Vec<String>,
}

/// A pack in the result of synchronizing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SyncedPack {
    /// The pack.
    pub pack_id: String,
    /// What became of it.
    pub change: SyncChange,
    /// Its version.
    pub version: String,
    /// The version that was locked before.
    pub version_before: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
    /// The state of its approval now.
    pub state: Approval,
    /// Why it must not be used any more, as the index says.
    pub withdrawn: Option<String>,
}

/// What became of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncChange {
    /// It was installed.
    Installed,
    /// Its files were replaced.
    Replaced,
    /// Its files were right already.
    Unchanged,
    /// It was removed, because it is not wanted any more.
    Removed,
    /// It is not wanted any more, but its files were changed by hand.
    Left,
}

impl Packs {
    /// Installs the packs that the settings want, and locks them.
    ///
    /// # Errors
    /// Code `lock` if the lock is invalid, or with `frozen` differs from the settings or the sources; `fetch` if a source
    /// cannot be reached or is wrong; `definition` for invalid settings, requirements or packs; `approval` for
    /// signatures; `conflict` for packs that were changed by hand; `store` if something cannot be written. An error
    /// before the first pack takes its place changes nothing.
    pub fn sync(&mut self, options: &SyncOptions<'_>) -> Result<SyncReport> {
        let wanted = WantedPacks::from_settings(options.settings)?;
        self.sync_wanted(&wanted, None, options)
    }

    /// Adds a pack to the settings of the workspace, then does the same as [`Packs::sync`].
    ///
    /// # Errors
    /// As [`Packs::sync`]; the settings are changed after everything was fetched and checked.
    pub fn add_wanted(
        &mut self,
        id: &str,
        pack: WantedPack,
        options: &SyncOptions<'_>,
    ) -> Result<SyncReport> {
        check_key(id)?;
        let mut wanted = WantedPacks::from_settings(options.settings)?;
        wanted.packs.insert(id.to_owned(), pack);
        self.sync_wanted(&wanted, Some(id), options)
    }

    fn sync_wanted(
        &mut self,
        wanted: &WantedPacks,
        added: Option<&str>,
        options: &SyncOptions<'_>,
    ) -> Result<SyncReport> {
        let before = Lock::read(self.catalog.root())?;
        if options.frozen && before.is_none() {
            return Err(lock_error(vec![format!("the workspace has no {LOCK_FILE}")])
                .unwrap_or_else(unreachable_error));
        }
        if let UpdateChoice::Packs(ids) = &options.update {
            check_updated(ids, wanted, before.as_ref())?;
        }
        let before = before.unwrap_or_default();
        let signatures = SignaturePolicy::from_settings(options.settings)?;
        let mut run = SyncRun::open(self, wanted, &before, &signatures, options)?;
        let chosen = match options.frozen {
            true => run.stage_locked()?,
            false => run.resolve()?,
        };
        if let (Some(id), false) = (added, options.frozen) {
            write_wanted(&run.lock, self.catalog.root(), id, wanted.packs.get(id))?;
        }
        let mut packs = self.place_chosen(&chosen, &before)?;
        if !options.frozen {
            self.remove_unwanted(&chosen, &before, options.now, &mut packs)?;
        }
        self.catalog = self.catalog.reload();
        let lock_changed = match options.frozen {
            true => false,
            false => self.write_lock(&run, &chosen, &before, options.settings)?,
        };
        let choices = match options.approve_locked {
            true => self.approve_chosen(&chosen, &before, options)?,
            false => Vec::new(),
        };
        for pack in &mut packs {
            pack.state = self.catalog.approval(&PackId::new(&pack.pack_id));
        }
        packs.sort_by(|a, b| a.pack_id.cmp(&b.pack_id));
        Ok(SyncReport { packs, lock_changed, choices })
    }

    /// Moves the staged packs to their places.
    fn place_chosen(&self, chosen: &[ChosenPack], before: &Lock) -> Result<Vec<SyncedPack>> {
        let packs = directory_beneath(self.catalog.root(), PACKS)?;
        let writer = Writer::lock(&packs, LOCK, Readers::AsUsual)?;
        recover_interrupted(&writer)?;
        let mut synced = Vec::new();
        for pack in chosen {
            let place = packs.join(&pack.id);
            let exists = std::fs::symlink_metadata(&place).is_ok();
            let change = match &pack.staged {
                None => SyncChange::Unchanged,
                Some(top) => {
                    if exists {
                        self.keep_version(&PackId::new(&pack.id), &place)?;
                    }
                    place_pack(&writer, top, &place, exists)
                        .map_err(|error| io_error("written", &place, error))?;
                    self.state_of(&PackId::new(&pack.id)).clear_rejection()?;
                    if exists { SyncChange::Replaced } else { SyncChange::Installed }
                }
            };
            synced.push(SyncedPack {
                pack_id: pack.id.clone(),
                change,
                version: pack.locked.version.clone(),
                version_before: before.packs.get(&pack.id).map(|locked| locked.version.clone()),
                source: pack.locked.location.as_ref().map(crate::location::PackLocation::describe),
                state: Approval::Pending,
                withdrawn: pack.withdrawn.clone(),
            });
        }
        Ok(synced)
    }

    /// Removes the packs of the lock before that are not chosen any more.
    fn remove_unwanted(
        &mut self,
        chosen: &[ChosenPack],
        before: &Lock,
        now: SystemTime,
        synced: &mut Vec<SyncedPack>,
    ) -> Result<()> {
        let is_gone = |id: &str| !chosen.iter().any(|pack| pack.id == id);
        let gone = before.packs.iter().filter(|(id, pack)| pack.location.is_some() && is_gone(id));
        for (id, locked) in gone {
            let Some(tree) = self.installed_tree(id) else { continue };
            let change = match tree == Some(locked.tree) {
                true => {
                    self.remove(id, now)?;
                    SyncChange::Removed
                }
                false => SyncChange::Left,
            };
            synced.push(SyncedPack {
                pack_id: id.clone(),
                change,
                version: locked.version.clone(),
                version_before: Some(locked.version.clone()),
                source: locked.location.as_ref().map(crate::location::PackLocation::describe),
                state: Approval::Pending,
                withdrawn: None,
            });
        }
        Ok(())
    }

    fn write_lock(
        &self,
        run: &SyncRun<'_>,
        chosen: &[ChosenPack],
        before: &Lock,
        settings: &Settings,
    ) -> Result<bool> {
        let by_hand = before.packs.iter().filter(|(_, pack)| pack.location.is_none());
        let by_hand = by_hand.filter(|(id, pack)| self.installed_tree(id) == Some(Some(pack.tree)));
        let mut lock =
            Lock { packs: by_hand.map(|(id, pack)| (id.clone(), pack.clone())).collect(), ..Lock::default() };
        lock.packs.extend(chosen.iter().map(|pack| (pack.id.clone(), pack.locked.clone())));
        self.lock_choices(&mut lock, settings)?;
        // Nobody was asked for other schemas.
        lock.tool_schemas.clone_from(&before.tool_schemas);
        // Hashes of prompts are those of the packs before; whoever locks prompts locks them again.
        lock.prompts = match lock.packs == before.packs {
            true => before.prompts.clone(),
            false => None,
        };
        lock.write_under(&run.lock, self.catalog.root())
    }

    /// Approves the chosen packs, and records the locked choices.
    fn approve_chosen(
        &mut self,
        chosen: &[ChosenPack],
        before: &Lock,
        options: &SyncOptions<'_>,
    ) -> Result<Vec<String>> {
        for pack in chosen {
            if self.catalog.approval(&PackId::new(&pack.id)) != Approval::Approved {
                self.approve(&pack.id, Some(&pack.locked.tree), options.now)?;
            }
        }
        let mut choices = Vec::new();
        for (key, choice) in before.resolutions.iter().filter(|_| options.frozen) {
            match key.strip_prefix("tool:") {
                Some(tool) => {
                    let is_chosen = self
                        .catalog
                        .resolutions()
                        .tools()
                        .any(|(id, found)| id == tool && found.source == choice.source);
                    if is_chosen {
                        continue;
                    }
                    self.catalog =
                        self.catalog.set_tool_resolution(tool, Some(&choice.source), options.now)?;
                }
                None => {
                    let id = PromptId::new(key)?;
                    if self.catalog.resolutions().get(&id).is_some_and(|found| found.source == choice.source)
                    {
                        continue;
                    }
                    self.catalog = self.catalog.set_resolution(key, &choice.source, options.now)?;
                }
            }
            choices.push(key.clone());
        }
        Ok(choices)
    }

    /// The SHA-256 over all files of an installed pack; `Some(None)` if it has entries that no pack may have.
    pub(crate) fn installed_tree(&self, id: &str) -> Option<Option<hinagata_document::Digest>> {
        let pack = self.catalog.opened_packs().iter().find(|pack| pack.id.as_str() == id)?;
        let directory = pack.directory();
        let walked = hinagata_catalog::pack::walk_pack(directory.path(), &PackLimits::DEFAULT);
        Some(hinagata_catalog::pack::content_digest(directory, &walked))
    }
}

fn unreachable_error() -> Error {
    Error::new(Code::Lock, format!("the workspace has no {LOCK_FILE}"))
}

/// Checks that packs that shall be updated are wanted or locked.
fn check_updated(ids: &BTreeSet<String>, wanted: &WantedPacks, lock: Option<&Lock>) -> Result<()> {
    let is_locked = |id: &str| lock.is_some_and(|lock| lock.packs.contains_key(id));
    let Some(unknown) = ids.iter().find(|id| !wanted.packs.contains_key(*id) && !is_locked(id)) else {
        return Ok(());
    };
    let known = wanted.packs.keys().map(String::as_str);
    Err(Error::new(Code::NotFound, format!("the pack `{unknown}` is neither wanted nor required"))
        .with("pack_id", unknown.as_str())
        .with_near(hinagata_value::near_names(unknown, known)))
}

impl LockedPack {
    /// Whether the other has the same files from the same place.
    pub(crate) fn is_same_content(&self, other: &Self) -> bool {
        self.tree == other.tree && self.version == other.version
    }
}
