//! `hina new`: a prompt from a skeleton.

use hinagata::{Code, PACKS, PromptId, SHARED_PROMPTS, edit::PromptForm};
use serde_json::json;

use crate::{
    failure::Failure,
    output::{self, Format},
    scaffold,
    workspace::{Globals, Workspace},
};

/// Create a prompt from a template
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The id of the prompt: letters, digits and _
    id: String,

    /// With prompt.py: variables in classes, permissions, limits, room for hooks
    #[arg(long, group = "form")]
    full: bool,

    /// As a list of messages, in prompt.yaml
    #[arg(long, group = "form")]
    messages: bool,

    /// As a prompt module: sections over a context, in module.yaml
    #[arg(long, group = "form")]
    module: bool,

    /// The directory of prompts that it goes into, from the workspace root
    #[arg(long = "in", value_name = "DIR", default_value = SHARED_PROMPTS)]
    place: String,
}

const EXAMPLES: &str = "Examples:
  hina new daily_report
  hina new daily_report --messages
  hina new daily_report --module
  hina new daily_report --full --in prompts";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let id = PromptId::new(&arguments.id)?;
    if id.as_str().contains('.') {
        return Err(hinagata::Error::new(Code::Id, format!("a directory cannot be called `{id}`"))
            .with("prompt_id", id.as_str())
            .with_hint("leave the `.` out")
            .into());
    }
    let place = arguments.place.trim_end_matches('/');
    let source = format!("{place}/{id}");
    scaffold::create_directory(
        &workspace.host.root.path.join(&source),
        &arguments.form().skeleton_files(&id),
    )?;
    warn_if_shadowed(&workspace, &id, &source);
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&json!({"prompt_id": id.as_str(), "source": source})),
        Format::Text => output::print_text(&format!("created {}\n", workspace.display_path(&source))),
    }
}

impl Arguments {
    fn form(&self) -> PromptForm {
        match (self.full, self.messages, self.module) {
            (true, ..) => PromptForm::Full,
            (_, true, _) => PromptForm::Messages,
            (.., true) => PromptForm::Module,
            _ => PromptForm::Simple,
        }
    }
}

/// Warns if the id does not refer to the new prompt.
fn warn_if_shadowed(workspace: &Workspace, id: &PromptId, source: &str) {
    let catalog = workspace.open_catalog();
    match catalog.choose(id.as_str()) {
        Ok(choice) if choice.entry.source() == source => {}
        Err(error) if error.code() == Code::Conflict => {
            workspace.print_advice(
                format!("`{id}` now has several candidates"),
                format!("choose with `hina resolve {id}`"),
            );
        }
        Ok(choice) => {
            let other = output::sanitize_text(choice.entry.source());
            workspace.print_advice(
                format!("`{id}` refers to {other}"),
                format!("choose with `hina resolve {id}`"),
            );
        }
        Err(_) if source.starts_with(PACKS) => {
            workspace.print_advice("a pack that changed is not used", "approve it again: `hina pack list`");
        }
        Err(_) => {
            let place = source.rsplit_once('/').map_or(source, |(place, _)| place);
            workspace.print_advice(
                format!("`{place}` is not searched for prompts"),
                "add it to `catalog.paths` in hinagata.toml",
            );
        }
    }
}
