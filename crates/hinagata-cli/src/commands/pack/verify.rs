//! `hina pack verify`.

use hinagata::Approval;
use hinagata_packs::{FileDiff, Verification};

use super::{open_packs, page::visible_text};
use crate::{
    completion, exit,
    failure::Failure,
    output::{self, Format, sanitize_text, serialized_name},
    workspace::{Globals, Workspace},
};

/// Check that packs match their approval
///
/// Without a name, the command checks all packs. It shows how files differ from the approved content. The exit code is
/// 6 if a pack is not approved or has changed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina pack verify\n  hina pack verify git_toolkit")]
pub(super) struct Arguments {
    /// The pack
    #[arg(add = completion::complete_packs())]
    pack: Option<String>,
}

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let packs = open_packs(&workspace)?;
    let names: Vec<String> = match &arguments.pack {
        Some(pack) => vec![pack.clone()],
        None => packs.list().iter().map(|pack| pack.pack_id.to_string()).collect(),
    };
    let found = names.iter().map(|pack| packs.verify(pack)).collect::<Result<Vec<_>, _>>()?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&found)?,
        Format::Text => output::print_text(&found.iter().map(text).collect::<String>())?,
    }
    match found.iter().all(|one| one.state == Approval::Approved) {
        true => Ok(()),
        false => Err(Failure::Printed(exit::Code::Permission)),
    }
}

fn text(found: &Verification) -> String {
    let since = match (&found.approved_at, found.state) {
        (Some(at), Approval::Approved) => format!(" at {at}"),
        (Some(at), _) => format!(", was approved at {at}"),
        (None, _) => String::new(),
    };
    let mut text = format!(
        "{} {}: {}{since}\n",
        sanitize_text(found.pack_id.as_str()),
        sanitize_text(&found.version),
        found.state
    );
    text.push_str(&format_changes(found));
    text
}

/// The files that differ from what was approved, with their differences.
pub(super) fn format_changes(found: &Verification) -> String {
    let refused = found.refused.iter();
    let mut text: String = refused
        .map(|refused| format!("  refused {} ({})\n", sanitize_text(&refused.path), refused.reason))
        .collect();
    text.extend(found.files.iter().map(file));
    text
}

fn file(file: &FileDiff) -> String {
    let note = file.note.map(|note| format!(" ({note})")).unwrap_or_default();
    let mut text = format!("  {} {}{note}\n", serialized_name(&file.change), sanitize_text(&file.path));
    for line in file.diff.iter().flat_map(|diff| diff.lines()) {
        text.push_str(format!("    {}", visible_text(line)).trim_end());
        text.push('\n');
    }
    text
}
