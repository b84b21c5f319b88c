//! A user with a home of their own, a workspace in it, and the program.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A home with a workspace, a state and settings of the user's own; gone when it is dropped.
pub(crate) struct Home {
    place: tempfile::TempDir,
}

/// What one call of `hina` did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(place.path().join("root")).expect("a directory");
        Self { place }
    }

    /// A path in the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// The workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.place.path().join("root")
    }

    /// A path outside of the workspace, which no workspace may reach.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    /// Writes a file of the workspace and the directories above it.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        write_file(&path, text.as_ref());
        path
    }

    /// Writes a file outside of the workspace.
    pub(crate) fn write_outside(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.outside(path);
        write_file(&path, text.as_ref());
        path
    }

    /// `hina` with these arguments, not yet started; its working directory is the workspace.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
        command
            .args(arguments)
            .current_dir(self.root())
            .env("HOME", self.place.path())
            .env("HINAGATA_ROOT", self.root())
            .env("HINAGATA_STATE", self.outside("state"))
            .env("XDG_CONFIG_HOME", self.outside("config"))
            .env_remove("OPENAI_API_KEY")
            .stdin(Stdio::null());
        command
    }

    /// Runs `hina` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from_output(&self.command(arguments).output().expect("hina runs"))
    }

    /// A new key: the key itself, and its table in the settings.
    pub(crate) fn new_key(&self, name: &str, more: &[&str]) -> (String, String) {
        let made = self.done(&[&["key", name, "--json"], more].concat()).json();
        let mut table =
            format!("[[keys]]\nname = \"{name}\"\nhash = {}\nscopes = {}\n", made["hash"], made["scopes"]);
        for field in ["prompts", "environs"] {
            if made[field].as_array().is_some_and(|all| !all.is_empty()) {
                table.push_str(&format!("{field} = {}\n", made[field]));
            }
        }
        (made["key"].as_str().expect("is text").to_owned(), table)
    }

    /// Runs `hina`, which has to succeed.
    pub(crate) fn done(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "hina {arguments:?}: {ran:?}");
        ran
    }
}

impl Ran {
    pub(crate) fn from_output(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Whether the text stands anywhere in what was printed.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.stdout.contains(text) || self.stderr.contains(text)
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn write_file(path: &Path, text: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("has a directory")).expect("a directory");
    std::fs::write(path, text).expect("is written");
}
