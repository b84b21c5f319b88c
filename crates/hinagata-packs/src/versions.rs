//! Versions of a pack on this machine, to compare what they render. Nothing is fetched and nothing is approved.
//!
//! A version that another one replaces is kept in the state directory, so that they can be compared:
//!
//! ```text
//! versions/<SHA-256 of the name of the pack>/<SHA-256 over all files>/
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use hinagata_catalog::{
    PackId,
    pack::{PackLimits, tree_digest, walk_pack},
};
use hinagata_document::{Code, Digest, Error, Reason, Result};
use hinagata_workspace::{
    Settings,
    layout::PACKS,
    state,
    write::{self, Readers, io_error},
};
use tempfile::TempDir;

use crate::{
    Packs,
    location::{GitLocation, GitRevision, PackLocation, WantedPack},
    range::parse_version,
    remove::remove_if_present,
    signature::SIGNATURE_FILE,
    source::PackSource,
    stage::{StagedPack, read_manifest, stage_path},
    sync::{IndexedVersion, check_hash, local_repository, read_index_file, read_local, split_tag},
    unpack::Unpacker,
    wanted::WantedPacks,
};

const VERSIONS: &str = "versions";
const NEW: &str = ".new";

/// Most versions of a pack that are kept.
const MOST_KEPT: usize = 8;

/// Which version of a pack is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionChoice {
    /// The approved files.
    Approved,
    /// The installed files.
    Installed,
    /// The version with this number, or the newest one that starts with it: `1` and `1.2` stand for `1.2.3`.
    Number(String),
}

/// The files of one version of a pack, copied for a comparison. Dropping it removes them.
#[derive(Debug)]
pub struct PackVersion {
    /// The pack.
    pub pack: PackId,
    /// The version in its `pack.json`.
    pub version: String,
    /// Where it comes from, for people.
    pub origin: String,
    /// The SHA-256 over all files.
    pub tree: Digest,
    directory: PathBuf,
    _place: TempDir,
}

impl PackVersion {
    /// The directory with its files.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// A version that could be meant.
struct Candidate {
    /// Its number.
    number: String,
    origin: Origin,
}

enum Origin {
    Installed,
    Approved,
    /// Kept since another one replaced it, with the SHA-256 over all files.
    Kept(PathBuf, Digest),
    /// A directory or an archive.
    Path(PathBuf, Option<Digest>),
    Tag(GitLocation),
}

impl Packs {
    /// The files of a version of a pack: installed, approved, or kept since it was replaced; otherwise from the source
    /// of the pack, if that is on this machine. `source` reads local git repositories.
    ///
    /// # Errors
    /// Code `not_found` if there is no such pack, or no such version on this machine; those of reading it.
    pub fn find_version(
        &self,
        pack: &str,
        choice: &VersionChoice,
        settings: &Settings,
        source: &dyn PackSource,
    ) -> Result<PackVersion> {
        let id = PackId::new(pack);
        let wanted = WantedPacks::from_settings(settings)?;
        let kept = self.kept_versions(&id);
        if !self.has_pack(&id) && kept.is_empty() && !wanted.packs.contains_key(pack) {
            self.pack(pack)?;
        }
        let number = match choice {
            VersionChoice::Installed => return self.take(&id, &Origin::Installed, source),
            VersionChoice::Approved => return self.take(&id, &Origin::Approved, source),
            VersionChoice::Number(number) => number,
        };
        let mut known = self.present_versions(&id)?;
        known.extend(kept);
        if let Some(found) = choose_version(&mut known, number) {
            return self.take(&id, &found.origin, source);
        }
        let mut offered = self.source_versions(&id, &wanted, source)?;
        match choose_version(&mut offered, number) {
            Some(found) => self.take(&id, &found.origin, source),
            None => {
                known.extend(offered);
                Err(missing_error(&id, number, &known))
            }
        }
    }

    fn has_pack(&self, id: &PackId) -> bool {
        self.catalog.packs().any(|known| known == id)
    }

    /// The installed and the approved version.
    fn present_versions(&self, id: &PackId) -> Result<Vec<Candidate>> {
        let mut all = Vec::new();
        if self.has_pack(id) {
            let number = read_manifest(&self.installed_path(id))?.version;
            all.push(Candidate { number, origin: Origin::Installed });
        }
        if let Some(record) = self.state_of(id).record()? {
            all.push(Candidate { number: record.version, origin: Origin::Approved });
        }
        Ok(all)
    }

    /// The versions that were kept, the newest last.
    fn kept_versions(&self, id: &PackId) -> Vec<Candidate> {
        let kept = list_kept(&self.versions_of(id)).into_iter();
        let candidate = |(path, tree): (PathBuf, Digest)| {
            let number = read_manifest(&path).ok()?.version;
            Some(Candidate { number, origin: Origin::Kept(path, tree) })
        };
        kept.filter_map(candidate).collect()
    }

