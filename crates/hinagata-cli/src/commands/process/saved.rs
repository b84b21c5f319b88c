//! Processes without a result yet, as files.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    time::SystemTime,
};

use hinagata::{Code, Error, StateDir};
use hinagata_process::{Keep, Process};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::arguments::Common;
use crate::{failure::Failure, input::system_message};

/// The format name in a saved file.
const FORMAT: &str = "hinagata-process/1";

/// A process with its arguments.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedProcess<P = Process> {
    format: String,
    pub(super) model: Option<String>,
    pub(super) options: Map<String, Value>,
    pub(super) modules: Vec<PathBuf>,
    pub(super) instructions: Vec<String>,
    pub(super) process: P,
}

impl SavedProcess {
    pub(super) fn new(process: Process, modules: Vec<PathBuf>, instructions: Vec<String>) -> Self {
        Self { format: FORMAT.to_owned(), model: None, options: Map::new(), modules, instructions, process }
    }

    /// The process, and its arguments with a place for it.
    pub(super) fn split_process(self) -> (Process, SavedProcess<()>) {
        let Self { format, model, options, modules, instructions, process } = self;
        (process, SavedProcess { format, model, options, modules, instructions, process: () })
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

/// The file of a running process.
pub(super) struct StateFile<'f> {
    saved: SavedProcess<()>,
    name: &'static str,
    path: Result<PathBuf, String>,
    /// Whether the user chose the file.
    named: bool,
    on_problem: &'f (dyn Fn(String) + Sync),
    /// How often the process was kept.
    kept: AtomicUsize,
    has_failed: AtomicBool,
}

impl<'f> StateFile<'f> {
    /// The file that the arguments choose, else one in the directory of the user's state. `on_problem` is told when it cannot be
    /// written.
    pub(super) fn new(
        saved: SavedProcess<()>,
        process: &Process,
        common: &Common,
        on_problem: &'f (dyn Fn(String) + Sync),
    ) -> Self {
        let (name, named) = (process.name(), common.state.as_ref().or(common.resume.as_ref()).cloned());
        Self {
            saved,
            name,
            named: named.is_some(),
            path: named.map_or_else(|| new_path(name), Ok),
            on_problem,
            kept: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
        }
    }

    /// How to go on with a process that ended early; `None` if there is nothing to go on with.
    pub(super) fn resume_hint(&self, calls: usize) -> Option<Result<(&Path, String), String>> {
        if calls == 0 && !self.named {
            self.delete_ours();
            return None;
        }
        Some(match &self.path {
            Ok(path) if !self.has_failed.load(Relaxed) => {
                let (name, displayed) = (self.name, path.display());
                let go_on =
                    format!("what it had is saved; go on with `hina process {name} --resume {displayed}`");
                Ok((path, go_on))
            }
            Ok(path) => Err(format!("its state could not be saved to {}", path.display())),
            Err(why) => Err(why.clone()),
        })
    }

    /// Removes the file of a process that has its result, unless the user chose it.
    pub(super) fn delete_ours(&self) {
        if let (Ok(path), Ok(ours)) = (&self.path, directory())
            && path.parent() == Some(&ours)
        {
            let _ = fs::remove_file(path);
        }
    }

    fn write_state(&self, process: &Process) -> Result<(), String> {
        let path = self.path.as_ref().map_err(String::clone)?;
        let SavedProcess { format, model, options, modules, instructions, .. } = &self.saved;
        let saved = json!({
            "format": format, "model": model, "options": options, "modules": modules,
            "instructions": instructions, "process": process,
        });
        write(&saved, path).map_err(|error| {
            format!("cannot save the state to {}: {}", path.display(), system_message(&error))
        })
    }
}

impl Keep for StateFile<'_> {
    /// Before the first call, a file that the user chose has to be writable. Later the answers are worth more: the process goes on,
    /// and tries again after the next answer.
    fn keep_process(&self, process: &Process) -> hinagata::Result<()> {
        let is_first = self.kept.fetch_add(1, Relaxed) == 0;
        let written = self.write_state(process);
        let failed_before = self.has_failed.swap(written.is_err(), Relaxed);
        match written {
            Err(why) if is_first && self.named => {
                return Err(Error::new(Code::Validation, why).with_hint("choose another file with `--state`"));
            }
            Err(why) if !failed_before => (self.on_problem)(why),
            _ => {}
        }
        Ok(())
    }
}

fn directory() -> Result<PathBuf, String> {
    StateDir::of_user().map(|state| state.path().join("processes")).map_err(|error| error.to_string())
}

fn new_path(name: &str) -> Result<PathBuf, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(directory()?.join(format!("{name}-{now}-{}.json", std::process::id())))
}

/// Writes the file atomically and readable only by the user, because it contains their texts.
fn write(saved: &Value, path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    // Its name does not vary, so that a process that was killed leaves one at most.
    let beside = path.with_extension("tmp");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
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
