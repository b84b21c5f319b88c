//! `conformance KIND DIR`: runs the cases of a directory and reports which ones differ.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on its streams")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use conformance::kinds::{KINDS, Kind};
use conformance::{CaseReport, InputError, Progress, Report, Selection, run_cases};

/// Run recorded cases against the engines of Hinagata.
///
/// Runs every `*.json` file of DIR, except for the cases that its `skips.toml` lists with a reason. Prints failing
/// cases with the expected and the actual outcome, then a summary line.
#[derive(Parser)]
#[command(
    after_help = "Exit codes: 0 all passed, 1 a case failed or a skip is not used, 2 usage or unreadable input.\n\n\
    Example:\n  conformance jinja tests/vectors/jinja --only filters-string/"
)]
struct Arguments {
    /// The kind of the cases; --kinds lists them
    #[arg(value_parser = Kind::from_name, required_unless_present = "kinds")]
    kind: Option<Kind>,
    /// The directory of the cases
    #[arg(required_unless_present = "kinds")]
    dir: Option<PathBuf>,
    /// List the kinds that this build has an engine for
    #[arg(long, exclusive = true)]
    kinds: bool,
    /// Print the questions of kind `module`, one JSON object on each line, and run nothing
    #[arg(long)]
    questions: bool,
    /// Run only cases whose id contains this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print failing cases without the two sides
    #[arg(long)]
    brief: bool,
    /// Print counts and failures as JSON; the summary goes to standard error
    #[arg(long)]
    json: bool,
    /// Print each case on standard error before it runs, to find one that kills the process
    #[arg(long, short)]
    verbose: bool,
}

impl Arguments {
    fn print_progress(&self, progress: &Progress<'_>) {
        match progress {
            Progress::Started(id) if self.verbose => eprintln!("run {id}"),
            Progress::Ended(case) if !self.json => self.print_case(case),
            _ => {}
        }
    }

    fn print_case(&self, case: &CaseReport) {
        if self.brief {
            print!("{}", case.to_brief());
        } else {
            print!("{}", case.to_full());
        }
    }

    fn print_end(&self, report: &Report) {
        if self.json {
            println!("{:#}", report.to_json());
            eprintln!("{}", report.summary());
        } else {
            print!("{}", report.describe_unused());
            print!("{}", conformance::kinds::exchange::describe_refused());
            println!("{}", report.summary());
        }
    }
}

fn main() -> ExitCode {
    hinagata_python::launch_if_requested();
    let arguments = Arguments::parse();
    let (Some(kind), Some(dir)) = (arguments.kind, &arguments.dir) else {
        for kind in KINDS.iter().filter(|kind| kind.ready) {
            println!("{}", kind.name);
        }
        return ExitCode::SUCCESS;
    };
    if arguments.questions {
        return print_questions(kind, dir);
    }
    match run_all(&arguments, kind, dir) {
        Ok(report) if report.failed() == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn print_questions(kind: Kind, dir: &Path) -> ExitCode {
    if kind.name != "module" {
        eprintln!("error: only the kind `module` has questions");
        return ExitCode::from(2);
    }
    match conformance::kinds::module::list_questions(dir) {
        Ok(questions) => {
            questions.iter().for_each(|question| println!("{question}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_all(arguments: &Arguments, kind: Kind, dir: &Path) -> Result<Report, InputError> {
    let cases = kind.load_cases(dir)?;
    let selection = Selection { only: arguments.only.clone() };
    let report = run_cases(dir, &cases, &selection, &mut |progress| arguments.print_progress(&progress))?;
    arguments.print_end(&report);
    Ok(report)
}
