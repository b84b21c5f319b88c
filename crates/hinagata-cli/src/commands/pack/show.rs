//! `hina pack show`.

use super::{open_packs, page, review_pack};
use crate::{
    completion,
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Show the contents of a pack
///
/// Prints prompts, partials, Python with what it may do, proposed replacements, names shared with other packs, hidden
/// characters, secrets, the findings of a check, and the differences from what you approved before. Runs nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack show git_toolkit\n  hina pack show git_toolkit --code | less")]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::complete_packs())]
    pack: String,

    /// Print all files, too
    #[arg(long)]
    code: bool,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let review = review_pack(&workspace, &open_packs(&workspace)?, &arguments.pack, arguments.code)?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&review),
        Format::Text => output::print_text(&page::format_review(&workspace, &review)),
    }
}
