//! `hina test --watch`: runs again whenever a file changes.

use std::sync::mpsc;

use hinagata::watch::Watcher;

use super::{Arguments, run_once, watched_paths};
use crate::{
    exit,
    failure::Failure,
    output,
    workspace::{Globals, Workspace},
};

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open_quietly(globals)?;
    let (sender, changes) = mpsc::channel();
    let _watcher = Watcher::new(watched_paths(&workspace), move |change| {
        // The receiver is gone when the command ends.
        let _ = sender.send(change);
    })?;
    loop {
        match run_once(arguments, globals) {
            Err(Failure::Output(error)) => return Err(Failure::Output(error)),
            Err(failure) if failure.exit_code() != exit::Code::Success => {
                crate::print_failure(&failure, globals);
            }
            _ => {}
        }
        output::print_status("\nwaiting for changes\n");
        // Snapshots that the run wrote are a change too; the next run writes nothing.
        if changes.recv().is_err() {
            return Ok(());
        }
    }
}
