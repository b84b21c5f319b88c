//! `hina diff`: what prompts render before and after a change. docs/design/revisions.md says how revisions and versions of
//! packs are read.

use std::collections::BTreeSet;

use hinagata::{Approvals, Engine, EngineOptions};
use hinagata_packs::{GitRevision, PackLocation, PackVersion, VersionChoice, WantedPack, WantedPacks};
use hinagata_test::{Side, compare_sides, find_cases};

use crate::{
    commands::pack::{open_packs, open_source},
    completion, exit,
    failure::Failure,
    output::{self, sanitize_text},
    revision::{RevisionWorkspace, open_reader},
    workspace::{Globals, Workspace},
};

/// Show what prompts render before and after a change
///
/// Renders every test case on both sides: two git revisions, a revision and the files of the workspace, or with --pack
/// two versions of a pack in this workspace. Prompts without cases are rendered with sample values. Each changed line is shown with the line of the template or the
/// variable that it comes from. Nothing is checked out, no Python runs, and tools and providers are answered by the
/// stubs of the cases. The exit code is 1 if something differs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The revisions: A..B, or A for the change since A [default: HEAD]; with --pack, the first prompt
    #[arg(value_name = "A..B")]
    range: Option<String>,

    /// Only these prompts
    #[arg(value_name = "ID", add = completion::complete_prompts())]
    prompts: Vec<String>,

    /// Compare two versions of a pack: installed, approved, installed before, or in a source on this machine. Without A
    /// the approved files, without B the installed ones; 1 is the newest version that starts with 1. Nothing is fetched
    #[arg(long, value_name = "PACK[@A..B]", add = completion::complete_packs())]
    pack: Option<String>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// For people
    Text,
    /// For scripts
    Json,
    /// For comments on a change
    Markdown,
}

const EXAMPLES: &str = "Examples:
  hina diff
  hina diff main
  hina diff v1.2..v1.3 general_system
  hina diff main..HEAD --format markdown
  hina diff --pack git_toolkit                 what an approval would change
  hina diff --pack git_toolkit@1..2 commit_message";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    match &arguments.pack {
        Some(pack) => {
            let (old, new) = find_versions(&workspace, pack)?;
            let (old_side, new_side) = pack_sides(&workspace, &old, &new);
            let prompts: Vec<String> = arguments.range.iter().chain(&arguments.prompts).cloned().collect();
            print_comparison(&workspace, &old_side, &new_side, &prompts, arguments.format, globals)
        }
        None => {
            let (old, new) = split_range(arguments.range.as_deref().unwrap_or("HEAD"));
            let reader = open_reader(&workspace)?;
            let before = RevisionWorkspace::extract(&workspace, &reader, old)?;
            let after = match new {
                Some(new) => Some(RevisionWorkspace::extract(&workspace, &reader, new)?),
                None => None,
            };
            let old_side = before.open_side(old)?;
            let new_side = match (&after, new) {
                (Some(after), Some(new)) => after.open_side(new)?,
                _ => working_side(&workspace),
            };
            print_comparison(&workspace, &old_side, &new_side, &arguments.prompts, arguments.format, globals)
        }
    }
}

/// Compares both sides and prints the report.
fn print_comparison(
    workspace: &Workspace,
    old: &Side,
    new: &Side,
    prompts: &[String],
    format: ReportFormat,
    globals: &Globals,
) -> Result<(), Failure> {
    let wanted = wanted_prompts(prompts, &[old, new])?;
    let is_wanted = |id: &str| wanted.is_empty() || wanted.contains(id);
    let comparison = crate::stack::run_with_stack(&workspace.host.settings.limits(), || {
        Ok(compare_sides(old, new, &is_wanted))
    })?;
    match format {
        _ if globals.json => output::print_json(&comparison.to_json())?,
        ReportFormat::Json => output::print_json(&comparison.to_json())?,
        ReportFormat::Markdown => output::print_text(&comparison.to_markdown())?,
        ReportFormat::Text => {
            let text = comparison.to_text();
            let clean: String = text.lines().map(|line| format!("{}\n", sanitize_text(line))).collect();
            output::print_text(&clean)?;
        }
    }
    if comparison.is_different() { Err(Failure::Printed(exit::Code::Failed)) } else { Ok(()) }
}

/// The old revision, and the new one unless the files of the workspace are meant.
fn split_range(range: &str) -> (&str, Option<&str>) {
    match range.split_once("..") {
        Some((old, new)) => {
            let new = new.trim_start_matches('.');
            (if old.is_empty() { "HEAD" } else { old }, Some(if new.is_empty() { "HEAD" } else { new }))
        }
        None => (range, None),
    }
}

/// The files of the workspace as they are.
fn working_side(workspace: &Workspace) -> Side {
    open_side(workspace, "workspace".to_owned(), None)
}

