//! A workspace of ours with the state of its user, and the commands that use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::daemon::Daemon;
use crate::install::{CACHE, HINA, Installer};
use crate::process::printed;

/// A workspace, and what its user has: no keys, no settings, and the logs.
pub(crate) struct Stage {
    hina: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) state: PathBuf,
}

impl Stage {
    /// The workspace called `name`. What was logged before is gone.
    pub(crate) fn new(installer: &Installer, name: &str) -> Result<Self> {
        let root = installer.cache.join(format!("{name}-workspace"));
        let state = installer.cache.join(format!("{name}-state"));
        if state.exists() {
            fs::remove_dir_all(&state)?;
        }
        fs::create_dir_all(&root)?;
        fs::create_dir_all(&state)?;
        Ok(Self { hina: installer.hina()?, root, state })
    }

    /// Puts the documents of a file into the store.
    pub(crate) fn import(&self, document: &Path) -> Result<()> {
        printed(self.command().args(["store", "import"]).arg(document)).map(drop)
    }

    /// `hina` in this workspace.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.hina);
        command.arg("--root").arg(&self.root);
        command
            .env("HINAGATA_STATE", &self.state)
            .env("XDG_CONFIG_HOME", &self.state)
            .env_remove("REDIS_URL");
        // They are no settings, and a daemon does not start with settings that it does not know.
        for variable in [HINA, CACHE] {
            command.env_remove(variable);
        }
        command
    }

    /// The daemon.
    pub(crate) fn serve(&self) -> Command {
        let mut command = self.command();
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command
    }
}

/// The token of a daemon of ours, from the file that it names.
pub(crate) fn token_of(daemon: &mut Daemon) -> Result<String> {
    let file = daemon.told(token_file)?;
    let token = fs::read_to_string(&file).with_context(|| format!("no token in {}", file.display()))?;
    Ok(token.trim().to_owned())
}

fn token_file(line: &str) -> Option<PathBuf> {
    line.strip_prefix("Token:").map(|rest| PathBuf::from(rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_token_is_found_in_what_is_said() {
        assert_eq!(token_file("Token:  /state/daemon/token-1"), Some("/state/daemon/token-1".into()));
        assert_eq!(token_file("Page:   http://127.0.0.1:1/"), None);
    }
}
