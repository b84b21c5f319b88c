//! `hina pack remove`.

use std::time::SystemTime;

use super::open_packs;
use crate::{
    completion,
    failure::Failure,
    output::{self, Format, sanitize_text},
    terminal,
    workspace::{Globals, Workspace},
};

/// Remove a pack, its approval and the resolutions that name it
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack remove git_toolkit\n  hina pack remove git_toolkit --yes")]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::complete_packs())]
    pack: String,

    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let mut packs = open_packs(&workspace)?;
    let path = format!("{}/{}", hinagata::PACKS, packs.show(&arguments.pack)?.summary.pack_id);
    let asks = terminal::can_ask() && !arguments.yes && !globals.json;
    if asks && !terminal::ask_yes(&format!("delete {}?", sanitize_text(&workspace.display_path(&path))))? {
        return output::print_text("nothing was removed\n");
    }
    let removed = packs.remove(&arguments.pack, SystemTime::now())?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&removed),
        Format::Text => {
            let mut text = format!("removed {}\n", sanitize_text(removed.pack_id.as_str()));
            for id in &removed.resolutions {
                text.push_str(&format!("deleted the resolution of {id}\n"));
            }
            output::print_text(&text)
        }
    }
}
