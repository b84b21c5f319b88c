//! `hina`, the command line of Hinagata.
//!
//! Data goes to standard output, talk to standard error. Each command is one file under `commands`
//! that reads its arguments, makes one call and prints; what a failure means for a script is in
//! [`exit`].
#![expect(clippy::print_stderr, reason = "the command line talks on standard error")]

mod commands;
mod exit;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;
use crate::exit::Code;

/// Find prompts, fill them and hand them over.
#[derive(Parser)]
#[command(name = "hina", version, arg_required_else_help = true, after_help = exit::help())]
struct Arguments {
    /// Print JSON instead of text for people
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let format = if arguments.json { commands::Format::Json } else { commands::Format::Text };
    match arguments.command.run(format) {
        Ok(()) => Code::Fine.into(),
        // The reader has seen enough, as in `hina … | head`: no failure of ours.
        Err(error) if exit::is_closed_pipe(&error) => Code::Fine.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            Code::Failed.into()
        }
    }
}
