//! The current files of a pack, approved or not.
//!
//! A render compares every file with the approval as it reads it. This module shows people what they have not approved
//! yet, so it reads the files without that check, and nothing that it reads reaches a render.

use std::sync::Arc;

use hinagata_catalog::{
    Manifest, PackId, PackKind,
    pack::{self, Pack, PackLimits, Walked, walk_pack},
    source::{Index, Root, RootKind},
};
use hinagata_document::{Error, Reason, Result};
use hinagata_workspace::{
    Directory,
    layout::{AGENTS, PROMPTS},
};

/// The current files of a pack.
pub(super) struct View<'a> {
    pub(super) pack: &'a Arc<Pack>,
    pub(super) manifest: Result<Manifest>,
    /// Its prompts, if it has any.
    pub(super) prompts: Option<Index>,
}

impl<'a> View<'a> {
    pub(super) fn from_pack(pack: &'a Arc<Pack>) -> Self {
        Self { pack, manifest: read_manifest(pack), prompts: read_prompts(pack).ok().flatten() }
    }

    pub(super) fn id(&self) -> &'a PackId {
        &self.pack.id
    }

    pub(super) fn directory(&self) -> &'a Directory {
        self.pack.directory()
    }

    /// The version in its `pack.json`; empty if that file is invalid.
    pub(super) fn version(&self) -> String {
        self.manifest.as_ref().map(|manifest| manifest.version.clone()).unwrap_or_default()
    }

    pub(super) fn kind(&self) -> PackKind {
        let said = self.manifest.as_ref().ok().and_then(|manifest| manifest.kind);
        said.unwrap_or_else(|| {
            PackKind::from_contents(self.directory().path().join(AGENTS).is_dir(), self.prompts.as_ref())
        })
    }

    pub(super) fn files(&self) -> Walked {
        walk_pack(self.directory().path(), &PackLimits::DEFAULT)
    }
}

fn read_manifest(pack: &Pack) -> Result<Manifest> {
    let file = format!("{}/pack.json", pack.path());
    let missing =
        || Error::definition(Reason::NoManifest, format!("the pack `{}` has no pack.json", pack.id));
    let read = pack.directory().read("pack.json", pack::LARGEST_MANIFEST)?.ok_or_else(missing)?;
    Manifest::parse(&file, &read.text)
}

fn read_prompts(pack: &Pack) -> Result<Option<Index>> {
    let Some(directory) = pack.directory().directory(PROMPTS)? else { return Ok(None) };
    let root = Root {
        kind: RootKind::Pack(pack.id.clone()),
        prefix: format!("{}/{PROMPTS}", pack.path()),
        tree: Box::new(directory),
    };
    Index::new(root, None).map(Some)
}
