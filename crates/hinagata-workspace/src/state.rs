//! The user's state directory: decisions about workspaces, and data that programs keep between runs.
//!
//! Decisions are never saved in a workspace, so that a clone or a copy cannot bring its own approval.
//!
//! ```text
//! trust.json                             trusted workspaces
//! workspaces/<SHA-256 of its path>/      decisions of one workspace
//! daemon/                                the tokens of running daemons, the audit log
//! processes/                             saved states of interrupted processes
//! ```

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use hinagata_document::{Code, Digest, Error, Place, Reason, Result};
use serde::de::DeserializeOwned;

use crate::write;

/// The user's state directory. It is created on the first write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// The environment variable that names the directory.
    pub const VARIABLE: &'static str = "HINAGATA_STATE";

    /// The state directory of the user that runs this process.
    ///
    /// # Errors
    /// Code `system` if its path is unknown.
    pub fn of_user() -> Result<Self> {
        Self::find(|name| env::var_os(name), env::home_dir())
    }

    /// The directory that `variable` names: `HINAGATA_STATE`, else `hinagata` in `XDG_STATE_HOME`, else in
    /// `.local/state` of the home directory; on Windows in `LOCALAPPDATA`.
    ///
    /// # Errors
    /// Code `system` if none of them is known.
    pub fn find(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = set(Self::VARIABLE) {
            return Ok(Self::from_path(path));
        }
        let common = match cfg!(windows) {
            true => set("LOCALAPPDATA"),
            // The base directory specification says to ignore relative paths.
            false => set("XDG_STATE_HOME").filter(|path| path.is_absolute()),
        };
        let home = home.filter(|home| !home.as_os_str().is_empty());
        let common = common.or_else(|| home.map(|home| home.join(".local/state")));
        common.map(|path| Self::from_path(path.join("hinagata"))).ok_or_else(|| {
            Error::new(Code::System, "state directory not found: the home directory is unknown")
                .with_reason(Reason::NoState)
                .with_hint(format!("set {} to a directory", Self::VARIABLE))
        })
    }

    /// The state directory at `path`.
    #[must_use]
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self(std::path::absolute(&path).unwrap_or(path))
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The state of the workspace at `root`.
    pub fn workspace(&self, root: &Path) -> WorkspaceState {
        let root = real_path(root);
        let directory = self.0.join("workspaces").join(hash_key(root.as_os_str().as_encoded_bytes()));
        WorkspaceState { root, directory }
    }
}

/// Where the decisions of one workspace are saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceState {
    /// The workspace root with links resolved.
    pub root: PathBuf,
    /// Its directory in the state directory.
    pub directory: PathBuf,
}

/// A file name for data whose own name may contain any bytes.
pub fn hash_key(bytes: &[u8]) -> String {
    Digest::sha256(bytes).to_string()
}

/// The path with links resolved; the absolute path if it does not exist.
pub fn real_path(path: &Path) -> PathBuf {
    let written = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| written())
}

/// The data in the file at `path`, of at most `largest` bytes; `None` if the file does not exist.
pub fn read_json<T: DeserializeOwned>(path: &Path, largest: u64) -> Result<Option<T>> {
    let Some(text) = write::read_text(path, largest)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let display_path = path.display().to_string();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let place = Place::at_line(&display_path, &text, number(error.line().max(1)), number(error.column()));
        Error::new(Code::Store, format!("invalid data in {display_path}"))
            .with_reason(Reason::Broken)
            .with("path", display_path)
            .with_hint("remove the file, then repeat the decisions that it recorded")
            .at(place)
            .with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_path(variables: &[(&str, &str)], home: Option<&str>) -> Option<String> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let state = StateDir::find(variable, home.map(PathBuf::from)).ok()?;
        Some(state.path().to_str().expect("is text").to_owned())
    }

    #[cfg(unix)]
    #[test]
    fn the_directory_is_named_or_by_convention() {
        let named = ("HINAGATA_STATE", "/own/place");
        let xdg = ("XDG_STATE_HOME", "/xdg");
        assert_eq!(find_path(&[named, xdg], Some("/home/u")).as_deref(), Some("/own/place"));
        assert_eq!(find_path(&[xdg], Some("/home/u")).as_deref(), Some("/xdg/hinagata"));
        assert_eq!(
            find_path(&[("HINAGATA_STATE", ""), ("XDG_STATE_HOME", "not/absolute")], Some("/home/u"))
                .as_deref(),
            Some("/home/u/.local/state/hinagata")
        );
        assert_eq!((find_path(&[], Some("")), find_path(&[], None)), (None, None));
    }

    #[cfg(unix)]
    #[test]
    fn a_workspace_is_one_whatever_path_leads_to_it() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (real, link) = (place.path().join("real"), place.path().join("link"));
        std::fs::create_dir(&real).expect("made");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        let state = StateDir::from_path(place.path().join("state"));
        assert_eq!(state.workspace(&real), state.workspace(&link));
        assert_ne!(state.workspace(&real).directory, state.workspace(place.path()).directory);
    }

    #[test]
    fn a_broken_file_is_an_error() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("x.json");
        assert_eq!(read_json::<Vec<u8>>(&path, 100).expect("is not there"), None);
        std::fs::write(&path, "[1").expect("written");
        let error = read_json::<Vec<u8>>(&path, 100).expect_err("is broken");
        assert_eq!((error.code(), error.reason()), (Code::Store, Some(Reason::Broken)));
    }
}
