//! `hina context pack`: files of a workspace as one text for a model.

mod report;

use std::{
    fs::File,
    io::{self, BufWriter, Read as _, Write},
    path::{Path, PathBuf},
};

use hinagata::{Code, Error as EngineError, Reason};
use hinagata_agent::{Project, choose_model, context_error};
use hinagata_context::{
    ContextOptions, Error, FileKind, Frame, KindRule, PackedContext, Packer, Report, TextEncoding,
};
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
use report::{left_out_words, print_details, print_report, summary};

/// Most bytes of a list of paths on standard input.
const MOST_PATHS: u64 = 64 << 20;

/// The word for a limit that does not exist.
const NO_LIMIT: [&str; 2] = ["none", "-"];

/// Pack files for a model
///
/// The section `context` of the settings controls what is packed; see docs/reference/context.md. Every text file is
/// packed, except lock files, generated and minified files, files such as .env, and files that .gitignore, .ignore,
/// .hinagataignore, .repomixignore or the settings of git exclude. Secrets are redacted. `--report` says what became of
/// each file.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "Examples:
  hina context pack
  hina context pack src docs 'tests/**/*.rs' README.md
  hina context pack ../other-project --max-tokens 50000 --format markdown > context.md
  hina context pack --focus src/auth --max-tokens 8000 --model gpt-4o
  hina context pack --include-diffs --include-logs 20 -o context.xml --format xml
  git diff --name-only main | hina context pack --stdin
  hina context pack --report";

#[derive(clap::Subcommand)]
enum Action {
    /// Print the packed files, or a report on each file
    #[command(after_help = EXAMPLES)]
    Pack(Box<PackArguments>),
}

#[derive(clap::Args)]
struct PackArguments {
    /// Directories to pack, and patterns of files [default: as the settings say]
    #[arg(value_name = "DIR|PATTERN")]
    patterns: Vec<String>,

    /// Read paths of files and directories from standard input, one per line or separated by NUL
    #[arg(long)]
    stdin: bool,

    /// Patterns of files to leave out, beside those of the settings
    #[arg(long, short = 'i', visible_alias = "ignore", value_name = "PATTERN")]
    exclude: Vec<String>,

    /// Files and directories that are chosen first
    #[arg(long, value_name = "PATTERN")]
    focus: Vec<String>,

    /// What happens to a kind of files: lock, generated, vendored, minified or data; take, last or omit
    #[arg(long, value_name = "KIND=RULE", value_parser = parse_kind)]
    kind: Vec<(FileKind, KindRule)>,

    /// Encoding of files that are not UTF-8 [default: told by their bytes]
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    encoding: Option<TextEncoding>,

    #[command(flatten)]
    budget: Budget,

    #[command(flatten)]
    form: Form,

    #[command(flatten)]
    sections: SectionArguments,

    /// Include files named in ignore files
    #[arg(long)]
    include_ignored: bool,

    /// Include secrets, and files that are secrets by their names
    #[arg(long)]
    include_secrets: bool,

    /// Include generated files, and generated directories such as node_modules and target
    #[arg(long)]
    include_generated: bool,

    /// Write the text into a file
    #[arg(long, short, value_name = "FILE", conflicts_with = "report")]
    output: Option<PathBuf>,

    /// Print a report on every file instead of the text
    #[arg(long)]
    report: bool,

    /// Print the tokens of directories and files as a tree, from this number on
    #[arg(long, value_name = "TOKENS", num_args = 0..=1, default_missing_value = "0")]
    token_count_tree: Option<usize>,

    /// Print the files with the most tokens
    #[arg(long, value_name = "COUNT")]
    top_files_len: Option<usize>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Budget")]
struct Budget {
    /// Maximum number of tokens of the text, or none [default: 100000]
    #[arg(long, value_name = "COUNT", value_parser = parse_limit, allow_hyphen_values = true)]
    max_tokens: Option<Limit>,

    /// Fail with exit code 7 if the text has more tokens, instead of leaving out files
    #[arg(long, value_name = "COUNT")]
    token_budget: Option<usize>,

