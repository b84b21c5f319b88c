//! `hina trust`: allows the settings of a workspace to extend what a render can do.

use std::time::SystemTime;

use hinagata::{
    Diagnostic, StateDir, Trust,
    settings::{Origin, Power, ResolvedSetting},
};
use serde_json::json;

use crate::{
    failure::Failure,
    output::{self, Format},
    terminal,
    workspace::{Globals, Workspace},
};

/// Trust the settings of this workspace
///
/// Settings in hinagata.toml that run programs, open connections or send data take effect only in a trusted workspace;
/// the same holds for `http_request`, `llm_call` and `subprocess` in its Python. On a terminal, the command shows these
/// settings and asks for confirmation; elsewhere it requires --yes. Trust is stored in your state directory and covers
/// the current values: if one changes, you have to confirm again.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Skip the confirmation
    #[arg(long, short, conflicts_with_all = ["revoke", "list"])]
    yes: bool,

    /// Revoke the trust
    #[arg(long)]
    revoke: bool,

    /// List the workspaces that you trust
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
}

const EXAMPLES: &str = "Examples:
  hina trust
  hina trust --yes
  hina trust --revoke
  hina trust --list";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let trust = Trust::new(&StateDir::of_user()?);
    match arguments {
        Arguments { list: true, .. } => print_list(&trust, globals),
        Arguments { revoke: true, .. } => revoke(&trust, globals),
        _ => record(&trust, arguments.yes, globals),
    }
}

fn record(trust: &Trust, yes: bool, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open_quietly(globals)?;
    let path = workspace.host.root.path.display().to_string();
    let settings = workspace.host.settings_if_trusted()?;
    let privileged: Vec<(&str, &ResolvedSetting)> =
        settings.iter().filter(|(_, found)| is_privileged(found)).collect();
    let python = workspace.open_catalog().withheld_permissions(|library| library.is_none());
    if !yes {
        // Settings must be shown before they take effect.
        output::print_status(&page(&path, &privileged, &python));
        if globals.json || !terminal::can_ask() {
            return Err(Failure::usage_error("cannot ask for confirmation without a terminal")
                .with_hint("review the settings above, then run `hina trust --yes`"));
        }
        if !terminal::ask_yes("trust this workspace?")? {
            return output::print_text("nothing was trusted\n");
        }
    }
    // Only the shown settings are trusted. If the file has changed meanwhile, they are not.
    trust.record(
        &workspace.host.root.path,
        workspace.host.privileged_settings.as_deref(),
        SystemTime::now(),
    )?;
    match Format::from_globals(globals) {
        Format::Json => {
            let counts: Vec<&str> = privileged.iter().map(|(name, _)| *name).collect();
            output::print_json(&json!({"path": path, "trusted": true, "settings": counts}))
        }
        Format::Text => {
            let rows: Vec<_> =
                privileged.iter().map(|(name, found)| vec![(*name).to_owned(), value_text(found)]).collect();
            let counts = match rows.is_empty() {
                true => "no setting requires trust\n".to_owned(),
                false => format!("these settings now take effect:\n{}", output::align_columns(&rows)),
            };
            output::print_text(&format!("you trust {path}\n{counts}"))
        }
    }
}

/// Whether a setting comes from the workspace and takes effect only if that is trusted.
fn is_privileged(found: &ResolvedSetting) -> bool {
    matches!(found.origin, Origin::Workspace(_)) && found.setting.power != Power::Harmless
}

fn value_text(found: &ResolvedSetting) -> String {
    output::sanitize_text(&found.setting.kind.format_value(&found.value))
}

/// The settings and permissions that trust would enable.
fn page(path: &str, privileged: &[(&str, &ResolvedSetting)], python: &[Diagnostic]) -> String {
    let mut page = format!("If you trust {path}, this takes effect:\n\nSettings\n");
    let rows: Vec<_> = privileged.iter().map(|(name, found)| setting_row(name, found)).collect();
    match rows.is_empty() {
        true => page.push_str("  no setting requires trust\n"),
        false => page.push_str(&output::align_columns(&rows)),
    }
    page.push_str("\nPython\n");
    let rows: Vec<_> = python.iter().map(python_row).collect();
    match rows.is_empty() {
        true => page.push_str("  no code in use declares http_request, llm_call or subprocess\n"),
        false => page.push_str(&output::align_columns(&rows)),
    }
    page.push('\n');
    page
}

fn setting_row(name: &str, found: &ResolvedSetting) -> Vec<String> {
    let value = value_text(found);
    let meaning = consequence(name, &value).unwrap_or(found.setting.meaning);
    vec![format!("  {name}"), value, meaning.to_owned()]
}

/// The consequence of trusting a setting, if its description is not sufficient.
fn consequence(name: &str, value: &str) -> Option<&'static str> {
    Some(match (name, value) {
        ("hooks.sandbox", "off") => "Python runs unconfined: it can do everything that you can",
        ("hooks.sandbox", "best-effort") => "Python runs even if the system cannot confine it",
        ("hooks.python", _) => "this program runs for every hook and provider",
        (name, _) if name.starts_with("mcp_servers.") => {
            "starts this program or connects to this address when a template calls its tools"
        }
        _ => return None,
    })
}

fn python_row(withheld: &Diagnostic) -> Vec<String> {
    let names = withheld.error.details().get("withheld").and_then(|names| names.as_array());
    let names: Vec<&str> = names.into_iter().flatten().filter_map(|name| name.as_str()).collect();
    vec![format!("  {}", output::sanitize_text(&withheld.source)), format!("gets {}", names.join(", "))]
}

fn revoke(trust: &Trust, globals: &Globals) -> Result<(), Failure> {
    let path = globals.root().path;
    let was = trust.revoke(&path)?;
    let shown = path.display().to_string();
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&json!({"path": shown, "trusted": false, "was_trusted": was})),
        Format::Text if was => output::print_text(&format!("you no longer trust {shown}\n")),
        Format::Text => output::print_text(&format!("you did not trust {shown}\n")),
    }
}

fn print_list(trust: &Trust, globals: &Globals) -> Result<(), Failure> {
    let all = trust.list()?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&all),
        Format::Text => {
            let rows: Vec<_> = all.iter().map(|one| vec![one.path.clone(), one.trusted_at.clone()]).collect();
            output::print_text(&output::format_table(&["WORKSPACE", "SINCE"], &rows))
        }
    }
}
