//! `hina test`: runs the test cases of prompts.

mod select;
#[cfg(feature = "watch")]
mod watch;

use std::{env, thread};

use hinagata_test::{
    CaseFile, Report, RunOptions, Runner, SnapshotMode,
    report::{case_text, summary_text, to_github, to_json, to_junit, to_tap},
};

use self::select::Selection;
use crate::{
    completion,
    diagnostic::Diagnostic,
    exit,
    failure::Failure,
    output::{self, Format, sanitize_text},
    progress::Bar,
    workspace::{FrozenArgument, Globals, Workspace},
};

/// Run the test cases of prompts
///
/// Cases are in the directory `tests` of a prompt, in YAML. Each renders the prompt with a fixed clock, time zone and
/// language; tools and providers are answered by stubs, models by recorded answers. Nothing leaves the machine without
/// --record or --live. The exit code is 1 if a case fails, 2 if a test file is wrong, and 5 if a provider is down.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Prompts, test files or directories to test [default: all prompts]
    #[arg(value_name = "ID|PATH", add = completion::complete_prompts())]
    targets: Vec<String>,

    /// Only cases whose prompt, file or name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,

    /// Only cases of prompts that changed since a git revision [default revision: HEAD]
    #[arg(long, value_name = "REVISION", num_args = 0..=1, default_missing_value = "HEAD")]
    changed: Option<String>,

    /// Only the I-th of N parts of the cases
    #[arg(long, value_name = "I/N", value_parser = select::parse_shard)]
    shard: Option<select::Shard>,

    /// Write all snapshots, and remove those that no case uses
    #[arg(long)]
    update: bool,

    /// Call models where no answer is recorded, and record it
    #[arg(long)]
    record: bool,

    /// Call models, and record nothing
    #[arg(long, conflicts_with = "record")]
    live: bool,

    /// Maximum calls of models
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    max_calls: u64,

    /// Maximum cost of calls of models, in dollars; the settings have the prices
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,

    /// Also list the cases that pass
    #[arg(long, short)]
    verbose: bool,

    /// Cases that run at the same time [default: the number of processors]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,

    /// Run again whenever a file of the workspace changes
    #[arg(long)]
    watch: bool,

    #[command(flatten)]
    frozen: FrozenArgument,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// For people, with differences
    Text,
    /// For scripts
    Json,
    /// JUnit's XML, for CI systems
    Junit,
    /// The Test Anything Protocol
    Tap,
    /// Annotations of GitHub Actions
    Github,
}

const EXAMPLES: &str = "Examples:
  hina test
  hina test general_system --verbose
  hina test --filter urgent --update
  hina test --changed main --format github
  hina test --shard 1/4 --format junit > report.xml
  hina test --record --max-calls 20";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let globals = &arguments.frozen.apply_to(globals);
    if !arguments.watch {
        return run_once(arguments, globals);
    }
    #[cfg(feature = "watch")]
    return watch::run(arguments, globals);
    #[cfg(not(feature = "watch"))]
    Err(crate::absent::missing_feature("test --watch", "watch"))
}

fn run_once(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let engine = workspace.open_engine()?;
    workspace.host.check_lock(&engine.catalog())?;
    let selection = Selection::new(arguments, &workspace, &engine)?;
    let found = selection.find_cases()?;
    if !found.problems.is_empty() {
        return Err(report_problems(&workspace, &found.problems, globals));
    }
    let total: usize = found.files.iter().map(|file| file.cases.len()).sum();
    let files = selection.select_cases(found.files)?;
    let selected: usize = files.iter().map(|file| file.cases.len()).sum();
    if selected == 0 {
        return report_nothing(arguments, total);
    }
    let options = RunOptions {
        jobs: arguments.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        snapshots: SnapshotMode::choose(arguments.update, env::var("CI").ok().as_deref()),
        is_complete: selected == total && !selection.is_partial(),
        is_trusted: workspace.host.trust.is_trusted(),
        may_call_out: arguments.live || arguments.record,
    };
    let report = run_files(arguments, &workspace, &engine, options, &files, globals)?;
    let format = if globals.json { ReportFormat::Json } else { arguments.format };
    print_report(&workspace, &report, format, arguments.verbose)?;
    let (_, failed, _) = report.counts();
    match failed {
        0 => Ok(()),
        _ if report.results.iter().any(hinagata_test::CaseResult::is_provider_down) => {
            Err(Failure::Printed(exit::Code::Network))
        }
        _ => Err(Failure::Printed(exit::Code::Failed)),
    }
}

