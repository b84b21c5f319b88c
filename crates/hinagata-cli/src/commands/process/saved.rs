//! Processes that ended before their result, as files.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use hinagata::StateDir;
use hinagata_process::Process;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::arguments::Common;
use crate::{failure::Failure, input::system_message};

/// The format name in a saved file.
const FORMAT: &str = "hinagata-process/1";

/// A process with its arguments.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedProcess {
    format: String,
    pub(super) model: Option<String>,
    pub(super) options: Map<String, Value>,
    pub(super) modules: Vec<PathBuf>,
    pub(super) instructions: Vec<String>,
    pub(super) process: Process,
}

impl SavedProcess {
    pub(super) fn new(process: Process, modules: Vec<PathBuf>, instructions: Vec<String>) -> Self {
        Self { format: FORMAT.to_owned(), model: None, options: Map::new(), modules, instructions, process }
    }
}

/// The process in a file, which has to be one called `name`.
pub(super) fn read_saved(path: &Path, name: &str) -> Result<SavedProcess, Failure> {
    let displayed = path.display();
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(format!("file `{displayed}` not found")),
        _ => Failure::usage_error(format!("cannot read `{displayed}`: {}", system_message(&error))),
    })?;
    let invalid_state = |why: String| {
        Failure::usage_error(format!("`{displayed}` is not a saved process: {why}"))
            .with_hint("pass the file that the process was saved to")
    };
    let saved: SavedProcess =
        serde_json::from_str(&text).map_err(|error| invalid_state(error.to_string()))?;
    if saved.format != FORMAT {
        return Err(invalid_state(format!("its format is `{}`, not `{FORMAT}`", saved.format)));
    }
    match saved.process.name() {
        found if found != name => {
            Err(Failure::usage_error(format!("`{displayed}` is a process `{found}`, not `{name}`"))
                .with_hint(format!("run `hina process {found} --resume {displayed}`")))
        }
        _ => Ok(saved),
    }
}

/// Saves a process that made progress. Returns the path, or a message if that fails.
pub(super) fn save_process(
    saved: &SavedProcess,
    common: &Common,
    calls: usize,
) -> Option<Result<PathBuf, String>> {
    if calls == 0 && common.state.is_none() && common.resume.is_none() {
        return None;
    }
    let path = common.state.clone().or_else(|| common.resume.clone()).map_or_else(|| new_path(saved), Ok);
    Some(path.and_then(|path| match write(saved, &path) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("cannot save its state to {}: {}", path.display(), system_message(&error))),
    }))
}

/// How to go on.
pub(super) fn resume_hint(saved: &SavedProcess, path: &Path) -> String {
    format!(
        "what it had is saved; go on with `hina process {} --resume {}`",
        saved.process.name(),
        path.display()
    )
}

fn directory() -> Result<PathBuf, String> {
    StateDir::of_user().map(|state| state.path().join("processes")).map_err(|error| error.to_string())
}

fn new_path(saved: &SavedProcess) -> Result<PathBuf, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(directory()?.join(format!("{}-{now}-{}.json", saved.process.name(), std::process::id())))
}

/// Removes the file of a process that has its result now, if the file is one that we chose.
pub(super) fn delete_saved(resumed: Option<&Path>) {
    if let (Some(path), Ok(ours)) = (resumed, directory())
        && path.parent() == Some(&ours)
    {
        let _ = fs::remove_file(path);
    }
}

/// Writes the file atomically and readable only by the user, because it contains their texts.
fn write(saved: &SavedProcess, path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = new_file(&beside).and_then(|mut file| {
        file.write_all(&serde_json::to_vec_pretty(saved)?)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn new_file(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
