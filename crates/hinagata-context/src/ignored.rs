//! `.gitignore`, `.ignore` and `.hinagataignore`.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::system_cause;

/// An ignore file that does not count, or not whole, and why.
pub(crate) type UnreadIgnoreFile = (PathBuf, String);

/// The names of ignore files; one that comes first decides before the others, wherever they lie.
const NAMES: [&str; 3] = [".hinagataignore", ".ignore", ".gitignore"];

/// Largest ignore file, in bytes.
const LARGEST: u64 = 1 << 20;

/// The ignore files of a directory, and of those above.
#[derive(Debug)]
pub(crate) struct Ignored {
    files: [Option<Gitignore>; NAMES.len()],
    above: Option<Arc<Self>>,
}

impl Ignored {
    /// Whether `name` is that of an ignore file.
    pub(crate) fn is_ignore_file(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// Those of `directory`, where `named` says which names it holds, below `above`; those that cannot be used are
    /// told.
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

    /// The directory from which on ignore files count for `start`: the repository that it lies in, else `base` where it
    /// lies beneath that.
    fn top_directory<'p>(base: &'p Path, start: &'p Path) -> Option<&'p Path> {
        let repository = start.ancestors().find(|directory| directory.join(".git").exists());
        repository.or_else(|| start.starts_with(base).then_some(base))
    }

    /// Whether the file at `real`, or a directory that it lies in, is ignored. Both are real paths. What cannot be read
    /// leaves out everything beside and below it.
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

    /// Those that count for `start`, a directory of a walk, without its own: from the repository that it lies in, else
    /// from `base` where it lies beneath that. Both are real paths.
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

/// The rules of an ignore file; a line that is none is passed over, as git does.
fn read(directory: &Path, name: &str) -> io::Result<Option<Gitignore>> {
    let path = directory.join(name);
    // A directory of that name holds no rules.
    if path.is_dir() {
        return Ok(None);
    }
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it has more than {LARGEST} bytes")));
    }
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&text).lines() {
        let _ = builder.add_line(None, line);
    }
    let rules = builder.build().map_err(io::Error::other)?;
    Ok(Some(rules).filter(|rules| !rules.is_empty()))
}
