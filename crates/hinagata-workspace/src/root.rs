//! The workspace root: the directory with the prompts, packs and settings of a call.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use hinagata_document::{Code, Error, Hint, Reason, Result};

use crate::layout::{SETTINGS_FILE, USER_DATA, has_other_settings};

/// The environment variable that names the workspace root.
pub const ROOT_VARIABLE: &str = "HINAGATA_ROOT";

/// The root of a workspace, and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRoot {
    /// The directory; absolute if the current directory is.
    pub path: PathBuf,
    /// How it was found.
    pub found: RootFound,
}

/// How a workspace root was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RootFound {
    /// The caller named it.
    Flag,
    /// `HINAGATA_ROOT` names it.
    Environment,
    /// It is the nearest parent with a marker, and contains `hinagata.toml`.
    Settings,
    /// It is the nearest parent with a marker, and contains another settings file.
    Config,
    /// It is the nearest parent with a marker, and contains `user_data`.
    UserData,
    /// No parent has a marker: it is the current directory.
    Current,
}

impl RootFound {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::Settings => "settings",
            Self::Config => "config",
            Self::UserData => "user_data",
            Self::Current => "current",
        }
    }
}

impl fmt::Display for RootFound {
    /// A text for people, to print after the path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "named by --root",
            Self::Environment => "named by HINAGATA_ROOT",
            Self::Settings => "contains hinagata.toml",
            Self::Config => "contains a settings file",
            Self::UserData => "contains user_data",
            Self::Current => "the current directory; no parent contains hinagata.toml or user_data",
        })
    }
}

impl WorkspaceRoot {
    /// The root that `flag` names, else `environment` (the value of `HINAGATA_ROOT`), else the nearest directory from
    /// `current` upwards that contains a settings file or `user_data`, else `current`.
    ///
    /// An empty variable is ignored. Relative paths start at `current`.
    #[must_use]
    pub fn find(flag: Option<&Path>, environment: Option<&OsStr>, current: &Path) -> Self {
        if let Some(flag) = flag {
            return Self { path: current.join(flag), found: RootFound::Flag };
        }
        if let Some(named) = environment.filter(|named| !named.is_empty()) {
            return Self { path: current.join(named), found: RootFound::Environment };
        }
        let marked = current.ancestors().find_map(|path| Some((path, root_marker(path)?)));
        let (path, found) = marked.unwrap_or((current, RootFound::Current));
        Self { path: path.to_owned(), found }
    }

    /// The root, if it is a directory.
    ///
    /// # Errors
    /// Code `not_found` if it is not a directory: an empty workspace in its place would hide a typo.
    pub fn require_directory(self) -> Result<Self> {
        if self.path.is_dir() {
            return Ok(self);
        }
        let path = self.path.display();
        Err(Error::new(Code::NotFound, format!("the workspace root `{path}` is not a directory"))
            .with("root", path.to_string())
            .with_reason(Reason::Root)
            .with_hint(
                Hint::Advice(format!("it is {}", self.found))
                    .then(Hint::CreateWorkspace { path: path.to_string() }),
            ))
    }
}

/// The marker that makes `path` a workspace root.
///
/// An existing name is a marker even if it cannot be read: unreadable settings are an error, not a reason to search the
/// parents.
fn root_marker(path: &Path) -> Option<RootFound> {
    if path.join(SETTINGS_FILE).symlink_metadata().is_ok() {
        return Some(RootFound::Settings);
    }
    if has_other_settings(path) {
        return Some(RootFound::Config);
    }
    let data = path.join(USER_DATA);
    (data.is_dir() || data.is_symlink()).then_some(RootFound::UserData)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// `settings/deep/er` beneath a `hinagata.toml`, `data/deep` beneath a `user_data`, `plain` beneath neither.
    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        for directory in ["settings/deep/er", "data/deep", "data/user_data", "plain"] {
            fs::create_dir_all(place.path().join(directory)).expect("made");
        }
        fs::write(place.path().join("settings/hinagata.toml"), "").expect("written");
        place
    }

    fn find_root(
        place: &Path,
        flag: Option<&str>,
        environment: Option<&str>,
        current: &str,
    ) -> (String, RootFound) {
        let root =
            WorkspaceRoot::find(flag.map(Path::new), environment.map(OsStr::new), &place.join(current));
        let path = root.path.strip_prefix(place).expect("is beneath").to_string_lossy().into_owned();
        (path, root.found)
    }

    #[test]
    fn the_flag_beats_the_environment_and_both_beat_the_directory() {
        let place = place();
        let both = find_root(place.path(), Some("a"), Some("b"), "settings");
        assert_eq!(both, ("settings/a".into(), RootFound::Flag));
        let environment = find_root(place.path(), None, Some("b"), "settings");
        assert_eq!(environment, ("settings/b".into(), RootFound::Environment));
        let empty = find_root(place.path(), None, Some(""), "settings");
        assert_eq!(empty, ("settings".into(), RootFound::Settings));
    }

    #[test]
    fn the_nearest_marked_parent_is_the_root() {
        let place = place();
        let at = |current: &str| find_root(place.path(), None, None, current);
        assert_eq!(at("settings/deep/er"), ("settings".into(), RootFound::Settings));
        assert_eq!(at("data/deep"), ("data".into(), RootFound::UserData));
        fs::create_dir(place.path().join("settings/deep/user_data")).expect("made");
        assert_eq!(at("settings/deep/er"), ("settings/deep".into(), RootFound::UserData));
    }

    #[test]
    fn without_a_mark_the_current_directory_is_the_root() {
        let place = place();
        // A file named `user_data` is not a marker.
        fs::write(place.path().join("plain/user_data"), "").expect("written");
        assert_eq!(find_root(place.path(), None, None, "plain"), ("plain".into(), RootFound::Current));
    }

    #[test]
    fn settings_that_cannot_be_read_mark_the_root_and_are_not_passed_over() {
        let place = place();
        fs::create_dir(place.path().join("settings/deep/hinagata.toml")).expect("made");
        let at = find_root(place.path(), None, None, "settings/deep/er");
        assert_eq!(at, ("settings/deep".into(), RootFound::Settings));
    }

    #[test]
    fn a_missing_root_is_an_error() {
        let place = place();
        let root = WorkspaceRoot::find(Some(Path::new("none")), None, place.path());
        let error = root.require_directory().expect_err("is not there");
        assert_eq!((error.code(), error.reason()), (Code::NotFound, Some(Reason::Root)));
        assert!(error.hint().is_some_and(|hint| hint.to_string().contains("named by --root")), "{error:?}");
    }
}
