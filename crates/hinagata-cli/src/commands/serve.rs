//! `hina serve`: the daemon.

mod activation;
mod check;
mod service_manager;

use std::{env, net::TcpListener, path::PathBuf, sync::Arc};

use hinagata::StateDir;
use hinagata_host::{Environment, OpenWorkspace};
use hinagata_server::{LinkSpan, Server, ServerOptions, ServerSettings, legacy_config};
use serde_json::json;

use self::service_manager::ServiceManager;
use crate::{
    failure::Failure,
    legacy,
    log::start_log,
    output::{self, Format},
    python::PythonState,
    signals::{Hangups, stop_signal},
    telemetry::Telemetry,
    terminal,
    workspace::{FrozenArgument, Globals, Workspace},
};

/// Serve prompts over HTTP
///
/// By default, the daemon listens on localhost, uses the embedded store and serves the built-in prompts. Reading and
/// rendering need no key; chat and changes need the token that is created at startup. A terminal shows the token;
/// elsewhere, where output is kept as a log, the daemon prints the path of the file that contains it. On SIGTERM and
/// Ctrl-C, it answers all running requests and exits. On SIGHUP, it reads prompts,
/// approvals, keys and limits again.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where to listen, as 127.0.0.1:8700; port 0 takes a free one [setting: server.listen]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// The config.yaml of an older daemon
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Serve the web page from the files of a directory, for whoever changes it; loopback addresses only
    #[cfg(feature = "page")]
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,

    #[command(flatten)]
    frozen: FrozenArgument,

    /// Ask the running daemon whether it is ready, and exit; exit code 5 if not
    #[arg(long)]
    check: bool,
}

impl Arguments {
    #[cfg(feature = "page")]
    fn page_directory(&self) -> Option<PathBuf> {
        self.page.clone()
    }

    #[cfg(not(feature = "page"))]
    #[expect(clippy::unused_self, reason = "the page is not built in")]
    fn page_directory(&self) -> Option<PathBuf> {
        None
    }
}

const EXAMPLES: &str = "Examples:
  hina serve
  hina serve --listen 127.0.0.1:0 --json
  hina serve --set store.url=redis://127.0.0.1:6379
  hina serve --config config.yaml
  hina serve --check

GET /docs describes all routes and lets you try them; GET /openapi.json describes them for programs.";

/// The configuration files of older daemons.
const OLD_CONFIGS: [&str; 2] = ["config.yaml", "configs/config.yaml"];

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let old = find_legacy_config(arguments, globals)?;
    let environment = old.as_ref().map_or_else(Environment::default, legacy::config_environment);
    let listen = arguments.listen.as_ref().map(|address| format!("server.listen={address}"));
    let mut globals = globals.below_settings(listen);
    if let Some(old) = &old {
        globals = legacy::with_config(&globals, old)?;
    }
    let globals = &arguments.frozen.apply_to(&globals);
    if arguments.check {
        let workspace = Workspace::open_quietly(globals)?;
        return check::check_daemon(ServerSettings::from_settings(&workspace.host.settings)?.listen, globals);
    }
    // Before there are threads: it changes the environment.
    let listener = activation::take_listener()?;
    let workspace = Workspace::open_daemon(globals, environment, OpenWorkspace::check_serving)?;
    let telemetry = Telemetry::start()?;
    start_log(&workspace, telemetry.as_ref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("hinagata").build();
    let runtime = runtime.map_err(|error| Failure::system_error(format!("cannot start threads: {error}")))?;
    let links = telemetry.as_ref().map(Telemetry::link_spans);
    let served = runtime.block_on(serve(&workspace, globals, links, listener, arguments.page_directory()));
    // Abandoned renders are not waited for.
    runtime.shutdown_background();
    served
}

