//! `hina pack outdated`.

use hinagata_packs::{OutdatedPack, SyncOptions};

use super::{open_packs, open_source};
use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// List locked packs that have newer versions
///
/// Asks the index and the repositories; installs nothing. UPDATE is what `hina pack update` would take.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack outdated\n  hina pack outdated --json")]
pub(super) struct Arguments {}

pub(super) fn run(_arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let source = open_source(&workspace)?;
    let options = SyncOptions::new(&workspace.host.settings, &*source);
    let found = open_packs(&workspace)?.find_outdated(&options)?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&found),
        Format::Text => {
            let rows: Vec<_> = found.iter().map(row).collect();
            output::print_text(&output::format_table(
                &["PACK", "LOCKED", "UPDATE", "NEWEST", "WITHDRAWN"],
                &rows,
            ))
        }
    }
}

fn row(pack: &OutdatedPack) -> Vec<String> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut row =
        vec![pack.pack_id.clone(), pack.locked.clone(), or_dash(&pack.update), or_dash(&pack.newest)];
    row.extend(pack.withdrawn.clone());
    row
}
