//! `hina context pack`: files of a workspace as one text for a model.

use std::{
    fmt::Write as _,
    io::{self, BufWriter, Write as _},
    path::PathBuf,
};

use hinagata::settings::group_digits;
use hinagata_agent::{Project, choose_model, context_error};
use hinagata_context::{ContextOptions, Entry, Error, Frame, LeftOutReason, PackedContext, Packer, Report};
use serde_json::Value;

use super::render::print_warnings;
use crate::{
    failure::Failure,
    hints::hint_text,
    output::{self, Format},
    progress::Bar,
    stack,
    workspace::{Globals, Workspace, current_directory},
};

/// Pack files for a model
///
/// The section `context` of the settings controls what is packed; see docs/reference/context.md. Files with secrets,
/// binary files and files named in .gitignore, .ignore and .hinagataignore are left out.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "Examples:
  hina context pack
  hina context pack 'src/**/*.rs' README.md
  hina context pack ../other-project --max-bytes 1000000 --max-files 500
  hina context pack --focus src/auth --max-tokens 8000 --model gpt-4o
  hina context pack --report
  hina context pack --format markdown > context.md";

#[derive(clap::Subcommand)]
enum Action {
    /// Print the packed files, or a report on each file
    #[command(after_help = EXAMPLES)]
    Pack(Box<PackArguments>),
}

#[derive(clap::Args)]
struct PackArguments {
    /// A directory to pack, or patterns of files [default: as the settings say]
    #[arg(value_name = "DIR|PATTERN")]
    patterns: Vec<String>,

    /// Patterns of files to leave out, beside those of the settings
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// Files and directories that come first
    #[arg(long, value_name = "PATTERN")]
    focus: Vec<String>,

    /// Format of the packed text [default: plain]
    #[arg(long, value_name = "FRAME", value_parser = ["plain", "markdown", "xml"])]
    format: Option<String>,

    /// Maximum size of all files, in bytes [default: 250000]
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,

    /// Maximum number of files [default: 64]
    #[arg(long, value_name = "COUNT")]
    max_files: Option<usize>,

    /// Maximum number of tokens
    #[arg(long, value_name = "COUNT")]
    max_tokens: Option<usize>,

    /// The model whose tokens are counted; estimated without its tokenizer
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Include files named in ignore files
    #[arg(long)]
    include_ignored: bool,

    /// Include files that contain secrets
    #[arg(long)]
    include_secrets: bool,

    /// Include generated directories such as node_modules and target
    #[arg(long)]
    include_generated: bool,

    /// Print a report on every file instead of the text
    #[arg(long)]
    report: bool,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let Action::Pack(arguments) = &arguments.action;
    let workspace = Workspace::open(globals)?;
    let project = Project::from_settings(
        &workspace.host.settings,
        &workspace.host.root.path,
        workspace.host.trust.is_trusted(),
    )?;
    let mut options = arguments.options(project.context.clone());
    if let Some(model) = &arguments.model {
        choose_model(&mut options, &workspace.host.settings, &workspace.host.root.path, model)?;
    }
    stack::run_with_stack(&options.templates.limits.clone(), || {
        arguments.pack(&options, &Reporter { project: &project, workspace: &workspace }, globals)
    })
}

/// Warns about requested files that are not in the context.
struct Reporter<'t> {
    project: &'t Project,
    workspace: &'t Workspace,
}

impl Reporter<'_> {
    fn print_warnings(&self, report: &Report) {
        print_warnings(self.workspace, &self.project.named_warnings(report));
    }
}

impl PackArguments {
    /// The settings, overridden by the arguments of the call.
    fn options(&self, mut options: ContextOptions) -> ContextOptions {
        // A call with patterns packs only these.
        if !self.patterns.is_empty() {
            let directory = self.directory();
            options.include = if directory.is_some() { Vec::new() } else { self.patterns.clone() };
            options.base = directory.unwrap_or_else(current_directory);
            options.wall = None;
            // The names are the user's own.
            options.rules.strict = false;
            options.resources.clear();
        }
        options.exclude.extend(self.exclude.iter().cloned());
        options.focus.extend(self.focus.iter().cloned());
        options.frame = self.format.as_deref().and_then(Frame::from_name).unwrap_or(options.frame);
        options.max_bytes = self.max_bytes.unwrap_or(options.max_bytes);
        options.max_files = self.max_files.unwrap_or(options.max_files);
        options.tokens.max = self.max_tokens.or(options.tokens.max);
        options.rules.ignore_files &= !self.include_ignored;
        options.rules.secrets &= !self.include_secrets;
        options.rules.builtin &= !self.include_generated;
        options
    }

