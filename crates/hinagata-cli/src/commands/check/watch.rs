//! `hina check --watch`: checks again whenever a file changes.

use std::sync::mpsc;

use hinagata::{
    Library,
    watch::{Watcher, watched_paths},
};

use super::{Arguments, check_options, find_all, report};
use crate::{
    exit,
    failure::Failure,
    output,
    workspace::{Globals, Workspace},
};

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    if arguments.targets.iter().any(|target| target == "-") {
        return Err(Failure::usage_error("`--watch` cannot read standard input again")
            .with_hint("save the template to a file"));
    }
    let workspace = Workspace::open_quietly(globals)?;
    let host = &workspace.host;
    let mut watched = watched_paths(&host.root.path, &host.settings.catalog_paths(), host.state.as_ref());
    watched.extend(host.libraries.iter().flat_map(Library::prompt_directories));
    watched.extend(host.user_config.path.clone());
    let (sender, changes) = mpsc::channel();
    // It watches before anything is read, so that no change is missed.
    let _watcher = Watcher::new(watched, move |change| {
        // The receiver is gone when the command ends.
        let _ = sender.send(change);
    })?;
    loop {
        match check_once(arguments, globals) {
            Err(Failure::Output(error)) => return Err(Failure::Output(error)),
            Err(failure)
                if !matches!(failure, Failure::Printed(_)) && failure.exit_code() != exit::Code::Success =>
            {
                crate::print_failure(&failure, globals);
            }
            _ => {}
        }
        if changes.recv().is_err() {
            return Ok(());
        }
        // Several changes at once are one.
        while changes.try_recv().is_ok() {}
        output::print_status("\n-- changed\n");
    }
}

/// Settings and packs may have changed, too, so everything is read again.
fn check_once(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open_quietly(globals)?;
    let engine = workspace.open_engine()?;
    let options = check_options(&workspace, &engine);
    let findings = find_all(&workspace, &engine.catalog(), &options, arguments)?;
    report(&workspace, findings, arguments, globals)
}