/// No case was selected: fine where nothing changed, else probably not what was meant.
fn report_nothing(arguments: &Arguments, total: usize) -> Result<(), Failure> {
    if arguments.changed.is_some() && total > 0 && arguments.filter.is_empty() {
        output::print_status("no prompt with test cases changed\n");
        return Ok(());
    }
    match total {
        0 => Err(Failure::not_found("no test cases found")
            .with_hint("write cases into the directory `tests` of a prompt, such as tests/basic.yaml")),
        _ => Err(Failure::not_found(format!("none of the {total} test cases is selected"))),
    }
}

fn run_files(
    arguments: &Arguments,
    workspace: &Workspace,
    engine: &hinagata::Engine,
    options: RunOptions,
    files: &[CaseFile],
    globals: &Globals,
) -> Result<Report, Failure> {
    let bar = Bar::new(globals.json || arguments.format != ReportFormat::Text);
    let total = files.iter().map(|file| file.cases.len()).sum();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let on_result = |_: &hinagata_test::CaseResult| {
        let count = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        bar.show_count("case", count, total);
    };
    #[cfg(feature = "llm")]
    let models = open_models(arguments, workspace)?;
    let runner = Runner {
        engine,
        settings: &workspace.host.settings,
        options,
        #[cfg(feature = "llm")]
        models: Some(&models),
        #[cfg(not(feature = "llm"))]
        models: None,
    };
    let report = runner.run_files(files, &on_result);
    bar.clear();
    Ok(report)
}

#[cfg(feature = "llm")]
fn open_models(arguments: &Arguments, workspace: &Workspace) -> Result<hinagata_test::Cassettes, Failure> {
    use hinagata::secret::SecretAction;
    use hinagata_test::{CallLimits, CallMode, Cassettes};

    let mode = match (arguments.record, arguments.live) {
        (true, _) => CallMode::Record,
        (_, true) => CallMode::Live,
        _ => CallMode::Replay,
    };
    let limits = CallLimits { calls: arguments.max_calls, cost: arguments.max_cost };
    let host = &workspace.host;
    let policy = host.settings.secret_policy(host.trust.is_trusted()).with_action(SecretAction::Redact);
    Ok(Cassettes::new(host.llm()?, mode, limits, policy))
}

/// Prints all problems of test files.
fn report_problems(workspace: &Workspace, problems: &[hinagata::Error], globals: &Globals) -> Failure {
    let format = if globals.json { Format::Json } else { Format::Text };
    for problem in problems {
        let mut diagnostic = Diagnostic::from(problem).map_paths(|name| workspace.display_path(name));
        diagnostic.exit = exit::Code::Usage;
        output::print_diagnostic(&diagnostic, format);
    }
    let count = problems.len();
    output::print_status(&format!(
        "{count} problem{} in test files; no case ran\n",
        if count == 1 { "" } else { "s" }
    ));
    Failure::Printed(exit::Code::Usage)
}

fn print_report(
    workspace: &Workspace,
    report: &Report,
    format: ReportFormat,
    verbose: bool,
) -> Result<(), Failure> {
    match format {
        ReportFormat::Json => output::print_json(&to_json(report)),
        ReportFormat::Junit => output::print_exactly(&to_junit(report)),
        ReportFormat::Tap => output::print_exactly(&to_tap(report)),
        ReportFormat::Github => output::print_exactly(&to_github(report)),
        ReportFormat::Text => {
            let mut text = String::new();
            let display_path = |path: &str| workspace.display_path(path);
            for file in report.results.chunk_by(|one, other| one.file == other.file) {
                let passed = file.iter().filter(|result| !result.is_failed()).count();
                let shown = file
                    .iter()
                    .filter(|result| verbose || !matches!(result.status, hinagata_test::Status::Passed));
                let cases: String = shown.map(|result| indent(&case_text(result, &display_path))).collect();
                text.push_str(&format!(
                    "{}: {passed} of {} ok\n{cases}",
                    display_path(&file[0].file),
                    file.len()
                ));
            }
            text.push_str(&summary_text(report));
            let clean: String = text.lines().map(|line| format!("{}\n", sanitize_text(line))).collect();
            output::print_text(&clean)
        }
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// The files whose changes can change a result.
#[cfg(feature = "watch")]
fn watched_paths(workspace: &Workspace) -> Vec<std::path::PathBuf> {
    let host = &workspace.host;
    let mut watched =
        hinagata::watch::watched_paths(&host.root.path, &host.settings.catalog_paths(), host.state.as_ref());
    watched.extend(host.user_config.path.clone());
    watched
}
