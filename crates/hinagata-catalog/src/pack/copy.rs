//! Copies of approved packs, and the digest of all files of a pack.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use hinagata_document::{Code, Digest, Error, Reason, Result, Sha256Digester};
use hinagata_workspace::{
    Directory,
    layout::PACKS,
    write::{self, Readers, io_error},
};

use super::{
    Manifest,
    files::{PackLimits, Refused, Walked, walk_pack},
};
use crate::PackId;

/// A new copy of a pack.
pub(super) struct PackCopy {
    pub(super) files: BTreeMap<String, Digest>,
    pub(super) content: Digest,
    pub(super) manifest: Manifest,
}

impl PackCopy {
    /// Copies `directory` to `place`. The hashes are those of the copied bytes.
    pub(super) fn create(place: &Path, directory: &Directory, pack: &PackId) -> Result<Self> {
        let write_error = |error: io::Error| io_error("written", place, error);
        // Remove what a killed process left.
        match fs::remove_dir_all(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(write_error(error)),
            _ => {}
        }
        let (mut files, mut made) = (BTreeMap::new(), HashSet::new());
        let mut manifest = None;
        for read in read_all(directory, pack)? {
            let (path, bytes) = read?;
            let copy = place.join(&path);
            let above = copy.parent().unwrap_or(place);
            if !made.contains(above) {
                write::make_directory(above, Readers::Owner).map_err(write_error)?;
                made.insert(above.to_owned());
            }
            write_copy(&copy, &bytes).map_err(write_error)?;
            if path == "pack.json" {
                manifest = Some(read_manifest(pack, &bytes)?);
            }
            files.insert(path, Digest::sha256(&bytes));
        }
        write::sync_tree(place).map_err(write_error)?;
        let no_manifest =
            || Error::definition(Reason::NoManifest, format!("the pack `{pack}` has no pack.json"));
        Ok(Self { content: tree_digest(&files), files, manifest: manifest.ok_or_else(no_manifest)? })
    }
}

fn read_manifest(pack: &PackId, bytes: &[u8]) -> Result<Manifest> {
    let file = format!("{PACKS}/{pack}/pack.json");
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Error::definition(Reason::Encoding, "`pack.json` is not UTF-8 text")
            .with("file", file.as_str())
            .with_source(error)
    })?;
    Manifest::parse(&file, text)
}

/// Every file of the pack with its bytes, read one by one.
fn read_all(directory: &Directory, pack: &PackId) -> Result<impl Iterator<Item = Result<(String, Vec<u8>)>>> {
    let walked = walk_pack(directory.path(), &PackLimits::DEFAULT);
    if let Some(refused) = walked.refused.first() {
        return Err(refusal_error(pack, refused));
    }
    Ok(walked.files.into_keys().map(move |path| {
        let read = directory.read_with_stamp(&path, PackLimits::DEFAULT.file)?;
        let gone = || Error::new(Code::Store, format!("`{path}` no longer exists")).with_reason(Reason::Io);
        let (bytes, _) = read.ok_or_else(gone)?;
        Ok((path, bytes))
    }))
}

/// The error for an entry that a pack cannot contain.
pub fn refusal_error(pack: &PackId, refused: &Refused) -> Error {
    let path = &refused.path;
    let limits = PackLimits::DEFAULT;
    let (message, hint) = match refused.reason {
        Reason::Link => (format!("`{path}` is a link"), "replace it with its target".to_owned()),
        Reason::Bytecode => {
            let message = format!("`{path}` is Python bytecode, which nobody can review");
            (message, "remove it: Python runs the source".to_owned())
        }
        Reason::Special => (format!("`{path}` is neither a file nor a directory"), "remove it".to_owned()),
        Reason::Name => (format!("a name in `{path}/` is not plain text"), "rename it".to_owned()),
        Reason::Count => {
            ("it has too many files".to_owned(), format!("at most {} are allowed", limits.entries))
        }
        Reason::Depth => {
            let message = format!("`{path}` is nested too deeply");
            (message, format!("at most {} levels are allowed", limits.depth))
        }
        Reason::Size => {
            let hint =
                format!("a file may have {} MiB, a pack {} MiB", limits.file >> 20, limits.total >> 20);
            (format!("`{path}` exceeds the size limit"), hint)
        }
        _ => (format!("`{path}` cannot be read"), "check its permissions".to_owned()),
    };
    Error::new(Code::Approval, format!("the pack `{pack}` cannot be approved: {message}"))
        .with_reason(refused.reason)
        .with("pack_id", pack.as_str())
        .with("file", path.as_str())
        .with_hint(hint)
}

/// The SHA-256 over all files in `directory`; `None` when they cannot be approved.
pub fn content_digest(directory: &Directory, walked: &Walked) -> Option<Digest> {
    let digest = |path: &String| {
        let (bytes, _) = directory.read_with_stamp(path, PackLimits::DEFAULT.file).ok()??;
        Some((path.clone(), Digest::sha256(&bytes)))
    };
    let files: Option<BTreeMap<String, Digest>> = walked.files.keys().map(digest).collect();
    files.filter(|_| walked.refused.is_empty()).map(|files| tree_digest(&files))
}

/// The SHA-256 over all files: of the lines `SHA-256 path` in the order of paths.
pub fn tree_digest(files: &BTreeMap<String, Digest>) -> Digest {
    let mut digester = Sha256Digester::default();
    for (path, digest) in files {
        digester.add(format!("{digest} {path}\n").as_bytes());
    }
    digester.finish()
}

/// Writes a file that is read-only, against accidental writes.
fn write_copy(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    write::refuse_links(options.write(true).create_new(true), Readers::Owner);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o400);
    options.open(path)?.write_all(bytes)
}

/// Moves the copy `new` to `place`, whose name contains the digest. An existing copy stays if it `is_intact`.
pub(super) fn put_copy(new: &Path, place: &Path, is_intact: impl FnOnce() -> bool) -> io::Result<()> {
    if place.is_dir() && is_intact() {
        return fs::remove_dir_all(new);
    }
    let above = place.parent().unwrap_or(place);
    write::make_directory(above, Readers::Owner)?;
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => fs::remove_file(place)?,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(new, place)?;
    write::sync_directory(above)
}
