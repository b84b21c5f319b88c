//! `hina pack statement`.

use std::path::PathBuf;

use hinagata_packs::read_statement;

use crate::{failure::Failure, output, workspace::Globals};

/// Print the text that a signature of a pack signs
///
/// The text names the pack, its version and the SHA-256 of its files. Sign it with minisign, and put the signature into the
/// pack as pack.minisig.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A directory, a .tar.gz or a .zip with a pack.json
    source: PathBuf,
}

const EXAMPLES: &str = "Examples:
  hina pack statement git_toolkit > statement
  minisign -Sm statement -x git_toolkit/pack.minisig";

pub(super) fn run(arguments: &Arguments, _globals: &Globals) -> Result<(), Failure> {
    output::print_exactly(&read_statement(&arguments.source)?)
}
