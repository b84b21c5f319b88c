//! `hina pack remove`.

use std::time::SystemTime;

use super::packs;
use crate::{
    completion,
    failure::Failure,
    output::{self, Format, clean},
    terminal,
    workspace::{Globals, Workspace},
};

/// Remove a pack, its approval, and the decisions that name it
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack remove git_toolkit\n  hina pack remove git_toolkit --yes")]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::packs())]
    pack: String,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let mut packs = packs(&workspace)?;
    let path = format!("{}/{}", hinagata::PACKS, packs.show(&arguments.pack)?.summary.pack_id);
    let asks = terminal::can_ask() && !arguments.yes && !globals.json;
    if asks && !terminal::ask_yes(&format!("delete {}?", clean(&workspace.shown(&path))))? {
        return output::print("nothing was removed\n");
    }
    let removed = packs.remove(&arguments.pack, SystemTime::now())?;
    match Format::of(globals) {
        Format::Json => output::print_json(&removed),
        Format::Text => {
            let mut text = format!("{} is removed\n", clean(removed.pack_id.as_str()));
            for id in &removed.resolutions {
                text.push_str(&format!("the decision on {id} is taken back\n"));
            }
            output::print(&text)
        }
    }
}