/// The workspace with both versions of a pack.
fn pack_sides(workspace: &Workspace, old: &PackVersion, new: &PackVersion) -> (Side, Side) {
    let is_same = old.version == new.version;
    let name = |version: &PackVersion| match is_same {
        true => format!("{}@{} ({})", version.pack, version.version, version.origin),
        false => format!("{}@{}", version.pack, version.version),
    };
    (open_side(workspace, name(old), Some(old)), open_side(workspace, name(new), Some(new)))
}

/// The engine of the workspace, like that of a revision: without store, libraries and calls.
fn open_side(workspace: &Workspace, name: String, version: Option<&PackVersion>) -> Side {
    let host = &workspace.host;
    let approvals =
        host.state.as_ref().map_or_else(Approvals::default, |state| Approvals::load(state, &host.root.path));
    let options = EngineOptions::from(&host.settings);
    let mut builder = Engine::builder(&host.root.path).with_options(options).with_approvals(approvals);
    if let Some(version) = version {
        builder = builder.with_pack_directory(version.pack.clone(), version.directory());
    }
    let engine = builder.open();
    let files = find_cases(&engine.catalog(), |_| true).files;
    Side { name, engine, files }
}

/// Both versions of `PACK[@A..B]`.
fn find_versions(workspace: &Workspace, text: &str) -> Result<(PackVersion, PackVersion), Failure> {
    let (pack, old, new) = split_versions(text);
    let (packs, source) = (open_packs(workspace)?, open_source(workspace)?);
    let find = |choice: &VersionChoice| {
        let found = packs.find_version(pack, choice, &workspace.host.settings, &*source);
        found.map_err(|error| {
            let is_absent = error.details().contains_key("versions");
            let failure = Failure::from(error);
            match (is_absent, choice) {
                (true, VersionChoice::Number(number)) => {
                    failure.with_hint(fetch_hint(workspace, pack, number))
                }
                _ => failure,
            }
        })
    };
    Ok((find(&old)?, find(&new)?))
}

/// The pack and the two versions that are named.
fn split_versions(text: &str) -> (&str, VersionChoice, VersionChoice) {
    let (pack, range) = text.split_once('@').unwrap_or((text, ""));
    let (old, new) = range.split_once("..").unwrap_or((range, ""));
    let choice = |text: &str, otherwise: VersionChoice| match text {
        "" => otherwise,
        number => VersionChoice::Number(number.to_owned()),
    };
    (pack, choice(old, VersionChoice::Approved), choice(new, VersionChoice::Installed))
}

/// The command that fetches a version of a pack.
fn fetch_hint(workspace: &Workspace, pack: &str, number: &str) -> String {
    let wanted = WantedPacks::from_settings(&workspace.host.settings).unwrap_or_default();
    let command = match wanted.packs.get(pack) {
        Some(WantedPack::Range(_)) => format!("hina pack add {pack}@={number}"),
        Some(WantedPack::Location(PackLocation::Git(git))) => match &git.revision {
            GitRevision::Tag(_) => format!("hina pack add {pack} --git {} --tag TAG", git.repository),
            GitRevision::Revision(_) => format!("hina pack update {pack}"),
        },
        Some(WantedPack::Location(PackLocation::Url { .. } | PackLocation::Index { .. })) => {
            format!("hina pack add {pack} --url ADDRESS")
        }
        Some(WantedPack::Location(PackLocation::Directory(_) | PackLocation::File(_))) | None => {
            "hina pack install PATH --replace".to_owned()
        }
    };
    format!("`{command}` installs another version, and each installed version can be compared later")
}

/// The ids that names refer to on either side.
fn wanted_prompts(names: &[String], sides: &[&Side]) -> Result<BTreeSet<String>, Failure> {
    let mut wanted = BTreeSet::new();
    for name in names {
        let mut failure = None;
        for side in sides {
            match side.engine.catalog().resolve_id(name) {
                Ok(id) => {
                    wanted.insert(id.to_string());
                }
                Err(error) => failure = Some(error),
            }
        }
        if let (Some(error), true) = (failure, wanted.is_empty()) {
            return Err(error.into());
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_one_or_two_revisions() {
        assert_eq!(split_range("a..b"), ("a", Some("b")));
        assert_eq!(split_range("a..."), ("a", Some("HEAD")));
        assert_eq!(split_range("a"), ("a", None));
        assert_eq!(split_range("..b"), ("HEAD", Some("b")));
    }

    #[test]
    fn versions_of_a_pack_are_named_or_those_that_an_approval_would_exchange() {
        let number = |text: &str| VersionChoice::Number(text.to_owned());
        let (approved, installed) = (VersionChoice::Approved, VersionChoice::Installed);
        assert_eq!(split_versions("p@1..2"), ("p", number("1"), number("2")));
        assert_eq!(split_versions("p@1.2.0..1.3.0"), ("p", number("1.2.0"), number("1.3.0")));
        assert_eq!(split_versions("p@1"), ("p", number("1"), installed.clone()));
        assert_eq!(split_versions("p@..2"), ("p", approved.clone(), number("2")));
        assert_eq!(split_versions("p"), ("p", approved, installed));
    }
}
