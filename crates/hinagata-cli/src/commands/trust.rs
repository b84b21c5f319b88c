//! `hina trust`: lets the settings of a workspace widen what a render can do.

use std::time::SystemTime;

use hinagata::{
    StateDir, Trust,
    settings::{Origin, Power},
};
use serde_json::json;

use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Trust the settings of this workspace
///
/// Settings that let something run, connect or leave count from hinagata.toml only when you trust the workspace. Your
/// word is kept in your state directory, for the file as it is now: when it changes, you are asked to look again.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Trust it no more
    #[arg(long)]
    revoke: bool,

    /// List the workspaces that you trust
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
}

const EXAMPLES: &str = "Examples:
  hina trust
  hina trust --revoke
  hina trust --list";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let trust = Trust::new(&StateDir::of_user()?);
    match arguments {
        Arguments { list: true, .. } => print_list(&trust, globals),
        Arguments { revoke: true, .. } => revoke(&trust, globals),
        _ => record(&trust, globals),
    }
}

fn record(trust: &Trust, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open_quietly(globals)?;
    trust.record(&workspace.root.path, workspace.settings_text.as_deref(), SystemTime::now())?;
    let workspace = Workspace::open(globals)?;
    let path = workspace.root.path.display().to_string();
    let counts = workspace.settings.iter().filter(|(_, found)| {
        matches!(found.origin, Origin::Workspace(_)) && found.setting.power != Power::Harmless
    });
    match Format::of(globals) {
        Format::Json => {
            let counts: Vec<&str> = counts.map(|(name, _)| name).collect();
            output::print_json(&json!({"path": path, "trusted": true, "settings": counts}))
        }
        Format::Text => {
            let row = |(name, found): (&str, &hinagata::settings::Resolved)| {
                vec![name.to_owned(), output::clean(&found.setting.kind.text(&found.value))]
            };
            let rows: Vec<_> = counts.map(row).collect();
            let counts = match rows.is_empty() {
                true => "its settings ask for no power\n".to_owned(),
                false => format!("from now on these settings of it count:\n{}", output::columns(&rows)),
            };
            output::print(&format!("you trust {path}\n{counts}"))
        }
    }
}

fn revoke(trust: &Trust, globals: &Globals) -> Result<(), Failure> {
    let path = globals.root().path;
    let was = trust.revoke(&path)?;
    let shown = path.display().to_string();
    match Format::of(globals) {
        Format::Json => output::print_json(&json!({"path": shown, "trusted": false, "was_trusted": was})),
        Format::Text if was => output::print(&format!("you trust {shown} no more\n")),
        Format::Text => output::print(&format!("you did not trust {shown}\n")),
    }
}

fn print_list(trust: &Trust, globals: &Globals) -> Result<(), Failure> {
    let all = trust.list()?;
    match Format::of(globals) {
        Format::Json => output::print_json(&all),
        Format::Text => {
            let rows: Vec<_> = all.iter().map(|one| vec![one.path.clone(), one.trusted_at.clone()]).collect();
            output::print(&output::table(&["WORKSPACE", "SINCE"], &rows))
        }
    }
}
