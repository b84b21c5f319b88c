//! `hina pack reject`.

use std::time::SystemTime;

use super::packs;
use crate::{
    completion,
    failure::Failure,
    output::{self, Format, clean},
    workspace::{Globals, Workspace},
};

/// Say that a pack may not be used
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack reject sketchy_pack")]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::packs())]
    pack: String,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let summary = packs(&workspace)?.reject(&arguments.pack, SystemTime::now())?;
    match Format::of(globals) {
        Format::Json => output::print_json(&summary),
        Format::Text => output::print(&format!("{} is {}\n", clean(summary.pack_id.as_str()), summary.state)),
    }
}
