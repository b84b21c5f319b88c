//! `hina export`: prompts in the formats of other programs.

use std::{fs, path::PathBuf};

use hinagata::{
    Engine,
    exchange::{ExportOptions, ExportedPrompt, Format as PromptFormat},
    source::{Index, RootKind},
    write::{Readers, replace_file},
};
use serde_json::{Value, json};

use super::import::loss_line;
use crate::{
    completion, exit,
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Write prompts in the formats of other programs
///
/// Parents and included templates become part of the file. If anything would be lost or changed, nothing is written
/// unless --lossy is given; the report tells what. One file is printed; several need --out.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prompts, by any of their names, or the path of a file of another format
    #[arg(required_unless_present = "all", add = completion::complete_prompts())]
    ids: Vec<String>,

    /// The format: dotprompt, prompty, skill, claude, claude-agent, langchain, langfuse, github or gemini
    #[arg(long, value_name = "FORMAT", value_parser = crate::call::parse_format)]
    to: PromptFormat,

    /// The directory to write to [default: standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write also what loses or changes something
    #[arg(long)]
    lossy: bool,

    /// All prompts of your own
    #[arg(long, conflicts_with = "ids")]
    all: bool,

    /// Write skills that tell the agent to call `hina`, so that the prompt stays in one place
    #[arg(long)]
    live: bool,

    /// The agent that a skill is for; claude has arguments
    #[arg(long = "for", value_name = "AGENT", value_parser = ["claude", "any"], default_value = "any")]
    agent: String,

    /// Write nothing; the exit code is 1 if files in --out differ
    #[arg(long, requires = "out")]
    check: bool,
}

const EXAMPLES: &str = "Examples:
  hina export greeting --to dotprompt
  hina export greeting letter --to prompty --out exported
  hina export greeting --to skill --live --out .claude/skills
  hina export --all --to skill --live --out .claude/skills --check
  hina export ./greeting.prompt --to langchain";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let named = arguments.ids.first().map_or("", String::as_str);
    let workspace = Workspace::open_for(globals, named, None)?;
    let engine = workspace.open_engine()?;
    let options = ExportOptions {
        format: arguments.to,
        is_live: arguments.live,
        is_for_claude: arguments.agent == "claude",
    };
    let mut exported = Vec::new();
    for id in arguments.prompt_names(&engine) {
        exported.push(engine.export_prompt(&id, &options)?);
    }
    let is_refused = !arguments.lossy && exported.iter().any(|prompt| prompt.report.is_lossy());
    if Format::from_globals(globals) == Format::Text {
        for loss in exported.iter().flat_map(|prompt| prompt.report.losses()) {
            output::print_status(&loss_line(&workspace, loss));
        }
    }
    let stale = arguments.stale_files(&exported);
    if arguments.check {
        stale.iter().for_each(|path| output::print_status(&format!("{} differs\n", path.display())));
        return if stale.is_empty() { Ok(()) } else { Err(Failure::Printed(exit::Code::Failed)) };
    }
    if Format::from_globals(globals) == Format::Json {
        let shown: Vec<Value> = exported.iter().map(|prompt| to_json(prompt, arguments.to)).collect();
        output::print_json(&json!({"prompts": shown, "refused": is_refused}))?;
    }
    if is_refused {
        output::print_status("nothing was written; `--lossy` writes it anyway\n");
        return Err(Failure::Printed(exit::Code::Failed));
    }
    match &arguments.out {
        Some(_) => arguments.write(&exported, &stale),
        None if Format::from_globals(globals) == Format::Json => Ok(()),
        None => print_single(&exported),
    }
}

impl Arguments {
    fn prompt_names(&self, engine: &Engine) -> Vec<String> {
        if !self.all {
            return self.ids.clone();
        }
        let catalog = engine.catalog();
        let own = catalog
            .roots()
            .iter()
            .filter(|index| matches!(index.root.kind, RootKind::Shared | RootKind::Path(_)));
        own.flat_map(Index::iter).map(|entry| entry.id().to_string()).collect()
    }

    /// The paths of files in `--out` that are missing or have another content.
    fn stale_files(&self, exported: &[ExportedPrompt]) -> Vec<PathBuf> {
        let Some(out) = &self.out else { return Vec::new() };
        let files = exported.iter().flat_map(|prompt| &prompt.files);
        let is_stale = |(path, text): &(String, String)| {
            let path = out.join(path);
            (fs::read_to_string(&path).ok().as_ref() != Some(text)).then_some(path)
        };
        files.filter_map(is_stale).collect()
    }

    fn write(&self, exported: &[ExportedPrompt], stale: &[PathBuf]) -> Result<(), Failure> {
        let Some(out) = &self.out else { return Ok(()) };
        for (path, text) in exported.iter().flat_map(|prompt| &prompt.files) {
            let path = out.join(path);
            if stale.contains(&path) {
                replace_file(&path, text.as_bytes(), Readers::AsUsual)?;
                output::print_text(&format!("wrote {}\n", path.display()))?;
            }
        }
        Ok(())
    }
}

fn print_single(exported: &[ExportedPrompt]) -> Result<(), Failure> {
    let mut files = exported.iter().flat_map(|prompt| &prompt.files);
    match (files.next(), files.next()) {
        (Some((_, text)), None) => output::print_exactly(text),
        (None, _) => Ok(()),
        _ => Err(Failure::usage_error("several files cannot be printed")
            .with_hint("name a directory with `--out`")),
    }
}

fn to_json(prompt: &ExportedPrompt, format: PromptFormat) -> Value {
    let files = prompt.files.iter().map(|(path, text)| json!({"path": path, "content": text}));
    json!({
        "prompt_id": prompt.id,
        "format": format.as_str(),
        "files": files.collect::<Value>(),
        "losses": prompt.report.to_json(),
        "lossless": !prompt.report.is_lossy(),
    })
}
