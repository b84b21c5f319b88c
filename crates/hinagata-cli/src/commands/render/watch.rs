//! `hina render --watch`: renders again whenever a source of the result changes.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{self, Sender},
    time::SystemTime,
};

use hinagata::{
    Library,
    watch::{Change, Watcher, watched_paths},
};

use super::{Arguments, render_once};
use crate::{
    exit,
    failure::Failure,
    output::{self, sanitize_text},
    paths,
    workspace::{Globals, Workspace, current_directory},
};

/// Files that a note about changes names.
const MOST_NAMED: usize = 3;

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    if arguments.call.uses_stdin() {
        return Err(Failure::usage_error("`--watch` cannot read standard input again")
            .with_hint("save the input to a file"));
    }
    let workspace = Workspace::open_quietly(globals)?;
    let mut watched = watched_paths(
        &workspace.host.root.path,
        &workspace.host.settings.catalog_paths(),
        workspace.host.state.as_ref(),
    );
    watched.extend(workspace.host.libraries.iter().flat_map(Library::prompt_directories));
    watched.extend(arguments.call.files());
    watched.extend(arguments.call.foreign_file(globals));
    watched.extend(workspace.host.user_config.path.clone());
    let (sender, changes) = mpsc::channel();
    // It watches before anything is read, so that no change is missed.
    let mut watcher = watch(&watched, &sender)?;
    loop {
        let started = SystemTime::now();
        let read = run_turn(arguments, globals)?;
        // The files that hooks read are known afterwards. Their modification times show later changes.
        let new: Vec<PathBuf> = read.into_iter().filter(|path| !watched.contains(path)).collect();
        if !new.is_empty() {
            watched.extend(new.iter().cloned());
            let before = std::mem::replace(&mut watcher, watch(&watched, &sender)?);
            drop(before);
            if new.iter().any(|path| changed_since(path, started)) {
                continue;
            }
        }
        let Ok(change) = changes.recv() else { return Ok(()) };
        output::print_status(&format!("\n{}\n", changed_line(&change)));
    }
}

fn watch(places: &[PathBuf], sender: &Sender<Change>) -> Result<Watcher, Failure> {
    let sender = sender.clone();
    Ok(Watcher::new(places.to_vec(), move |change| {
        // The receiver is gone when the command ends.
        let _ = sender.send(change);
    })?)
}

fn changed_since(path: &Path, time: SystemTime) -> bool {
    path.metadata().and_then(|found| found.modified()).is_ok_and(|modified| modified >= time)
}

/// Prints the result or the error, and returns the files that were read. It fails only if the output is closed.
fn run_turn(arguments: &Arguments, globals: &Globals) -> Result<Vec<PathBuf>, Failure> {
    match render_once(arguments, globals) {
        Ok(read) => output::print_text("\n").map(|()| read),
        Err(Failure::Output(error)) => Err(Failure::Output(error)),
        Err(failure) if failure.exit_code() == exit::Code::Success => Ok(Vec::new()),
        Err(failure) => {
            crate::print_failure(&failure, globals);
            Ok(Vec::new())
        }
    }
}

fn changed_line(change: &Change) -> String {
    let current = current_directory();
    let named = change.paths.iter().take(MOST_NAMED);
    let mut names: Vec<String> =
        named.map(|path| sanitize_text(&paths::relative_to(&current, path).display().to_string())).collect();
    let others = change.paths.len().saturating_sub(MOST_NAMED);
    if others > 0 || change.more {
        names.push("more".to_owned());
    }
    format!("-- changed: {}", names.join(", "))
}