    /// Maximum size of all files, in bytes
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,

    /// Maximum number of files
    #[arg(long, value_name = "COUNT")]
    max_files: Option<usize>,

    /// The model whose tokens are counted, or estimated without its tokenizer [default: that of the settings, else o200k]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Form")]
struct Form {
    /// Format of the packed text [default: plain]
    #[arg(long, visible_alias = "style", value_name = "FRAME", value_parser = ["plain", "markdown", "xml", "json"])]
    format: Option<String>,

    /// Start every line with its number
    #[arg(long, visible_alias = "line-numbers")]
    output_show_line_numbers: bool,

    /// Remove empty lines
    #[arg(long)]
    remove_empty_lines: bool,

    /// Shorten long runs of Base64
    #[arg(long)]
    truncate_base64: bool,

    /// Replace the texts of files by their outlines
    #[arg(long)]
    compress: bool,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Sections")]
struct SectionArguments {
    /// Start with the tree of files [default: in markdown and xml]
    #[arg(long, overrides_with = "no_tree")]
    tree: bool,

    /// Leave out the tree of files
    #[arg(long, overrides_with = "tree")]
    no_tree: bool,

    /// Text at the start
    #[arg(long, value_name = "TEXT")]
    header_text: Option<String>,

    /// File whose text comes at the end
    #[arg(long, value_name = "FILE")]
    instruction_file_path: Option<PathBuf>,

    /// Add the changes that are not committed, staged or not
    #[arg(long)]
    include_diffs: bool,

    /// Add the last commits
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "50")]
    include_logs: Option<usize>,

