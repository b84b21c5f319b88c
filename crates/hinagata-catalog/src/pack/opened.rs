//! The packs of a snapshot.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use hinagata_document::{Code, Diagnostic, Digest, Error, Hint, Reason, Result};
use hinagata_workspace::{
    Directory, decode_text,
    layout::{PACKS, PROMPTS},
};

use super::{Approval, Approvals, LARGEST_MANIFEST, Manifest, PackKind, Seal, sealed_tree::SealedTree};
use crate::{
    PackId,
    source::{Entry, FileTree, Index, NoFiles},
};

/// A pack directory.
#[derive(Debug)]
pub struct Pack {
    /// Its name.
    pub id: PackId,
    directory: Directory,
    seal: Arc<Seal>,
    manifest: OnceLock<Result<Arc<Manifest>>>,
}

impl Pack {
    /// Its directory in its current state.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Its seal.
    pub fn seal(&self) -> &Arc<Seal> {
        &self.seal
    }

    /// The SHA-256 over all approved files, if the pack is approved and unchanged.
    #[must_use]
    pub fn approved_content(&self) -> Option<Digest> {
        (self.approval() == Approval::Approved).then(|| self.seal.content())?
    }

    /// The directory with its prompts, if it has one.
    pub(crate) fn prompts(&self) -> Result<Box<dyn FileTree>> {
        let found = self.directory.directory(PROMPTS)?;
        Ok(match found {
            Some(directory) => Box::new(SealedTree::new(directory, Arc::clone(&self.seal))),
            None => Box::new(NoFiles),
        })
    }

    /// Its path from the workspace root.
    pub fn path(&self) -> String {
        format!("{PACKS}/{}", self.id)
    }

    /// The state of its approval.
    pub fn approval(&self) -> Approval {
        self.seal.approval(&self.directory)
    }

    /// The text of a file by its path from the pack, checked against its approved hash; `None` when it is missing.
    pub(crate) fn read(&self, name: &str, largest: u64) -> Result<Option<Arc<str>>> {
        let found = self.seal.read(&self.directory, "", name, largest)?;
        found.map(|(bytes, _)| decode_text(name, bytes)).transpose()
    }

    /// Whether the file with this path from the pack exists.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.seal.stamp(&self.directory, "", name).is_some()
    }

    /// Whether it has files in the directory called `name`.
    pub(crate) fn has_directory(&self, name: &str) -> bool {
        self.seal.has_directory(&self.directory, name)
    }

    /// The names of the files in the directory called `name`, in order.
    pub(crate) fn names_in(&self, name: &str) -> Result<Vec<String>> {
        if self.seal.is_sealed() {
            return Ok(self.seal.approved_names(name));
        }
        let Some(directory) = self.directory.directory(name)? else { return Ok(Vec::new()) };
        Ok(directory.list()?.into_iter().map(|listed| listed.name).collect())
    }

    /// Its manifest, read once.
    pub(crate) fn manifest(&self) -> Result<Arc<Manifest>> {
        let read = || {
            let file = format!("{}/pack.json", self.path());
            let Some(text) = self.read("pack.json", LARGEST_MANIFEST)? else {
                return Err(Error::definition(
                    Reason::NoManifest,
                    format!("the pack `{}` has no pack.json", self.id),
                ));
            };
            Manifest::parse(&file, &text).map(Arc::new)
        };
        self.manifest
            .get_or_init(read)
            .clone()
            .map_err(|error| error.with_default("pack_id", self.id.as_str()))
    }

    /// The error of an approved and unchanged pack whose approved copy cannot be read.
    pub(crate) fn broken_copy(&self) -> Option<Error> {
        let error = self.manifest().err().filter(|error| error.code() == Code::Approval)?;
        (self.approval() == Approval::Approved).then_some(error)
    }

    /// The error of a pack whose decisions cannot be read, so that it is not used.
    pub(crate) fn decision_error(&self) -> Option<Error> {
        let pack = &self.id;
        let error = self.seal.decision_error()?.with("pack_id", pack.as_str());
        Some(error.map_message(|message| {
            format!("the pack `{pack}` is not used because the decisions about it cannot be read: {message}")
        }))
    }

    /// Its diagnostics.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self.unused_diagnostic().into_iter().collect();
        all.extend(self.problems());
        if let Ok(manifest) = self.manifest() {
            all.extend(self.label_mismatch(&manifest));
            all.extend(manifest.warnings.iter().map(|one| Diagnostic::warning(self.path(), one.clone())));
        }
        all
    }

    /// Diagnostics of unreadable files of the pack and of the decisions about it.
    pub(crate) fn problems(&self) -> Vec<Diagnostic> {
        let manifest = self.manifest().err().filter(|error| error.code() != Code::Approval);
        let errors = self.seal.problem().into_iter().chain(manifest);
        errors.map(|error| Diagnostic::error(self.path(), error)).collect()
    }

    /// The warning that it is not used, with the reason.
    fn unused_diagnostic(&self) -> Option<Diagnostic> {
        let (pack, state) = (&self.id, self.approval());
        let (reason, message, hint) = match state {
            Approval::Approved => return None,
            Approval::Pending => (
                Reason::Pending,
                format!("the pack `{pack}` is not approved and therefore not used"),
                Hint::ApprovePack { pack: pack.to_string() },
            ),
            Approval::Modified => (
                Reason::Modified,
                format!("the pack `{pack}` has changed since it was approved and is therefore not used"),
                Hint::VerifyPack { pack: pack.to_string() },
            ),
            Approval::Rejected => (
                Reason::Rejected,
                format!("the pack `{pack}` is rejected and therefore not used"),
                Hint::RemovePack { pack: pack.to_string() }.then("to use it after all, approve it"),
            ),
        };
        let error = Error::new(Code::Approval, message)
            .with_reason(reason)
            .with("pack_id", pack.as_str())
            .with_hint(hint);
        Some(Diagnostic::warning(self.path(), error))
    }

    /// The warning that its `pack_id` differs from the name of its directory.
    pub fn label_mismatch(&self, manifest: &Manifest) -> Option<Diagnostic> {
        let label = manifest.label.as_deref().filter(|label| *label != self.id.as_str())?;
        let error = Error::definition(
            Reason::PackId,
            format!("the pack in `{}` has the `pack_id` `{label}`", self.id),
        )
        .with_hint("the name of the directory is used; make both equal");
        Some(Diagnostic::warning(self.path(), error))
    }
}

