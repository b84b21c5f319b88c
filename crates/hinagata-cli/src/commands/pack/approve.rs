//! `hina pack approve`.

use std::time::SystemTime;

use hinagata::PromptId;
use hinagata_packs::{PackDetails, PackSummary, Packs, Replacement, ReplacementKind, ReplacementState};
use serde_json::json;

use super::{open_packs, page, review_pack};
use crate::{
    completion,
    failure::Failure,
    output::{self, Format, sanitize_text, serialized_name},
    terminal,
    workspace::{Globals, Workspace},
};

/// Approve the current content of a pack
///
/// On a terminal, the command shows the same as `hina pack show`, with the differences from what you approved before, and
/// asks for confirmation, also for every proposed replacement. Later changes are not used until you approve them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::complete_packs())]
    pack: String,

    /// Accept the replacement of this prompt or tool
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,

    /// Decline the replacement of this prompt or tool
    #[arg(long, value_name = "ID")]
    decline: Vec<String>,

    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

const EXAMPLES: &str = "Examples:
  hina pack approve git_toolkit
  hina pack approve memory_plus --accept memory_update
  hina pack approve memory_plus --decline memory_update --yes";

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let mut packs = open_packs(&workspace)?;
    let asks = terminal::can_ask() && !arguments.yes && !globals.json;
    let details = if asks {
        let review = review_pack(&workspace, &packs, &arguments.pack, false)?;
        output::print_status(&format!("{}\n", page::format_review(&workspace, &review)));
        if !terminal::ask_yes("approve this pack?")? {
            return output::print_text("nothing was approved\n");
        }
        review.details
    } else {
        packs.outline(&arguments.pack)?
    };
    // If something was shown, exactly that is approved. Later changes are not covered.
    let summary = packs.approve(&arguments.pack, details.content.as_ref(), SystemTime::now())?;
    let decided = decide(arguments, &mut packs, &details, asks)?;
    print_report(&summary, &decided, &open_proposals(&details, &decided), globals)
}

/// Accepts and declines proposals: as the arguments say, and as the user answers.
fn decide(
    arguments: &Arguments,
    packs: &mut Packs,
    details: &PackDetails,
    asks: bool,
) -> Result<Vec<Replacement>, Failure> {
    let now = SystemTime::now();
    let mut decided = Vec::new();
    for prompt in &arguments.accept {
        decided.push(packs.accept_replacement(&arguments.pack, prompt, now)?);
    }
    for prompt in &arguments.decline {
        decided.push(packs.decline_replacement(&arguments.pack, prompt, now)?);
    }
    for replacement in open_proposals(details, &decided).into_iter().filter(|_| asks) {
        let Replacement { replaces, by, .. } = replacement;
        decided.push(
            match terminal::ask_yes(&format!(
                "let `{}` replace `{}`?",
                sanitize_text(by),
                sanitize_text(replaces)
            ))? {
                true => packs.accept_replacement(&arguments.pack, replaces, now)?,
                false => packs.decline_replacement(&arguments.pack, replaces, now)?,
            },
        );
    }
    Ok(decided)
}

/// Undecided proposals about prompts and tools.
fn open_proposals<'d>(details: &'d PackDetails, decided: &[Replacement]) -> Vec<&'d Replacement> {
    let is_open = |one: &&Replacement| {
        let known = decided.iter().any(|decided| decided.replaces == one.replaces);
        let is_there = match one.kind {
            ReplacementKind::Prompt => has_prompt(details, &one.by),
            ReplacementKind::Tool => has_tool(details, &one.by),
            ReplacementKind::Flow => false,
        };
        is_there && one.state == ReplacementState::Open && !known
    };
    details.replaces.iter().filter(is_open).collect()
}

/// Whether the pack has the prompt that it proposes.
fn has_prompt(details: &PackDetails, by: &str) -> bool {
    PromptId::new(by).is_ok_and(|id| details.prompts.iter().any(|prompt| prompt.prompt_id == id))
}

/// Whether the pack has the tool that it proposes, named with or without the pack.
fn has_tool(details: &PackDetails, by: &str) -> bool {
    let pack = details.summary.pack_id.as_str();
    let name = by.strip_prefix(pack).and_then(|rest| rest.strip_prefix('.')).unwrap_or(by);
    details.tools.iter().any(|tool| tool == name)
}

fn print_report(
    summary: &PackSummary,
    decided: &[Replacement],
    open: &[&Replacement],
    globals: &Globals,
) -> Result<(), Failure> {
    if Format::from_globals(globals) == Format::Json {
        return output::print_json(&json!({"pack": summary, "decided": decided, "open": open}));
    }
    let id = sanitize_text(summary.pack_id.as_str());
    let mut text = format!("{id} is {}\n", summary.state);
    for one in decided {
        text.push_str(&format!(
            "replacement of `{}` by `{}`: {}\n",
            sanitize_text(&one.replaces),
            sanitize_text(&one.by),
            serialized_name(&one.state)
        ));
    }
    output::print_text(&text)?;
    for one in open {
        let replaces = sanitize_text(&one.replaces);
        output::print_status(&format!(
            "It proposes to replace `{replaces}`: `hina pack approve {id} --accept {replaces}`, or `--decline {replaces}`.\n"
        ));
    }
    Ok(())
}