    /// Add the changes between two commits, such as main..HEAD
    #[arg(long, value_name = "FROM..TO")]
    diff: Option<String>,
}

/// A limit, or none.
#[derive(Clone, Copy)]
struct Limit(Option<usize>);

fn parse_limit(text: &str) -> Result<Limit, String> {
    if NO_LIMIT.contains(&text) {
        return Ok(Limit(None));
    }
    text.parse().map(|most| Limit(Some(most))).map_err(|_| "expected a number, or none".to_owned())
}

fn parse_kind(text: &str) -> Result<(FileKind, KindRule), String> {
    let parsed = text
        .split_once('=')
        .and_then(|(kind, rule)| Some((FileKind::from_name(kind)?, KindRule::from_name(rule)?)));
    parsed.ok_or_else(|| "expected a kind and a rule, such as lock=take".to_owned())
}

fn parse_encoding(name: &str) -> Result<TextEncoding, String> {
    TextEncoding::from_name(name)
        .ok_or_else(|| "unknown encoding; use a name such as shift_jis or latin1".to_owned())
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let Action::Pack(arguments) = &arguments.action;
    let workspace = Workspace::open(globals)?;
    let project = Project::from_settings(
        &workspace.host.settings,
        &workspace.host.root.path,
        workspace.host.trust.is_trusted(),
    )?;
    let mut options = arguments.options(project.context.clone())?;
    if let Some(model) = &arguments.budget.model {
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
    fn options(&self, mut options: ContextOptions) -> Result<ContextOptions, Failure> {
        self.select(&mut options)?;
        options.exclude.extend(self.exclude.iter().cloned());
        options.focus.extend(self.focus.iter().cloned());
        options.rules.ignore_files &= !self.include_ignored;
        options.rules.secrets &= !self.include_secrets;
        options.rules.builtin &= !self.include_generated;
        if self.include_generated {
            options.kinds.set_rule(FileKind::Generated, KindRule::Take);
            options.kinds.set_rule(FileKind::Minified, KindRule::Take);
        }
        for (kind, rule) in &self.kind {
            options.kinds.set_rule(*kind, *rule);
        }
        options.encoding = self.encoding.or(options.encoding);
        options.tokens.count |= self.token_count_tree.is_some() || self.top_files_len.is_some();
        self.budget.apply_to(&mut options);
        self.form.apply_to(&mut options);
        self.sections.apply_to(&mut options);
        self.exclude_output(&mut options);
        Ok(options)
    }

    /// A call with paths or patterns packs only these.
    fn select(&self, options: &mut ContextOptions) -> Result<(), Failure> {
        if self.patterns.is_empty() && !self.stdin {
            return Ok(());
        }
        let here = current_directory();
        let (mut paths, patterns): (Vec<String>, Vec<String>) =
            self.patterns.iter().cloned().partition(|pattern| here.join(pattern).exists());
        if self.stdin {
            paths.extend(read_paths()?);
        }
        options.include = patterns;
        options.base = here;
        match paths.as_slice() {
            [only] if options.include.is_empty() && options.base.join(only).is_dir() => {
                options.base = options.base.join(only);
                options.paths = Vec::new();
            }
            _ => options.paths = paths.iter().map(|path| inner_path(path, &options.base)).collect(),
        }
        options.wall = None;
        // The names are the user's own.
        options.rules.strict = false;
        options.resources.clear();
        Ok(())
    }

    /// The file that is written is not packed.
    fn exclude_output(&self, options: &mut ContextOptions) {
        let Some(output) = &self.output else { return };
        let full = current_directory().join(output);
        let real = full.parent().and_then(|parent| parent.canonicalize().ok());
        let (Some(parent), Some(name)) = (real, full.file_name()) else { return };
        let base = options.base.canonicalize().unwrap_or_else(|_| options.base.clone());
        if let Ok(inner) = parent.join(name).strip_prefix(base) {
            options.exclude.push(literal_pattern(&inner.to_string_lossy()));
        }
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
                output::print_json(&json(&packed, reporter.project)?)?;
                check_packed(&packed.report)
            }
            Format::Text if self.report => {
                let bar = Bar::new(false);
                let on_progress = |progress| bar.show_packing(progress);
                let report = Packer::new(&with_token_counts(options))
                    .with_progress(&on_progress)
                    .write_to(&mut io::sink())
                    .map_err(failure)?;
                drop(bar);
                print_report(&report)?;
                self.finish(&report, reporter)
            }
            Format::Text => {
                let report = match &self.output {
                    Some(path) => write_file(options, path)?,
                    None => write_text(options, io::stdout().lock(), output::is_terminal())?,
                };
                // If the text contains everything, there is nothing to report.
                let whole = left_out_words(&report).is_empty() && report.unmatched.is_empty();
                if !whole || output::is_terminal() || self.output.is_some() {
                    output::print_status(&summary(&report, " (--report lists them)"));
                }
                self.finish(&report, reporter)
            }
        }
    }

    /// Prints what was asked for beside the text, and warnings.
    fn finish(&self, report: &Report, reporter: &Reporter<'_>) -> Result<(), Failure> {
        print_details(report, self.token_count_tree, self.top_files_len);
        reporter.print_warnings(report);
        check_packed(report)
    }
}

impl Budget {
    fn apply_to(&self, options: &mut ContextOptions) {
        options.max_bytes = self.max_bytes.or(options.max_bytes);
        options.max_files = self.max_files.or(options.max_files);
        if let Some(Limit(most)) = self.max_tokens {
            options.tokens.max = most;
        }
        if let Some(budget) = self.token_budget {
            options.tokens.max = Some(budget);
            options.tokens.all_or_nothing = true;
        }
    }
}

impl Form {
    fn apply_to(&self, options: &mut ContextOptions) {
        options.frame = self.format.as_deref().and_then(Frame::from_name).unwrap_or(options.frame);
        options.form.line_numbers |= self.output_show_line_numbers;
        options.form.remove_empty_lines |= self.remove_empty_lines;
        options.form.truncate_base64 |= self.truncate_base64;
        options.form.compress |= self.compress;
    }
}

