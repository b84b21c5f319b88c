//! `hina lock`.

use std::collections::BTreeMap;

use hinagata::Engine;
use hinagata_packs::{LOCK_FILE, LockOptions};
use serde_json::json;

use crate::{
    commands::pack::open_packs,
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Lock the packs and choices of the workspace as they are now
///
/// Writes hinagata.lock: versions and hashes of packs, recorded choices, tools of the store, tokenizer files. Fetches
/// nothing. If the file has conflict markers of a merge, both sides are merged. With --frozen, other commands then fail
/// if the workspace differs.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina lock\n  hina lock --prompts --tools")]
pub(crate) struct Arguments {
    /// Lock the files of every prompt, too
    #[arg(long)]
    prompts: bool,

    /// Lock the schemas that the servers of MCP and gRPC tools state, too; this asks the servers
    #[arg(long)]
    tools: bool,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let prompts = match arguments.prompts {
        true => Some(prompt_hashes(&workspace, &workspace.open_engine()?)),
        false => None,
    };
    let tool_schemas = match arguments.tools {
        true => workspace.open_engine()?.server_schemas_blocking()?,
        false => BTreeMap::new(),
    };
    let options = LockOptions { prompts, tool_schemas };
    let lock = open_packs(&workspace)?.lock_state(&workspace.host.settings, &options)?;
    let changed = lock.write(&workspace.host.root.path)?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&json!({"path": LOCK_FILE, "changed": changed})),
        Format::Text if changed => output::print_text(&format!("wrote {LOCK_FILE}\n")),
        Format::Text => output::print_text(&format!("{LOCK_FILE} is up to date\n")),
    }
}

/// The SHA-256 of the files of every prompt that can be rendered. Others are reported.
fn prompt_hashes(workspace: &Workspace, engine: &Engine) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for listing in engine.catalog().list() {
        let id = listing.id.as_str();
        match engine.definition_hash(id) {
            Ok(hash) => drop(hashes.insert(id.to_owned(), hash)),
            Err(error) => workspace.print_advice(
                format!("the prompt `{id}` is not locked: {}", error.message()),
                "`hina check` shows what is wrong with it",
            ),
        }
    }
    hashes
}
