//! `hina`, the command line of Hinagata.
//!
//! Data goes to standard output, talk to standard error. Each command is one file under `commands`
//! that reads its arguments, makes one call and prints; what a failure is called and how a script sees
//! it is in [`failure`], how it looks in [`diagnostic`].

mod beneath;
mod clock;
mod commands;
mod diagnostic;
mod exit;
mod failure;
mod files;
mod input;
mod limits;
mod variables;

use std::{io::Write as _, process::ExitCode};

use clap::Parser;

use crate::{
    commands::{Command, Format},
    failure::Failure,
};

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
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let format = if arguments.json { Format::Json } else { Format::Text };
    match arguments.command.run(format) {
        Ok(()) => exit::Code::Fine.into(),
        Err(failure) => {
            tell(&failure, format);
            failure.exit().into()
        }
    }
}

/// Ends a call whose arguments cannot be read, or one that asked for help.
fn refused(error: &clap::Error) -> ExitCode {
    // There are no arguments to ask: the words themselves tell what the caller wants to read.
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let message = text.split("\n\n").next().unwrap_or_default();
        let failure = Failure::usage(message.strip_prefix("error: ").unwrap_or(message));
        tell(&failure, Format::Json);
        return failure.exit().into();
    }
    error.exit()
}

/// Says on standard error what failed; colours are left out where nobody would see them.
fn tell(failure: &Failure, format: Format) {
    if failure.exit() == exit::Code::Fine {
        return;
    }
    let text = match (failure, format) {
        (Failure::Told(diagnostic), Format::Text) => diagnostic.text(),
        (Failure::Told(diagnostic), Format::Json) => format!("{}\n", diagnostic.json()),
        (Failure::Output(error), _) => format!("error: cannot write the result: {error}\n"),
    };
    // Where standard error is closed too, the exit code still tells.
    let _ = anstream::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_of_all_commands_fit_together() {
        Arguments::command().debug_assert();
    }
}