impl SectionArguments {
    fn apply_to(&self, options: &mut ContextOptions) {
        let sections = &mut options.sections;
        sections.tree = match (self.tree, self.no_tree) {
            (false, false) => sections.tree,
            (tree, _) => Some(tree),
        };
        sections.header = self.header_text.clone().or(sections.header.take());
        let instruction = self.instruction_file_path.as_ref();
        let instruction =
            instruction.map(|file| current_directory().join(file).to_string_lossy().into_owned());
        sections.instruction = instruction.or(sections.instruction.take());
        sections.diffs |= self.include_diffs;
        sections.logs = self.include_logs.or(sections.logs);
        sections.diff = self.diff.clone().or(sections.diff.take());
    }
}

/// The paths on standard input.
fn read_paths() -> Result<Vec<String>, Failure> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST_PATHS + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_PATHS {
        return Err(Failure::usage_error(format!("the list of paths is longer than {MOST_PATHS} bytes")));
    }
    let separator = if bytes.contains(&0) { '\0' } else { '\n' };
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage_error("the list of paths on standard input is not UTF-8"))?;
    let paths = text.split(separator).map(|path| path.strip_suffix('\r').unwrap_or(path));
    Ok(paths.filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// An absolute path inside `base` as a path from there.
fn inner_path(path: &str, base: &Path) -> String {
    match Path::new(path).strip_prefix(base) {
        Ok(inner) if inner.as_os_str().is_empty() => ".".to_owned(),
        Ok(inner) => inner.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    }
}

/// A pattern that matches this path alone.
fn literal_pattern(path: &str) -> String {
    let mut pattern = String::new();
    for character in path.chars() {
        if "*?[]{}()!@+|\\".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    // A pattern without a slash would match files of that name in every directory.
    if pattern.contains('/') { pattern } else { format!("./{pattern}") }
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

/// Writes the text as a stream; on a terminal, a last newline is added.
fn write_text(options: &ContextOptions, out: impl Write, is_terminal: bool) -> Result<Report, Failure> {
    let bar = Bar::new(false);
    let on_progress = |progress| bar.show_packing(progress);
    let mut out = BufWriter::with_capacity(1 << 18, out);
    let packer = Packer::new(options);
    // On a terminal, the text itself is visible.
    let packer = if is_terminal { packer } else { packer.with_progress(&on_progress) };
    let report = packer.write_to(&mut out).map_err(failure)?;
    if is_terminal && report.has_packed() {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(report)
}

/// Writes the text into a file, which changes at once or not at all. What is not a regular file is written directly.
fn write_file(options: &ContextOptions, path: &Path) -> Result<Report, Failure> {
    let failed =
        |error: &io::Error| Failure::system_error(format!("cannot write {}: {error}", path.display()));
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let file = File::options().write(true).open(path).map_err(|error| failed(&error))?;
        return write_text(options, file, false);
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut late = LateFile { directory, file: None };
    let report = write_text(options, &mut late, false).map_err(|failure| match failure {
        Failure::Output(error) => failed(&error),
        other => other,
    })?;
    if let Some(file) = late.file.filter(|_| report.has_packed()) {
        file.persist(path).map_err(|error| failed(&error.error))?;
    }
    Ok(report)
}

/// A new file that is made when something is written to it: until then, files are searched, and it is not one of them.
struct LateFile<'d> {
    directory: &'d Path,
    file: Option<tempfile::NamedTempFile>,
}

impl Write for LateFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(new_file(self.directory)?),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// A new file in `directory` that others may read, as far as the umask allows.
fn new_file(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

/// An error if nothing is packed.
fn check_packed(report: &Report) -> Result<(), Failure> {
    if report.has_packed() {
        return Ok(());
    }
    let found: u64 = report.entries.iter().map(hinagata_context::Entry::file_count).sum();
    let message = match left_out_words(report).as_str() {
        "" => "nothing is packed: no file was found".to_owned(),
        words => format!("nothing is packed: {found} files were found, all left out: {words}"),
    };
    let error = EngineError::new(Code::Validation, message).with_reason(Reason::Unmatched);
    Err(error.with_hint("`hina context pack --report` lists every file with its reason").into())
}
