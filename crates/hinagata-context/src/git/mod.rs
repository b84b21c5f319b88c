//! Asks the system `git` about a repository, and runs nothing that the repository configures.
//!
//! A repository can name programs in its configuration: monitors, hooks, pagers, filters, drivers of diffs. git
//! therefore works in a private directory with a configuration of our own, and borrows only the objects and the index
//! of the repository. Only `rev-parse` and `config`, which start no program, see the repository itself.
//!
//! The reasons are in `docs/design/packing-order.md`.

mod history;
mod process;
mod revision;
mod sections;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

pub(crate) use history::{History, Tracked};
use process::{GitCommand, Output, find_program};
pub use revision::{RevisionFile, RevisionReader};
pub(crate) use sections::{ChangeSet, GitText, Revisions};

/// Most bytes of a list of paths.
const LIST_LIMIT: u64 = 256 << 20;

/// Largest small file of a repository that is read, in bytes.
const SMALL: u64 = 1 << 20;

/// Settings that change how files and the index are compared, and start nothing.
const COPIED_SETTINGS: &str = r"^core\.(autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|trustctime|checkstat|excludesfile)$";

/// A repository, before git is asked about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryPlace {
    /// The top directory of its files, without links.
    pub(crate) top: PathBuf,
    /// The directory of its index and `HEAD`.
    directory: PathBuf,
    /// The directory of its objects and configuration; that of worktrees is another one.
    common: PathBuf,
}

impl RepositoryPlace {
    /// The repository that contains `start`, a path without links. Whether git can read it is not checked.
    pub(crate) fn find(start: &Path) -> Option<Self> {
        let top = start.ancestors().find(|directory| directory.join(".git").exists())?;
        let directory = git_directory(top.join(".git"));
        let common = match read_small(&directory.join("commondir")) {
            Ok(path) => directory.join(path.trim_end()),
            Err(_) => directory.clone(),
        };
        Some(Self { top: top.to_owned(), directory, common })
    }

    /// Whether everything of the repository is below `wall`: no link and no file of it refers to another place.
    pub(crate) fn is_below(&self, wall: &Path) -> bool {
        let is_own = self.directory == self.common && self.directory == self.top.join(".git");
        let alternates = self.common.join("objects/info/alternates");
        is_own && self.top.starts_with(wall) && !alternates.exists() && !has_link(&self.directory, 3)
    }

    /// The file with rules for ignored files that only this repository has.
    pub(crate) fn exclude_file(&self) -> PathBuf {
        self.common.join("info/exclude")
    }
}

/// The directory that `.git`, a directory or a file that names one, refers to.
fn git_directory(path: PathBuf) -> PathBuf {
    let named = read_small(&path).ok().and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()));
    named.and_then(|named| Some(path.parent()?.join(named))).unwrap_or(path)
}

fn read_small(path: &Path) -> io::Result<String> {
    let size = fs::metadata(path)?;
    if !size.is_file() || size.len() > SMALL {
        return Err(io::Error::other("not a small file"));
    }
    fs::read_to_string(path)
}

/// Whether something in `directory` is a link, up to `depth` levels below it.
fn has_link(directory: &Path, depth: usize) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let below = |path: PathBuf| is_link(&path) || depth > 0 && path.is_dir() && has_link(&path, depth - 1);
    is_link(directory)
        || fs::read_dir(directory).is_ok_and(|entries| entries.flatten().any(|entry| below(entry.path())))
}

/// A repository that git can be asked about.
#[derive(Debug)]
pub(crate) struct Repository {
    place: RepositoryPlace,
    program: PathBuf,
    /// The directory that git takes for the repository.
    private: TempDir,
    /// The commit that is checked out; `None` before the first commit.
    head: Option<String>,
    /// The file of ignored files that the settings of git name.
    pub(crate) excludes_file: Option<PathBuf>,
}

impl Repository {
    /// Prepares to ask git about the repository at `place`.
    ///
    /// # Errors
    /// A message: git is missing, or cannot read the repository.
    pub(crate) fn open(place: RepositoryPlace) -> Result<Self, String> {
        let program = find_program().ok_or_else(|| "the program `git` was not found".to_owned())?;
        let (excludes_file, settings) = copied_settings(&program, &place)?;
        let head = resolve_revision(&program, &place, "HEAD")?;
        let private = private_directory(&place, head.as_deref(), &settings)
            .map_err(|error| format!("cannot make a private directory for git: {error}"))?;
        Ok(Self { place, program, private, head, excludes_file })
    }

