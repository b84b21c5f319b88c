//! `hina import`: prompts of other formats become prompts of the workspace.

mod report;
mod update;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use hinagata::{
    Catalog, Digest, SHARED_PROMPTS,
    edit::{EditError, PlannedImport},
    exchange::{Format as PromptFormat, ImportBatch, ImportOptions, SourceFiles, import_batch},
    source::ForeignFiles,
};

use self::report::Outcome;
pub(super) use self::report::loss_line;
use crate::{
    call::parse_format,
    exit,
    failure::Failure,
    input::Inputs,
    output::Format,
    paths,
    workspace::{Globals, Workspace, current_directory},
};

/// Import prompts of other formats
///
/// Reads files, or every prompt in a directory, and writes each as a prompt of the workspace that gives the same text.
/// What cannot be carried over is reported: lost, changed, or kept without effect. Imports run nothing, fetch nothing
/// and never replace a prompt. A definition remembers where it came from; --update imports changed files again.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, directories, or - for standard input; with --update or --check the ids of prompts [default: all]
    #[arg(value_name = "PATH", required_unless_present_any = ["update", "check"])]
    paths: Vec<String>,

    /// The format of the files, unless their contents tell it
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    from: Option<PromptFormat>,

    /// The directory of prompts to write to, from the workspace root
    #[arg(long = "in", value_name = "DIR", default_value = SHARED_PROMPTS, conflicts_with = "pack")]
    place: String,

    /// Write to this pack, which is created if it does not exist; it needs approval like every pack
    #[arg(long, value_name = "NAME")]
    pack: Option<String>,

    /// The id, if there is one prompt
    #[arg(long = "as", value_name = "ID")]
    id: Option<String>,

    /// Show what would be imported and lost; write nothing
    #[arg(long)]
    dry_run: bool,

    /// Write plain Jinja where an exact translation needs filters, and report what may differ
    #[arg(long)]
    plain: bool,

    /// Write nothing if anything is lost or changed
    #[arg(long)]
    strict: bool,

    /// Write the report to this file as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Print the report in this format
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "sarif"], default_value = "text")]
    format: String,

    /// Import prompts again whose files changed; prompts that you edited stay as they are
    #[arg(long, conflicts_with_all = ["from", "pack", "id"])]
    update: bool,

    /// Only tell which files changed; the exit code is 1 if any did
    #[arg(long, conflicts_with_all = ["from", "pack", "id"])]
    check: bool,

    /// With --update, replace prompts that you edited
    #[arg(long, requires = "update")]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  hina import prompts/greeting.prompt
  hina import ~/project --dry-run
  hina import .claude/commands --in prompts
  hina import export.json --from langfuse --pack langfuse
  cat greeting.mustache | hina import - --from mustache --as greeting
  hina import --check
  hina import --update";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    if arguments.update || arguments.check {
        return update::run(arguments, &workspace, globals);
    }
    let (batch, digests) = arguments.read_batch(&workspace)?;
    let catalog = workspace.open_catalog();
    let place = match (&arguments.pack, arguments.dry_run) {
        (Some(pack), false) => catalog.prepare_pack(pack)?,
        (Some(pack), true) => format!("{}/{pack}/prompts", hinagata::PACKS),
        (None, _) => arguments.place.clone(),
    };
    let outcome = arguments.import(&catalog, &place, (batch, &digests))?;
    outcome.print(
        &workspace,
        Format::from_globals(globals),
        &arguments.format,
        arguments.report.as_deref(),
    )?;
    if arguments.pack.is_some() && outcome.written > 0 {
        workspace.print_advice(
            "a pack that changed is not used before you approve it",
            "`hina pack list` shows what to approve",
        );
    }
    match outcome.exit_code() {
        exit::Code::Success => Ok(()),
        code => Err(Failure::Printed(code)),
    }
}

