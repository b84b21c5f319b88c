//! `hina check`: checks prompts without running them.

mod baseline;
mod changed;
mod fix;
#[cfg(feature = "watch")]
mod watch;

use std::path::{Path, PathBuf};

use hinagata::{Catalog, Code, Engine};
use hinagata_check::{
    CheckOptions, Checker, CodeSpec, Finding, Level, check_prompts, check_text, find_code,
    report::{to_github, to_json, to_sarif},
};
use hinagata_template::{Language, NoSources};
use hinagata_value::near_names;

use crate::{
    commands::doctor::project_diagnostics,
    diagnostic::Diagnostic,
    exit,
    failure::Failure,
    input::Inputs,
    output,
    workspace::{FrozenArgument, Globals, Workspace, current_directory},
};

/// Check prompts without running them
///
/// Finds syntax errors, unknown names, operations that fail for every value of their declared types, undeclared and
/// unused variables, missing templates, problems of blocks, messages, packs and files. No Python runs, and no tool is
/// called. The exit code is 1 if there is an error, or with --strict a warning.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, directories or prompts to check; `-` reads a template from standard input [default: everything]
    #[arg(value_name = "PATH|ID|-")]
    targets: Vec<String>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,

    /// Exit with 1 if there are warnings
    #[arg(long)]
    strict: bool,

    /// Also report hints
    #[arg(long)]
    hints: bool,

    /// Explain a code with an example
    #[arg(long, value_name = "CODE", conflicts_with_all = ["targets", "baseline", "write_baseline"])]
    explain: Option<String>,

    #[command(flatten)]
    frozen: FrozenArgument,

    /// Do not report the findings in this file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write all findings to the file of --baseline
    #[arg(long, requires = "baseline")]
    write_baseline: bool,

    /// Check only files that differ from a revision of git, and the prompts that depend on them
    #[arg(long, value_name = "REV", num_args = 0..=1, default_missing_value = "HEAD")]
    changed: Option<String>,

    /// Change files so that findings go away; every render stays equal
    #[arg(long, conflicts_with_all = ["baseline", "write_baseline", "watch"])]
    fix: bool,

    /// With --fix, also replace misspelt names by similar ones, which changes renders
    #[arg(long = "unsafe", requires = "fix")]
    is_unsafe: bool,

    /// Check again whenever a file changes
    #[arg(long, conflicts_with_all = ["write_baseline", "explain"])]
    watch: bool,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// For people, with excerpts
    Text,
    /// For scripts
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

const EXAMPLES: &str = "Examples:
  hina check
  hina check general_system --strict
  hina check --format sarif > check.sarif
  hina check --changed main --strict
  hina check --fix
  hina check --baseline known.json --write-baseline
  hina check --explain variable.undeclared";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    if let Some(code) = &arguments.explain {
        return explain_code(code);
    }
    if arguments.watch {
        #[cfg(feature = "watch")]
        return watch::run(arguments, globals);
        #[cfg(not(feature = "watch"))]
        return Err(crate::absent::missing_feature("check --watch", "watch"));
    }
    let workspace = Workspace::open_quietly(&arguments.frozen.apply_to(globals))?;
    let engine = workspace.open_engine()?;
    let (catalog, options) = (engine.catalog(), check_options(&workspace, &engine));
    workspace.host.check_lock(&catalog)?;
    let mut findings = find_all(&workspace, &catalog, &options, arguments)?;
    if arguments.fix {
        let is_changed = fix::apply_to_files(&workspace, &catalog, &findings, arguments.is_unsafe)?;
        if is_changed {
            findings = find_all(&workspace, &catalog.reload(), &options, arguments)?;
        }
    }
    report(&workspace, findings, arguments, globals)
}

/// The options of a check. Problems of settings, the lock, tools, agents and the context become findings.
pub(crate) fn check_options(workspace: &Workspace, engine: &Engine) -> CheckOptions {
    let mut options = workspace.host.check_options(engine);
    options.more.extend(workspace.host.lock_problems(engine));
    options.more.extend(project_diagnostics(workspace));
    options
}

/// Prints the findings. Fails if there is an error.
fn report(
    workspace: &Workspace,
    mut findings: Vec<Finding>,
    arguments: &Arguments,
    globals: &Globals,
) -> Result<(), Failure> {
    if !arguments.hints {
        findings.retain(|finding| finding.level != Level::Hint);
    }
    if let Some(path) = &arguments.baseline {
        if arguments.write_baseline {
            return baseline::write_file(path, &findings);
        }
        baseline::read_file(path)?.remove_known(&mut findings);
    }
    let format = if globals.json { ReportFormat::Json } else { arguments.format };
    print_report(workspace, &findings, format)?;
    let fails = |finding: &Finding| match finding.level {
        Level::Error => true,
        Level::Warning => arguments.strict,
        Level::Hint => false,
    };
    if findings.iter().any(fails) { Err(Failure::Printed(exit::Code::Failed)) } else { Ok(()) }
}

fn find_all(
    workspace: &Workspace,
    catalog: &Catalog,
    options: &CheckOptions,
    arguments: &Arguments,
) -> Result<Vec<Finding>, Failure> {
    let mut checker = Checker::new(options.clone());
    let targets = &arguments.targets;
    let mut findings = Vec::new();
    if targets.is_empty() || arguments.changed.is_some() {
        checker.check_all(catalog);
        findings = checker.findings();
    }
    if let Some(revision) = &arguments.changed {
        let files = changed::files_since(&workspace.host.root.path, revision)?;
        let sources = checker.prompts_using(&files);
        findings.retain(|finding| {
            sources.contains(&finding.source) || files.iter().any(|file| file == finding.file())
        });
    }
    if targets.is_empty() {
        return Ok(findings);
    }
    let mut chosen = Vec::new();
    for target in targets {
        chosen.extend(check_target(workspace, catalog, options, target)?);
    }
    if arguments.changed.is_some() {
        chosen.retain(|finding| findings.iter().any(|other| is_same(other, finding)));
    }
    Ok(chosen)
}

