//! `hina init`: a workspace with an example to start from.

use std::path::{Path, PathBuf};

use hinagata::SETTINGS_FILE;
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    output::{self, Format},
    paths,
    scaffold::{self, NewFile},
    workspace::{Globals, current_directory},
};

/// Create a workspace with an example prompt
///
/// Existing files are not changed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina init\n  hina init my-prompts")]
pub(crate) struct Arguments {
    /// The directory [default: --root, or the current one]
    directory: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let current = current_directory();
    // An enclosing workspace is ignored, because the user requests one here.
    let named = arguments.directory.clone().or_else(|| globals.named_root());
    let root = named.map_or_else(|| current.clone(), |named| current.join(named));
    let made = scaffold::create_missing_files(&root, &files())?;
    match Format::from_globals(globals) {
        Format::Json => {
            let file = |(path, made): &(PathBuf, bool)| json!({"path": path, "made": made});
            output::print_json(&json!({"root": root, "files": made.iter().map(file).collect::<Value>()}))
        }
        Format::Text => {
            let line = |(path, made): &(PathBuf, bool)| {
                let what = if *made { "created" } else { "unchanged" };
                format!("{what} {}\n", paths::relative_to(&current, path).display())
            };
            output::print_text(&made.iter().map(line).collect::<String>())?;
            output::print_status(&next(&paths::relative_to(&current, &root)));
            Ok(())
        }
    }
}

fn files() -> [NewFile; 3] {
    [
        NewFile { path: SETTINGS_FILE, content: include_str!("../../skeletons/init/hinagata.toml").into() },
        NewFile {
            path: "user_data/shared/prompts/hello/template.md",
            content: include_str!("../../skeletons/init/hello.md").into(),
        },
        NewFile {
            path: "user_data/shared/prompts/partials/manners.md",
            content: include_str!("../../skeletons/init/manners.md").into(),
        },
    ]
}

/// The next steps for new users.
fn next(root: &Path) -> String {
    let step = if root == Path::new(".") { String::new() } else { format!("  cd {}\n", root.display()) };
    format!(
        "
Try next:
{step}  hina render hello name=Rumi      render the example
  hina show hello                  show what it takes
  hina list                        list all prompts, including built-in ones
  hina new my_prompt               create your own prompt
  hina mcp install claude-code     use them in Claude Code; --list shows other hosts
"
    )
}
