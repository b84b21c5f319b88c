//! `hina mcp`: the prompts for a client that starts this program.

mod config_file;
mod doctor;
mod entry;
mod hosts;
mod install;
mod skills;

use std::{path::PathBuf, sync::Arc};

use clap::Subcommand;
use hinagata::{Engine, ports::Store, watch::Watcher};
use hinagata_host::{Environment, OpenWorkspace};
use hinagata_mcp::{DirectBackend, Mcp, McpOptions, PackedProject, Resources, Viewer};

use crate::{
    failure::Failure,
    log::start_log,
    workspace::{Globals, Workspace},
};

/// Serve prompts over the Model Context Protocol
///
/// Serves one client over standard input and output, in every revision of the protocol, until the client disconnects.
/// `hina serve` serves the same prompts over HTTP at /mcp.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// Offer prompts as tools too, for clients that have no prompts [setting: mcp.tools]
    #[arg(long)]
    tools: bool,

    /// Offer prompts as Agent Skills too, for clients with the skills extension [setting: mcp.skills]
    #[arg(long)]
    skills: bool,
}

const EXAMPLES: &str = "Examples:
  hina mcp install claude-code
  hina mcp --root ~/prompts --tools

docs/guides/connect-mcp-clients.md has the entries for other clients.";

#[derive(Subcommand)]
enum Action {
    Install(Box<install::Arguments>),
    Doctor(doctor::Arguments),
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    match &arguments.action {
        None => serve_client(arguments, globals),
        Some(Action::Install(arguments)) => install::run(arguments, globals),
        Some(Action::Doctor(arguments)) => doctor::run(arguments, globals),
    }
}

fn serve_client(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace =
        Workspace::open_daemon(globals, Environment::default(), OpenWorkspace::check_store_settings)?;
    start_log(&workspace, None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .thread_name("hinagata")
        .build();
    let runtime = runtime.map_err(|error| Failure::system_error(format!("cannot start threads: {error}")))?;
    let served = runtime.block_on(serve(arguments, &workspace));
    runtime.shutdown_background();
    served
}

async fn serve(arguments: &Arguments, workspace: &Workspace) -> Result<(), Failure> {
    let engine = workspace.daemon_engine()?;
    let options = McpOptions {
        tools: arguments.tools || workspace.host.settings.is_on("mcp.tools"),
        skills: arguments.skills || workspace.host.settings.is_on("mcp.skills"),
        viewer: Some(Viewer::for_owner()),
        resources: Resources::from_settings(
            &workspace.host.settings,
            &workspace.host.root.path,
            workspace.host.trust.is_trusted(),
        )?,
        project: Some(PackedProject::from_settings(
            &workspace.host.settings,
            &workspace.host.root.path,
            workspace.host.trust.is_trusted(),
        )),
    };
    let mcp = Mcp::new(engine.clone(), options, Arc::new(DirectBackend));
    follow_store(&mcp, &*workspace.host.store());
    // The client is answered while the watches are set.
    let watching = tokio::task::spawn_blocking({
        let mcp = mcp.clone();
        move || follow_files(&mcp, &engine)
    });
    let served = mcp.serve_stdio().await;
    drop(watching.await);
    Ok(served?)
}

fn follow_store(mcp: &Mcp, store: &dyn Store) {
    let told = mcp.change_notifier();
    store.subscribe(Box::new(move |_| told(None)));
}

/// Notifies the client about changed files until the result is dropped.
fn follow_files(mcp: &Mcp, engine: &Engine) -> Option<Watcher> {
    let told = mcp.change_notifier();
    let changed = move |_: &hinagata::Catalog, change: &hinagata::watch::Change| {
        let paths: Option<&[PathBuf]> = if change.more { None } else { Some(&change.paths) };
        told(paths);
    };
    engine
        .watch_files(changed)
        .inspect_err(|error| tracing::warn!(error = error.message(), "changes are not detected"))
        .ok()
}
