//! `hina pack show`.

use super::{open_packs, page};
use crate::{
    completion,
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Show the contents of a pack
///
/// Prints prompts, partials, Python with declared permissions, proposed replacements, names shared with other packs,
/// and problems. Runs nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack show git_toolkit\n  hina pack show git_toolkit --json")]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::complete_packs())]
    pack: String,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let details = open_packs(&workspace)?.show(&arguments.pack)?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&details),
        Format::Text => output::print_text(&page::format_details(&workspace, &details)),
    }
}
