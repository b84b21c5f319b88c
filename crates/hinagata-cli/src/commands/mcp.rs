//! `hina mcp`: the prompts for a client that starts this program.

use std::{path::PathBuf, sync::Arc};

use hinagata::{Engine, ports::Store, watch::Watcher};
use hinagata_host::{Environment, OpenWorkspace};
use hinagata_mcp::{DirectBackend, Mcp, McpOptions, PackedProject, ProjectSource, Resources, Viewer};

use crate::{
    call::project_directory,
    failure::Failure,
    log::start_log,
    workspace::{Globals, Workspace},
};

/// Serve prompts over the Model Context Protocol
///
/// Serves one client over standard input and output, in every revision of the protocol, until the client disconnects.
/// `hina serve` serves the same prompts over HTTP at /mcp.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Offer prompts as tools too, for clients that have no prompts [setting: mcp.tools]
    #[arg(long)]
    tools: bool,

    /// The directory of the project [default: the client's root, else the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  hina mcp
  hina mcp --root ~/prompts --tools
  hina mcp --root ~/prompts --project ~/work/lamp
  claude mcp add prompts -- hina mcp --root ~/prompts

docs/reference/mcp.md has the entries for other clients.";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
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

/// Where the project directory comes from.
fn project_source(arguments: &Arguments) -> Result<ProjectSource, Failure> {
    Ok(match &arguments.project {
        Some(directory) => ProjectSource::Fixed(project_directory(directory)?),
        None => match std::env::current_dir() {
            Ok(working_directory) => ProjectSource::Client { working_directory },
            Err(error) => {
                tracing::warn!(%error, "the working directory is unknown, so there is no project directory");
                ProjectSource::Absent
            }
        },
    })
}

async fn serve(arguments: &Arguments, workspace: &Workspace) -> Result<(), Failure> {
    let project_source = project_source(arguments)?;
    let engine = workspace.daemon_engine()?;
    let options = McpOptions {
        tools: arguments.tools || workspace.host.settings.is_on("mcp.tools"),
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
        project_source,
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
