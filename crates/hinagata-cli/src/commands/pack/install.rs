//! `hina pack install`.

use std::path::PathBuf;

use hinagata::Approval;
use hinagata_packs::InstallOptions;

use super::{packs, page};
use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Install a pack from a directory or an archive
///
/// Nothing of it is used before you approve it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A directory, a .tar.gz or a .zip with a pack.json
    source: PathBuf,

    /// Replace a pack of the same name
    #[arg(long)]
    replace: bool,
}

const EXAMPLES: &str = "Examples:
  hina pack install ../git_toolkit
  hina pack install git_toolkit-1.2.0.tar.gz --replace";

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let options = InstallOptions { replace: arguments.replace, ..InstallOptions::default() };
    let installed = packs(&workspace)?.install(&arguments.source, &options)?;
    match Format::of(globals) {
        Format::Json => output::print_json(&installed),
        Format::Text => {
            let id = output::clean(installed.pack.summary.pack_id.as_str());
            output::print(&page::details(&workspace, &installed.pack))?;
            // The same bytes as before are still what was approved.
            output::talk(&match installed.pack.summary.state {
                Approval::Approved => "\nInstalled. It is what you approved, and is used.\n".to_owned(),
                _ => format!("\nInstalled. Nothing of it is used before `hina pack approve {id}`.\n"),
            });
            Ok(())
        }
    }
}
