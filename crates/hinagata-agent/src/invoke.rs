//! One call to an agent: from the prompt of a user to the messages of a request.

use hinagata::{Engine, RenderedBody, Request, Result};
use hinagata_context::{PackedContext, Packer, Progress, merge, render_file, render_text, trimmed_both};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    agent::{Agent, PromptSource},
    error::of_context,
    project::Project,
};

/// The element around the packed context.
const ELEMENT: &str = "workspace_context";

/// A call to an agent.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The agent; the manager for none.
    pub agent: Option<String>,
    /// The agent that asks.
    pub parent: Option<String>,
    /// What the user typed.
    pub prompt: String,
    /// What prompts see, above everything else.
    pub variables: Map<String, Value>,
    /// The messages before.
    pub history: Vec<ChatMessage>,
    /// The role of the last message; `user` for none.
    pub prompt_role: Option<String>,
    /// Where the user prompt comes from, in the place of what the agent says.
    pub prompt_template: Option<PromptSource>,
}

impl Invocation {
    /// A call to the manager.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }
}

/// A message of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct ChatMessage {
    /// Who says it.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl ChatMessage {
    /// A message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

/// What a call gives.
#[derive(Clone, Debug)]
pub struct Invoked {
    /// The agent that was asked.
    pub agent: Agent,
    /// The rendered system prompt.
    pub system: String,
    /// The rendered user prompt, without the context.
    pub user: String,
    /// The messages of the request.
    pub messages: Vec<ChatMessage>,
    /// What was packed.
    pub context: PackedContext,
}

impl Invoked {
    /// The result for machines, as every door prints it: what became of each file, but not the files again.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "agent": self.agent.id,
            "model": self.agent.model,
            "system": self.system,
            "user": self.user,
            "messages": self.messages,
            "context": {"totalBytes": self.context.total_bytes, "report": self.context.report},
        })
    }
}

impl Project {
    /// Makes the messages of a call. `engine` finds prompts of the catalog, and agents of an `agent.json`.
    ///
    /// # Errors
    /// Code `not_found` for an agent or a prompt that is not there; those of a template that fails.
    pub fn invoke(&self, invocation: &Invocation, engine: Option<&Engine>) -> Result<Invoked> {
        self.invoke_with(invocation, engine, &|_| {})
    }

    /// As [`Project::invoke`], telling `progress` how far packing is.
    ///
    /// # Errors
    /// As [`Project::invoke`].
    pub fn invoke_with(
        &self,
        invocation: &Invocation,
        engine: Option<&Engine>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Invoked> {
        let catalog = engine.map(Engine::catalog);
        let agent = self.agent(invocation.agent.as_deref(), catalog.as_ref())?;
        let mut options = self.context.clone();
        options.resources.extend(agent.resources.iter().cloned());
        let context = Packer::new(&options).progress(progress).pack().map_err(of_context)?;
        let call = Call { project: self, invocation, agent: &agent, context: &context, engine };
        let system = call.system()?;
        let user = call.user(&system)?;
        let messages = call.messages(&system, &user);
        Ok(Invoked { system, user, messages, agent, context })
    }
}

/// Everything that the prompts of a call see.
struct Call<'c> {
    project: &'c Project,
    invocation: &'c Invocation,
    agent: &'c Agent,
    context: &'c PackedContext,
    engine: Option<&'c Engine>,
}

impl Call<'_> {
    fn system(&self) -> Result<String> {
        let bag = self.variables(&self.agent.prompt);
        match &self.agent.system {
            Some(source) => self.render(source, &bag),
            None => self.inline("prompt", &self.agent.prompt, &bag),
        }
    }

    fn user(&self, system: &str) -> Result<String> {
        let bag = self.variables(system);
        match self.invocation.prompt_template.as_ref().or(self.agent.user.as_ref()) {
            Some(source) => self.render(source, &bag),
            None if self.project.compat => self.inline("user prompt", &self.invocation.prompt, &bag),
            None => Ok(self.invocation.prompt.clone()),
        }
    }

    /// What is built in, below what the agent says, below what the call says.
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
            ("history".to_owned(), json!(self.invocation.history)),
        ]);
        if let Some(parent) = &self.invocation.parent {
            bag.insert("parent".to_owned(), json!({"id": parent}));
        }
        merge(&mut bag, &self.agent.variables);
        merge(&mut bag, &self.invocation.variables);
        bag
    }

    fn inline(&self, name: &str, source: &str, bag: &Map<String, Value>) -> Result<String> {
        let project = self.project;
        render_text(name, source, Some(&project.directory), bag, &project.context.templates)
            .map_err(of_context)
    }

    fn render(&self, source: &PromptSource, bag: &Map<String, Value>) -> Result<String> {
        match source {
            PromptSource::File(file) => {
                render_file(file, &self.project.directory, bag, &self.project.context.templates)
                    .map_err(of_context)
            }
            PromptSource::Catalog { id, variables } => {
                let engine = self.engine.ok_or_else(|| {
                    hinagata::Error::new(
                        hinagata::Code::NotFound,
                        format!("there is no catalog to find `{id}` in"),
                    )
                })?;
                let all = hinagata_context::above_defaults(variables, bag);
                let rendered = engine.render_blocking(&Request::new(id).variable_map(&all))?;
                Ok(match rendered.body {
                    RenderedBody::Text(text) => text,
                    RenderedBody::Messages(_) => rendered.text(),
                })
            }
        }
    }

    fn messages(&self, system: &str, user: &str) -> Vec<ChatMessage> {
        let mut messages = Vec::with_capacity(self.invocation.history.len() + 2);
        // An agent that is told nothing has no system message; providers refuse empty ones.
        if self.project.compat || !system.is_empty() {
            messages.push(ChatMessage::new("system", system));
        }
        messages.extend(self.invocation.history.iter().cloned());
        let role = self.invocation.prompt_role.as_deref().unwrap_or("user");
        messages.push(ChatMessage::new(role, format!("{user}{}", self.packed())));
        messages
    }

    /// The packed context as it stands behind the user prompt.
    fn packed(&self) -> String {
        let text = trimmed_both(&self.context.text);
        if text.is_empty() {
            return String::new();
        }
        let element = if self.project.compat { ELEMENT.to_owned() } else { element(text) };
        format!("\n\n<{element}>\n{text}\n</{element}>")
    }
}

/// A name of the element that no file can end.
fn element(text: &str) -> String {
    let taken = |name: &String| text.contains(&format!("</{name}"));
    let numbered = (2..).map(|number| format!("{ELEMENT}_{number}"));
    std::iter::once(ELEMENT.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}
