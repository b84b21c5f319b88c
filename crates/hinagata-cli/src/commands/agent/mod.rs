//! `hina agent`: the agents of a project, the messages of a call to one, and its answers.

#[cfg(feature = "llm")]
mod chat;
#[cfg(feature = "llm")]
mod session;

use std::path::PathBuf;

use hinagata::{
    Engine,
    definition::module_error,
    module::{
        driver::{OutputFormat, RequestOptions},
        json::messages_to_json,
    },
};
use hinagata_agent::{Agent, GivenContext, Invocation, InvocationOutput, Project, PromptSource};
use hinagata_context::TemplateFile;
use serde_json::Value;

use super::render::print_warnings;
use crate::{
    failure::Failure,
    hints::hint_text,
    input::{Inputs, read_conversation},
    output::{self, Format},
    progress::Bar,
    request::{self, RequestArguments, format_parser},
    stack,
    variables::VariableArguments,
    workspace::{Globals, Workspace},
};

/// Call agents from the settings or an agent.json
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "Examples:
  hina agent list
  hina agent invoke 'Check the log module'
  hina agent invoke - --agent planner --parent manager < task.txt
  hina agent invoke 'Go on' mood=calm --history history.json --json
  hina context pack src | hina agent invoke 'Explain this' --context -
  hina agent chat planner 'What is left to do?' --model gpt-5-mini --session plan.jsonl";

#[derive(clap::Subcommand)]
enum Action {
    /// List the agents of the settings
    List,
    /// Print the messages of a call: system prompt, history, user prompt with the packed context
    Invoke(Box<InvokeArguments>),
    #[cfg(feature = "llm")]
    Chat(Box<chat::ChatArguments>),
}

#[derive(clap::Args)]
struct InvokeArguments {
    /// What the user says; - for standard input
    #[arg(allow_hyphen_values = true)]
    prompt: String,

    /// The agent [default: the manager]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,

    #[command(flatten)]
    call: CallArguments,

    /// The format of the result [default: messages]
    #[arg(long, value_parser = format_parser())]
    format: Option<OutputFormat>,

    #[command(flatten)]
    request: RequestArguments,
}

/// The input of a call.
#[derive(clap::Args)]
struct CallArguments {
    #[command(flatten)]
    variables: VariableArguments,

    /// The agent that asks
    #[arg(long, value_name = "ID")]
    parent: Option<String>,

    /// The messages before, a JSON list in the format of any provider
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// A template for the user prompt, in the place of the agent's
    #[arg(long, value_name = "FILE")]
    template: Option<String>,

    /// The context, in the place of what would be packed: a text, what `hina context pack --json` printed, or a JSON list of messages
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,

    /// Pack no files
    #[arg(long, conflicts_with = "context")]
    no_context: bool,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let project = Project::from_settings(
        &workspace.host.settings,
        &workspace.host.root.path,
        workspace.host.trust.is_trusted(),
    )?;
    match &arguments.action {
        Action::List => {
            project.diagnostics.iter().for_each(|found| workspace.print_warning(found));
            list(&project, globals)
        }
        Action::Invoke(arguments) => arguments.invoke(&project, &workspace, globals),
        #[cfg(feature = "llm")]
        Action::Chat(arguments) => arguments.chat(&project, &workspace, globals),
    }
}

fn list(project: &Project, globals: &Globals) -> Result<(), Failure> {
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&project.to_value()["agents"]),
        Format::Text => {
            let rows: Vec<Vec<String>> = project.agents.iter().map(row).collect();
            output::print_text(&output::format_table(&["ID", "MODEL", "PROMPT", "DESCRIPTION"], &rows))
        }
    }
}

fn row(agent: &Agent) -> Vec<String> {
    let prompt = match &agent.system {
        Some(PromptSource::File(file)) => file.file.clone(),
        Some(PromptSource::Catalog { id, .. }) => format!("prompt {id}"),
        None if agent.prompt.is_empty() => "-".to_owned(),
        None => "inline".to_owned(),
    };
    let described = agent.description.as_ref().or(agent.name.as_ref());
    vec![
        agent.id.clone(),
        agent.model.clone().unwrap_or_else(|| "-".to_owned()),
        prompt,
        described.cloned().unwrap_or_default(),
    ]
}

