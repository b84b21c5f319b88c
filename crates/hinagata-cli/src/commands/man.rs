//! `hina man`: the manual pages, for packagers.

use std::{fs, path::PathBuf};

use clap::CommandFactory as _;

use crate::{Arguments as All, failure::Failure, output, workspace::Globals};

/// Write manual pages to a directory
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina man /usr/local/share/man/man1")]
pub(crate) struct Arguments {
    /// The directory; created if missing
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, _globals: &Globals) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let written =
        fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(All::command(), directory));
    written.map_err(|error| {
        Failure::usage_error(format!("cannot write the pages to `{}`: {error}", directory.display()))
    })?;
    output::print_text(&format!("wrote the manual pages to {}\n", directory.display()))
}