    /// The versions that a source on this machine has.
    fn source_versions(
        &self,
        id: &PackId,
        wanted: &WantedPacks,
        source: &dyn PackSource,
    ) -> Result<Vec<Candidate>> {
        let root = self.catalog.root();
        match wanted.packs.get(id.as_str()) {
            Some(WantedPack::Location(PackLocation::Directory(path) | PackLocation::File(path))) => {
                let place = temporary_directory()?;
                let staged = stage_path(&root.join(path), &place.path().join("pack"), &PackLimits::DEFAULT)?;
                let origin = Origin::Path(root.join(path), None);
                Ok(vec![Candidate { number: staged.manifest.version, origin }])
            }
            Some(WantedPack::Location(PackLocation::Git(git))) if git.is_on_this_machine() => {
                let git = local_repository(git, root);
                let tags = source.list_tags(&git)?;
                Ok(tags.into_iter().filter_map(|tag| tagged_version(&git, tag)).collect())
            }
            Some(WantedPack::Range(_)) => {
                let Some(index) = wanted.index.as_deref().filter(|index| !index.contains("://")) else {
                    return Ok(Vec::new());
                };
                let local = |version: &IndexedVersion| match &version.location {
                    PackLocation::Index { url, sha256, .. } if !url.contains("://") => Some(Candidate {
                        number: version.version.clone(),
                        origin: Origin::Path(root.join(url), Some(*sha256)),
                    }),
                    _ => None,
                };
                let index = read_index_file(root, index)?;
                Ok(index.versions(id.as_str()).iter().filter_map(local).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Copies the files of a version.
    fn take(&self, id: &PackId, origin: &Origin, source: &dyn PackSource) -> Result<PackVersion> {
        let place = temporary_directory()?;
        let top = place.path().join("pack");
        let limits = &PackLimits::DEFAULT;
        let name = origin.describe();
        let staged = match origin {
            Origin::Installed => {
                self.pack(id.as_str())?;
                stage_path(&self.installed_path(id), &top, limits)?
            }
            Origin::Approved => {
                let state = self.state_of(id);
                let record = state.record()?.ok_or_else(|| unapproved_error(id))?;
                let copy = state.copy(&record).ok_or_else(|| damaged_error(id))?;
                let staged = stage_path(copy.path(), &top, limits)?;
                let mut files = record.files;
                files.remove(SIGNATURE_FILE);
                check_tree(id, &staged.tree, &tree_digest(&files))?;
                staged
            }
            Origin::Kept(path, tree) => {
                let staged = stage_path(path, &top, limits)?;
                check_tree(id, &staged.tree, tree)?;
                staged
            }
            Origin::Path(path, sha256) => {
                if let Some(sha256) = sha256 {
                    let address = path.to_string_lossy();
                    check_hash(&address, &read_local(path, &address, limits.archive)?, sha256)?;
                }
                stage_path(path, &top, limits)?
            }
            Origin::Tag(git) => {
                let commit = source.resolve_revision(git)?;
                StagedPack::fill(&top, limits, |unpacker| source.read_commit(git, &commit, unpacker))?
            }
        };
        Ok(PackVersion {
            pack: id.clone(),
            version: staged.manifest.version.clone(),
            origin: name,
            tree: staged.tree,
            directory: staged.top,
            _place: place,
        })
    }

    fn installed_path(&self, id: &PackId) -> PathBuf {
        self.catalog.root().join(PACKS).join(id.as_str())
    }

    fn versions_of(&self, id: &PackId) -> PathBuf {
        let workspace = self.state.workspace(self.catalog.root()).directory;
        workspace.join(VERSIONS).join(state::hash_key(id.as_str().as_bytes()))
    }

    /// Keeps the files of a pack that another version replaces now. Files that no pack may have are no version.
    pub(crate) fn keep_version(&self, id: &PackId, installed: &Path) -> Result<()> {
        if !walk_pack(installed, &PackLimits::DEFAULT).refused.is_empty() {
            return Ok(());
        }
        let directory = self.versions_of(id);
        let new = directory.join(NEW);
        let failed = |error| io_error("written", &new, error);
        write::make_directory(&directory, Readers::Owner).map_err(failed)?;
        remove_if_present(&new).map_err(failed)?;
        let mut unpacker = Unpacker::new(&new, &PackLimits::DEFAULT)?;
        crate::copy::unpack_directory(installed, &mut unpacker)?;
        let mut files = unpacker.into_files();
        files.remove(SIGNATURE_FILE);
        let place = directory.join(tree_digest(&files).to_string());
        if place.is_dir() {
            return remove_if_present(&new).map_err(failed);
        }
        fs::rename(&new, &place).map_err(failed)?;
        let kept = list_kept(&directory);
        for (old, _) in kept.iter().take(kept.len().saturating_sub(MOST_KEPT)) {
            remove_if_present(old).map_err(|error| io_error("removed", old, error))?;
        }
        Ok(())
    }

    /// Removes the kept versions of a pack.
    pub(crate) fn forget_versions(&self, id: &PackId) -> Result<()> {
        let directory = self.versions_of(id);
        remove_if_present(&directory).map_err(|error| io_error("removed", &directory, error))
    }
}

impl Origin {
    fn describe(&self) -> String {
        match self {
            Self::Installed => "installed".to_owned(),
            Self::Approved => "approved".to_owned(),
            Self::Kept(..) => "kept".to_owned(),
            Self::Path(path, _) => {
                path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            }
            Self::Tag(git) => format!("tag {}", git.revision.as_str()),
        }
    }
}

/// The kept versions in a directory, the oldest first.
fn list_kept(directory: &Path) -> Vec<(PathBuf, Digest)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let kept = entries.filter_map(|entry| {
        let tree: Digest = entry.file_name().to_str()?.parse().ok()?;
        let time =
            entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        Some((time, entry.path(), tree))
    });
    let mut kept: Vec<_> = kept.collect();
    kept.sort();
    kept.into_iter().map(|(_, path, tree)| (path, tree)).collect()
}

/// The version of a tag such as `git-v1.2.0`, if it belongs to the same series as the wanted one.
fn tagged_version(git: &GitLocation, tag: String) -> Option<Candidate> {
    let (prefix, version) = split_tag(&tag)?;
    let is_same = match &git.revision {
        GitRevision::Tag(wanted) => split_tag(wanted).is_none_or(|(own, _)| own == prefix),
        GitRevision::Revision(_) => true,
    };
    let number = version.to_string();
    let git = GitLocation { revision: GitRevision::Tag(tag), ..git.clone() };
    is_same.then_some(Candidate { number, origin: Origin::Tag(git) })
}

/// Takes the candidate that is meant: the one with this number, else the newest one that starts with it. Of several with
/// the same number, the first.
fn choose_version(known: &mut Vec<Candidate>, number: &str) -> Option<Candidate> {
    let plain = |text: &str| text.strip_prefix('v').unwrap_or(text).to_owned();
    let number = plain(number);
    let exact = known.iter().position(|candidate| plain(&candidate.number) == number);
    let begin = format!("{number}.");
    let rank = |candidate: &Candidate| {
        parse_version(&candidate.number).map(|version| (version.pre.is_empty(), version))
    };
    let newest = || {
        let mut best: Option<usize> = None;
        for (index, candidate) in known.iter().enumerate() {
            let fits = plain(&candidate.number).starts_with(&begin);
            if fits && best.is_none_or(|best| rank(candidate) > rank(&known[best])) {
                best = Some(index);
            }
        }
        best
    };
    exact.or_else(newest).map(|index| known.swap_remove(index))
}

fn temporary_directory() -> Result<TempDir> {
    tempfile::tempdir().map_err(|error| io_error("written", &std::env::temp_dir(), error))
}

fn check_tree(id: &PackId, found: &Digest, expected: &Digest) -> Result<()> {
    if found == expected { Ok(()) } else { Err(damaged_error(id)) }
}

fn damaged_error(id: &PackId) -> Error {
    Error::new(
        Code::Store,
        format!("the state directory has other files of the pack `{id}` than were recorded"),
    )
    .with_reason(Reason::Broken)
    .with("pack_id", id.as_str())
    .with_hint("install or approve this version again, which makes a new copy")
}

fn unapproved_error(id: &PackId) -> Error {
    Error::new(Code::NotFound, format!("the pack `{id}` was never approved, so there are no approved files"))
        .with("pack_id", id.as_str())
        .with_hint(format!("name both versions, such as `{id}@1..2`"))
}

fn missing_error(id: &PackId, number: &str, known: &[Candidate]) -> Error {
    let mut names: Vec<String> = Vec::new();
    for candidate in known {
        let name = format!("{} ({})", candidate.number, candidate.origin.describe());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let list = match names.as_slice() {
        [] => "it has no version of it".to_owned(),
        names => format!("it has {}", names.join(", ")),
    };
    Error::new(Code::NotFound, format!("this machine has no version {number} of the pack `{id}`; {list}"))
        .with("pack_id", id.as_str())
        .with("versions", names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(numbers: &[&str], wanted: &str) -> Option<String> {
        let candidate = |number: &&str| Candidate { number: (*number).to_owned(), origin: Origin::Installed };
        let mut known: Vec<Candidate> = numbers.iter().map(candidate).collect();
        choose_version(&mut known, wanted).map(|found| found.number)
    }

    #[test]
    fn a_number_stands_for_the_newest_version_that_starts_with_it() {
        let numbers = ["1.2.0", "1.10.0", "1.11.0-rc.1", "2.0.0", "nightly", "10.0.0"];
        for (wanted, found) in [
            ("1", Some("1.10.0")),
            ("1.2", Some("1.2.0")),
            ("v2.0.0", Some("2.0.0")),
            ("1.11.0-rc.1", Some("1.11.0-rc.1")),
            ("1.11", Some("1.11.0-rc.1")),
            ("nightly", Some("nightly")),
            ("3", None),
            ("", None),
        ] {
            assert_eq!(choose(&numbers, wanted).as_deref(), found, "{wanted}");
        }
    }
}
