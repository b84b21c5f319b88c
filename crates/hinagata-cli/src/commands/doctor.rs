//! `hina doctor`: the state of the workspace and of this installation.

use hinagata::{Approval, Catalog, Distrust, Library, Severity, TrustState};
use hinagata_agent::Project;
use hinagata_check::template_diagnostics;
use hinagata_packs::{LOCK_FILE, LockCheck};
use serde_json::{Value, json};

use crate::{
    diagnostic::Diagnostic,
    exit,
    failure::Failure,
    models::ModelState,
    output::{self, Format},
    python::PythonState,
    workspace::{Globals, Workspace},
};

/// Diagnose problems with the workspace
///
/// Prints the root and how it was found, settings files, trust, libraries, Python and its sandbox, model providers and
/// their keys, packs, counts and all problems. The exit code is 1 if there is an error.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina doctor\n  hina doctor --json")]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open_quietly(globals)?;
    let catalog = workspace.open_catalog();
    let mut found = workspace.host.settings.diagnostics().to_vec();
    found.extend(project_diagnostics(&workspace));
    #[cfg(feature = "mcp")]
    found.extend(mcp_diagnostics(&workspace));
    found.extend(workspace.host.trust_problem.clone());
    found.extend(catalog.check());
    let trusted = workspace.host.trust.is_trusted();
    found.extend(catalog.withheld_permissions(|library| !library.map_or(trusted, |library| library.trusted)));
    let engine = workspace.open_engine()?;
    found.extend(engine.tool_diagnostics());
    found.extend(lock_diagnostics(&workspace, &catalog, &engine));
    found.extend(template_diagnostics(&catalog, &workspace.host.check_options(&engine)));
    let python = PythonState::find(&workspace.host.settings);
    let models = ModelState::find(&workspace)?;
    let findings: Vec<Diagnostic> = found.iter().map(|one| workspace.to_diagnostic(one)).collect();
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&json(&workspace, &catalog, (&python, &models), &findings))?,
        Format::Text => {
            output::print_text(&output::align_columns(&rows(&workspace, &catalog, (&python, &models))))?;
            output::print_text(
                &findings.iter().map(|one| format!("\n{}", one.render_text())).collect::<String>(),
            )?;
        }
    }
    match found.iter().any(|one| one.severity == Severity::Error) {
        true => Err(Failure::Printed(exit::Code::Failed)),
        false => Ok(()),
    }
}

/// The problems of agents and of the context.
pub(crate) fn project_diagnostics(workspace: &Workspace) -> Vec<hinagata::Diagnostic> {
    let (root, trusted) = (&workspace.host.root.path, workspace.host.trust.is_trusted());
    match Project::from_settings(&workspace.host.settings, root, trusted) {
        Ok(project) => project.diagnostics,
        Err(error) => vec![hinagata::Diagnostic::error(hinagata::SETTINGS_FILE, error)],
    }
}

/// In what the workspace differs from its lock.
fn lock_diagnostics(
    workspace: &Workspace,
    catalog: &Catalog,
    engine: &hinagata::Engine,
) -> Vec<hinagata::Diagnostic> {
    let mut found = workspace.host.lock_problems(engine);
    let check = LockCheck::open(catalog.root(), &workspace.host.settings);
    // Servers are asked only if somebody locked what they state.
    if let Some(check) = check.ok().filter(|check| !check.lock().tool_schemas.is_empty()) {
        match engine.server_schemas_blocking() {
            Ok(schemas) => {
                let locked = check.lock().tool_schemas.keys();
                let drifts = locked.filter_map(|id| check.schema_drift(id, schemas.get(id)));
                found.extend(drifts.map(|drift| drift.to_diagnostic()));
            }
            Err(error) => found.push(hinagata::Diagnostic::warning(LOCK_FILE, error)),
        }
    }
    found
}

/// The problems of what is served over MCP.
#[cfg(feature = "mcp")]
fn mcp_diagnostics(workspace: &Workspace) -> Vec<hinagata::Diagnostic> {
    let host = &workspace.host;
    let resources =
        hinagata_mcp::Resources::from_settings(&host.settings, &host.root.path, host.trust.is_trusted());
    let exposure = hinagata_mcp::Exposure::from_settings(&host.settings).err();
    let problems = resources.problems().iter().cloned().chain(exposure);
    problems.map(|error| hinagata::Diagnostic::error(hinagata::SETTINGS_FILE, error)).collect()
}

