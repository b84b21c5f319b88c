//! `hina fmt`: formats templates.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hinagata::{
    Catalog,
    source::RootKind,
    write::{Readers, replace_file},
};
use hinagata_check::format_file;

use crate::{
    exit,
    failure::Failure,
    input::Inputs,
    output,
    workspace::{Globals, Workspace, current_directory},
};

/// Endings of files that are templates wherever they are.
const ENDINGS: [&str; 5] = ["jinja", "jinja2", "j2", "gotmpl", "tmpl"];
/// The name of a template of a prompt.
const NAME: &str = "template.md";

/// Format the spaces inside of template tags
///
/// Puts one space inside of the delimiters of each tag and behind each comma, and removes others. Text outside of tags,
/// front matter, strings, comments and tags of several lines stay as they are, so that every render stays equal.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files or directories; `-` formats standard input [default: your own prompts]
    #[arg(value_name = "PATH|-")]
    targets: Vec<String>,

    /// Change nothing; the exit code is 1 if a file is not formatted
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "Examples:
  hina fmt
  hina fmt --check
  hina fmt - < template.md";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    if arguments.targets == ["-"] {
        let text = Inputs::default().read_text(Path::new("-"), "-")?;
        return output::print_exactly(&format_file("-", &text)?);
    }
    let files = match arguments.targets.is_empty() {
        true => own_templates(globals)?,
        false => named_templates(&arguments.targets)?,
    };
    let mut changed = Vec::new();
    for path in &files {
        let failed = |error: std::io::Error| {
            Failure::system_error(format!("cannot read `{}`: {error}", path.display()))
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                output::print_status(&format!("left out {}: not UTF-8\n", shown(path)));
                continue;
            }
            Err(error) => return Err(failed(error)),
        };
        let formatted = format_file(&path.display().to_string(), &text)?;
        if formatted != text {
            if !arguments.check {
                replace_file(path, formatted.as_bytes(), Readers::AsUsual)?;
            }
            changed.push(path);
        }
    }
    let names: String = changed.iter().map(|path| format!("{}\n", shown(path))).collect();
    output::print_text(&names)?;
    let (count, all) = (changed.len(), files.len());
    let done = if arguments.check { "not formatted" } else { "formatted" };
    output::print_status(&format!("{count} of {all} templates {done}\n"));
    match arguments.check && count > 0 {
        true => Err(Failure::Printed(exit::Code::Failed)),
        false => Ok(()),
    }
}

/// The templates of the user's own prompts, not those of packs and libraries.
fn own_templates(globals: &Globals) -> Result<Vec<PathBuf>, Failure> {
    let workspace = Workspace::open_quietly(globals)?;
    let catalog: Catalog = workspace.open_catalog();
    let is_own = |kind: &RootKind| matches!(kind, RootKind::Shared | RootKind::Path(_));
    let mut files = Vec::new();
    for index in catalog.roots().iter().filter(|index| is_own(&index.root.kind)) {
        let root = workspace.host.root.path.join(&index.root.prefix);
        files.extend(index.root.tree.list_partials().into_iter().map(|name| root.join(name)));
        for entry in index.iter() {
            let names = entry.list_files(usize::MAX).into_iter().filter(|name| is_template(Path::new(name)));
            files.extend(names.map(|name| root.join(entry.name()).join(name)));
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn named_templates(targets: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for target in targets {
        let path = current_directory().join(target);
        match path.metadata() {
            Ok(found) if found.is_dir() => collect_templates(&path, &mut files)?,
            Ok(_) => files.push(path),
            Err(_) => {
                return Err(Failure::not_found(format!(
                    "neither a file nor a directory is called `{target}`"
                )));
            }
        }
    }
    Ok(files)
}

/// The templates beneath a directory. Links are not followed, and hidden directories are left out.
fn collect_templates(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::system_error(format!("cannot list `{}`: {error}", directory.display()))
    };
    let listed: Result<Vec<fs::DirEntry>, _> = fs::read_dir(directory).map_err(failed)?.collect();
    let mut listed = listed.map_err(failed)?;
    listed.sort_by_key(fs::DirEntry::file_name);
    for entry in listed {
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() && !is_hidden {
            collect_templates(&path, files)?;
        } else if kind.is_file() && (is_template(&path) || is_partial(&path)) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_template(path: &Path) -> bool {
    let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let (name, ending) = (text(path.file_name()).unwrap_or_default(), text(path.extension()));
    name == NAME || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

fn is_partial(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == "partials")
}

fn shown(path: &Path) -> String {
    crate::paths::relative_to(&current_directory(), path).display().to_string()
}
