//! A call of an agent: from the prompt of a user to the messages of a request.

use hinagata::{
    Code, Content, Engine, Error, HintText, Reason, RenderedBody, Request, Result, Warning,
    module::{CompiledPrompt, Element, Message, Role, json::messages_to_json, read_messages},
    secret::Redactor,
};
use hinagata_context::{
    ContextOptions, Guard, LeftOutReason, PackedContext, PackedFile, PackedResource, Packer, Progress,
    Report, frame_files, merge_variables, render_file, render_text, trim_both_ends,
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny},
};
use serde_json::{Map, Value, json};

use crate::{
    agent::{Agent, PromptSource},
    error::{context_error, withheld_hint},
    project::Project,
    warnings::redaction_warnings,
};

/// The tag around the packed context.
const ELEMENT: &str = "workspace_context";

/// A call of an agent.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The agent; the manager by default.
    pub agent: Option<String>,
    /// The calling agent.
    pub parent: Option<String>,
    /// The text of the user.
    pub prompt: String,
    /// Variables with the highest precedence.
    pub variables: Map<String, Value>,
    /// The earlier messages.
    pub history: Vec<Message>,
    /// The role of the last message; the user by default.
    pub prompt_role: Option<Role>,
    /// The source of the user prompt; replaces that of the agent.
    pub prompt_template: Option<PromptSource>,
    /// The context; replaces packing.
    pub context: Option<GivenContext>,
}

/// A context that is passed with a call, packed earlier or elsewhere: a text, files, or messages.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenContext {
    /// The text for a model; by default the files, framed as the context of the project is.
    #[serde(default)]
    pub text: Option<String>,
    /// The files, for prompts that read them.
    #[serde(default)]
    pub files: Vec<PackedFile>,
    /// The resources, for prompts that read them.
    #[serde(default)]
    pub resources: Vec<PackedResource>,
    /// Messages that are sent between the history and the message of the user.
    #[serde(default, deserialize_with = "read_context_messages")]
    pub messages: Vec<Message>,
    /// Bytes of all contents; by default those of the text.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// The report of packing, which is ignored.
    #[serde(default, rename = "report")]
    _report: Option<IgnoredAny>,
    /// The warnings of packing, which are ignored.
    #[serde(default, rename = "warnings")]
    _warnings: Option<IgnoredAny>,
}

