//! The files of a pack directory.

use std::{collections::BTreeMap, fs, io, path::Path};

use hinagata_document::Reason;
use hinagata_workspace::Stamp;
use serde::Serialize;

/// Limits on the size of a pack. All of it is hashed and copied, so all of it is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackLimits {
    /// Files and directories.
    pub entries: usize,
    /// Nested directories.
    pub depth: usize,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files.
    pub total: u64,
    /// Bytes of an archive.
    pub archive: u64,
}

impl PackLimits {
    /// The default limits.
    pub const DEFAULT: Self =
        Self { entries: 10_000, depth: 16, file: 16 << 20, total: 128 << 20, archive: 64 << 20 };
}

impl Default for PackLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A directory whose files are not part of a pack: Python creates it, and its content is never used.
pub const PYTHON_CACHE: &str = "__pycache__";

/// The extensions of Python bytecode. A user cannot review it, so a pack cannot contain it.
const BYTECODE: [&str; 2] = [".pyc", ".pyo"];

/// An entry that a pack cannot contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Its path from the pack.
    pub path: String,
    /// The reason: `link`, `special`, `name`, `bytecode`, `count`, `depth`, `size` or `unreadable`.
    pub reason: Reason,
}

/// The entries of a pack directory.
#[derive(Debug, Default)]
pub struct Walked {
    /// Regular files by path from the pack.
    pub files: BTreeMap<String, Stamp>,
    /// Entries that a pack cannot contain, in order.
    pub refused: Vec<Refused>,
    entries: usize,
    bytes: u64,
}

/// Lists the files beneath `directory` that are part of a pack. Links are not followed.
pub fn walk_pack(directory: &Path, limits: &PackLimits) -> Walked {
    walk_without(directory, limits, |name| name == PYTHON_CACHE)
}

/// Lists all files beneath `directory`, including those that are not part of a pack.
pub(super) fn walk_everything(directory: &Path, limits: &PackLimits) -> Walked {
    walk_without(directory, limits, |_| false)
}

fn walk_without(directory: &Path, limits: &PackLimits, is_left_out: impl Fn(&str) -> bool) -> Walked {
    let mut walked = Walked::default();
    // A work list instead of recursion, because the depth is untrusted.
    let mut left = vec![(String::new(), 0)];
    while let Some((path, depth)) = left.pop() {
        let listed = list(&directory.join(&path)).unwrap_or_else(|_| {
            walked.refuse(&path, Reason::Unreadable);
            Vec::new()
        });
        for (name, kind) in listed {
            let Some(name) = name else {
                walked.refuse(&path, Reason::Name);
                continue;
            };
            if kind == Kind::Directory && is_left_out(&name) {
                continue;
            }
            let inner = if path.is_empty() { name } else { format!("{path}/{name}") };
            walked.entries += 1;
            if walked.entries > limits.entries {
                walked.refuse(&inner, Reason::Count);
                return walked;
            }
            match kind {
                Kind::Directory if depth == limits.depth => walked.refuse(&inner, Reason::Depth),
                Kind::Directory => left.push((inner, depth + 1)),
                Kind::File if is_bytecode(&inner) => walked.refuse(&inner, Reason::Bytecode),
                Kind::File => walked.file(directory, inner, limits),
                Kind::Refused(reason) => walked.refuse(&inner, reason),
            }
        }
    }
    walked.refused.sort_by(|a, b| a.path.cmp(&b.path));
    walked
}

impl Walked {
    fn refuse(&mut self, path: &str, reason: Reason) {
        self.refused.push(Refused { path: path.to_owned(), reason });
    }

    fn file(&mut self, directory: &Path, path: String, limits: &PackLimits) {
        // An entry may have become a link or a pipe since it was listed.
        let metadata = fs::symlink_metadata(directory.join(&path)).ok().filter(fs::Metadata::is_file);
        let Some(metadata) = metadata else { return self.refuse(&path, Reason::Unreadable) };
        self.bytes = self.bytes.saturating_add(metadata.len());
        if metadata.len() > limits.file || self.bytes > limits.total {
            self.refuse(&path, Reason::Size);
        }
        self.files.insert(path, Stamp::from_metadata(&metadata));
    }
}

fn is_bytecode(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    BYTECODE.iter().any(|ending| path.ends_with(ending))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Refused(Reason),
}

/// The names in a directory with their kinds; `None` for a name that is not plain text.
fn list(directory: &Path) -> io::Result<Vec<(Option<String>, Kind)>> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let kind = match entry.file_type()? {
            kind if kind.is_symlink() => Kind::Refused(Reason::Link),
            kind if kind.is_dir() => Kind::Directory,
            kind if kind.is_file() => Kind::File,
            _ => Kind::Refused(Reason::Special),
        };
        // A backslash is a separator elsewhere; a line break could make two lists of files look the same.
        let is_plain = |name: &String| !name.contains(|c: char| c == '\\' || c.is_control());
        let name = entry.file_name().into_string().ok().filter(is_plain);
        Ok((name, kind))
    };
    fs::read_dir(directory)?.map(entry).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    fn write(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, "12345").expect("written");
    }

    #[test]
    fn all_files_are_found_and_invalid_entries_are_reported() {
        use std::os::unix::ffi::OsStrExt as _;
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path();
        for path in ["pack.json", "a/b/c.md", "a/.hidden", "__pycache__/x.pyc", "a/__pycache__/y.pyc"] {
            write(root, path);
        }
        symlink("pack.json", root.join("a/link")).expect("linked");
        symlink("/", root.join("out")).expect("linked");
        assert!(Command::new("mkfifo").arg(root.join("pipe")).status().expect("is there").success());
        write(root, "a/back\\slash");
        fs::write(root.join(std::ffi::OsStr::from_bytes(b"no\xfftext")), "x").expect("written");
        let walked = walk_pack(root, &PackLimits::DEFAULT);
        assert_eq!(walked.files.keys().collect::<Vec<_>>(), ["a/.hidden", "a/b/c.md", "pack.json"]);
        let refused: Vec<_> =
            walked.refused.iter().map(|refused| (refused.path.as_str(), refused.reason.as_str())).collect();
        assert_eq!(
            refused,
            [("", "name"), ("a", "name"), ("a/link", "link"), ("out", "link"), ("pipe", "special")]
        );
    }

    #[test]
    fn count_depth_and_size_are_bounded() {
        let place = tempfile::tempdir().expect("a temporary directory");
        for path in ["a/b/c/d", "e", "f"] {
            write(place.path(), path);
        }
        let reasons = |limits: PackLimits| -> Vec<&'static str> {
            walk_pack(place.path(), &limits).refused.iter().map(|refused| refused.reason.as_str()).collect()
        };
        let limits = PackLimits::DEFAULT;
        assert_eq!(reasons(limits), [""; 0]);
        assert_eq!(reasons(PackLimits { entries: 6, depth: 3, file: 5, total: 15, ..limits }), [""; 0]);
        assert_eq!(reasons(PackLimits { entries: 5, ..limits }), ["count"]);
        assert_eq!(reasons(PackLimits { depth: 2, ..limits }), ["depth"]);
        assert_eq!(reasons(PackLimits { file: 4, ..limits }), ["size"; 3]);
        assert_eq!(reasons(PackLimits { total: 14, ..limits }), ["size"]);
    }
}
