//! The sources of settings: files, the environment and flags.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use hinagata_document::{Error, Reason, Result};

use super::{formats, layers::privileged_values};
use crate::Directory;

/// The environment variable that names the user's own settings.
pub const CONFIG_VARIABLE: &str = "HINAGATA_CONFIG";

/// Maximum size of a settings file in bytes.
pub(super) const MAX_BYTES: u64 = 128 << 10;

/// A settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Its name in messages.
    pub name: String,
    /// The content.
    pub text: String,
}

/// All sources of settings.
#[derive(Clone, Debug, Default)]
pub struct SettingsSources {
    /// The user's own file.
    pub user: Option<SettingsFile>,
    /// The file of the workspace: `hinagata.toml`, or one of its other names.
    pub workspace: Option<SettingsFile>,
    /// The files that the file of the workspace extends, the lowest first.
    pub extended: Vec<SettingsFile>,
    /// Environment variables; those of other programs are ignored.
    pub environment: Vec<(OsString, OsString)>,
    /// Flags of the call, as `section.key=value`.
    pub flags: Vec<String>,
}

impl SettingsSources {
    /// Reads the files of the workspace at `root` and of the user; either may be missing.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, if one exists but cannot be read.
    pub fn read(root: &Path, user: &UserConfig) -> Result<Self> {
        let mut extended = match Directory::open(root)? {
            Some(directory) => formats::read_workspace_files(&directory)?,
            None => Vec::new(),
        };
        let workspace = extended.pop();
        Ok(Self { user: user.read()?, workspace, extended, ..Self::default() })
    }

    /// The settings of the workspace that need trust, with their values, as one text: this is what a user trusts.
    /// `None` if there are none.
    ///
    /// Trust depends on values, not on the bytes of the file, so a comment or a setting that needs no trust does not
    /// revoke it. Users who had to confirm after each edit would learn to confirm without looking.
    #[must_use]
    pub fn privileged_text(&self) -> Option<String> {
        let values = privileged_values(self);
        (!values.is_empty()).then(|| serde_json::to_string(&values).unwrap_or_default())
    }
}

/// The path of the user's own settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserConfig {
    /// The file; `None` if no home directory is known.
    pub path: Option<PathBuf>,
    /// Whether `HINAGATA_CONFIG` names it; then it must exist.
    pub named: bool,
}

impl UserConfig {
    /// The file that `HINAGATA_CONFIG` names, else `hinagata/config.toml` in the user's configuration directory;
    /// `variable` reads the environment.
    pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = set(CONFIG_VARIABLE) {
            return Self { path: Some(path), named: true };
        }
        // The base directory specification says to ignore relative paths.
        let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
        let directory = absolute("XDG_CONFIG_HOME").or_else(|| match cfg!(windows) {
            true => absolute("APPDATA"),
            false => absolute("HOME").map(|home| home.join(".config")),
        });
        Self { path: directory.map(|directory| directory.join("hinagata/config.toml")), named: false }
    }

    fn read(&self) -> Result<Option<SettingsFile>> {
        let Some(path) = &self.path else { return Ok(None) };
        let name = path.display().to_string();
        match read_text(path) {
            Ok(text) => Ok(Some(SettingsFile { name, text })),
            // A broken link is an error, not a missing file.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.named && !path.is_symlink() => {
                Ok(None)
            }
            Err(error) => {
                let failure = unreadable_error(&name, &error.to_string());
                Err(if self.named {
                    failure.with_hint(format!("{CONFIG_VARIABLE} names this file"))
                } else {
                    failure
                })
            }
        }
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} KiB", MAX_BYTES >> 10)));
    }
    Ok(text)
}

pub(super) fn unreadable_error(name: &str, why: &str) -> Error {
    let why = why.split(" (os error").next().unwrap_or_default();
    Error::definition(Reason::Settings, format!("the settings `{name}` cannot be read: {why}"))
        .with("file", name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::layout::SETTINGS_FILE;

    fn config(variables: &[(&str, &str)]) -> UserConfig {
        UserConfig::find(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[cfg(unix)]
    #[test]
    fn the_users_file_is_named_or_in_its_usual_place() {
        let path = |variables: &[(&str, &str)]| config(variables).path.map(|path| path.display().to_string());
        let home = ("HOME", "/home/r");
        assert_eq!(path(&[home]).as_deref(), Some("/home/r/.config/hinagata/config.toml"));
        assert_eq!(path(&[home, ("XDG_CONFIG_HOME", "/c")]).as_deref(), Some("/c/hinagata/config.toml"));
        assert_eq!(
            path(&[home, ("XDG_CONFIG_HOME", "c")]).as_deref(),
            Some("/home/r/.config/hinagata/config.toml")
        );
        assert_eq!(path(&[home, ("HINAGATA_CONFIG", "mine.toml")]).as_deref(), Some("mine.toml"));
        assert_eq!(path(&[("HINAGATA_CONFIG", "")]), None);
    }

    #[test]
    fn files_may_be_missing_unless_they_are_named() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let missing = UserConfig { path: Some(place.path().join("none.toml")), named: false };
        let read = SettingsSources::read(place.path(), &missing).expect("reads");
        assert!(read.user.is_none() && read.workspace.is_none());
        let error = SettingsSources::read(place.path(), &UserConfig { named: true, ..missing })
            .expect_err("was named");
        assert_eq!(
            (error.reason(), error.hint().map(ToString::to_string)),
            (Some(Reason::Settings), Some("HINAGATA_CONFIG names this file".to_owned()))
        );
        assert!(SettingsSources::read(&place.path().join("none"), &config(&[])).is_ok());
    }

    #[test]
    fn a_file_that_is_too_large_or_no_text_is_an_error() {
        let place = tempfile::tempdir().expect("a temporary directory");
        for content in [vec![b'#'; MAX_BYTES as usize + 1], vec![0xff]] {
            fs::write(place.path().join(SETTINGS_FILE), &content).expect("written");
            assert!(SettingsSources::read(place.path(), &config(&[])).is_err());
            let user = UserConfig { path: Some(place.path().join(SETTINGS_FILE)), named: false };
            assert!(SettingsSources::read(&place.path().join("none"), &user).is_err());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_of_the_workspace_is_not_followed() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path().join("root");
        fs::create_dir(&root).expect("made");
        fs::write(place.path().join("other.toml"), "").expect("written");
        std::os::unix::fs::symlink("../other.toml", root.join(SETTINGS_FILE)).expect("linked");
        assert!(SettingsSources::read(&root, &config(&[])).is_err());
    }
}
