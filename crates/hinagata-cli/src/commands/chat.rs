//! `hina chat`: fills a prompt, sends it to a model and prints the answer.

use std::path::{Path, PathBuf};

use futures_util::StreamExt as _;
use hinagata::{Code, Error, Rendered, secret::Redactor};
use hinagata_llm::{ChatCall, CheckedReply, Llm, ProviderRequest};
use serde_json::{Map, Value};

use super::render::print_warnings;
use crate::{
    call::CallArguments,
    failure::Failure,
    input::Inputs,
    output::{self, Format},
    request::{RequestArguments, redaction_warnings, warn_left_out},
    variables,
    workspace::{Globals, Workspace},
};

/// Render a prompt, send it to a model and stream the answer
///
/// API keys come from environment variables such as OPENAI_API_KEY; `hina doctor` shows which are set. A model is a
/// name from the settings, provider/model, or the name that its provider uses. Ctrl-C cancels the call.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    call: CallArguments,

    #[command(flatten)]
    request: RequestArguments,

    /// Request option under its OpenAI name, such as temperature=0 or stop:='["END"]'
    #[arg(long = "option", short = 'o', value_name = "NAME=VALUE")]
    options: Vec<String>,

    /// JSON Schema that the answer has to follow, in a JSON or YAML file [default: the schema of the prompt]
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// Print the answer when it is complete
    #[arg(long)]
    no_stream: bool,
}

const EXAMPLES: &str = r#"Examples:
  hina chat planning_task_decomposition task='Paint the tower' --model gpt-5-mini
  hina chat daily_report --vars report.json --model anthropic/claude-sonnet-4-5 --option temperature=0
  hina chat question text=@- --model ollama/qwen3 < question.txt
  hina chat triage --vars ticket.json --schema urgency.json      JSON that follows a schema
  hina chat daily_report --vars report.json --json      the whole answer as a chat completion
  hina render daily_report --vars report.json --format openai      what would be sent"#;

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = arguments.call.open_workspace(globals)?;
    let options = request_options(&arguments.options)?;
    let call = arguments.call.read()?.for_model(arguments.request.model());
    let engine = workspace.open_engine()?;
    let rendered = call.render_prompt(&workspace, &engine)?;
    print_warnings(&workspace, &rendered.warnings);
    let llm = workspace.host.llm()?;
    let redactor = workspace.redactor();
    let call = arguments.build_call(&llm, &rendered, options, &redactor)?;
    print_warnings(&workspace, &redaction_warnings(&redactor));
    let runtime = new_runtime()?;
    match Format::from_globals(globals) {
        Format::Json => print_completion(&runtime.block_on(llm.send_checked(call))?),
        // An answer that has to follow a schema is printed when it does.
        Format::Text if arguments.no_stream || call.prompt.schema().is_some() => {
            let reply = runtime.block_on(llm.send_checked(call))?;
            warn_left_out(&reply.notes);
            print_reply(&workspace, &reply)
        }
        Format::Text => {
            let request = llm.build_prompt_request(&call.choice, call.prompt, call.base, &call.options)?;
            warn_left_out(request.notes());
            runtime.block_on(stream_answer(&workspace, &llm, request))
        }
    }
}

/// Prints an answer as a chat completion, with its value if it follows a schema.
fn print_completion(reply: &CheckedReply) -> Result<(), Failure> {
    let mut completion = reply.answer.to_completion()?;
    if let Some(verdict) = reply.verdict() {
        completion["answer"] = verdict;
    }
    output::print_json(&completion)
}

/// Prints the value of an answer that follows a schema, else its text.
pub(super) fn print_reply(workspace: &Workspace, reply: &CheckedReply) -> Result<(), Failure> {
    match &reply.checked {
        None => print_answer(workspace, &reply.answer.text()?),
        Some(checked) => {
            for repair in &checked.repairs {
                output::print_status(&format!("note: repaired the answer: {repair}\n"));
            }
            output::print_json(&checked.value)
        }
    }
}

/// The schema in a file.
pub(super) fn read_schema(path: &Path) -> Result<Value, Failure> {
    variables::data_file(path, &format!("--schema {}", path.display()), &Inputs::default())
}

/// The options of a request: a text that is a number, true or false is one.
pub(super) fn request_options(written: &[String]) -> Result<Map<String, Value>, Failure> {
    let read = variables::read_variables(&[], written, &Inputs::default())?;
    let mut options = read.values.clone();
    for (name, text) in read.texts() {
        if let Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) = serde_json::from_str(text) {
            options.insert(name.to_owned(), value);
        }
    }
    match options.keys().find(|name| matches!(name.as_str(), "model" | "stream")) {
        Some(name) => Err(Failure::usage_error(format!("`{name}` is not a request option"))
            .with_hint("use `--model` and `--no-stream`")),
        None => Ok(options),
    }
}

impl Arguments {
    fn build_call(
        &self,
        llm: &Llm,
        rendered: &Rendered,
        options: Map<String, Value>,
        redactor: &Redactor,
    ) -> Result<ChatCall, Failure> {
        let base = rendered.request_options();
        let choice = llm.choose_model(self.request.model(), base.model.as_deref())?;
        let call = ChatCall::from_rendered(choice, rendered, options)?;
        let call = ChatCall { base: self.request.with_files(base, redactor)?, ..call };
        Ok(match &self.schema {
            Some(path) => call.with_schema(read_schema(path)?),
            None => call,
        })
    }
}

/// The runtime of calls. This thread waits for them.
pub(super) fn new_runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::new(Code::Model, format!("cannot start the runtime: {error}")).into())
}

fn print_answer(workspace: &Workspace, text: &str) -> Result<(), Failure> {
    output::print_part(text)?;
    finish_answer(workspace, text.chars().next_back())
}

async fn stream_answer(workspace: &Workspace, llm: &Llm, request: ProviderRequest) -> Result<(), Failure> {
    let mut texts = llm.stream_chat(request).await?.into_text();
    let mut last = None;
    while let Some(text) = texts.next().await {
        match text {
            Ok(text) => {
                output::print_part(&text)?;
                last = text.chars().next_back().or(last);
            }
            Err(error) => {
                if last.is_some() {
                    finish_answer(workspace, last)?;
                }
                return Err(error.into());
            }
        }
    }
    finish_answer(workspace, last)
}

/// Ends the answer whose last character this is.
pub(super) fn finish_answer(workspace: &Workspace, last: Option<char>) -> Result<(), Failure> {
    match last {
        None => workspace.print_advice(
            "the model returned no text",
            "`--json` prints the whole answer, tool calls included",
        ),
        Some('\n') => {}
        Some(_) if output::is_terminal() => output::print_part("\n")?,
        Some(_) => {}
    }
    Ok(())
}
