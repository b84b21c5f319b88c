//! `hina agent chat`: a model answers as an agent.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::PathBuf,
};

use hinagata::{
    Engine, Result as Ours,
    module::{Message, driver::RequestOptions, json::messages_to_json},
    ports::PortFuture,
};
use hinagata_agent::{AgentChat, ChatHost, ChatOutput, ChatTools, Project, RequestedCall};
use serde_json::Value;

use super::{
    super::{
        chat::{new_runtime, print_reply, read_schema, request_options},
        render::print_warnings,
    },
    CallArguments, build_messages, read_prompt,
    session::Session,
};
use crate::{
    failure::Failure,
    hints::hint_text,
    input::Inputs,
    output::{self, Format},
    request::{self, RequestArguments, warn_left_out},
    workspace::{Globals, Workspace},
};

/// Send the messages of a call to a model, run the tools that it calls, and print the answer
///
/// A call of a tool is shown and has to be confirmed, unless --allow or the setting agent.allow_tools names the tool.
/// Without a terminal such calls are refused, and the model is told. Without PROMPT, each line of a terminal is one.
/// Ctrl-C ends the chat; a session has every message that arrived before.
#[derive(clap::Args)]
pub(super) struct ChatArguments {
    /// The agent [default: the manager]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,

    /// What the user says; - for standard input
    #[arg(allow_hyphen_values = true)]
    prompt: Option<String>,

    #[command(flatten)]
    call: CallArguments,

    /// A file of JSON lines that keeps the conversation; it is created, or continued
    #[arg(long, value_name = "FILE", conflicts_with = "history")]
    session: Option<PathBuf>,

    /// A tool that runs without confirmation, such as files.search or files.*; several are possible
    #[arg(long = "allow", value_name = "TOOL")]
    allowed: Vec<String>,

    /// Offer no tools to the model
    #[arg(long, conflicts_with = "allowed")]
    no_tools: bool,

    /// Request option under its OpenAI name, such as temperature=0
    #[arg(long = "option", short = 'o', value_name = "NAME=VALUE")]
    options: Vec<String>,

    /// JSON Schema that the answer has to follow, in a JSON or YAML file
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    #[command(flatten)]
    request: RequestArguments,
}

/// A conversation, with everything that its calls need.
struct Conversation<'c> {
    arguments: &'c ChatArguments,
    project: &'c Project,
    workspace: &'c Workspace,
    globals: &'c Globals,
    engine: Engine,
    session: Option<Session>,
    history: Vec<Message>,
}

impl ChatArguments {
    pub(super) fn chat(
        &self,
        project: &Project,
        workspace: &Workspace,
        globals: &Globals,
    ) -> Result<(), Failure> {
        let inputs = Inputs::default();
        let (session, history) = match &self.session {
            None => (None, Vec::new()),
            Some(path) => {
                let (session, history, problem) = Session::open(path)?;
                if let Some(problem) = problem {
                    workspace.print_advice(problem, "the messages before it are whole");
                }
                (Some(session), history)
            }
        };
        let engine = workspace.open_engine()?;
        let mut conversation =
            Conversation { arguments: self, project, workspace, globals, engine, session, history };
        match &self.prompt {
            Some(prompt) => conversation.say(read_prompt(prompt, &inputs)?, &inputs),
            None if io::stdin().is_terminal() => conversation.say_lines(&inputs),
            None => conversation.say(read_prompt("-", &inputs)?, &inputs),
        }
    }
}

