//! `hina serve`: the daemon.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use hinagata_host::{Environment, OpenWorkspace};
use hinagata_server::{LinkSpan, Server, ServerOptions, example_call, legacy_config};
use serde_json::json;

use crate::{
    failure::Failure,
    log::start_log,
    output::{self, Format},
    python::PythonState,
    signals::stop_signal,
    telemetry::Telemetry,
    workspace::{Globals, Workspace},
};

/// Serve prompts over HTTP
///
/// By default, the daemon listens on localhost, uses the embedded store and serves the built-in prompts. Reading and
/// rendering need no key; chat and changes need the token that is created at startup. On SIGTERM and Ctrl-C, it answers
/// all running requests and exits.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where to listen, as 127.0.0.1:8700; port 0 takes a free one [setting: server.listen]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// The config.yaml of an older daemon
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  hina serve
  hina serve --listen 127.0.0.1:0 --json
  hina serve --set store.url=redis://127.0.0.1:6379
  hina serve --config config.yaml

GET /docs lists all routes; GET /openapi.json describes them for programs.";

/// The configuration files of older daemons.
const OLD_CONFIGS: [&str; 2] = ["config.yaml", "configs/config.yaml"];

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let old = read_legacy_config(arguments, globals)?;
    let environment = old.environment.into_iter();
    let environment =
        environment.fold(Environment::default(), |all, (name, value)| all.with_variable(name, value));
    let mut settings = old.settings;
    settings.extend(arguments.listen.as_ref().map(|address| format!("server.listen={address}")));
    let globals = &globals.below_settings(settings);
    let workspace = Workspace::open_daemon(globals, environment, OpenWorkspace::check_serving)?;
    let telemetry = Telemetry::start()?;
    start_log(&workspace, telemetry.as_ref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("hinagata").build();
    let runtime = runtime.map_err(|error| Failure::system_error(format!("cannot start threads: {error}")))?;
    let served = runtime.block_on(serve(&workspace, globals, telemetry.as_ref().map(Telemetry::link_spans)));
    // Abandoned renders are not waited for.
    runtime.shutdown_background();
    served
}

async fn serve(workspace: &Workspace, globals: &Globals, link_span: Option<LinkSpan>) -> Result<(), Failure> {
    let server = Server::open(ServerOptions {
        workspace: Arc::clone(&workspace.host),
        engine: workspace.daemon_engine()?,
        link_span,
        sandbox: Some(Arc::new({
            let settings = workspace.host.settings.clone();
            move || PythonState::find(&settings).health()
        })),
    })
    .await?;
    for warning in server.warnings() {
        workspace.print_warning(&hinagata::Diagnostic::warning("daemon", warning.clone()));
    }
    let stop = stop_signal()?;
    print_address(&server, globals)?;
    server.run_until(stop).await;
    if Format::from_globals(globals) == Format::Text {
        output::print_status("stopped\n");
    }
    Ok(())
}

/// Prints the address and an example.
fn print_address(server: &Server, globals: &Globals) -> Result<(), Failure> {
    let address = server.address();
    if Format::from_globals(globals) == Format::Json {
        return output::print_json(&json!({
            "listening": format!("http://{address}"),
            "token_file": server.token_file(),
        }));
    }
    output::print_text(&format!("listening on http://{address}\n"))?;
    output::print_status(&format!(
        "\nTry it:\n\n{}\n\nPage:   http://{address}/#token={}\nRoutes: http://{address}/docs\nStop with Ctrl-C.\n",
        indented(&example_call(address)),
        server.token(),
    ));
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Reads the configuration of an older daemon, if any.
fn read_legacy_config(
    arguments: &Arguments,
    globals: &Globals,
) -> Result<legacy_config::LegacyConfig, Failure> {
    let root = globals.root().path;
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::not_found(format!("cannot read {}: {error}", path.display())))
    };
    if let Some(path) = &arguments.config {
        let old = legacy_config::read_legacy_config(&path.display().to_string(), &read(path)?)?;
        if !old.ignored.is_empty() {
            let names = old.ignored.join("`, `");
            output::print_status(&format!("warning: `{names}` in {} is ignored\n", path.display()));
        }
        return Ok(old);
    }
    if root.join(hinagata::SETTINGS_FILE).exists() {
        return Ok(legacy_config::LegacyConfig::default());
    }
    for name in OLD_CONFIGS {
        let path = root.join(name);
        if path.is_file() && legacy_config::is_legacy_config(&read(&path)?) {
            // It sets the address, the store and the destination of model keys. A cloned workspace must not decide
            // that, and ignoring the file would serve something else than it configures.
            return Err(Failure::usage_error(format!(
                "{name} is the configuration of an older daemon, which is used only with --config"
            ))
            .with_hint(format!("hina serve --config {name}"))
            .with_hint(format!("or write its settings into {}", hinagata::SETTINGS_FILE)));
        }
    }
    Ok(legacy_config::LegacyConfig::default())
}