    /// The top directory of its files.
    pub(crate) fn top(&self) -> &Path {
        &self.place.top
    }

    /// A command that sees the objects, the index and the files of the repository, but not its configuration.
    fn command(&self, name: &str, limit: u64) -> GitCommand {
        let private = self.private.path();
        GitCommand::new(&self.program, name, &self.place.top, limit)
            .env("GIT_DIR", private)
            .env("GIT_OBJECT_DIRECTORY", self.place.common.join("objects"))
            .env("GIT_INDEX_FILE", self.place.directory.join("index"))
            .env("GIT_WORK_TREE", &self.place.top)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", private.join("none"))
            .env("HOME", private)
            .env("XDG_CONFIG_HOME", private)
    }

    /// The commit that `revision` refers to; `None` if it does not exist.
    fn resolve(&self, revision: &str) -> Result<Option<String>, String> {
        resolve_revision(&self.program, &self.place, revision)
    }
}

/// A command that sees the repository itself, with its configuration and that of the user.
fn plain_command(program: &Path, place: &RepositoryPlace, name: &str) -> GitCommand {
    let home = ["HOME", "XDG_CONFIG_HOME", "USERPROFILE"];
    let command = GitCommand::new(program, name, &place.top, SMALL)
        .env("GIT_DIR", &place.directory)
        .env("GIT_WORK_TREE", &place.top);
    let present = home.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    present.fold(command, |command, (name, value)| command.env(name, value))
}

fn resolve_revision(
    program: &Path,
    place: &RepositoryPlace,
    revision: &str,
) -> Result<Option<String>, String> {
    let commit = format!("{revision}^{{commit}}");
    let command = plain_command(program, place, "rev-parse");
    match command.args(["--verify", "--quiet", "--end-of-options", &commit]).run() {
        Ok(Output { bytes, .. }) => {
            let hash = String::from_utf8_lossy(&bytes).trim().to_owned();
            let is_hash = matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            Ok(is_hash.then_some(hash))
        }
        // Without an output, the revision does not exist: `--quiet` leaves out the message.
        Err(message) if message.ends_with("no message") => Ok(None),
        Err(message) => Err(message),
    }
}

/// The file of ignored files, and the lines of a configuration with the settings that are copied.
fn copied_settings(program: &Path, place: &RepositoryPlace) -> Result<(Option<PathBuf>, String), String> {
    let command = plain_command(program, place, "config");
    let output = match command.args(["--type=path", "-z", "--get-regexp", COPIED_SETTINGS]).run() {
        Ok(output) => output.bytes,
        // No setting matches.
        Err(message) if message.ends_with("no message") => Vec::new(),
        Err(message) => return Err(message),
    };
    let text = String::from_utf8_lossy(&output);
    let (mut excludes, mut lines) = (None, String::new());
    for (name, value) in text.split('\0').filter_map(|entry| entry.split_once('\n')) {
        let name = name.trim_start_matches("core.");
        if name == "excludesfile" {
            excludes = Some(place.top.join(value));
        } else if value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            lines.push_str(&format!("\t{name} = {value}\n"));
        }
    }
    Ok((excludes, lines))
}

/// The directory that git takes for the repository.
fn private_directory(place: &RepositoryPlace, head: Option<&str>, settings: &str) -> io::Result<TempDir> {
    let private = tempfile::Builder::new().prefix("hinagata-git").tempdir()?;
    let path = private.path();
    fs::create_dir(path.join("refs"))?;
    fs::write(path.join("HEAD"), format!("{}\n", head.unwrap_or("ref: refs/heads/none")))?;
    let (version, extensions) = match head.map(str::len) {
        Some(64) => (1, "[extensions]\n\tobjectFormat = sha256\n"),
        _ => (0, ""),
    };
    let core = format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n");
    fs::write(path.join("config"), format!("{core}{settings}{extensions}"))?;
    let shallow = place.common.join("shallow");
    if shallow.is_file() {
        fs::copy(shallow, path.join("shallow"))?;
    }
    Ok(private)
}