fn is_same(a: &Finding, b: &Finding) -> bool {
    (a.code, a.file(), a.place()) == (b.code, b.file(), b.place()) && a.error.message() == b.error.message()
}

fn check_target(
    workspace: &Workspace,
    catalog: &Catalog,
    options: &CheckOptions,
    target: &str,
) -> Result<Vec<Finding>, Failure> {
    if target == "-" {
        let text = Inputs::default().read_text(Path::new("-"), "-")?;
        return Ok(check_text("<stdin>", &text, Language::Jinja, &NoSources, options));
    }
    let path = current_directory().join(target);
    if path.exists() {
        return check_path(workspace, catalog, options, target, &path);
    }
    let entries = catalog.candidate_entries(target).map_err(|error| match error.code() {
        Code::NotFound => Failure::not_found(format!("neither a file nor a prompt is called `{target}`"))
            .with_near(error.near().to_vec()),
        _ => Failure::from(error),
    })?;
    let sources: Vec<String> = entries.iter().map(|entry| entry.source().to_owned()).collect();
    Ok(check_prompts(catalog, options, &sources))
}

/// Checks a file or directory: as part of the workspace if it belongs to the catalog, else a file as a template.
fn check_path(
    workspace: &Workspace,
    catalog: &Catalog,
    options: &CheckOptions,
    target: &str,
    path: &Path,
) -> Result<Vec<Finding>, Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (real_path, root) = (real(path), real(&workspace.host.root.path));
    let relative = real_path.strip_prefix(&root).ok().map(|path| path.to_string_lossy().replace('\\', "/"));
    let in_catalog = relative.as_ref().is_some_and(|path| {
        path.is_empty() || catalog.roots().iter().any(|index| overlaps(path, &index.root.prefix))
    });
    if let (true, Some(path)) = (in_catalog, relative) {
        let mut checker = Checker::new(options.clone());
        checker.check_all(catalog);
        let mut findings = checker.findings();
        findings.retain(|finding| is_beneath(finding.file(), &path) || is_beneath(&finding.source, &path));
        return Ok(findings);
    }
    if real_path.is_dir() {
        return Err(Failure::not_found(format!("`{target}` has no prompts of this workspace"))
            .with_hint("add the directory to `catalog.paths` in hinagata.toml, or name files"));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::system_error(format!("cannot read `{target}`: {error}")))?;
    Ok(check_text(target, &text, Language::from_file_name(target), &NoSources, options))
}

fn is_beneath(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn overlaps(path: &str, directory: &str) -> bool {
    is_beneath(path, directory) || is_beneath(directory, path)
}

fn print_report(workspace: &Workspace, findings: &[Finding], format: ReportFormat) -> Result<(), Failure> {
    match format {
        ReportFormat::Json => output::print_json(&to_json(findings)),
        ReportFormat::Sarif => output::print_json(&to_sarif(findings, env!("CARGO_PKG_VERSION"))),
        ReportFormat::Github => output::print_exactly(&to_github(findings)),
        ReportFormat::Text => {
            let shown = findings.iter().map(|finding| to_diagnostic(workspace, finding).render_text());
            output::print_text(&shown.collect::<Vec<_>>().join("\n"))?;
            output::print_status(&summary(findings));
            Ok(())
        }
    }
}

/// The finding as a report for the user.
pub(crate) fn to_diagnostic(workspace: &Workspace, finding: &Finding) -> Diagnostic {
    let mut diagnostic = Diagnostic::from_finding(finding);
    diagnostic = diagnostic.map_paths(|name| match name {
        "<stdin>" => name.to_owned(),
        name => workspace.display_path(name),
    });
    diagnostic
}

fn summary(findings: &[Finding]) -> String {
    let counted = |level: Level| {
        let count = findings.iter().filter(|finding| finding.level == level).count();
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} {}{plural}", level.as_str()))
    };
    let parts: Vec<String> = Level::ALL.into_iter().filter_map(counted).collect();
    if parts.is_empty() { "no problems found\n".to_owned() } else { format!("{}\n", parts.join(", ")) }
}

fn explain_code(name: &str) -> Result<(), Failure> {
    let spec = find_code(name).ok_or_else(|| {
        let near = near_names(name, hinagata_check::CODES.iter().map(|spec| spec.code));
        Failure::not_found(format!("unknown code `{name}`"))
            .with_near(near)
            .with_hint("docs/reference/check.md lists all codes")
    })?;
    output::print_text(&explanation(spec))
}

fn explanation(spec: &CodeSpec) -> String {
    let example = |files: &[(&str, &str)]| -> String {
        let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
        files.iter().map(|(path, text)| format!("  {path}\n{}", indented(text))).collect()
    };
    format!(
        "{} ({})\n{}\n\n{}\n\nWrong:\n{}\nRight:\n{}",
        spec.code,
        spec.level.as_str(),
        spec.title,
        spec.text,
        example(spec.wrong),
        example(spec.right)
    )
}

/// The number of findings in words.
fn count_text(count: usize) -> String {
    if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") }
}
