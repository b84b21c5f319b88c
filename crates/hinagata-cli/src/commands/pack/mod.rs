//! `hina pack`: packs, from installing them to removing them.

mod approve;
mod install;
mod list;
mod page;
mod reject;
mod remove;
mod show;
mod verify;

use clap::Subcommand;
use hinagata::StateDir;
use hinagata_packs::Packs;

use crate::{
    failure::Failure,
    workspace::{Globals, Workspace},
};

/// Manage packs
///
/// A pack contains prompts, partials, tools and more. It is used only after you approve it, and only while it is
/// unchanged.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  hina pack install git_toolkit.tar.gz
  hina pack show git_toolkit
  hina pack approve git_toolkit
  hina pack verify                     what changed since";

#[derive(Subcommand)]
enum Command {
    Install(install::Arguments),
    List(list::Arguments),
    Show(show::Arguments),
    Approve(approve::Arguments),
    Reject(reject::Arguments),
    Verify(verify::Arguments),
    Remove(remove::Arguments),
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    match &arguments.command {
        Command::Install(arguments) => install::run(arguments, globals),
        Command::List(arguments) => list::run(arguments, globals),
        Command::Show(arguments) => show::run(arguments, globals),
        Command::Approve(arguments) => approve::run(arguments, globals),
        Command::Reject(arguments) => reject::run(arguments, globals),
        Command::Verify(arguments) => verify::run(arguments, globals),
        Command::Remove(arguments) => remove::run(arguments, globals),
    }
}

/// The packs of the workspace. It fails without a state directory to record decisions.
fn open_packs(workspace: &Workspace) -> Result<Packs, Failure> {
    let state = workspace.host.state.clone().map_or_else(StateDir::of_user, Ok)?;
    Ok(Packs::new(&workspace.open_catalog(), &state))
}
