//! `hina bisect`: which commit changed the result of a test case.

use hinagata_context::RevisionReader;
use hinagata_test::{CaseFile, RunOptions, Runner, SnapshotMode, Status, find_cases};
use serde_json::json;

use crate::{
    completion,
    failure::Failure,
    output,
    revision::{RevisionWorkspace, open_reader},
    workspace::{Globals, Workspace},
};

/// Find the commit that broke a test case
///
/// Runs a test case of the workspace on the prompts of earlier commits, without a checkout, and halves the range until
/// one commit is left. Commits whose prompts cannot be read are skipped. No Python runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prompt
    #[arg(value_name = "ID", add = completion::complete_prompts())]
    prompt: String,

    /// The name of the test case
    #[arg(long, value_name = "NAME")]
    case: String,

    /// A revision at which the case passes
    #[arg(long, value_name = "REVISION")]
    good: String,

    /// A revision at which the case fails
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    bad: String,
}

const EXAMPLES: &str = "Examples:
  hina bisect general_system --case 'names the agent' --good v1.2
  hina bisect general_system --case 'names the agent' --good v1.2 --bad main";

/// What a commit makes of the case.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Bad(String),
    /// The prompt cannot be rendered at all.
    Broken(String),
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let reader = open_reader(&workspace)?;
    let file = find_case(&workspace, arguments)?;
    let judge = |commit: &str| judge_commit(&workspace, &reader, commit, &file);
    let resolve = |revision: &str| reader.find_commit(revision).map_err(Failure::usage_error);
    let (good, bad) = (resolve(&arguments.good)?, resolve(&arguments.bad)?);
    let title = |commit: &str| reader.commit_title(commit).unwrap_or_else(|_| commit.to_owned());
    let bad_verdict = judge(&bad)?;
    match (judge(&good)?, &bad_verdict) {
        (Verdict::Good, Verdict::Good) => {
            return Err(Failure::usage_error(format!("the case passes at `{}` too", arguments.bad))
                .with_hint("name a revision at which it fails with `--bad`"));
        }
        (Verdict::Bad(why) | Verdict::Broken(why), _) => {
            return Err(Failure::usage_error(format!("the case fails at `{}`: {why}", arguments.good))
                .with_hint("name a revision at which it passes with `--good`"));
        }
        _ => {}
    }
    let commits = reader.list_commits(&good, &bad).map_err(Failure::usage_error)?;
    if commits.last() != Some(&bad) {
        return Err(Failure::usage_error(format!(
            "`{}` does not follow `{}`",
            arguments.bad, arguments.good
        )));
    }
    // If the bad revision itself cannot render, that is what is looked for.
    let seeks_broken = matches!(bad_verdict, Verdict::Broken(_));
    let found = halve_range(&commits, &bad_verdict, |commit| {
        let verdict = match judge(commit)? {
            Verdict::Broken(why) if seeks_broken => Verdict::Bad(why),
            verdict => verdict,
        };
        let word = match &verdict {
            Verdict::Good => "good",
            Verdict::Bad(_) => "bad",
            Verdict::Broken(_) => "skipped",
        };
        output::print_status(&format!("{word}: {}\n", title(commit)));
        Ok(verdict)
    })?;
    let skipped: Vec<String> = found.skipped.iter().map(|commit| title(commit)).collect();
    if globals.json {
        return output::print_json(&json!({
            "commit": found.commit, "title": title(&found.commit), "failure": found.failure, "skipped": found.skipped,
        }));
    }
    let mut text = format!("{} is the first bad commit\n{}\n", title(&found.commit), found.failure);
    if !skipped.is_empty() {
        text.push_str(&format!("or one of these, which could not be tested:\n  {}\n", skipped.join("\n  ")));
    }
    output::print_text(&text)
}

/// The first bad commit.
struct Found {
    commit: String,
    failure: String,
    /// Commits before it that could not be tested.
    skipped: Vec<String>,
}

