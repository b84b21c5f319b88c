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
use crate::{failure::Failure, input::reason};

/// What a file of ours says that it is.
const FORMAT: &str = "hinagata-process/1";

/// A process, and what it was told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    format: String,
    pub(super) model: Option<String>,
    pub(super) options: Map<String, Value>,
    pub(super) modules: Vec<PathBuf>,
    pub(super) instructions: Vec<String>,
    pub(super) process: Process,
}

impl Kept {
    pub(super) fn new(process: Process, modules: Vec<PathBuf>, instructions: Vec<String>) -> Self {
        Self { format: FORMAT.to_owned(), model: None, options: Map::new(), modules, instructions, process }
    }
}

/// The process in a file, which has to be one called `name`.
pub(super) fn read(path: &Path, name: &str) -> Result<Kept, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(format!("there is no file `{shown}`")),
        _ => Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error))),
    })?;
    let no_state = |why: String| {
        Failure::usage(format!("`{shown}` is no state of a process: {why}"))
            .advise("name the file that the process was kept in when it ended")
    };
    let kept: Kept = serde_json::from_str(&text).map_err(|error| no_state(error.to_string()))?;
    if kept.format != FORMAT {
        return Err(no_state(format!("its format is `{}`, not `{FORMAT}`", kept.format)));
    }
    match kept.process.name() {
        found if found != name => {
            Err(Failure::usage(format!("`{shown}` is a process `{found}`, not `{name}`"))
                .advise(format!("run `hina process {found} --resume {shown}`")))
        }
        _ => Ok(kept),
    }
}

/// Keeps a process that got somewhere: the path, or what to tell where that fails.
pub(super) fn keep(kept: &Kept, common: &Common, calls: usize) -> Option<Result<PathBuf, String>> {
    if calls == 0 && common.state.is_none() && common.resume.is_none() {
        return None;
    }
    let path = common.state.clone().or_else(|| common.resume.clone()).map_or_else(|| new_path(kept), Ok);
    Some(path.and_then(|path| match write(kept, &path) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("its state could not be kept in {}: {}", path.display(), reason(&error))),
    }))
}

/// How to go on.
pub(super) fn how_to_resume(kept: &Kept, path: &Path) -> String {
    format!(
        "what it had is kept; go on with `hina process {} --resume {}`",
        kept.process.name(),
        path.display()
    )
}

fn directory() -> Result<PathBuf, String> {
    StateDir::of_user().map(|state| state.path().join("processes")).map_err(|error| error.to_string())
}

fn new_path(kept: &Kept) -> Result<PathBuf, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(directory()?.join(format!("{}-{now}-{}.json", kept.process.name(), std::process::id())))
}

/// Removes the file of a process that has its result now, if the file is one that we chose.
pub(super) fn forget(resumed: Option<&Path>) {
    if let (Some(path), Ok(ours)) = (resumed, directory())
        && path.parent() == Some(&ours)
    {
        let _ = fs::remove_file(path);
    }
}

/// Writes the file whole, for nobody else to read: it holds the texts of the user.
fn write(kept: &Kept, path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = new_file(&beside).and_then(|mut file| {
        file.write_all(&serde_json::to_vec_pretty(kept)?)?;
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
