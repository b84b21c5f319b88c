//! Prepares a pack beside the installed ones: unpacked, checked and hashed, but not yet used.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use hinagata_catalog::{
    Manifest, PackId,
    pack::{self, PackLimits, tree_digest},
};
use hinagata_document::{Code, Digest, Error, Reason, Result};
use hinagata_workspace::{
    Directory,
    state::real_path,
    write::{io_error, sync_tree},
};

use crate::{
    signature::{self, SIGNATURE_FILE, SignaturePolicy},
    unpack::{Unpacker, check_pack_name},
};

/// A pack that is ready to take its place.
#[derive(Debug)]
pub(crate) struct StagedPack {
    pub(crate) id: PackId,
    pub(crate) manifest: Manifest,
    /// Its directory.
    pub(crate) top: PathBuf,
    /// The SHA-256 over all files.
    pub(crate) tree: Digest,
    signature: Option<String>,
}

impl StagedPack {
    /// Fills the new directory `place` by `fill`, and checks the pack in it.
    pub(crate) fn fill(
        place: &Path,
        limits: &PackLimits,
        fill: impl FnOnce(&mut Unpacker) -> Result<()>,
    ) -> Result<Self> {
        let mut unpacker = Unpacker::new(place, limits)?;
        fill(&mut unpacker)?;
        let top = top_directory(place)?;
        let signature = take_signature(&top)?;
        let manifest = read_manifest(&top)?;
        let id = checked_id(&manifest)?;
        let prefix = top.strip_prefix(place).ok().and_then(Path::to_str).unwrap_or_default();
        let mut files = unpacker.into_files();
        if !prefix.is_empty() {
            let inner = |path: &String| Some(path.strip_prefix(prefix)?.strip_prefix('/')?.to_owned());
            files = files.iter().filter_map(|(path, digest)| Some((inner(path)?, *digest))).collect();
        }
        files.remove(SIGNATURE_FILE);
        sync_tree(place).map_err(|error| io_error("written", place, error))?;
        Ok(Self { id, manifest, top, tree: tree_digest(&files), signature })
    }

    /// The key of the user that signed it, if any.
    pub(crate) fn check_signature(&self, policy: &SignaturePolicy) -> Result<Option<String>> {
        policy.check_pack(self.id.as_str(), &self.manifest.version, &self.tree, self.signature.as_deref())
    }
}

/// Stages the directory or archive `source` in the new directory `coming`.
pub(crate) fn stage_path(source: &Path, coming: &Path, limits: &PackLimits) -> Result<StagedPack> {
    let metadata = fs::metadata(source).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::new(Code::NotFound, format!("`{}` not found", source.display()))
            .with("path", source.display().to_string())
            .with_hint("pass a directory, a .tar.gz or a .zip"),
        _ => io_error("read", source, error),
    })?;
    if metadata.is_dir() && real_path(coming).starts_with(real_path(source)) {
        return Err(Error::definition(
            Reason::Outside,
            format!("{} contains the workspace", source.display()),
        )
        .with_hint("pass the directory of the pack"));
    }
    StagedPack::fill(coming, limits, |unpacker| match metadata.is_dir() {
        true => crate::copy::unpack_directory(source, unpacker),
        false => unpack_archive(source, unpacker, limits),
    })
}

#[cfg(feature = "archives")]
fn unpack_archive(source: &Path, unpacker: &mut Unpacker, limits: &PackLimits) -> Result<()> {
    crate::archive::unpack_archive(source, unpacker, limits)
}

#[cfg(not(feature = "archives"))]
fn unpack_archive(source: &Path, _unpacker: &mut Unpacker, _limits: &PackLimits) -> Result<()> {
    Err(Error::definition(
        Reason::Archive,
        format!("{} is not a directory, and this build cannot read archives", source.display()),
    )
    .with_hint("unpack it, then install the directory"))
}

/// Reads and removes the signature of a pack: it cannot be part of what it signs.
fn take_signature(top: &Path) -> Result<Option<String>> {
    let path = top.join(SIGNATURE_FILE);
    let text = hinagata_workspace::write::read_text(&path, signature::LARGEST)?;
    if text.is_some() {
        fs::remove_file(&path).map_err(|error| io_error("removed", &path, error))?;
    }
    Ok(text)
}

/// The directory that contains `pack.json`: `directory`, or the only directory in it.
fn top_directory(directory: &Path) -> Result<PathBuf> {
    if directory.join("pack.json").is_file() {
        return Ok(directory.to_owned());
    }
    let entries: Vec<PathBuf> = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(|error| io_error("read", directory, error))?;
    match entries.as_slice() {
        [only] if only.join("pack.json").is_file() => Ok(only.clone()),
        _ => Err(Error::definition(Reason::NoManifest, "not a pack: pack.json is missing at the top")
            .with_hint("a pack has its pack.json at the top, or in its only top-level directory")),
    }
}

pub(crate) fn read_manifest(directory: &Path) -> Result<Manifest> {
    let missing = || Error::definition(Reason::NoManifest, "not a pack: pack.json is missing");
    let opened = Directory::open(directory)?.ok_or_else(missing)?;
    let read = opened.read("pack.json", pack::LARGEST_MANIFEST)?.ok_or_else(missing)?;
    Manifest::parse("pack.json", &read.text).map_err(|error| match error.hint() {
        Some(_) => error,
        None => error.with_hint("ask the author of the pack for a corrected version"),
    })
}

fn checked_id(manifest: &Manifest) -> Result<PackId> {
    let Some(label) = &manifest.label else {
        return Err(Error::definition(Reason::PackId, "pack.json has no `pack_id`")
            .with_hint("add one, such as \"pack_id\": \"git_toolkit\""));
    };
    check_pack_name(label).map(|()| PackId::new(label))
}

/// The text that a signature of the pack at `source` signs: a directory, a `.tar.gz`, a `.tgz` or a `.zip`.
///
/// # Errors
/// Those of installing the pack.
pub fn read_statement(source: &Path) -> Result<String> {
    let failed = |error: std::io::Error| io_error("written", &std::env::temp_dir(), error);
    let place = tempfile::tempdir().map_err(failed)?;
    let staged = stage_path(source, &place.path().join("pack"), &PackLimits::DEFAULT)?;
    Ok(signature::signed_statement(staged.id.as_str(), &staged.manifest.version, &staged.tree))
}