fn read_context_messages<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<Message>, D::Error> {
    read_messages(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

impl GivenContext {
    /// A context with this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Whether JSON describes a context: an object with a text, files or messages, or a list of messages. Other JSON is a text
    /// about something else.
    #[must_use]
    pub fn is_document(document: &Value) -> bool {
        let is_message = |item: &Value| item.get("role").is_some() || item.get("type").is_some();
        match document {
            Value::Array(items) => !items.is_empty() && items.iter().all(is_message),
            object => ["text", "files", "messages"].iter().any(|key| object.get(key).is_some()),
        }
    }

    /// Reads a context: a text, the result of packing, or messages.
    ///
    /// # Errors
    /// What is wrong, with its key.
    pub fn from_document(document: Value) -> serde_json::Result<Self> {
        match document {
            Value::String(text) => Ok(Self::new(text)),
            list @ Value::Array(_) => serde_json::from_value(json!({"messages": list})),
            packed => serde_json::from_value(packed),
        }
    }

    fn into_packed(self, options: &ContextOptions) -> (PackedContext, Vec<Message>) {
        let Self { text, mut files, resources, messages, total_bytes, .. } = self;
        files.iter_mut().for_each(|file| file.bytes = file.content.len() as u64);
        let text = text.unwrap_or_else(|| frame_files(options.frame, &files));
        let total_bytes = total_bytes.unwrap_or(text.len() as u64);
        let report = Report { total_bytes, ..Report::default() };
        (PackedContext { files, total_bytes, text, resources, report }, messages)
    }
}

impl Invocation {
    /// A call of the manager.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct InvocationOutput {
    /// The called agent.
    pub agent: Agent,
    /// The rendered system prompt.
    pub system: String,
    /// The rendered user prompt, without the context.
    pub user: String,
    /// The messages of the request.
    pub messages: Vec<Message>,
    /// The packed or passed context.
    pub context: PackedContext,
    /// Warnings about requests that were not fulfilled completely.
    pub warnings: Vec<Warning>,
    /// The warnings of the settings; see [`Project::settings_warnings`].
    pub settings_warnings: Vec<Warning>,
    /// The redactor of the context and the prompts: files that are added to the call have the same marks.
    pub redactor: Redactor,
}

impl InvocationOutput {
    /// The texts of all messages, with blank lines between them.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.messages.iter().map(|message| message.texts().collect::<Vec<_>>().join("\n"));
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// The message of the user without the context, as a conversation keeps it.
    #[must_use]
    pub fn user_message(&self) -> Message {
        let role = self.messages.last().map_or(Role::User, Message::role);
        Message::from_content(role, self.user.as_str())
    }

    /// The messages as a compiled prompt, the input of every driver.
    #[must_use]
    pub fn prompt(&self) -> CompiledPrompt {
        let data = self.messages.iter().cloned().map(Element::Message).collect();
        CompiledPrompt { data, ..CompiledPrompt::default() }
    }

    /// The result as JSON, with hints in the words of a door: the report of each file, but not the files again.
    #[must_use]
    pub fn to_json_with(&self, hint_text: HintText) -> Value {
        let warnings = self.settings_warnings.iter().chain(&self.warnings);
        json!({
            "agent": self.agent.id,
            "model": self.agent.model,
            "system": self.system,
            "user": self.user,
            "messages": messages_to_json(&self.messages),
            "context": {"totalBytes": self.context.total_bytes, "report": self.context.report},
            "warnings": warnings.map(|warning| warning.to_json_with(hint_text)).collect::<Vec<_>>(),
        })
    }
}

impl Project {
    /// Creates the messages of a call. `engine` finds prompts of the catalog, and agents with an `agent.json`.
    ///
    /// # Errors
    /// Code `not_found` for an unknown agent or prompt; those of a template that fails.
    pub fn invoke(&self, invocation: &Invocation, engine: Option<&Engine>) -> Result<InvocationOutput> {
        self.invoke_with(invocation, engine, &|_| {})
    }

    /// As [`Project::invoke`]; reports the progress of packing to `progress`.
    ///
    /// # Errors
    /// As [`Project::invoke`].
    pub fn invoke_with(
        &self,
        invocation: &Invocation,
        engine: Option<&Engine>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<InvocationOutput> {
        let catalog = engine.map(Engine::catalog);
        let agent = self.agent(invocation.agent.as_deref(), catalog.as_ref())?;
        let guard = self.guard();
        let (context, given) = match &invocation.context {
            Some(given) => given.clone().into_packed(&self.context),
            None => (self.pack_for(&agent, &guard, progress)?, Vec::new()),
        };
        let mut warnings = self.warnings(&context.report);
        let call = Call { project: self, invocation, agent: &agent, context: &context, engine, guard };
        let system = call.render_system(&mut warnings)?;
        let user = call.render_user(&system, &mut warnings)?;
        warnings.extend(redaction_warnings(&call.guard.redactor().take_redacted()));
        let messages = call.build_messages(&system, given, &user);
        let settings_warnings = self.settings_warnings();
        let redactor = call.guard.redactor().clone();
        Ok(InvocationOutput { system, user, messages, agent, context, warnings, settings_warnings, redactor })
    }

    fn pack_for(
        &self,
        agent: &Agent,
        guard: &Guard,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<PackedContext> {
        let mut options = self.context.clone();
        options.resources.extend(agent.resources.iter().cloned());
        Packer::new(&options).with_guard(guard).with_progress(progress).pack().map_err(context_error)
    }
}

/// The input of the prompts of a call.
struct Call<'c> {
    project: &'c Project,
    invocation: &'c Invocation,
    agent: &'c Agent,
    context: &'c PackedContext,
    engine: Option<&'c Engine>,
    guard: Guard,
}

impl Call<'_> {
    fn render_system(&self, warnings: &mut Vec<Warning>) -> Result<String> {
        let bag = self.variables(&self.agent.prompt);
        match &self.agent.system {
            Some(source) => self.render_source(source, &bag, warnings),
            None => {
                let prompt = self.redact_prompt()?;
                self.render_inline("prompt", &prompt, &bag)
            }
        }
    }

    fn render_user(&self, system: &str, warnings: &mut Vec<Warning>) -> Result<String> {
        let bag = self.variables(system);
        match self.invocation.prompt_template.as_ref().or(self.agent.user.as_ref()) {
            Some(source) => self.render_source(source, &bag, warnings),
            None if self.project.profile.is_compat() => {
                self.render_inline("user prompt", &self.invocation.prompt, &bag)
            }
            None => Ok(self.invocation.prompt.clone()),
        }
    }

    /// Merges variables: built-in ones, then those of the agent, then those of the call.
    fn variables(&self, system: &str) -> Map<String, Value> {
        let PackedContext { files, resources, text, total_bytes, .. } = self.context;
        let mut bag = Map::from_iter([
            ("agent".to_owned(), json!({"id": self.agent.id})),
            ("prompt".to_owned(), self.invocation.prompt.as_str().into()),
            ("systemPrompt".to_owned(), system.into()),
            (
                "context".to_owned(),
                json!({"files": files, "resources": resources, "text": text, "totalBytes": total_bytes}),
            ),
            ("history".to_owned(), messages_to_json(&self.invocation.history)),
        ]);
        if let Some(parent) = &self.invocation.parent {
            bag.insert("parent".to_owned(), json!({"id": parent}));
        }
        merge_variables(&mut bag, &self.agent.variables);
        merge_variables(&mut bag, &self.invocation.variables);
        bag
    }

    fn render_inline(&self, name: &str, source: &str, bag: &Map<String, Value>) -> Result<String> {
        let project = self.project;
        render_text(name, source, &project.directory, bag, &project.context.templates, &self.guard)
            .map_err(context_error)
    }

    /// The system prompt in the configuration, without its secrets.
    fn redact_prompt(&self) -> Result<String> {
        let (prompt, id) = (self.agent.prompt.clone(), &self.agent.id);
        if !self.project.context.rules.secrets {
            return Ok(prompt);
        }
        let redacted = self.guard.redactor().redact_text(&format!("prompt of {id}"), prompt);
        redacted.map_err(|omitted| {
            let message = format!("the prompt of `{id}` is withheld: it contains a secret ({omitted})");
            Error::new(Code::Approval, message)
                .with_reason(Reason::Secret)
                .with_hint(withheld_hint(LeftOutReason::Secret))
        })
    }

    fn render_source(
        &self,
        source: &PromptSource,
        bag: &Map<String, Value>,
        warnings: &mut Vec<Warning>,
    ) -> Result<String> {
        match source {
            PromptSource::File(file) => {
                let Project { directory, context, .. } = self.project;
                render_file(file, directory, bag, &context.templates, &self.guard).map_err(context_error)
            }
            PromptSource::Catalog { id, variables } => {
                let engine = self.engine.ok_or_else(|| {
                    hinagata::Error::new(
                        hinagata::Code::NotFound,
                        format!("cannot find the prompt `{id}` without a catalog"),
                    )
                })?;
                let all = hinagata_context::apply_defaults(variables, bag);
                let rendered = engine.render_blocking(&Request::new(id).with_variable_map(&all))?;
                warnings.extend(rendered.warnings.iter().cloned());
                if let RenderedBody::Messages(messages) = &rendered.body {
                    warnings.extend(conversation_warning(id, messages));
                }
                Ok(match rendered.body {
                    RenderedBody::Text(text) => text,
                    RenderedBody::Messages(_) => rendered.text(),
                })
            }
        }
    }

    fn build_messages(&self, system: &str, given: Vec<Message>, user: &str) -> Vec<Message> {
        let mut messages = Vec::with_capacity(self.invocation.history.len() + 2);
        // An agent without instructions has no system message; providers reject empty ones.
        if self.project.profile.is_compat() || !system.is_empty() {
            messages.push(Message::system(system));
        }
        messages.extend(self.invocation.history.iter().cloned());
        messages.extend(given);
        let role = self.invocation.prompt_role.unwrap_or(Role::User);
        messages.push(Message::from_content(role, format!("{user}{}", self.context_suffix())));
        messages
    }

    /// The packed context as it follows the user prompt.
    fn context_suffix(&self) -> String {
        let text = trim_both_ends(&self.context.text);
        if text.is_empty() {
            return String::new();
        }
        let element =
            if self.project.profile.is_compat() { ELEMENT.to_owned() } else { context_element(text) };
        format!("\n\n<{element}>\n{text}\n</{element}>")
    }
}

/// The warning about a conversation that becomes one text.
fn conversation_warning(id: &str, messages: &[hinagata::Message]) -> Option<Warning> {
    let is_text = |content: &Content| matches!(content, Content::Text(_));
    let lost = match () {
        () if !messages.iter().flat_map(|message| &message.content).all(is_text) => {
            "its images, sounds and resources are left out"
        }
        () if messages.len() > 1 => "its messages became one text",
        () => return None,
    };
    let error =
        Error::definition(Reason::Conversation, format!("the prompt `{id}` is a conversation: {lost}"))
            .with_hint("use a prompt that renders to one text");
    Some(Warning { about: id.to_owned(), error })
}

/// A tag name that no file can close.
fn context_element(text: &str) -> String {
    let taken = |name: &String| text.contains(&format!("</{name}"));
    let numbered = (2..).map(|number| format!("{ELEMENT}_{number}"));
    std::iter::once(ELEMENT.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}