fn rows(
    workspace: &Workspace,
    catalog: &Catalog,
    (python, models): (&PythonState, &ModelState),
) -> Vec<Vec<String>> {
    let counts = Counts::from_catalog(catalog);
    let own = workspace.host.root.path.join(hinagata::SETTINGS_FILE);
    let there = |path: Option<&std::path::PathBuf>| match path {
        Some(path) if path.is_file() => path.display().to_string(),
        Some(path) => format!("{} (missing)", path.display()),
        None => "unknown location".to_owned(),
    };
    let state = workspace.host.state.as_ref().map(|state| state.path().display().to_string());
    let mut rows = vec![
        ("version", format!("hina {}", env!("CARGO_PKG_VERSION"))),
        ("workspace", format!("{} ({})", workspace.host.root.path.display(), workspace.host.root.found)),
        ("settings", there(Some(&own))),
        ("your settings", there(workspace.host.user_config.path.as_ref())),
        ("state", state.unwrap_or_else(|| "unknown location".to_owned())),
        ("trust", trust(workspace.host.trust).to_owned()),
    ];
    rows.extend(workspace.host.libraries.iter().map(|library| ("library", library_text(library))));
    rows.extend(python.rows());
    rows.extend(models.rows());
    rows.push(("prompts", counts.text()));
    rows.push(("packs", format!("{}", counts.packs.len())));
    rows.extend(counts.packs.iter().map(|(id, state)| ("", format!("{id}: {state}"))));
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), output::sanitize_text(&value)]).collect()
}

const fn trust(trust: TrustState) -> &'static str {
    match trust {
        TrustState::Trusted => "you trust this workspace",
        TrustState::Untrusted { reason: Distrust::Never } => {
            "you do not trust this workspace; `hina trust` changes that"
        }
        TrustState::Untrusted { reason: Distrust::Changed } => {
            "its settings changed since you trusted it; `hina trust` trusts them as they are now"
        }
    }
}

fn library_text(library: &Library) -> String {
    let path = library.root.display();
    let state = match (library.root.is_dir(), library.trusted) {
        (false, _) => "missing".to_owned(),
        (true, true) => "you trust it".to_owned(),
        (true, false) => format!("you do not trust it; `hina trust --root {path}` changes that"),
    };
    format!("{path} ({state})")
}

/// The number of prompts by kind.
struct Counts {
    prompts: usize,
    broken: usize,
    conflicts: usize,
    packs: Vec<(String, Approval)>,
}

impl Counts {
    fn from_catalog(catalog: &Catalog) -> Self {
        let list = catalog.list();
        let errors = || list.iter().filter_map(|listing| listing.definition.as_ref().err());
        let conflicts = errors().filter(|error| error.code() == hinagata::Code::Conflict).count();
        let packs = catalog.packs().map(|id| (id.to_string(), catalog.approval(id)));
        Self { prompts: list.len(), broken: errors().count() - conflicts, conflicts, packs: packs.collect() }
    }

    fn text(&self) -> String {
        let mut text = self.prompts.to_string();
        for (count, what) in [(self.broken, "broken"), (self.conflicts, "in conflict")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text
    }
}

fn json(
    workspace: &Workspace,
    catalog: &Catalog,
    (python, models): (&PythonState, &ModelState),
    findings: &[Diagnostic],
) -> Value {
    let counts = Counts::from_catalog(catalog);
    let finding = |one: &Diagnostic| {
        let mut all = one.to_json();
        all["severity"] = one.level.as_str().into();
        all
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "root": workspace.host.root.path,
        "root_found": workspace.host.root.found.as_str(),
        "settings": workspace.host.root.path.join(hinagata::SETTINGS_FILE),
        "user_settings": workspace.host.user_config.path,
        "state": workspace.host.state.as_ref().map(hinagata::StateDir::path),
        "trust": workspace.host.trust,
        "libraries": workspace.host.libraries.iter()
            .map(|library| json!({"root": library.root, "found": library.root.is_dir(), "trusted": library.trusted}))
            .collect::<Vec<_>>(),
        "hooks": python.to_json(),
        "models": models.to_json(),
        "prompts": {"all": counts.prompts, "broken": counts.broken, "conflicts": counts.conflicts},
        "packs": counts.packs.iter().map(|(id, state)| json!({"pack_id": id, "state": state})).collect::<Vec<_>>(),
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
