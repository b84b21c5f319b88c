//! `hina key`: a new key for the daemon.

use hinagata::{Digest, settings::UserConfig};
use hinagata_server::{Scope, new_secret};
use serde_json::json;

use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::Globals,
};

/// Create an API key for the daemon
///
/// Prints the key, which is not saved, and to standard error the entry with its hash for your settings. Once keys are
/// configured, the daemon serves only callers with a key. Keys in hinagata.toml require trust in the workspace.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Who gets it, as the audit log will call them
    name: String,

    /// What it allows; several times for several
    #[arg(long = "scope", value_name = "SCOPE", default_values = ["read", "render"],
        value_parser = Scope::ALL.map(Scope::as_str))]
    scopes: Vec<String>,

    /// The prompts that it is for, by id with * for anything; several times for several [default: all]
    #[arg(long = "prompt", value_name = "PATTERN")]
    prompts: Vec<String>,

    /// The shared variables that it may read, by id with * for anything; several times for several [default: all, or
    /// none with --prompt]
    #[arg(long = "environ", value_name = "PATTERN")]
    environs: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  hina key ci
  hina key editor --scope read --scope render --scope chat
  hina key partner --prompt 'support.*'";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let key = new_secret()?;
    let hash = format!("sha256:{}", Digest::sha256(key.as_bytes()));
    let Arguments { name, scopes, prompts, environs } = arguments;
    if Format::from_globals(globals) == Format::Json {
        return output::print_json(&json!({
            "key": key, "hash": hash, "name": name, "scopes": scopes, "prompts": prompts, "environs": environs,
        }));
    }
    let list = |words: &[String]| json!(words).to_string().replace(',', ", ");
    let mut table =
        format!("[[keys]]\nname = {}\nhash = \"{hash}\"\nscopes = {}\n", json!(name), list(scopes));
    if !prompts.is_empty() {
        table.push_str(&format!("prompts = {}\n", list(prompts)));
    }
    if !environs.is_empty() {
        table.push_str(&format!("environs = {}\n", list(environs)));
    }
    // User settings protect the daemon even if the workspace changes.
    let own = UserConfig::find(|name| std::env::var_os(name)).path;
    let own = own.map_or_else(|| "your own settings".to_owned(), |path| path.display().to_string());
    output::print_status(&format!(
        "Add this to {own}, and keep the key itself:\n\n{table}\nIn {} it counts once you ran `hina trust`, and the \
         daemon does not start when that changes.\n\n",
        hinagata::SETTINGS_FILE
    ));
    output::print_text(&format!("{key}\n"))
}
