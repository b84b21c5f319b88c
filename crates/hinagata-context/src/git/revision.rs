//! Files of earlier revisions, read from the objects of a repository: nothing is checked out, and no filter runs.

use std::{
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::{LIST_LIMIT, Repository, RepositoryPlace};

/// Most bytes of the files of one revision.
const CONTENT_LIMIT: u64 = 512 << 20;

/// A file of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionFile {
    /// The path from the top directory of the repository.
    pub path: String,
    /// Whether it is a symbolic link, whose content is its target.
    pub is_link: bool,
    object: String,
}

/// Reads revisions of the repository around a directory.
#[derive(Debug)]
pub struct RevisionReader {
    repository: Repository,
    prefix: String,
}

impl RevisionReader {
    /// Prepares to read the repository that contains `directory`.
    ///
    /// # Errors
    /// A message: there is no repository, git is missing, or it cannot read the repository.
    pub fn open(directory: &Path) -> Result<Self, String> {
        let real = directory.canonicalize().map_err(|error| format!("cannot read the directory: {error}"))?;
        let place = RepositoryPlace::find(&real).ok_or("the workspace is not part of a git repository")?;
        let repository = Repository::open(place)?;
        let prefix = real.strip_prefix(repository.top()).unwrap_or(Path::new(""));
        let prefix = prefix.to_string_lossy().replace('\\', "/");
        Ok(Self { repository, prefix })
    }

    /// The path of the directory from the top directory of the repository; empty for the top directory.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The top directory of the repository.
    #[must_use]
    pub fn top(&self) -> PathBuf {
        self.repository.top().to_owned()
    }

    /// The hash of the commit that `revision` refers to.
    ///
    /// # Errors
    /// A message: there is no such commit.
    pub fn find_commit(&self, revision: &str) -> Result<String, String> {
        self.repository.resolve(revision)?.ok_or_else(|| format!("unknown revision `{revision}`"))
    }

    /// The files of a commit beneath the directory.
    ///
    /// # Errors
    /// A message: git failed, or there are too many files.
    pub fn list_files(&self, commit: &str) -> Result<Vec<RevisionFile>, String> {
        let command =
            self.repository.command("ls-tree", LIST_LIMIT).args(["-r", "-z", "--full-tree", commit, "--"]);
        let command = if self.prefix.is_empty() { command } else { command.args([&self.prefix]) };
        let output = command.run()?;
        if output.truncated {
            return Err("the revision has too many files".to_owned());
        }
        let entries = output.bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        Ok(entries.filter_map(|entry| parse_entry(&String::from_utf8_lossy(entry))).collect())
    }

    /// The contents of files, in their order.
    ///
    /// # Errors
    /// A message: git failed, or the files are too large.
    pub fn read_files(&self, files: &[RevisionFile]) -> Result<Vec<Vec<u8>>, String> {
        let cannot_write = |error: std::io::Error| format!("cannot write a temporary file: {error}");
        let mut input = tempfile::tempfile().map_err(cannot_write)?;
        for file in files {
            writeln!(input, "{}", file.object).map_err(cannot_write)?;
        }
        input.seek(SeekFrom::Start(0)).map_err(cannot_write)?;
        let output =
            self.repository.command("cat-file", CONTENT_LIMIT).args(["--batch"]).with_input(input).run()?;
        if output.truncated {
            return Err(format!("the files of the revision have more than {CONTENT_LIMIT} bytes"));
        }
        split_batch(&output.bytes, files.len())
            .ok_or_else(|| "`git cat-file` failed: unexpected output".to_owned())
    }

    /// The files that differ between a commit and the working directory, and those that git does not know yet, as paths
    /// from the top directory.
    ///
    /// # Errors
    /// A message: git failed.
    pub fn list_changed(&self, commit: &str) -> Result<Vec<String>, String> {
        let options =
            ["-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", commit, "--"];
        let mut paths = self.repository.list_paths("diff", &options)?;
        paths.extend(self.repository.list_paths("ls-files", &["-z", "--others", "--exclude-standard"])?);
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    /// The commits after `good` up to `bad`, oldest first, along the first parents.
    ///
    /// # Errors
    /// A message: git failed.
    pub fn list_commits(&self, good: &str, bad: &str) -> Result<Vec<String>, String> {
        let range = format!("{good}..{bad}");
        let options = ["--first-parent", "--reverse", &range, "--"];
        let output = self.repository.command("rev-list", LIST_LIMIT).args(options).run()?;
        Ok(String::from_utf8_lossy(&output.bytes).lines().map(str::to_owned).collect())
    }

    /// The short hash and the first line of the message of a commit.
    ///
    /// # Errors
    /// A message: git failed.
    pub fn commit_title(&self, commit: &str) -> Result<String, String> {
        let options = ["--no-walk", "--format=%h %s", commit, "--"];
        let output = self.repository.command("log", 64 << 10).args(options).run()?;
        Ok(String::from_utf8_lossy(&output.bytes).trim().to_owned())
    }
}

/// A line of `git ls-tree`; `None` for what is no file, such as a submodule.
fn parse_entry(entry: &str) -> Option<RevisionFile> {
    let (facts, path) = entry.split_once('\t')?;
    let mut facts = facts.split(' ');
    let (mode, kind, object) = (facts.next()?, facts.next()?, facts.next()?);
    let is_link = mode == "120000";
    (kind == "blob").then(|| RevisionFile { path: path.to_owned(), is_link, object: object.to_owned() })
}

/// The contents in the output of `git cat-file --batch`.
fn split_batch(bytes: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let (mut rest, mut contents) = (bytes, Vec::with_capacity(count));
    for _ in 0..count {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let header = std::str::from_utf8(&rest[..end]).ok()?;
        let size: usize = header.rsplit(' ').next()?.parse().ok()?;
        let start = end + 1;
        contents.push(rest.get(start..start.checked_add(size)?)?.to_vec());
        rest = rest.get(start + size + 1..)?;
    }
    Some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_split_by_their_sizes() {
        let bytes = b"aa blob 3\na\nb\nbb blob 0\n\n";
        assert_eq!(split_batch(bytes, 2), Some(vec![b"a\nb".to_vec(), Vec::new()]));
        assert_eq!(split_batch(b"aa missing\n", 1), None);
        assert_eq!(split_batch(b"aa blob 9\nx", 1), None);
    }

    #[test]
    fn submodules_are_no_files() {
        let file = parse_entry("100644 blob 0a1b\tdir/with space.md").expect("is a file");
        assert_eq!((file.path.as_str(), file.is_link), ("dir/with space.md", false));
        assert!(parse_entry("120000 blob 0a1b\tlink").expect("is a file").is_link);
        assert_eq!(parse_entry("160000 commit 0a1b\tmodule"), None);
    }
}
