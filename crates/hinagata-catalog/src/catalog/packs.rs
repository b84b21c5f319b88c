//! The packs of a catalog: all of them, the active ones, and their content.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use hinagata_document::{Code, Diagnostic, Error, Reason, Result};
use hinagata_workspace::layout::{AGENTS, PACKS};

use super::Catalog;
use crate::{Approval, Manifest, PackId, PackKind, pack::Pack, source::RootKind};

impl Catalog {
    /// All packs in the order of their names, in any state.
    pub fn packs(&self) -> impl Iterator<Item = &PackId> {
        self.opened_packs().iter().map(|pack| &pack.id)
    }

    /// The pack `id`, in any state.
    pub fn pack(&self, id: &PackId) -> Option<&Arc<Pack>> {
        self.opened_packs().iter().find(|pack| pack.id == *id)
    }

    /// The manifest of a pack; `None` for an unknown pack.
    ///
    /// # Errors
    /// Code `definition` when it is missing or broken.
    pub fn manifest(&self, id: &PackId) -> Result<Option<Arc<Manifest>>> {
        self.pack(id).map(|pack| pack.manifest()).transpose()
    }

    /// The approval of a pack, compared with its files on the first call and cached in the snapshot.
    #[must_use]
    pub fn approval(&self, id: &PackId) -> Approval {
        self.pack(id).map(|pack| pack.approval()).unwrap_or_default()
    }

    /// The text of a file of a pack by its path from the pack; `None` when it is missing.
    ///
    /// # Errors
    /// Code `approval` when it differs from the approved file; code `definition` when it cannot be used.
    pub fn pack_file(&self, id: &PackId, path: &str, largest: u64) -> Result<Option<Arc<str>>> {
        self.pack(id).map_or(Ok(None), |pack| pack.read(path, largest))
    }

    /// The directory that the Python of a pack may read, the approved copy of its files; `None` for an unknown pack.
    ///
    /// # Errors
    /// Code `approval` when the copy differs from what was approved.
    pub fn python_directory(&self, id: &PackId) -> Result<Option<PathBuf>> {
        self.pack(id).map(|pack| pack.seal().python_directory(pack.directory())).transpose()
    }

    /// Whether the content of a pack is used: it is approved and unchanged, and its `pack.json` can be read.
    #[must_use]
    pub fn is_active(&self, id: &PackId) -> bool {
        self.pack(id).is_some_and(|pack| pack.approval() == Approval::Approved && pack.manifest().is_ok())
    }

    /// The packs whose content is used.
    pub fn active_packs(&self) -> impl Iterator<Item = &Arc<Pack>> {
        self.opened_packs().iter().filter(|pack| self.is_active(&pack.id))
    }

    /// The active packs with their manifests.
    pub fn active_manifests(&self) -> impl Iterator<Item = (&PackId, Arc<Manifest>)> {
        // One whose `pack.json` cannot be read is not active.
        self.active_packs().filter_map(|pack| Some((&pack.id, pack.manifest().ok()?)))
    }

    /// The kind of a pack: as declared, else derived from its content.
    #[must_use]
    pub fn pack_kind(&self, id: &PackId) -> Option<PackKind> {
        let pack = self.pack(id)?;
        if let Some(kind) = pack.manifest().ok().and_then(|manifest| manifest.kind) {
            return Some(kind);
        }
        let index = self.roots().iter().find(|index| index.root.kind == RootKind::Pack(id.clone()));
        Some(PackKind::from_contents(pack.has_directory(AGENTS), index))
    }

    /// Namespaces of variables that more than one provider of active packs claims.
    pub(crate) fn namespace_conflicts(&self) -> Vec<Diagnostic> {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pack in self.active_packs() {
            for provider in pack.manifest().iter().flat_map(|manifest| &manifest.providers) {
                let file = format!("{}/{}", pack.path(), provider.file);
                files.entry(provider.namespace.clone()).or_default().push(file);
            }
        }
        files.retain(|_, files| files.len() > 1);
        files.into_iter().map(|(namespace, files)| namespace_conflict(&namespace, files)).collect()
    }
}

fn namespace_conflict(namespace: &str, files: Vec<String>) -> Diagnostic {
    let error = Error::new(
        Code::Conflict,
        format!("{} variable providers have the namespace `{namespace}`", files.len()),
    )
    .with_reason(Reason::Namespace)
    .with("namespace", namespace)
    .with("candidates", files)
    .with_hint(format!("reject all but one of the packs, or pass `{namespace}` with the call"));
    Diagnostic::error(PACKS, error)
}