impl Arguments {
    /// Reads and translates everything that was named; the SHA-256 of each file comes with it.
    fn read_batch(&self, workspace: &Workspace) -> Result<(ImportBatch, BTreeMap<String, Digest>), Failure> {
        let options = ImportOptions { format: self.from, is_plain: self.plain };
        let mut all = ImportBatch::default();
        let mut digests = BTreeMap::new();
        for path in &self.paths {
            let (files, batch) = if path == "-" {
                read_stdin(&options)?
            } else {
                let found = ForeignFiles::read(&current_directory().join(path))?;
                let batch = found.import(&options);
                (found.files, batch)
            };
            for name in files.paths() {
                let digest = files.get(name).map(|text| Digest::sha256(text.as_bytes()));
                digests.extend(digest.map(|digest| (shown_path(workspace, name), digest)));
            }
            add_batch(&mut all, batch, workspace);
        }
        if let Some(id) = &self.id {
            match all.prompts.as_mut_slice() {
                [only] => only.prompt.id.clone_from(id),
                several => {
                    let message = format!("`--as` names one prompt, but there are {}", several.len());
                    return Err(Failure::usage_error(message));
                }
            }
        }
        // Two files of different directories may have parts of the same name.
        hinagata::exchange::share_partials(&mut all.prompts, &|_| None);
        Ok((all, digests))
    }

    /// Writes what can be written, and returns what became of each file.
    fn import(
        &self,
        catalog: &Catalog,
        place: &str,
        (batch, digests): (ImportBatch, &BTreeMap<String, Digest>),
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::new(self.dry_run);
        outcome.unrecognised = batch.unrecognised;
        outcome.failed = batch.failed;
        outcome.is_refused = self.strict && batch.prompts.iter().any(|imported| imported.report.is_lossy());
        let sources: Vec<String> = batch.prompts.iter().map(|found| found.prompt.from.clone()).collect();
        let digest_of = |path: &str| digests.get(path).copied();
        let planned = catalog.plan_imports(place, batch.prompts, (&digest_of, false));
        for (planned, from) in planned.into_iter().zip(sources) {
            let mut planned: PlannedImport = match planned {
                Ok(planned) => planned,
                Err(error) => {
                    outcome.failed.push((from, error));
                    continue;
                }
            };
            if !self.dry_run && !outcome.is_refused && !planned.is_taken {
                match catalog.write_import(&planned, false) {
                    Ok(()) => outcome.written += 1,
                    Err(EditError::Taken { .. }) => planned.is_taken = true,
                    Err(error) => return Err(edit_failure(error)),
                }
            }
            outcome.prompts.push(planned);
        }
        Ok(outcome)
    }
}

/// The failure of an edit.
fn edit_failure(error: EditError) -> Failure {
    match error {
        EditError::Failed(error) => error.into(),
        other => Failure::usage_error(other.to_string()),
    }
}

fn read_stdin(options: &ImportOptions) -> Result<(SourceFiles, ImportBatch), Failure> {
    let Some(format) = options.format else {
        return Err(Failure::usage_error("the format of standard input is not known")
            .with_hint("name it with `--from`; `hina import --help` lists the formats"));
    };
    let text = Inputs::default().read_text(Path::new("-"), "-")?;
    let name = format!("stdin.{}", format.as_str());
    let files = SourceFiles::from_iter([(name, text)]);
    let batch = import_batch(&files, "", options);
    Ok((files, batch))
}

/// A file of an import as the definition names it: from the workspace root, or absolute.
pub(super) fn shown_path(workspace: &Workspace, key: &str) -> String {
    if key.starts_with("stdin.") {
        return key.to_owned();
    }
    let path = PathBuf::from(format!("/{key}"));
    let root = &workspace.host.root.path;
    let root = root.canonicalize().unwrap_or_else(|_| root.clone());
    match path.strip_prefix(&root) {
        Ok(inner) => inner.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

/// Adds a batch under the paths that users know.
fn add_batch(all: &mut ImportBatch, batch: ImportBatch, workspace: &Workspace) {
    for mut imported in batch.prompts {
        imported.prompt.from = shown_path(workspace, &imported.prompt.from);
        imported.report.map_files(|file| shown_path(workspace, file));
        all.prompts.push(imported);
    }
    all.unrecognised.extend(batch.unrecognised.iter().map(|key| shown_path(workspace, key)));
    all.failed.extend(batch.failed.into_iter().map(|(key, error)| {
        let shown = shown_path(workspace, &key);
        let error = hinagata::source::with_shown_path(&error, &key, &shown);
        (shown, error)
    }));
}

/// A path of the workspace, or an absolute one, from the current directory.
pub(super) fn from_here(workspace: &Workspace, path: &str) -> String {
    let full = workspace.host.root.path.join(path);
    match Path::new(path).is_absolute() || full.exists() {
        true => paths::relative_to(&current_directory(), &full).display().to_string(),
        false => path.to_owned(),
    }
}