/// Halves `commits`, oldest first, of which the last is bad and what is before the first is good.
fn halve_range(
    commits: &[String],
    bad: &Verdict,
    judge: impl Fn(&str) -> Result<Verdict, Failure>,
) -> Result<Found, Failure> {
    let describe = |verdict: &Verdict| match verdict {
        Verdict::Bad(why) | Verdict::Broken(why) => why.clone(),
        Verdict::Good => String::new(),
    };
    // `low` commits are good, and `commits[high]` is bad.
    let (mut low, mut high, mut failure) = (0, commits.len() - 1, describe(bad));
    let mut broken: Vec<usize> = Vec::new();
    loop {
        let left: Vec<usize> = (low..high).filter(|index| !broken.contains(index)).collect();
        let Some(middle) = left.get(left.len() / 2).copied() else { break };
        match judge(&commits[middle])? {
            Verdict::Good => low = middle + 1,
            Verdict::Broken(_) => broken.push(middle),
            verdict @ Verdict::Bad(_) => {
                high = middle;
                failure = describe(&verdict);
            }
        }
    }
    broken.retain(|index| (low..high).contains(index));
    broken.sort_unstable();
    let skipped = broken.into_iter().map(|index| commits[index].clone()).collect();
    Ok(Found { commit: commits[high].clone(), failure, skipped })
}

/// The test file of the case, with this case alone. Its path is absolute, so that its snapshots stay those of the
/// workspace.
fn find_case(workspace: &Workspace, arguments: &Arguments) -> Result<CaseFile, Failure> {
    let catalog = workspace.open_catalog();
    let id = catalog.resolve_id(&arguments.prompt)?;
    let found = find_cases(&catalog, |_| true);
    let mut known = Vec::new();
    for mut file in found.files.into_iter().filter(|file| file.prompt == id.as_str()) {
        if file.cases.iter().any(|case| case.name == arguments.case) {
            file.cases.retain(|case| case.name == arguments.case);
            file.file = workspace.host.root.path.join(&file.file).to_string_lossy().replace('\\', "/");
            return Ok(file);
        }
        known.extend(file.cases.into_iter().map(|case| case.name));
    }
    let near = hinagata_value::near_names(&arguments.case, known.iter().map(String::as_str));
    let failure = Failure::not_found(format!("`{id}` has no test case called `{}`", arguments.case));
    Err(match known.is_empty() {
        true => failure.with_hint("write test cases into the directory `tests` of the prompt"),
        false => failure.with_near(near),
    })
}

fn judge_commit(
    workspace: &Workspace,
    reader: &RevisionReader,
    commit: &str,
    file: &CaseFile,
) -> Result<Verdict, Failure> {
    let revision = RevisionWorkspace::extract_commit(workspace, reader, commit)?;
    let engine = revision.open_engine()?;
    let runner = Runner {
        engine: &engine,
        settings: &workspace.host.settings,
        options: RunOptions {
            jobs: 1,
            snapshots: SnapshotMode::Refuse,
            is_complete: false,
            is_trusted: true,
            may_call_out: false,
        },
        models: None,
    };
    let report = runner.run_files(std::slice::from_ref(file), &|_| ());
    let Some(result) = report.results.first() else { return Ok(Verdict::Good) };
    Ok(match &result.status {
        Status::Passed | Status::Skipped(_) => Verdict::Good,
        Status::Failed(failures) => {
            let text = failures.iter().map(|failure| format!("{}: {}", failure.title, failure.message));
            let why = text.collect::<Vec<_>>().join("\n");
            // An expected error that another one took the place of is a result; every other error is none.
            let is_broken =
                failures.iter().any(|failure| failure.error.is_some() && failure.title != "error");
            if is_broken { Verdict::Broken(why) } else { Verdict::Bad(why) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(states: &str) -> (usize, Vec<String>) {
        let commits: Vec<String> = (0..states.len()).map(|index| index.to_string()).collect();
        let judge = |commit: &str| {
            let index: usize = commit.parse().expect("is a number");
            Ok(match states.as_bytes()[index] {
                b'g' => Verdict::Good,
                b'b' => Verdict::Bad("why".to_owned()),
                _ => Verdict::Broken("broken".to_owned()),
            })
        };
        let found = halve_range(&commits, &Verdict::Bad("why".to_owned()), judge).expect("is found");
        assert_eq!(found.failure, "why");
        (found.commit.parse().expect("is a number"), found.skipped)
    }

    #[test]
    fn the_first_bad_commit_is_found() {
        assert_eq!(find("gggbbb"), (3, vec![]));
        assert_eq!(find("b"), (0, vec![]));
        assert_eq!(find("gb"), (1, vec![]));
        assert_eq!(find("bbbbbbb"), (0, vec![]));
    }

    #[test]
    fn broken_commits_are_skipped() {
        assert_eq!(find("gxgxb"), (4, vec!["3".to_owned()]));
        assert_eq!(find("xxb"), (2, vec!["0".to_owned(), "1".to_owned()]));
        assert_eq!(find("gxbbb"), (2, vec!["1".to_owned()]));
    }
}