impl PackKind {
    /// The kind of a pack that declares none, by its content.
    pub fn from_contents(has_agents: bool, prompts: Option<&Index>) -> Self {
        let is_system =
            |entry: &Arc<Entry>| entry.definition().is_ok_and(|found| found.metadata.kind == "system");
        let mut entries = prompts.into_iter().flat_map(Index::iter).peekable();
        match (has_agents, entries.peek().is_some()) {
            (true, _) => Self::Agent,
            (false, false) => Self::Partial,
            (false, true) if entries.any(is_system) => Self::System,
            (false, true) => Self::Utility,
        }
    }
}

/// Opens every pack directory of `workspace`; diagnostics are added to `found`. The directories in `replaced` take the
/// place of those of the packs with these names, and count as approved.
pub(crate) fn open_packs(
    workspace: Option<&Directory>,
    approvals: &Approvals,
    replaced: &BTreeMap<PackId, PathBuf>,
    found: &mut Vec<Diagnostic>,
) -> Vec<Arc<Pack>> {
    let mut packs: Vec<Arc<Pack>> = Vec::new();
    let new = |id: PackId, directory, seal| {
        Arc::new(Pack { id, directory, seal: Arc::new(seal), manifest: OnceLock::new() })
    };
    let listed = list_packs(workspace, found);
    for (name, opened) in listed.into_iter().filter(|(name, _)| !replaced.contains_key(&PackId::new(name))) {
        match opened {
            Ok(Some(directory)) => {
                let id = PackId::new(&name);
                let seal = approvals.seal(&id);
                packs.push(new(id, directory, seal));
            }
            Ok(None) => {}
            Err(error) => found.push(Diagnostic::error(format!("{PACKS}/{name}"), error)),
        }
    }
    for (id, path) in replaced {
        match Directory::open(path) {
            Ok(Some(directory)) => {
                packs.push(new(id.clone(), directory, Seal::from_host(id, Approval::Approved)));
            }
            Ok(None) => {}
            Err(error) => found.push(Diagnostic::error(format!("{PACKS}/{id}"), error)),
        }
    }
    packs.sort_by(|a, b| a.id.cmp(&b.id));
    packs
}

/// The pack directories of `workspace` by name.
fn list_packs(
    workspace: Option<&Directory>,
    found: &mut Vec<Diagnostic>,
) -> Vec<(String, Result<Option<Directory>>)> {
    let list = || {
        let Some(directory) = workspace.map_or(Ok(None), |workspace| workspace.directory(PACKS))? else {
            return Ok(Vec::new());
        };
        let listed = directory.list()?.into_iter();
        let packs = listed.filter(|listed| listed.directory && !listed.name.starts_with('.'));
        Ok(packs.map(|listed| (listed.name.clone(), directory.directory(&listed.name))).collect())
    };
    list().unwrap_or_else(|error| {
        found.push(Diagnostic::error(PACKS, error));
        Vec::new()
    })
}
