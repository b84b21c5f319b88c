//! Which packs have newer versions.

use hinagata_catalog::pack::PackLimits;
use hinagata_document::Result;
use serde::Serialize;

use super::{SyncOptions, run::SyncRun};
use crate::{
    Packs,
    location::{GitRevision, PackLocation, WantedPack},
    lock::{Lock, LockedPack},
    range::{VersionRange, parse_version},
    signature::SignaturePolicy,
    wanted::WantedPacks,
};

/// A pack with a newer version, or one that must not be used any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutdatedPack {
    /// The pack.
    pub pack_id: String,
    /// The locked version, tag, branch or commit.
    pub locked: String,
    /// What an update would choose.
    pub update: Option<String>,
    /// The newest one.
    pub newest: Option<String>,
    /// Why the locked version must not be used any more.
    pub withdrawn: Option<String>,
}

impl Packs {
    /// The locked packs that have newer versions. Asks the index and the repositories; changes nothing.
    ///
    /// # Errors
    /// Code `lock` if the lock is invalid; `fetch` if a source cannot be reached.
    pub fn find_outdated(&self, options: &SyncOptions<'_>) -> Result<Vec<OutdatedPack>> {
        let wanted = WantedPacks::from_settings(options.settings)?;
        let lock = Lock::read(self.catalog.root())?.unwrap_or_default();
        let signatures = SignaturePolicy::default();
        let mut run = SyncRun::open(self, &wanted, &lock, &signatures, options)?;
        let mut all = Vec::new();
        for (id, locked) in &lock.packs {
            all.extend(self.find_newer(id, locked, (&wanted, &lock), &mut run, options)?);
        }
        Ok(all)
    }

    fn find_newer(
        &self,
        id: &str,
        locked: &LockedPack,
        (wanted, lock): (&WantedPacks, &Lock),
        run: &mut SyncRun<'_>,
        options: &SyncOptions<'_>,
    ) -> Result<Option<OutdatedPack>> {
        let row = |locked: &str, update: Option<String>, newest: Option<String>| OutdatedPack {
            pack_id: id.to_owned(),
            locked: locked.to_owned(),
            update,
            newest,
            withdrawn: None,
        };
        Ok(match &locked.location {
            None | Some(PackLocation::Url { .. }) => None,
            Some(PackLocation::Directory(path) | PackLocation::File(path)) => {
                let staged = run.stage_for_comparison(path, &PackLimits::DEFAULT)?;
                (staged.1 != locked.tree)
                    .then(|| row(&locked.version, Some(staged.0.clone()), Some(staged.0)))
            }
            Some(PackLocation::Git(git)) => {
                let near = super::run::local_repository(git, self.catalog.root());
                match &git.revision {
                    GitRevision::Revision(_) if git.revision.commit().is_some() => None,
                    GitRevision::Revision(branch) => {
                        let commit = options.source.resolve_revision(&near)?;
                        let is_new = locked.commit.as_ref() != Some(&commit);
                        is_new.then(|| {
                            row(
                                &format!("{branch} at {}", shorten(locked.commit.as_deref())),
                                Some(shorten(Some(&commit))),
                                None,
                            )
                        })
                    }
                    GitRevision::Tag(tag) => {
                        let newest = newest_tag(&options.source.list_tags(&near)?, tag);
                        newest.map(|newest| row(tag, None, Some(newest)))
                    }
                }
            }
            Some(PackLocation::Index { .. }) => {
                let versions = run.read_index(id)?.versions(id);
                let of_locked = versions.iter().find(|version| version.version == locked.version);
                let withdrawn = of_locked.and_then(|version| version.withdrawn.clone());
                let usable = || versions.iter().filter(|version| version.withdrawn.is_none());
                let is_newer = |version: &str| parse_version(version) > parse_version(&locked.version);
                let newest = usable()
                    .next()
                    .map(|version| version.version.clone())
                    .filter(|version| is_newer(version));
                let fits = |version: &str| {
                    let is_wanted = match wanted.packs.get(id) {
                        Some(WantedPack::Range(range)) => range.contains_version(version),
                        _ => true,
                    };
                    is_wanted && is_accepted(lock, id, version)
                };
                let update = usable().map(|version| &version.version).find(|version| fits(version));
                let update = update.filter(|version| is_newer(version)).cloned();
                (newest.is_some() || withdrawn.is_some())
                    .then(|| OutdatedPack { withdrawn, ..row(&locked.version, update, newest) })
            }
        })
    }
}

/// Whether the locked packs that require the pack accept this version.
fn is_accepted(lock: &Lock, id: &str, version: &str) -> bool {
    let ranges = lock.packs.values().filter_map(|pack| pack.requires.get(id));
    ranges
        .into_iter()
        .all(|range| VersionRange::parse(range).is_ok_and(|range| range.contains_version(version)))
}

/// The newest tag with a version, if it is newer than `tag`.
fn newest_tag(tags: &[String], tag: &str) -> Option<String> {
    let (prefix, now) = split_tag(tag)?;
    let newer = tags.iter().filter_map(|other| {
        let (other_prefix, version) = split_tag(other)?;
        let is_stable = version.pre.is_empty() || !now.pre.is_empty();
        (other_prefix == prefix && version > now && is_stable).then_some((version, other))
    });
    newer.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, tag)| tag.clone())
}

/// The text before the version of a tag such as `git-v1.2.0`, and the version.
pub(crate) fn split_tag(tag: &str) -> Option<(&str, semver::Version)> {
    let start = tag.rfind(['-', '/']).map_or(0, |at| at + 1);
    let candidates = [start, 0].into_iter().chain(tag.find(|c: char| c.is_ascii_digit()));
    candidates.into_iter().find_map(|at| Some((tag[..at].trim_end_matches('v'), parse_version(&tag[at..])?)))
}

fn shorten(commit: Option<&str>) -> String {
    commit.unwrap_or_default().chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_tag_of_the_same_series_is_found() {
        let tags = ["v1.2.0", "v1.10.0", "v2.0.0-rc.1", "other-v9.0.0", "nightly"].map(str::to_owned);
        assert_eq!(newest_tag(&tags, "v1.2.0").as_deref(), Some("v1.10.0"));
        assert_eq!(newest_tag(&tags, "v1.10.0"), None);
        assert_eq!(newest_tag(&tags, "nightly"), None);
        assert_eq!(newest_tag(&tags, "other-v1.0.0").as_deref(), Some("other-v9.0.0"));
        assert_eq!(newest_tag(&tags, "v2.0.0-beta.1").as_deref(), Some("v2.0.0-rc.1"));
    }
}
