//! `hina resolve`: records which candidate a name refers to.

use std::time::SystemTime;

use hinagata::{Catalog, Code, PromptId, SHARED_PROMPTS, record_resolution};
use serde_json::json;

use super::candidates::{candidates_table, chosen_source};
use crate::{
    completion, difference,
    failure::Failure,
    output::{self, Format},
    terminal,
    workspace::{Globals, Workspace},
};

/// Choose which candidate a name refers to
///
/// The choice is recorded in resolution.json beside your prompts. Without SOURCE, the command shows the candidates and
/// their differences, and asks.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prompt, by any of its names
    #[arg(add = completion::complete_prompts())]
    id: String,

    /// The candidate to choose, as printed by `hina candidates`
    source: Option<String>,

    /// Delete the recorded choice
    #[arg(long, conflicts_with = "source")]
    undo: bool,
}

const EXAMPLES: &str = "Examples:
  hina resolve code_review                                          ask
  hina resolve code_review user_data/shared/prompts/code_review     choose
  hina resolve code_review --undo                                   take it back";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let catalog = workspace.open_catalog();
    match &arguments.source {
        _ if arguments.undo => undo(&catalog, &arguments.id, globals),
        Some(source) => choose(&catalog, &arguments.id, source, globals),
        None => ask(&catalog, &arguments.id, globals),
    }
}

fn choose(catalog: &Catalog, id: &str, source: &str, globals: &Globals) -> Result<(), Failure> {
    // As completion of paths in a shell writes it.
    let source = source.strip_prefix("./").unwrap_or(source);
    let after = catalog.set_resolution(id, source, SystemTime::now())?;
    print_resolution(&after, id, globals)
}

/// Prints the candidate that `id` refers to now.
fn print_resolution(catalog: &Catalog, id: &str, globals: &Globals) -> Result<(), Failure> {
    let choice = catalog.choose(id)?;
    match Format::from_globals(globals) {
        Format::Json => {
            output::print_json(&json!({"prompt_id": choice.id.as_str(), "source": choice.entry.source()}))
        }
        Format::Text => output::print_text(&format!(
            "{} is {}\n",
            choice.id,
            output::sanitize_text(choice.entry.source())
        )),
    }
}

fn undo(catalog: &Catalog, name: &str, globals: &Globals) -> Result<(), Failure> {
    // The chosen candidate may no longer exist, so the name may be unknown.
    let id = catalog.resolve_id(name).or_else(|_| PromptId::new(name))?;
    if catalog.resolutions().get(&id).is_none() {
        return Err(hinagata::Error::new(Code::NotFound, format!("no resolution recorded for `{id}`"))
            .with("prompt_id", id.as_str())
            .into());
    }
    record_resolution(&catalog.root().join(SHARED_PROMPTS), &id, None, SystemTime::now())?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&json!({"prompt_id": id.as_str(), "source": null})),
        Format::Text => output::print_text(&format!("deleted the resolution of {id}\n")),
    }
}

/// Asks which candidate to use. Without a terminal, an unresolved conflict is an error.
fn ask(catalog: &Catalog, id: &str, globals: &Globals) -> Result<(), Failure> {
    let candidates = catalog.candidates(id)?;
    let usable: Vec<_> = candidates.iter().filter(|candidate| candidate.approved).collect();
    if usable.len() < 2 || !terminal::can_ask() || globals.json {
        return print_resolution(catalog, id, globals);
    }
    let entries = catalog.candidate_entries(id)?;
    let table = candidates_table(&candidates, chosen_source(catalog, id).as_deref());
    output::print_status(&format!("{}\n{table}\n", difference::diff_candidates(&entries).trim_start()));
    match terminal::ask_number("which one should be used?", candidates.len())? {
        Some(number) => choose(catalog, id, &candidates[number - 1].source, globals),
        None => print_resolution(catalog, id, globals),
    }
}