    /// The directory to pack, if the only argument is one.
    fn directory(&self) -> Option<PathBuf> {
        let [only] = self.patterns.as_slice() else { return None };
        Some(current_directory().join(only)).filter(|path| path.is_dir())
    }

    fn pack(
        &self,
        options: &ContextOptions,
        reporter: &Reporter<'_>,
        globals: &Globals,
    ) -> Result<(), Failure> {
        match Format::from_globals(globals) {
            Format::Json => {
                let packed = Packer::new(&with_token_counts(options)).pack().map_err(failure)?;
                output::print_json(&json(&packed, reporter.project)?)
            }
            Format::Text if self.report => {
                let bar = Bar::new(false);
                let on_progress = |progress| bar.show_packing(progress);
                let report = Packer::new(&with_token_counts(options))
                    .with_progress(&on_progress)
                    .write_to(&mut io::sink())
                    .map_err(failure)?;
                drop(bar);
                print_report(&report, reporter)
            }
            Format::Text => print_text(options, reporter),
        }
    }
}

/// The whole result, with requested files that are not in it.
fn json(packed: &PackedContext, project: &Project) -> Result<Value, Failure> {
    let mut all = serde_json::to_value(packed).map_err(|error| Failure::system_error(error.to_string()))?;
    let warnings = project.settings_warnings().into_iter().chain(project.warnings(&packed.report));
    all["warnings"] = warnings.map(|warning| warning.to_json_with(hint_text)).collect();
    Ok(all)
}

/// The same with the tokens of every file.
fn with_token_counts(options: &ContextOptions) -> ContextOptions {
    let mut options = options.clone();
    options.tokens.count = true;
    options
}

/// An error of writing the result is not an error of packing.
fn failure(error: Error) -> Failure {
    match error {
        Error::Output(error) => Failure::Output(error),
        error => context_error(error).into(),
    }
}

/// Writes the text as a stream.
fn print_text(options: &ContextOptions, reporter: &Reporter<'_>) -> Result<(), Failure> {
    let bar = Bar::new(false);
    let on_progress = |progress| bar.show_packing(progress);
    let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
    let packer = Packer::new(options);
    // On a terminal, the text itself is visible.
    let packer = if output::is_terminal() { packer } else { packer.with_progress(&on_progress) };
    let report = packer.write_to(&mut out).map_err(failure)?;
    if output::is_terminal() && report.total_bytes > 0 {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    drop(bar);
    // If the text contains everything, there is nothing to report.
    let whole = report.entries.iter().all(Entry::is_packed) && report.unmatched.is_empty();
    if !whole || output::is_terminal() {
        output::print_status(&summary(&report, " (--report lists them)"));
    }
    reporter.print_warnings(&report);
    Ok(())
}

/// The summary of a text that is not shown, with `advice` if files were left out.
fn summary(report: &Report, advice: &str) -> String {
    let files = report.entries.iter().filter(|entry| entry.is_packed()).count();
    let mut text = format!("packed {}, {} bytes", pluralize(files, "file"), group_digits(report.total_bytes));
    if let Some(tokens) = report.total_tokens {
        let tokens = group_digits(tokens as u64);
        let _ = match report.tokens_error_percent {
            Some(error) => write!(text, ", about {tokens} tokens (±{error} %)"),
            None => write!(text, ", {tokens} tokens"),
        };
    }
    let left: Vec<String> = LeftOutReason::ALL
        .iter()
        .filter(|reason| report.count(**reason) > 0)
        .map(|reason| format!("{} {}", group_digits(report.count(*reason) as u64), reason.as_str()))
        .collect();
    if !left.is_empty() {
        let _ = write!(text, "; left out: {}{advice}", left.join(", "));
    }
    text.push('\n');
    text
}

fn pluralize(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", group_digits(count as u64))
}

fn print_report(report: &Report, reporter: &Reporter<'_>) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = report.entries.iter().map(row).collect();
    output::print_text(&output::format_table(&["FILE", "BYTES", "TOKENS", "STATE", "WHY"], &rows))?;
    output::print_status(&summary(report, ""));
    reporter.print_warnings(report);
    Ok(())
}

fn row(entry: &Entry) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let path = match &entry.resource {
        Some(resource) => format!("{resource}: {}", entry.path),
        None => entry.path.clone(),
    };
    let state = entry.reason.map_or("taken", LeftOutReason::as_str).to_owned();
    let tokens = entry.tokens.map(|tokens| tokens as u64);
    vec![path, number(entry.bytes), number(tokens), state, entry.detail.clone().unwrap_or_default()]
}
