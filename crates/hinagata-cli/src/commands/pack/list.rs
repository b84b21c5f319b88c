//! `hina pack list`.

use hinagata_packs::PackSummary;

use super::open_packs;
use crate::{
    failure::Failure,
    output::{self, Format, serialized_name},
    workspace::{Globals, Workspace},
};

/// List packs and their approval
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Only packs of this kind: system, utility, partial or agent
    #[arg(long)]
    kind: Option<String>,
}

const EXAMPLES: &str = "Examples:
  hina pack list
  hina pack list --kind utility --json";

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let wanted =
        |pack: &PackSummary| arguments.kind.as_ref().is_none_or(|kind| *kind == serialized_name(&pack.kind));
    let packs: Vec<PackSummary> = open_packs(&workspace)?.list().into_iter().filter(wanted).collect();
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&packs),
        Format::Text => {
            let rows: Vec<_> = packs.iter().map(row).collect();
            output::print_text(&output::format_table(
                &["PACK", "KIND", "VERSION", "STATE", "DESCRIPTION"],
                &rows,
            ))
        }
    }
}

fn row(pack: &PackSummary) -> Vec<String> {
    let mut row = vec![
        pack.pack_id.to_string(),
        serialized_name(&pack.kind),
        pack.version.clone().unwrap_or_else(|| "-".to_owned()),
        pack.state.to_string(),
    ];
    if output::is_terminal() {
        row.extend(pack.description.clone().or_else(|| pack.name.clone()));
    }
    row
}