async fn serve(
    workspace: &Workspace,
    globals: &Globals,
    link_span: Option<LinkSpan>,
    listener: Option<TcpListener>,
    page_directory: Option<PathBuf>,
) -> Result<(), Failure> {
    let manager = ServiceManager::from_variables(|name| env::var_os(name));
    let engine = workspace.daemon_engine()?;
    workspace.host.check_lock(&engine.catalog())?;
    let server = Server::open(ServerOptions {
        workspace: Arc::clone(&workspace.host),
        engine,
        link_span,
        sandbox: Some(Arc::new({
            let settings = workspace.host.settings.clone();
            move || PythonState::find(&settings).health()
        })),
        listener,
        page_directory,
    })
    .await?;
    for warning in server.warnings() {
        workspace.print_warning(&hinagata::Diagnostic::warning("daemon", warning.clone()));
    }
    let (stop, mut hangups) = (stop_signal()?, Hangups::listen()?);
    let (address, reloader) = (server.address(), server.reloader());
    print_address(&server, globals)?;
    manager.report_ready(address);
    let reloads = async {
        // Whoever closes the terminal of a daemon wants it to end.
        let ends = terminal::has_terminal();
        loop {
            hangups.next().await;
            if ends {
                return;
            }
            manager.report_reload();
            // The result is logged; after an error, the daemon goes on as it was.
            let _ = reloader.reload_workspace().await;
            manager.report_ready(address);
        }
    };
    let ended = async {
        tokio::select! {
            () = stop => {}
            () = reloads => {}
        }
        manager.report_stop();
    };
    tokio::select! {
        () = server.run_until(ended) => {}
        () = manager.send_pings() => {}
    }
    if Format::from_globals(globals) == Format::Text {
        output::print_status("stopped\n");
    }
    Ok(())
}

/// Prints the address, an example, and the token or where it is.
fn print_address(server: &Server, globals: &Globals) -> Result<(), Failure> {
    let address = server.address();
    if Format::from_globals(globals) == Format::Json {
        return output::print_json(&json!({
            "listening": format!("http://{address}"),
            "token_file": server.token_file(),
        }));
    }
    output::print_text(&format!("listening on http://{address}\n"))?;
    let page = match terminal::shows_status() {
        true => format!("Page:   http://{address}/#token={}", server.token()),
        // Such output is usually kept, for example by journald: it must not hold the token.
        false => {
            let file = server.token_file().map_or_else(
                || format!("not kept, because {} is not writable", StateDir::VARIABLE),
                |file| file.display().to_string(),
            );
            format!("Page:   http://{address}/\nToken:  {file}")
        }
    };
    output::print_status(&format!(
        "\nTry it:\n\n{}\n\n{page}\nRoutes: http://{address}/docs\nStop with Ctrl-C.\n",
        indented(&server.example_call()),
    ));
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Reads the configuration of an older daemon, if any.
fn find_legacy_config(
    arguments: &Arguments,
    globals: &Globals,
) -> Result<Option<legacy_config::LegacyConfig>, Failure> {
    let root = globals.root().path;
    if let Some(path) = &arguments.config {
        let old = legacy::read_config_file(path)?;
        if !old.ignored.is_empty() {
            let names = old.ignored.join("`, `");
            output::print_status(&format!("warning: `{names}` in {} is ignored\n", path.display()));
        }
        return Ok(Some(old));
    }
    if root.join(hinagata::SETTINGS_FILE).exists() {
        return Ok(None);
    }
    for name in OLD_CONFIGS {
        let path = root.join(name);
        if path.is_file() && legacy_config::is_legacy_config(&legacy::read_config_text(&path)?) {
            // It sets the address, the store and the destination of model keys. A cloned workspace must not decide
            // that, and ignoring the file would serve something else than it configures.
            return Err(Failure::usage_error(format!(
                "{name} is the configuration of an older daemon, which is used only with --config"
            ))
            .with_hint(format!("hina serve --config {name}"))
            .with_hint(format!("or write its settings into {}", hinagata::SETTINGS_FILE)));
        }
    }
    Ok(None)
}
