//! Ignored files: `.gitignore` and its kin in directories, and the rules that a repository and its user have for all.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use crate::{error::system_cause, git::RepositoryPlace};

/// An unreadable ignore file, and the cause.
pub(crate) type UnreadIgnoreFile = (PathBuf, String);

/// The names of ignore files by precedence, regardless of their directories. The last one is git's.
const NAMES: [&str; 4] = [".hinagataignore", ".repomixignore", ".ignore", ".gitignore"];

/// Largest ignore file, in bytes.
const LARGEST: u64 = 1 << 20;

/// Whose rule ignores a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoredBy {
    /// A rule for packers and searchers.
    Packers,
    /// A rule of git, which does not concern the files that git tracks.
    Git,
}

/// The ignore files of a directory and its parents.
#[derive(Debug)]
pub(crate) struct Ignored {
    files: [Option<Gitignore>; NAMES.len()],
    above: Option<Arc<Self>>,
    /// Rules of git for the whole repository, by precedence.
    repository: Arc<[Gitignore]>,
}

impl Ignored {
    /// Whether `name` is the name of an ignore file.
    pub(crate) fn is_ignore_file(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// Adds the ignore files of `directory` to those of its parents, `above`. `named` are the ignore files in the
    /// directory; unreadable ones are added to `unread`.
    pub(crate) fn enter_directory(
        directory: &Path,
        named: &[String],
        above: Option<&Arc<Self>>,
        unread: &mut Vec<UnreadIgnoreFile>,
    ) -> Option<Arc<Self>> {
        if named.is_empty() {
            return above.cloned();
        }
        let files = NAMES.map(|name| {
            named.iter().find(|found| *found == name)?;
            compile_file(directory, &directory.join(name), unread)
        });
        let repository =
            above.map_or_else(|| Arc::new([]) as Arc<[_]>, |above| Arc::clone(&above.repository));
        Some(Arc::new(Self { files, above: above.cloned(), repository }))
    }

    /// Whether the file at `real` or one of its directories is ignored. Both paths have no links. An unreadable ignore
    /// file ignores everything in its directory.
    pub(crate) fn is_path_ignored(base: &Path, real: &Path) -> bool {
        let mut unread = Vec::new();
        let place = RepositoryPlace::find(real);
        let top = top_directory(base, real, place.as_ref());
        let ignored = Self::from_parents(base, real, place.as_ref(), None, &mut unread);
        let (Some(top), Some(ignored)) = (top, ignored) else { return !unread.is_empty() };
        let mut within = real.ancestors().take_while(|path| *path != top);
        !unread.is_empty() || within.any(|path| ignored.find_rule(path, path != real).is_some())
    }

    /// The ignore files of the parents of `start`, up to the `repository` that contains it, else up to `base` if that
    /// contains it. Both paths have no links. `excludes_file` is the file that the settings of git name; otherwise it is
    /// looked up in the usual places.
    pub(crate) fn from_parents(
        base: &Path,
        start: &Path,
        repository: Option<&RepositoryPlace>,
        excludes_file: Option<&Path>,
        unread: &mut Vec<UnreadIgnoreFile>,
    ) -> Option<Arc<Self>> {
        let top = top_directory(base, start, repository)?;
        let between: Vec<&Path> =
            start.ancestors().skip(1).take_while(|path| path.starts_with(top)).collect();
        let mut above = repository.and_then(|place| Self::for_repository(place, excludes_file, unread));
        for directory in between.into_iter().rev() {
            let named =
                NAMES.iter().filter(|name| directory.join(name).exists()).map(|&name| name.to_owned());
            above = Self::enter_directory(directory, &named.collect::<Vec<_>>(), above.as_ref(), unread);
        }
        above
    }

    /// The rules of git for the whole repository.
    fn for_repository(
        place: &RepositoryPlace,
        excludes_file: Option<&Path>,
        unread: &mut Vec<UnreadIgnoreFile>,
    ) -> Option<Arc<Self>> {
        let user = excludes_file.map(Path::to_owned).or_else(gitconfig_excludes_path);
        let files = [Some(place.exclude_file()), user];
        let rules: Arc<[Gitignore]> =
            files.iter().flatten().filter_map(|file| compile_file(&place.top, file, unread)).collect();
        (!rules.is_empty())
            .then(|| Arc::new(Self { files: [const { None }; NAMES.len()], above: None, repository: rules }))
    }

    /// Whose rule ignores `path`, if any.
    pub(crate) fn find_rule(&self, path: &Path, is_directory: bool) -> Option<IgnoredBy> {
        let decide = |rules: &Gitignore| {
            let inner = path.strip_prefix(rules.path()).ok()?;
            let found = rules.matched(inner, is_directory);
            (!found.is_none()).then(|| found.is_ignore())
        };
        for (kind, name) in NAMES.iter().enumerate() {
            let mut next = Some(self);
            while let Some(here) = next {
                if let Some(ignored) = here.files[kind].as_ref().and_then(decide) {
                    let by = if *name == ".gitignore" { IgnoredBy::Git } else { IgnoredBy::Packers };
                    return ignored.then_some(by);
                }
                next = here.above.as_deref();
            }
        }
        self.repository.iter().find_map(decide).filter(|ignored| *ignored).map(|_| IgnoredBy::Git)
    }
}

/// The topmost directory whose ignore files apply to `start`: its repository, else `base` if that contains it.
fn top_directory<'p>(
    base: &'p Path,
    start: &Path,
    repository: Option<&'p RepositoryPlace>,
) -> Option<&'p Path> {
    let top = repository.map(|place| place.top.as_path());
    top.or_else(|| start.starts_with(base).then_some(base))
}

/// The rules of an ignore file for paths below `root`; invalid lines are skipped, as git does. `None` if it has none.
fn compile_file(root: &Path, path: &Path, unread: &mut Vec<UnreadIgnoreFile>) -> Option<Gitignore> {
    let compile = || {
        let Some(text) = read_rules_file(path)? else { return Ok(None) };
        let mut builder = GitignoreBuilder::new(root);
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
        builder.build().map(Some).map_err(io::Error::other)
    };
    let rules = compile().unwrap_or_else(|error: io::Error| {
        unread.push((path.to_owned(), system_cause(&error)));
        None
    });
    rules.filter(|rules| !rules.is_empty())
}

/// The text of a file with rules; `None` if it does not exist.
pub(crate) fn read_rules_file(path: &Path) -> io::Result<Option<String>> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        // A link that leads nowhere is a mistake.
        Err(error) if path.symlink_metadata().is_ok() => return Err(error),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // A directory can have such a name.
    if metadata.is_dir() {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}
