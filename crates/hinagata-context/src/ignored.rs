//! Ignore files: `.gitignore`, `.ignore` and `.hinagataignore`.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::system_cause;

/// An unreadable ignore file, and the cause.
pub(crate) type UnreadIgnoreFile = (PathBuf, String);

/// The names of ignore files by precedence, regardless of their directories.
const NAMES: [&str; 3] = [".hinagataignore", ".ignore", ".gitignore"];

/// Largest ignore file, in bytes.
const LARGEST: u64 = 1 << 20;

/// The ignore files of a directory and its parents.
#[derive(Debug)]
pub(crate) struct Ignored {
    files: [Option<Gitignore>; NAMES.len()],
    above: Option<Arc<Self>>,
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
            read(directory, name).unwrap_or_else(|error| {
                unread.push((directory.join(name), system_cause(&error)));
                None
            })
        });
        Some(Arc::new(Self { files, above: above.cloned() }))
    }

    /// The topmost directory whose ignore files apply to `start`: its repository, else `base` if that contains it.
    fn top_directory<'p>(base: &'p Path, start: &'p Path) -> Option<&'p Path> {
        let repository = start.ancestors().find(|directory| directory.join(".git").exists());
        repository.or_else(|| start.starts_with(base).then_some(base))
    }

    /// Whether the file at `real` or one of its directories is ignored. Both paths have no links. An unreadable ignore
    /// file ignores everything in its directory.
    pub(crate) fn is_path_ignored(base: &Path, real: &Path) -> bool {
        let mut unread = Vec::new();
        let (Some(top), Some(ignored)) =
            (Self::top_directory(base, real), Self::from_parents(base, real, &mut unread))
        else {
            return false;
        };
        let mut within = real.ancestors().take_while(|path| *path != top);
        !unread.is_empty() || within.any(|path| ignored.is_match(path, path != real))
    }

    /// The ignore files of the parents of `start`, up to its repository, else up to `base` if that contains it. Both
    /// paths have no links.
    pub(crate) fn from_parents(
        base: &Path,
        start: &Path,
        unread: &mut Vec<UnreadIgnoreFile>,
    ) -> Option<Arc<Self>> {
        let top = Self::top_directory(base, start)?;
        let between: Vec<&Path> =
            start.ancestors().skip(1).take_while(|path| path.starts_with(top)).collect();
        let mut above = None;
        for directory in between.into_iter().rev() {
            let named =
                NAMES.iter().filter(|name| directory.join(name).exists()).map(|&name| name.to_owned());
            above = Self::enter_directory(directory, &named.collect::<Vec<_>>(), above.as_ref(), unread);
        }
        above
    }

    /// Whether `path` is ignored.
    pub(crate) fn is_match(&self, path: &Path, is_directory: bool) -> bool {
        for kind in 0..NAMES.len() {
            let mut next = Some(self);
            while let Some(here) = next {
                if let Some(file) = &here.files[kind] {
                    let found = match path.strip_prefix(file.path()) {
                        Ok(path) => file.matched(path, is_directory),
                        Err(_) => ignore::Match::None,
                    };
                    if !found.is_none() {
                        return found.is_ignore();
                    }
                }
                next = here.above.as_deref();
            }
        }
        false
    }
}

/// The rules of an ignore file; invalid lines are skipped, as git does.
fn read(directory: &Path, name: &str) -> io::Result<Option<Gitignore>> {
    let path = directory.join(name);
    // A directory can have such a name.
    if path.is_dir() {
        return Ok(None);
    }
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&text).lines() {
        let _ = builder.add_line(None, line);
    }
    let rules = builder.build().map_err(io::Error::other)?;
    Ok(Some(rules).filter(|rules| !rules.is_empty()))
}