impl InvokeArguments {
    fn invoke(&self, project: &Project, workspace: &Workspace, globals: &Globals) -> Result<(), Failure> {
        let inputs = Inputs::default();
        let prompt = read_prompt(&self.prompt, &inputs)?;
        let invocation = self.call.read(self.agent.clone(), prompt, &inputs)?;
        // Prompts of the catalog, and agents that the settings do not know, need everything.
        let known = project.agent(self.agent.as_deref(), None);
        let engine = match known.is_ok_and(|agent| !names_catalog(&agent)) {
            true => None,
            false => Some(workspace.open_engine()?),
        };
        let invoked = build_messages(project, &invocation, engine.as_ref(), globals)?;
        let format = Format::from_globals(globals);
        if format == Format::Text {
            print_warnings(workspace, &invoked.warnings);
        }
        self.print(&invoked, workspace, format)
    }

    fn print(
        &self,
        invoked: &InvocationOutput,
        workspace: &Workspace,
        format: Format,
    ) -> Result<(), Failure> {
        let model = invoked.agent.model.clone();
        let options = RequestOptions { model, ..RequestOptions::default() };
        let options = self.request.apply_to(self.format, options, &invoked.redactor)?;
        match (self.format, format) {
            (Some(OutputFormat::Request(driver)), _) => {
                let made = driver.format(&invoked.prompt(), &options).map_err(module_error)?;
                print_warnings(workspace, &request::redaction_warnings(&invoked.redactor));
                request::print_request(&made, format)
            }
            (Some(OutputFormat::Text), Format::Text) => output::print_exactly(&invoked.text()),
            (Some(OutputFormat::Text), Format::Json) => output::print_json(&invoked.text()),
            (_, Format::Json) => output::print_json(&invoked.to_json_with(hint_text)),
            (_, Format::Text) => output::print_json(&messages_to_json(&invoked.messages)),
        }
    }
}

fn read_prompt(prompt: &str, inputs: &Inputs) -> Result<String, Failure> {
    match prompt {
        "-" => inputs.read_text("-".as_ref(), "PROMPT"),
        prompt => Ok(prompt.to_owned()),
    }
}

/// Builds the messages of a call, and shows the progress of packing.
fn build_messages(
    project: &Project,
    invocation: &Invocation,
    engine: Option<&Engine>,
    globals: &Globals,
) -> Result<InvocationOutput, Failure> {
    let bar = Bar::new(globals.json);
    let on_progress = |progress| bar.show_packing(progress);
    let limits = project.context.templates.limits.clone();
    stack::run_with_stack(&limits, || Ok(project.invoke_with(invocation, engine, &on_progress)?))
}

impl CallArguments {
    fn read(&self, agent: Option<String>, prompt: String, inputs: &Inputs) -> Result<Invocation, Failure> {
        let history = self.history.as_ref().map(|path| read_conversation(path, inputs)).transpose()?;
        let template = self
            .template
            .as_ref()
            .map(|file| PromptSource::File(TemplateFile { file: file.clone(), ..TemplateFile::default() }));
        Ok(Invocation {
            agent,
            parent: self.parent.clone(),
            prompt,
            variables: self.variables.read(inputs)?.values,
            history: history.unwrap_or_default(),
            prompt_role: None,
            prompt_template: template,
            context: self.read_context(inputs)?,
        })
    }

    fn read_context(&self, inputs: &Inputs) -> Result<Option<GivenContext>, Failure> {
        if self.no_context {
            return Ok(Some(GivenContext::default()));
        }
        let Some(path) = &self.context else { return Ok(None) };
        let text = inputs.read_text(path, &format!("--context {}", path.display()))?;
        let document = serde_json::from_str::<Value>(&text).ok();
        match document.filter(GivenContext::is_document) {
            None => Ok(Some(GivenContext::new(text))),
            Some(document) => GivenContext::from_document(document).map(Some).map_err(|error| {
                Failure::usage_error(format!("`{}` is not a context: {error}", path.display()))
                    .with_hint("give a text, what `hina context pack --json` printed, or a list of messages")
            }),
        }
    }
}

fn names_catalog(agent: &Agent) -> bool {
    let sources = [&agent.system, &agent.user];
    sources.into_iter().any(|source| matches!(source, Some(PromptSource::Catalog { .. })))
}
