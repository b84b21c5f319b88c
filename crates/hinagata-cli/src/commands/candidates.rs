//! `hina candidates`: every directory that a name could mean.

use hinagata::{Candidate, Catalog};

use crate::{
    completion, difference,
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// List the candidates of a name
///
/// Candidates are in search order and include packs that are not approved. A star marks the chosen one.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prompt, by any of its names
    #[arg(add = completion::complete_prompts())]
    id: String,

    /// Show how the other candidates differ from the first
    #[arg(long)]
    diff: bool,
}

const EXAMPLES: &str = "Examples:
  hina candidates code_review
  hina candidates code_review --diff
  hina candidates code_review --json
  hina resolve code_review         choose one";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let catalog = workspace.open_catalog();
    let candidates = catalog.candidates(&arguments.id)?;
    workspace.warn_unread(&catalog);
    let chosen = chosen_source(&catalog, &arguments.id);
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&catalog.candidates_json(&arguments.id)?),
        Format::Text => {
            output::print_text(&candidates_table(&candidates, chosen.as_deref()))?;
            // A pack may replace the prompt by one with another id.
            let own = |source: &&String| candidates.iter().all(|candidate| candidate.source != **source);
            if let Some(other) = chosen.as_ref().filter(own) {
                output::print_text(&format!(
                    "* replaced, as you accepted: {}\n",
                    output::sanitize_text(other)
                ))?;
            }
            if arguments.diff {
                output::print_text(&difference::diff_candidates(&catalog.candidate_entries(&arguments.id)?))?;
            }
            Ok(())
        }
    }
}

/// The directory that is used for `id`, if the choice is unambiguous.
pub(super) fn chosen_source(catalog: &Catalog, id: &str) -> Option<String> {
    Some(catalog.choose(id).ok()?.entry.source().to_owned())
}

/// One line for each: mark, number, directory, version, files, and approval of its pack.
pub(super) fn candidates_table(candidates: &[Candidate], chosen: Option<&str>) -> String {
    let row = |(place, candidate): (usize, &Candidate)| {
        let mark = if chosen == Some(candidate.source.as_str()) { "*" } else { " " };
        let files = [("prompt.py", candidate.has_prompt_py), ("template", candidate.has_template)];
        let files: Vec<_> = files.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
        let state = match (&candidate.pack_id, candidate.approved) {
            (Some(pack), false) => format!("pack {pack} is not approved"),
            (Some(pack), true) => format!("pack {pack}"),
            (None, _) => String::new(),
        };
        let cells = [&*candidate.source, &*candidate.version, &*files.join(", "), &*state];
        let mut row = vec![format!("{mark} {}", place + 1)];
        row.extend(cells.map(output::sanitize_text));
        row
    };
    output::align_columns(&candidates.iter().enumerate().map(row).collect::<Vec<_>>())
}