impl Conversation<'_> {
    /// Sends each line that the user types. A failed call does not end the conversation.
    fn say_lines(&mut self, inputs: &Inputs) -> Result<(), Failure> {
        loop {
            output::print_status("> ");
            let mut line = String::new();
            let read = io::stdin().lock().read_line(&mut line);
            if read.map_err(|error| Failure::system_error(format!("cannot read the terminal: {error}")))? == 0
            {
                output::print_status("\n");
                return Ok(());
            }
            if !line.trim().is_empty()
                && let Err(failure) = self.say(line.trim_end().to_owned(), inputs)
            {
                crate::print_failure(&failure, self.globals);
            }
        }
    }

    /// Sends the prompt of the user, and prints the answer.
    fn say(&mut self, prompt: String, inputs: &Inputs) -> Result<(), Failure> {
        let arguments = self.arguments;
        let mut invocation = arguments.call.read(arguments.agent.clone(), prompt, inputs)?;
        invocation.history.extend(self.history.iter().cloned());
        let invoked = build_messages(self.project, &invocation, Some(&self.engine), self.globals)?;
        let format = Format::from_globals(self.globals);
        if format == Format::Text {
            print_warnings(self.workspace, &invoked.warnings);
        }
        let llm = self.workspace.host.llm()?;
        let settings = &self.workspace.host.settings;
        let choice = llm.choose_model(arguments.request.model(), invoked.agent.model.as_deref())?;
        let base = arguments.request.with_files(RequestOptions::default(), &invoked.redactor)?;
        let set = if arguments.no_tools { None } else { self.engine.tool_set() };
        let tools = ChatTools::new(set, invoked.agent.tools.as_deref(), settings);
        let host = Terminal { workspace: self.workspace, session: self.session.as_ref() };
        let chat = AgentChat {
            llm: &llm,
            choice,
            base,
            options: request_options(&arguments.options)?,
            schema: arguments.schema.as_deref().map(read_schema).transpose()?.map(Into::into),
            tools: tools.with_allowed(arguments.allowed.iter().cloned()),
            host: &host,
        };
        let ended = new_runtime()?.block_on(chat.run_chat(&invoked))?;
        print_warnings(self.workspace, &request::redaction_warnings(&invoked.redactor));
        self.history.extend(ended.messages.iter().cloned());
        self.print(&ended, &invoked.to_json_with(hint_text)["warnings"], format)
    }

    fn print(&self, ended: &ChatOutput, warnings: &Value, format: Format) -> Result<(), Failure> {
        if format == Format::Text {
            warn_left_out(&ended.reply.notes);
            print_warnings(self.workspace, &ended.warnings);
            return print_reply(self.workspace, &ended.reply);
        }
        let mut completion = ended.reply.answer.to_completion()?;
        if let Some(verdict) = ended.reply.verdict() {
            completion["answer"] = verdict;
        }
        completion["steps"] = ended.steps.into();
        completion["messages"] = messages_to_json(&ended.messages);
        let of_tools = ended.warnings.iter().map(|warning| warning.to_json_with(hint_text));
        completion["warnings"] = warnings.as_array().into_iter().flatten().cloned().chain(of_tools).collect();
        output::print_json(&completion)
    }
}

/// Asks the user about calls of tools, and keeps messages in a session.
struct Terminal<'t> {
    workspace: &'t Workspace,
    session: Option<&'t Session>,
}

impl ChatHost for Terminal<'_> {
    fn approve_call<'a>(&'a self, call: &'a RequestedCall) -> PortFuture<'a, bool> {
        Box::pin(async move {
            let stdin = io::stdin();
            if !stdin.is_terminal() || !io::stderr().is_terminal() {
                return false;
            }
            let arguments = output::sanitize_text(&call.arguments.to_string());
            output::print_status(&format!("Call {} with {arguments}? [y/N] ", call.tool));
            let _ = io::stderr().flush();
            let mut answer = String::new();
            stdin.lock().read_line(&mut answer).is_ok()
                && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
        })
    }

    /// The answer is worth more than its line: a session that cannot be written is told, and the chat goes on.
    fn keep_messages(&self, messages: &[Message]) -> Ours<()> {
        if let Some(Err(why)) = self.session.map(|session| session.append(messages)) {
            self.workspace.print_advice(why, "the session does not contain what follows");
        }
        Ok(())
    }
}
