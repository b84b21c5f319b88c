//! `.gitignore`, `.ignore` and `.hinagataignore`.

use std::{fs::File, io::Read as _, path::Path, sync::Arc};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The names of ignore files; one that comes first decides before the others, wherever they lie.
const NAMES: [&str; 3] = [".hinagataignore", ".ignore", ".gitignore"];

/// Largest ignore file; what lies behind that is not read.
const LARGEST: u64 = 1 << 20;

/// The ignore files of a directory, and of those above.
#[derive(Debug)]
pub(crate) struct Ignored {
    files: [Option<Gitignore>; NAMES.len()],
    above: Option<Arc<Self>>,
}

impl Ignored {
    /// Whether `name` is that of an ignore file.
    pub(crate) fn is_file(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// Those of `directory`, where `named` says which names it holds, below `above`.
    pub(crate) fn enter(directory: &Path, named: &[String], above: Option<&Arc<Self>>) -> Option<Arc<Self>> {
        if named.is_empty() {
            return above.cloned();
        }
        let files = NAMES
            .map(|name| named.iter().any(|found| found == name).then(|| read(directory, name)).flatten());
        Some(Arc::new(Self { files, above: above.cloned() }))
    }

    /// Those that count for `start`, a directory of a walk, without its own: from the repository that it lies in, else from
    /// `base` where it lies beneath that. Both are real paths.
    pub(crate) fn above(base: &Path, start: &Path) -> Option<Arc<Self>> {
        let repository = start.ancestors().find(|directory| directory.join(".git").exists());
        let top = repository.or_else(|| start.starts_with(base).then_some(base))?;
        let between: Vec<&Path> =
            start.ancestors().skip(1).take_while(|path| path.starts_with(top)).collect();
        let mut above = None;
        for directory in between.into_iter().rev() {
            let named =
                NAMES.iter().filter(|name| directory.join(name).is_file()).map(|&name| name.to_owned());
            above = Self::enter(directory, &named.collect::<Vec<_>>(), above.as_ref());
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
fn read(directory: &Path, name: &str) -> Option<Gitignore> {
    let mut text = Vec::new();
    File::open(directory.join(name)).ok()?.take(LARGEST).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&text).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
