//! `hina pack reject`.

use std::time::SystemTime;

use super::open_packs;
use crate::{
    completion,
    failure::Failure,
    output::{self, Format, sanitize_text},
    workspace::{Globals, Workspace},
};

/// Reject a pack
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack reject sketchy_pack")]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::complete_packs())]
    pack: String,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let summary = open_packs(&workspace)?.reject(&arguments.pack, SystemTime::now())?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&summary),
        Format::Text => {
            output::print_text(&format!("{} is {}\n", sanitize_text(summary.pack_id.as_str()), summary.state))
        }
    }
}
