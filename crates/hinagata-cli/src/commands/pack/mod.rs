//! `hina pack`: packs, from installing them to removing them.

mod add;
mod approve;
mod install;
mod list;
mod outdated;
mod page;
mod reject;
mod remove;
mod show;
mod statement;
mod sync;
mod update;
mod verify;

use clap::Subcommand;
use hinagata::StateDir;
use hinagata_packs::{PackReview, PackSource, Packs};

use crate::{
    commands::check::check_options,
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
  hina pack add git_toolkit --git https://example.com/packs.git --tag v1.2.0
  hina pack sync                       install what hinagata.toml wants
  hina pack show git_toolkit
  hina pack approve git_toolkit
  hina pack verify                     what changed since";

#[derive(Subcommand)]
enum Command {
    Install(install::Arguments),
    Add(add::Arguments),
    Sync(sync::Arguments),
    Update(update::Arguments),
    Outdated(outdated::Arguments),
    List(list::Arguments),
    Show(show::Arguments),
    Approve(approve::Arguments),
    Reject(reject::Arguments),
    Verify(verify::Arguments),
    Remove(remove::Arguments),
    Statement(statement::Arguments),
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    match &arguments.command {
        Command::Install(arguments) => install::run(arguments, globals),
        Command::Add(arguments) => add::run(arguments, globals),
        Command::Sync(arguments) => sync::run(arguments, globals),
        Command::Update(arguments) => update::run(arguments, globals),
        Command::Outdated(arguments) => outdated::run(arguments, globals),
        Command::List(arguments) => list::run(arguments, globals),
        Command::Show(arguments) => show::run(arguments, globals),
        Command::Approve(arguments) => approve::run(arguments, globals),
        Command::Reject(arguments) => reject::run(arguments, globals),
        Command::Verify(arguments) => verify::run(arguments, globals),
        Command::Remove(arguments) => remove::run(arguments, globals),
        Command::Statement(arguments) => statement::run(arguments, globals),
    }
}

/// The packs of the workspace. It fails without a state directory to record decisions.
pub(crate) fn open_packs(workspace: &Workspace) -> Result<Packs, Failure> {
    let state = workspace.host.state.clone().map_or_else(StateDir::of_user, Ok)?;
    Ok(Packs::new(&workspace.open_catalog(), &state))
}

/// A pack for review; `code` adds all its files.
fn review_pack(workspace: &Workspace, packs: &Packs, pack: &str, code: bool) -> Result<PackReview, Failure> {
    let options = check_options(workspace, &workspace.open_engine()?);
    Ok(packs.review(pack, code, &options)?)
}

/// What fetches packs from other places.
#[cfg(feature = "fetch")]
pub(crate) fn open_source(workspace: &Workspace) -> Result<Box<dyn PackSource>, Failure> {
    Ok(Box::new(hinagata_fetch::Fetcher::from_settings(&workspace.host.settings)?))
}

/// What fetches packs from other places: nothing in this build.
#[cfg(not(feature = "fetch"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as with the feature")]
pub(crate) fn open_source(_workspace: &Workspace) -> Result<Box<dyn PackSource>, Failure> {
    Ok(Box::new(hinagata_packs::NoSource))
}
