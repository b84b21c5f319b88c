//! `hina pack update`.

use hinagata_packs::UpdateChoice;

use super::sync;
use crate::{completion, failure::Failure, workspace::Globals};

/// Choose versions and commits again, and install them
///
/// Takes the newest versions within the ranges in hinagata.toml, and the commits that tags and branches name now. What
/// is installed has to be approved again; `hina pack approve` shows the differences.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack update\n  hina pack update git_toolkit")]
pub(super) struct Arguments {
    /// The packs [default: all]
    #[arg(add = completion::complete_packs())]
    packs: Vec<String>,

    /// Replace installed packs whose files were changed by hand
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let update = match arguments.packs.as_slice() {
        [] => UpdateChoice::All,
        packs => UpdateChoice::Packs(packs.iter().cloned().collect()),
    };
    sync::update(update, arguments.replace, globals)
}
