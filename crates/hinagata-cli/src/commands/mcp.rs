//! `hina mcp`: the prompts for a client that starts this program.

mod config_file;
mod doctor;
mod entry;
mod hosts;
mod install;
mod skills;

use std::{path::PathBuf, sync::Arc};

use clap::Subcommand;
use hinagata::{Engine, ports::Store, settings::Origin, watch::Watcher};
use hinagata_host::{Audit, Environment, OpenWorkspace};
use hinagata_mcp::{
    AuditedBackend, Exposure, Mcp, McpOptions, PackedProject, ProjectSource, Resources, Viewer,
};

use crate::{
    call::project_directory,
    failure::Failure,
    log::start_log,
    workspace::{FrozenArgument, Globals, Workspace},
};

/// Serve prompts over the Model Context Protocol
///
/// Serves one client over standard input and output, in every revision of the protocol, until the client disconnects.
/// `hina serve` serves the same prompts over HTTP at /mcp.
///
/// Prompts come from the workspace, and from the libraries that the setting catalog.libraries names.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// Offer prompts as tools too, for clients that have no prompts [setting: mcp.tools]
    #[arg(long)]
    tools: bool,

    #[command(flatten)]
    frozen: FrozenArgument,

    /// The directory of the project [default: the client's root, else the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Offer prompts as Agent Skills too, for clients with the skills extension [setting: mcp.skills]
    #[arg(long)]
    skills: bool,
}

const EXAMPLES: &str = "Examples:
  hina mcp install claude-code
  hina mcp --root ~/prompts --tools
  hina mcp --root ~/prompts --project ~/lamp
  hina mcp --set catalog.libraries=~/prompts

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
    let globals = &arguments.frozen.apply_to(globals);
    let workspace =
        Workspace::open_daemon(globals, Environment::default(), OpenWorkspace::check_store_settings)?;
    start_log(&workspace, None)?;
    // A second thread would be woken at every message. A long render moves other messages to another one.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
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
    workspace.host.check_lock(&engine.catalog())?;
    let (resources, exposure) = read_served(&workspace.host)?;
    let options = McpOptions {
        tools: arguments.tools || workspace.host.settings.is_on("mcp.tools"),
        skills: arguments.skills || workspace.host.settings.is_on("mcp.skills"),
        viewer: Some(Viewer::for_owner()),
        resources,
        exposure,
        project: Some(PackedProject::from_settings(
            &workspace.host.settings,
            &workspace.host.root.path,
            workspace.host.trust.is_trusted(),
        )),
        host: workspace.host.settings.text("mcp.host").map(str::to_owned),
        project_source,
    };
    let backend = Arc::new(AuditedBackend::new(open_audit(&workspace.host)?));
    let mcp = Mcp::new(engine.clone(), options, Arc::<AuditedBackend>::clone(&backend));
    follow_store(&mcp, &*workspace.host.store());
    // The client is answered while the watches are set.
    let watching = tokio::task::spawn_blocking({
        let (mcp, host) = (mcp.clone(), Arc::clone(&workspace.host));
        move || follow_files(&mcp, &engine, host)
    });
    let served = mcp.serve_stdio().await;
    // A client that leaves early does not wait until the watches are set.
    if watching.is_finished() {
        drop(watching.await);
    }
    // What still runs keeps the backend alive.
    backend.close_audit();
    Ok(served?)
}

/// What the settings say about what is served.
fn read_served(workspace: &OpenWorkspace) -> hinagata::Result<(Resources, Exposure)> {
    let (settings, root) = (&workspace.settings, &workspace.root.path);
    let resources = Resources::from_settings(settings, root, workspace.trust.is_trusted());
    Ok((resources, Exposure::from_settings(settings)?))
}

/// The audit log. One that nobody asked for is left out where it cannot be written.
fn open_audit(workspace: &OpenWorkspace) -> hinagata::Result<Audit> {
    let lost = |lost| tracing::error!(lost, "lines of the audit log are lost");
    let is_default =
        workspace.settings.get("server.audit").is_none_or(|found| found.origin == Origin::Default);
    match workspace.open_audit(format!("mcp {}", std::process::id()), lost) {
        Err(error) if is_default => {
            tracing::warn!(error = error.message(), "renders are not recorded");
            Ok(Audit::without_file())
        }
        opened => opened,
    }
}

/// Reads again what is served, after a file of the settings changed.
fn reload_served(mcp: &Mcp, workspace: &OpenWorkspace) {
    match workspace.reopen().and_then(|workspace| read_served(&workspace)) {
        Ok((resources, exposure)) => {
            tracing::info!("read resources and `mcp.expose` again; other settings need a restart");
            mcp.set_served(resources, exposure);
        }
        Err(error) => tracing::error!(%error, "cannot read the settings; the ones before still count"),
    }
}

fn follow_store(mcp: &Mcp, store: &dyn Store) {
    let told = mcp.change_notifier();
    store.subscribe(Box::new(move |_| told(None)));
}

/// Notifies the client about changed files until the result is dropped.
fn follow_files(mcp: &Mcp, engine: &Engine, workspace: Arc<OpenWorkspace>) -> Option<Watcher> {
    let (mcp, root) = (mcp.clone(), engine.root());
    let root = root.canonicalize().unwrap_or(root);
    let changed = move |_: &hinagata::Catalog, change: &hinagata::watch::Change| {
        // Of the files directly beneath the root, only those of the settings are watched.
        if change.more || change.paths.iter().any(|path| path.parent() == Some(&*root)) {
            reload_served(&mcp, &workspace);
        }
        let paths: Option<&[PathBuf]> = if change.more { None } else { Some(&change.paths) };
        mcp.notify_change(paths);
    };
    engine
        .watch_files(changed)
        .inspect_err(|error| tracing::warn!(error = error.message(), "changes are not detected"))
        .ok()
}
