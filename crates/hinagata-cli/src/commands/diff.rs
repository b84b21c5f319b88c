//! `hina diff`: what prompts render before and after a change. docs/design/revisions.md says how revisions are read.

use std::collections::BTreeSet;

use hinagata::{Approvals, Engine, EngineOptions};
use hinagata_test::{Side, compare_sides, find_cases};

use crate::{
    completion, exit,
    failure::Failure,
    output::{self, sanitize_text},
    revision::{RevisionWorkspace, open_reader},
    workspace::{Globals, Workspace},
};

/// Show what prompts render before and after a change
///
/// Renders every test case on both sides: two git revisions, or a revision and the files of the workspace. Prompts
/// without cases are rendered with sample values. Each changed line is shown with the line of the template or the
/// variable that it comes from. Nothing is checked out, no Python runs, and tools and providers are answered by the
/// stubs of the cases. The exit code is 1 if something differs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The revisions: A..B, or A for the change since A
    #[arg(value_name = "A..B", default_value = "HEAD")]
    range: String,

    /// Only these prompts
    #[arg(value_name = "ID", add = completion::complete_prompts())]
    prompts: Vec<String>,

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
  hina diff main..HEAD --format markdown";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let (old, new) = split_range(&arguments.range);
    let reader = open_reader(&workspace)?;
    let before = RevisionWorkspace::extract(&workspace, &reader, old)?;
    let after = match new {
        Some(new) => Some(RevisionWorkspace::extract(&workspace, &reader, new)?),
        None => None,
    };
    let old_side = before.open_side(old)?;
    let new_side = match (&after, new) {
        (Some(after), Some(new)) => after.open_side(new)?,
        _ => working_side(&workspace)?,
    };
    let wanted = wanted_prompts(&arguments.prompts, &[&old_side, &new_side])?;
    let is_wanted = |id: &str| wanted.is_empty() || wanted.contains(id);
    let comparison = crate::stack::run_with_stack(&workspace.host.settings.limits(), || {
        Ok(compare_sides(&old_side, &new_side, &is_wanted))
    })?;
    match arguments.format {
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
fn working_side(workspace: &Workspace) -> Result<Side, Failure> {
    let host = &workspace.host;
    let approvals =
        host.state.as_ref().map_or_else(Approvals::default, |state| Approvals::load(state, &host.root.path));
    // Like the engine of a revision: without store, libraries and calls.
    let options = EngineOptions::from(&host.settings);
    let engine = Engine::builder(&host.root.path).with_options(options).with_approvals(approvals).open();
    let files = find_cases(&engine.catalog(), |_| true).files;
    Ok(Side { name: "workspace".to_owned(), engine, files })
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
}
