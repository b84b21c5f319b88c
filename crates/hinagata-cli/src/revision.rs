//! Earlier revisions of a workspace: their files, read from git without a checkout, in a private directory.
//!
//! A catalog reads many files beside prompts: settings, packs, partials, vocabulary. Written out, a revision is a
//! workspace like any other, and every file is read as it always is. The bytes are those of the objects: git's filters,
//! hooks and line endings have no part in it.

use std::{fs, path::Path};

use hinagata::{Approvals, Engine, EngineOptions};
use hinagata_context::RevisionReader;
use hinagata_host::{Environment, OpenOptions, OpenWorkspace};
use hinagata_test::{Side, find_cases};
use tempfile::TempDir;

use crate::{failure::Failure, workspace::Workspace};

/// A revision of a workspace.
pub(crate) struct RevisionWorkspace {
    directory: TempDir,
    approvals: Approvals,
}

/// Prepares to read the repository of a workspace.
pub(crate) fn open_reader(workspace: &Workspace) -> Result<RevisionReader, Failure> {
    RevisionReader::open(&workspace.host.root.path).map_err(Failure::usage_error)
}

impl RevisionWorkspace {
    /// Writes the files of a revision into a directory of its own, which is removed at the end.
    pub(crate) fn extract(
        workspace: &Workspace,
        reader: &RevisionReader,
        revision: &str,
    ) -> Result<Self, Failure> {
        let commit = reader.find_commit(revision).map_err(Failure::usage_error)?;
        Self::extract_commit(workspace, reader, &commit)
    }

    /// As [`RevisionWorkspace::extract`], for the hash of a commit.
    pub(crate) fn extract_commit(
        workspace: &Workspace,
        reader: &RevisionReader,
        commit: &str,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::system_error(format!("cannot write the files of the revision: {error}"))
        };
        let directory = tempfile::Builder::new().prefix("hinagata-revision-").tempdir().map_err(failed)?;
        let mut files = reader.list_files(commit).map_err(Failure::usage_error)?;
        let prefix = reader.prefix().to_owned();
        let relative = |path: &str| match prefix.as_str() {
            "" => Some(path.to_owned()),
            prefix => path.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned),
        };
        files.retain(|file| relative(&file.path).is_some_and(|path| is_safe_path(&path)));
        let contents = reader.read_files(&files).map_err(Failure::usage_error)?;
        let mut links = Vec::new();
        for (file, content) in files.iter().zip(contents) {
            let Some(path) = relative(&file.path) else { continue };
            let target = directory.path().join(path);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).map_err(failed)?;
            }
            match file.is_link {
                true => links.push((target, content)),
                false => fs::write(target, content).map_err(failed)?,
            }
        }
        // Nothing is written after the links, so nothing can be written through them. Links that lead out of the workspace
        // are refused when they are read.
        for (target, content) in links {
            write_link(&content, &target).map_err(failed)?;
        }
        let host = &workspace.host;
        let approvals = host
            .state
            .as_ref()
            .map_or_else(Approvals::default, |state| Approvals::load(state, &host.root.path));
        Ok(Self { directory, approvals })
    }

    /// The directory with its files.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The engine of the revision: its settings and prompts, without store, Python, tools and models.
    pub(crate) fn open_engine(&self) -> Result<Engine, Failure> {
        let options = OpenOptions {
            root: Some(self.path().to_owned()),
            environment: Environment::without_variables(),
            ..OpenOptions::default()
        };
        let opened = OpenWorkspace::open(&options, self.path())?;
        let options = EngineOptions::from(&opened.settings);
        let builder = Engine::builder(self.path()).with_options(options);
        Ok(builder.with_approvals(self.approvals.clone()).open())
    }

    /// The revision as a side of a comparison.
    pub(crate) fn open_side(&self, name: &str) -> Result<Side, Failure> {
        let engine = self.open_engine()?;
        let files = find_cases(&engine.catalog(), |_| true).files;
        Ok(Side { name: name.to_owned(), engine, files })
    }
}

/// Whether a path stays in its directory. git checks this too when it writes trees; objects can be made by hand.
fn is_safe_path(path: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | ".." | ".git");
    !path.contains('\\') && path.split('/').all(is_plain)
}

#[cfg(unix)]
fn write_link(content: &[u8], target: &Path) -> std::io::Result<()> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    std::os::unix::fs::symlink(OsStr::from_bytes(content), target)
}

#[cfg(not(unix))]
fn write_link(content: &[u8], target: &Path) -> std::io::Result<()> {
    fs::write(target, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_their_directory() {
        assert!(is_safe_path("a/b.md"));
        for path in ["../a", "a/../b", "a//b", "/a", ".git/config", "a\\..\\b", ""] {
            assert!(!is_safe_path(path), "{path}");
        }
    }
}
