//! `hina pack install`.

use std::path::PathBuf;

use hinagata::Approval;
use hinagata_packs::{InstallOptions, SignaturePolicy};

use super::{open_packs, page};
use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Install a pack from a directory or an archive
///
/// A pack is not used before you approve it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A directory, a .tar.gz or a .zip with a pack.json
    source: PathBuf,

    /// Replace a pack of the same name
    #[arg(long)]
    replace: bool,

    /// Fail unless the pack has the files that hinagata.lock says
    #[arg(long)]
    frozen: bool,
}

const EXAMPLES: &str = "Examples:
  hina pack install ../git_toolkit
  hina pack install git_toolkit-1.2.0.tar.gz --replace";

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let options = InstallOptions {
        replace: arguments.replace,
        frozen: arguments.frozen,
        signatures: SignaturePolicy::from_settings(&workspace.host.settings)?,
        ..InstallOptions::default()
    };
    let installed = open_packs(&workspace)?.install(&arguments.source, &options)?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&installed),
        Format::Text => {
            let id = output::sanitize_text(installed.pack.summary.pack_id.as_str());
            output::print_text(&page::format_details(&workspace, &installed.pack))?;
            // The same files as before are still approved.
            output::print_status(&match installed.pack.summary.state {
                Approval::Approved => {
                    "\nInstalled. Its files match your approval, so it is used.\n".to_owned()
                }
                _ => format!("\nInstalled. Nothing of it is used before `hina pack approve {id}`.\n"),
            });
            Ok(())
        }
    }
}
