//! Removes a pack and all decisions about it.

use std::{fs, io, path::Path, time::SystemTime};

use hinagata_catalog::{PackId, PromptId};
use hinagata_document::Result;
use hinagata_workspace::{
    layout::PACKS,
    write::{Readers, Writer, directory_beneath, io_error, sync_directory},
};
use serde::Serialize;

use super::Packs;

/// The lock file of the directory of packs.
pub(super) const LOCK: &str = ".packs.lock";

/// The name of a pack while it is removed.
pub(super) const OUTGOING: &str = ".leaving";

/// The result of removing a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovedPack {
    /// The pack.
    pub pack_id: PackId,
    /// The prompts whose resolutions referred to it and are removed.
    pub resolutions: Vec<PromptId>,
}

impl Packs {
    /// Removes a pack, its approval and the resolutions that refer to it.
    ///
    /// # Errors
    /// Code `not_found`; code `store` if something cannot be removed.
    pub fn remove(&mut self, pack: &str, now: SystemTime) -> Result<RemovedPack> {
        let id = self.pack(pack)?.id.clone();
        // If a later step fails, the rest of the pack is not approved.
        self.state_of(&id).forget()?;
        self.forget_versions(&id)?;
        let resolutions = self.take_back_choices(&id, now)?;
        let directory = directory_beneath(self.catalog.root(), PACKS)?;
        let writer = Writer::lock(&directory, LOCK, Readers::AsUsual)?;
        let place = directory.join(id.as_str());
        remove_directory(&writer, &place).map_err(|error| io_error("removed", &place, error))?;
        self.catalog = self.catalog.reload();
        Ok(RemovedPack { pack_id: id, resolutions })
    }

    fn take_back_choices(&mut self, pack: &PackId, now: SystemTime) -> Result<Vec<PromptId>> {
        let prefix = format!("{PACKS}/{pack}/");
        let of_pack =
            self.catalog.resolutions().iter().filter(|(_, found)| found.source.starts_with(&prefix));
        let ids: Vec<PromptId> = of_pack.map(|(id, _)| id.clone()).collect();
        for id in &ids {
            self.catalog = self.catalog.unset_resolution(id, now)?;
        }
        let of_pack =
            self.catalog.resolutions().tools().filter(|(_, found)| found.source.starts_with(&prefix));
        let tools: Vec<String> = of_pack.map(|(tool, _)| tool.to_owned()).collect();
        for tool in &tools {
            self.catalog = self.catalog.set_tool_resolution(tool, None, now)?;
        }
        Ok(ids)
    }
}

/// Renames the directory `place` in one step, then deletes it. Deletes a link itself, not its target.
pub(super) fn remove_directory(writer: &Writer, place: &Path) -> io::Result<()> {
    let leaving = writer.directory().join(OUTGOING);
    remove_if_present(&leaving)?;
    fs::rename(place, &leaving)?;
    sync_directory(writer.directory())?;
    remove_if_present(&leaving)
}

/// Removes the file, link or directory at `path`, if it exists.
pub(super) fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
