//! What the repository of a directory says about its files.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use crate::{
    attributes::Attributes,
    git::{History, Repository, RepositoryPlace, Tracked},
    ignored::{Ignored, UnreadIgnoreFile},
};

/// What the repository of a directory says about its files. Outside of a repository, it says nothing.
#[derive(Debug, Default)]
pub(crate) struct RepositoryFacts {
    place: Option<RepositoryPlace>,
    repository: Option<Result<Repository, String>>,
    tracked: OnceLock<Result<Tracked, String>>,
    history: OnceLock<Result<History, String>>,
    reads_attributes: bool,
    /// Whether the repository is not asked because it is outside of the wall.
    is_outside: bool,
}

impl RepositoryFacts {
    /// The facts of the repository that contains `base`, a path without links. Nothing outside of `wall` is read, if
    /// there is one.
    pub(crate) fn find(base: &Path, wall: Option<&Path>) -> Self {
        let place = RepositoryPlace::find(base);
        let is_outside = place.as_ref().zip(wall).is_some_and(|(place, wall)| !place.is_below(wall));
        let repository =
            place.clone().map(|place| match is_outside {
                true => Err("the repository refers to files outside of the workspace, which is not trusted"
                    .to_owned()),
                false => Repository::open(place),
            });
        Self { place, repository, reads_attributes: true, is_outside, ..Self::default() }
    }

    /// The facts that need no git: the place of the repository, whose rules about ignored files count.
    pub(crate) fn without_git(base: &Path) -> Self {
        Self { place: RepositoryPlace::find(base), ..Self::default() }
    }

    /// Whether the repository is not asked because it is outside of the wall.
    pub(crate) fn is_outside(&self) -> bool {
        self.is_outside
    }

    /// The repository, if git can be asked about it.
    pub(crate) fn repository(&self) -> Option<&Repository> {
        self.repository.as_ref()?.as_ref().ok()
    }

    /// Why git cannot be asked, or what it failed to answer.
    pub(crate) fn problem(&self) -> Option<&str> {
        let opened = self.repository.as_ref().and_then(|opened| opened.as_ref().err());
        let tracked = self.tracked.get().and_then(|tracked| tracked.as_ref().err());
        let history = self.history.get().and_then(|history| history.as_ref().err());
        opened.or(tracked).or(history).map(String::as_str)
    }

    /// Whether `.gitattributes` count.
    pub(crate) fn reads_attributes(&self) -> bool {
        self.reads_attributes
    }

    /// The rules about ignored files of the parents of `start`.
    pub(crate) fn parent_rules(
        &self,
        base: &Path,
        start: &Path,
        unread: &mut Vec<UnreadIgnoreFile>,
    ) -> Option<Arc<Ignored>> {
        let own = self.place.as_ref().filter(|place| start.starts_with(&place.top)).cloned();
        // A walk can start in another repository.
        let place = own.or_else(|| RepositoryPlace::find(start));
        let excludes = self.repository().and_then(|repository| repository.excludes_file.as_deref());
        Ignored::from_parents(base, start, place.as_ref(), excludes, unread)
    }

    /// The attributes of the parents of `start`.
    pub(crate) fn parent_attributes(&self, base: &Path, start: &Path) -> Option<Arc<Attributes>> {
        let top = self.place.as_ref().map_or(base, |place| &place.top);
        self.reads_attributes.then(|| Attributes::from_parents(top, start)).flatten()
    }

    /// Loads what the history says. Other threads can walk meanwhile.
    pub(crate) fn load_history(&self) {
        self.tracked();
        self.history();
    }

    /// Whether git tracks the file at `real`.
    pub(crate) fn tracks_file(&self, real: &Path) -> bool {
        self.is_tracked(real, Tracked::has_file)
    }

    /// Whether git tracks files below `real`.
    pub(crate) fn tracks_below(&self, real: &Path) -> bool {
        self.is_tracked(real, Tracked::has_below)
    }

    fn is_tracked(&self, real: &Path, has: impl Fn(&Tracked, &str) -> bool) -> bool {
        let (Some(path), Some(tracked)) = (self.inner_path(real), self.tracked()) else { return false };
        has(tracked, &path)
    }

    /// Whether the file at `real` differs from the commit that is checked out, or is not part of it.
    pub(crate) fn is_changed(&self, real: &Path) -> bool {
        let (Some(path), Some(history)) = (self.inner_path(real), self.history()) else { return false };
        let is_new = || self.tracked().is_some_and(|tracked| !tracked.is_empty() && !tracked.has_file(&path));
        history.has_commits() && (history.is_changed(&path) || is_new())
    }

    /// The number of the last commits that changed the file at `real`.
    pub(crate) fn commits(&self, real: &Path) -> u32 {
        let (Some(path), Some(history)) = (self.inner_path(real), self.history()) else { return 0 };
        history.commits(&path)
    }

    /// The path of `real` from the top of the repository.
    pub(crate) fn inner_path(&self, real: &Path) -> Option<String> {
        let inner = real.strip_prefix(self.repository()?.top()).ok()?;
        Some(inner.to_string_lossy().replace('\\', "/"))
    }

    fn tracked(&self) -> Option<&Tracked> {
        let repository = self.repository()?;
        self.tracked.get_or_init(|| repository.list_tracked()).as_ref().ok()
    }

    fn history(&self) -> Option<&History> {
        let repository = self.repository()?;
        self.history.get_or_init(|| repository.read_history()).as_ref().ok()
    }
}
