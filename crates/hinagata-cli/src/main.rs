//! `hina`, the command line of Hinagata.
//!
//! Data goes to standard output, status to standard error. Each command is one file under `commands` that
//! reads its arguments, makes one call and prints. [`failure`] defines the failures and their exit codes,
//! [`diagnostic`] their format.

mod absent;
mod call;
mod clock;
#[cfg(any(feature = "server", feature = "telemetry"))]
mod collector;
mod commands;
mod completion;
mod diagnostic;
mod difference;
mod exit;
mod failure;
mod files;
#[cfg(all(test, feature = "default"))]
mod frozen;
mod hints;
mod input;
#[cfg(feature = "server")]
mod legacy;
#[cfg(feature = "mcp")]
mod log;
#[cfg(feature = "llm")]
mod models;
mod output;
mod paths;
mod progress;
#[cfg(feature = "python")]
mod python;
mod request;
mod revision;
mod scaffold;
#[cfg(feature = "llm")]
mod signals;
mod source_map_file;
mod stack;
#[cfg(feature = "telemetry")]
mod telemetry;
mod terminal;
mod variables;
mod workspace;

#[cfg(not(feature = "llm"))]
use absent::models;
#[cfg(not(feature = "python"))]
use absent::python;
#[cfg(all(feature = "mcp", not(feature = "telemetry")))]
use absent::telemetry;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use clap_complete::CompleteEnv;
use serde_json::json;

use crate::{
    commands::Command,
    failure::Failure,
    output::Format,
    workspace::{Globals, current_directory},
};

/// Render, inspect and serve LLM prompts.
#[derive(Parser)]
#[command(name = "hina", version, arg_required_else_help = true, after_help = exit::help_text())]
struct Arguments {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    // Before anything is opened or started: this may be the process that becomes Python.
    #[cfg(feature = "python")]
    hinagata_python::launch_if_requested();
    if std::env::var_os(completion::VARIABLE).is_some() {
        CompleteEnv::with_factory(Arguments::command).var(completion::VARIABLE).complete();
    }
    let mut command = Arguments::command();
    // Usage errors need the same colour choice.
    if std::env::args_os().any(|argument| argument == "--no-color") {
        anstream::ColorChoice::Never.write_global();
        command = command.color(clap::ColorChoice::Never);
    }
    let parsed = command.try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let Arguments { globals, command } = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return exit_unparsed(&error),
    };
    match command.run(&globals) {
        Ok(()) => exit::Code::Success.into(),
        Err(failure) => {
            print_failure(&failure, &globals);
            failure.exit_code().into()
        }
    }
}

/// Ends a call with invalid arguments, or one that requests help.
fn exit_unparsed(error: &clap::Error) -> ExitCode {
    // The arguments are not parsed, so the raw words decide on the format.
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let message = text.split("\n\n").next().unwrap_or_default();
        let failure = Failure::usage_error(message.strip_prefix("error: ").unwrap_or(message));
        print_failure(&failure, &Globals::for_scripts());
        return failure.exit_code().into();
    }
    error.exit()
}

/// Prints the failure to standard error. Colours are removed unless it is a terminal that supports them.
pub(crate) fn print_failure(failure: &Failure, globals: &Globals) {
    let text = match failure {
        Failure::Reported(diagnostic) => {
            let (root, current) = (globals.root().path, current_directory());
            let shown = diagnostic.clone().map_paths(|name| paths::display_path(&root, &current, name));
            match Format::from_globals(globals) {
                Format::Text => shown.render_text(),
                Format::Json => format!("{}\n", json!({"error": shown.to_json()})),
            }
        }
        Failure::Printed(_) => return,
        Failure::Output(_) if failure.exit_code() == exit::Code::Success => return,
        Failure::Output(error) => format!("error: cannot write the result: {error}\n"),
    };
    // If standard error is closed too, the exit code remains.
    output::print_status(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_all_commands_fit_together() {
        Arguments::command().debug_assert();
    }
}
