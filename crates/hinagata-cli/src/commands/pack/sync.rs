//! `hina pack sync`.

use hinagata::Approval;
use hinagata_packs::{SyncChange, SyncOptions, SyncReport, SyncedPack, UpdateChoice};

use super::{open_packs, open_source};
use crate::{
    failure::Failure,
    output::{self, Format, sanitize_text, serialized_name},
    workspace::{Globals, Workspace},
};

/// Install the packs that hinagata.toml wants
///
/// Fetches the packs in `[packs]` and those that they require, checks hashes and signatures, installs them and writes
/// hinagata.lock. Versions and commits that are locked already stay the same. Approving them is a separate step.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Install exactly what hinagata.lock says, and fail if hinagata.toml or a source differs from it
    #[arg(long)]
    frozen: bool,

    /// Approve the packs whose files are the locked ones, and record the locked choices; for machines without a person
    #[arg(long)]
    approve_locked: bool,

    /// Replace installed packs whose files were changed by hand
    #[arg(long)]
    replace: bool,
}

const EXAMPLES: &str = "Examples:
  hina pack sync
  hina pack sync --frozen --approve-locked     in CI";

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let source = open_source(&workspace)?;
    let options = SyncOptions {
        frozen: arguments.frozen,
        approve_locked: arguments.approve_locked,
        replace: arguments.replace,
        ..SyncOptions::new(&workspace.host.settings, &*source)
    };
    print_report(&open_packs(&workspace)?.sync(&options)?, globals)
}

/// Updates some packs, or all.
pub(super) fn update(update: UpdateChoice, replace: bool, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let source = open_source(&workspace)?;
    let options = SyncOptions { update, replace, ..SyncOptions::new(&workspace.host.settings, &*source) };
    print_report(&open_packs(&workspace)?.sync(&options)?, globals)
}

pub(super) fn print_report(report: &SyncReport, globals: &Globals) -> Result<(), Failure> {
    if Format::from_globals(globals) == Format::Json {
        return output::print_json(report);
    }
    output::print_text(&report.packs.iter().map(format_pack).collect::<String>())?;
    for choice in &report.choices {
        output::print_status(&format!("recorded the locked choice for {}\n", sanitize_text(choice)));
    }
    if report.lock_changed {
        output::print_status("wrote hinagata.lock\n");
    }
    for pack in &report.packs {
        let id = sanitize_text(&pack.pack_id);
        if let Some(why) = &pack.withdrawn {
            output::print_status(&format!(
                "warning: {id} {} was withdrawn: {}\n",
                sanitize_text(&pack.version),
                sanitize_text(why)
            ));
        }
        let is_there = !matches!(pack.change, SyncChange::Removed | SyncChange::Left);
        if is_there && pack.state != Approval::Approved {
            output::print_status(&format!(
                "{id} is {}: nothing of it is used before `hina pack approve {id}`\n",
                pack.state
            ));
        }
        if pack.change == SyncChange::Left {
            output::print_status(&format!(
                "{id} is not wanted any more, but its files were changed by hand; remove it with `hina pack remove {id}`\n"
            ));
        }
    }
    Ok(())
}

fn format_pack(pack: &SyncedPack) -> String {
    let version = match &pack.version_before {
        Some(before) if *before != pack.version => {
            format!("{} -> {}", sanitize_text(before), sanitize_text(&pack.version))
        }
        _ => sanitize_text(&pack.version),
    };
    let source =
        pack.source.as_ref().map(|source| format!(" from {}", sanitize_text(source))).unwrap_or_default();
    format!("{} {} {version}{source}\n", serialized_name(&pack.change), sanitize_text(&pack.pack_id))
}
