//! `hina lsp`: the language server for editors.

use std::io::IsTerminal;

use hinagata_lsp::{ServerOptions, serve_stdio};

use crate::{failure::Failure, hints::hint_text, output, workspace::Globals};

/// Serve an editor over the Language Server Protocol
///
/// The editor starts it and speaks to it over standard input and output: findings while typing, completion, hovers,
/// definitions, references, renaming, a preview. The workspace of each file is the nearest directory with hinagata.toml
/// or user_data, unless --root names one. No Python runs, and no tool or model is called.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Use standard input and output, as always; many editors pass this option
    #[arg(long)]
    stdio: bool,
}

const EXAMPLES: &str = "Examples:
  hina lsp
  hina lsp --root ~/prompts

docs/guides/use-an-editor.md shows how editors start it.";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    if !arguments.stdio && std::io::stdin().is_terminal() {
        output::print_status("waiting for an editor: `hina lsp` reads messages from standard input\n");
    }
    let options = ServerOptions {
        open: globals.open_options(),
        hint_text,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    serve_stdio(options).map_err(|error| Failure::system_error(error.to_string()))
}
