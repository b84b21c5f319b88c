//! The prompt behind a virtual model: what it takes from a request, and what is sent with it.

use std::sync::Arc;

use hinagata::{
    Engine, Rendered, RenderedBody,
    definition::{ConversationValue, Inherited, Origin, Parameter},
    module::{CompiledPrompt, Element, Message, Role, driver::RequestOptions, json::messages_to_json},
};
use hinagata_llm::ChosenModel;
use hyper::StatusCode;
use serde_json::{Map, Value};

use super::{
    super::modules::NoFiles,
    request::{PREFIX, PromptReference, VirtualRequest},
};
use crate::{problem::Problem, settings::SystemRule};

/// How keys of `metadata` that are variables can start.
const VARIABLE_PREFIX: &str = "var.";

/// A prompt that is used as a model.
pub(super) struct VirtualPrompt {
    inherited: Inherited,
}

/// What a prompt takes from a request.
pub(super) struct PromptInput {
    pub(super) variables: Map<String, Value>,
    /// The messages that it does not take.
    pub(super) messages: Vec<Message>,
}

/// A rendered prompt with the caller's messages, before it is written for a model.
pub(super) struct PromptCall {
    pub(super) choice: ChosenModel,
    pub(super) prompt: Arc<CompiledPrompt>,
    pub(super) base: RequestOptions,
    /// The values of the headers that say what was rendered.
    pub(super) rendered: Option<RenderedFacts>,
    pub(super) notes: Vec<String>,
}

/// What the headers of an answer say about the prompt.
pub(super) struct RenderedFacts {
    pub(super) id: String,
    pub(super) version: String,
    pub(super) hash: String,
}

impl VirtualPrompt {
    /// The prompt that a request names.
    pub(super) fn find(engine: &Engine, target: &PromptReference) -> Result<Self, Problem> {
        let inherited = engine.definition(&target.name).map_err(|error| {
            let problem = Problem::from(error);
            if problem.status() == StatusCode::NOT_FOUND { problem.with_unknown_model() } else { problem }
        })?;
        let found = &inherited.definition.metadata.version;
        match &target.version {
            Some(version) if version != found => Err(Problem::not_found(format!(
                "`{PREFIX}{}` has version {found}, not {version}",
                target.name
            ))
            .with_unknown_model()
            .with_hint("leave out the version: only the current one can be called")),
            _ => Ok(Self { inherited }),
        }
    }

    /// The id of the prompt.
    pub(super) fn id(&self) -> &str {
        self.inherited.definition.id.as_str()
    }

    /// Refuses what the prompt or the settings do not let callers set.
    pub(super) fn check_locked(&self, request: &VirtualRequest, rule: SystemRule) -> Result<(), Problem> {
        let face = &request.face;
        let locked = &self.inherited.definition.settings.locked;
        let is_locked = |name: &str| locked.iter().any(|known| plain_name(known) == plain_name(name));
        let is_system = |message: &Message| message.role() == Role::System;
        let has_system = !face.system.is_empty() || face.messages.iter().any(is_system);
        if has_system && (rule == SystemRule::Refuse || is_locked("system")) {
            return Err(Problem::bad_request("this prompt takes no instructions of the caller")
                .about_param(face.dialect().system_field())
                .with_hint("leave out the system text"));
        }
        if !face.messages.is_empty() && is_locked("messages") {
            return Err(Problem::bad_request("this prompt takes no messages of the caller")
                .about_param(face.dialect().messages_field()));
        }
        let model = request.model.as_ref().map(|_| "model");
        // An option has a name in the face, and another one that the prompt may know.
        let mut names = face.field_names().chain(face.options().keys().map(String::as_str)).chain(model);
        match names.find(|name| is_locked(name)) {
            None => Ok(()),
            Some(name) => {
                Err(Problem::bad_request(format!("the prompt sets `{name}`, and callers cannot change it"))
                    .about_param(name))
            }
        }
    }

    /// The variables of a request, and the messages that no parameter takes.
    pub(super) fn read_input(
        &self,
        request: &VirtualRequest,
        engine: &Engine,
    ) -> Result<PromptInput, Problem> {
        let mut variables = self.metadata_variables(&request.metadata);
        for more in request.prompt.iter().flat_map(|prompt| &prompt.variables) {
            variables.extend(more.clone());
        }
        let variables = self.convert_texts(variables, engine)?;
        let mut input = PromptInput { variables, messages: request.face.messages.clone() };
        for parameter in self.inherited.parameters.iter() {
            if !input.variables.contains_key(&parameter.name) {
                input.take_conversation(parameter);
            }
        }
        Ok(input)
    }

    /// The variables in `metadata`: declared parameters, and names behind `var.`.
    fn metadata_variables(&self, metadata: &Map<String, Value>) -> Map<String, Value> {
        let mut variables = Map::new();
        for (key, value) in metadata {
            match key.strip_prefix(VARIABLE_PREFIX) {
                Some(name) => variables.insert(name.to_owned(), value.clone()),
                None if self.inherited.parameters.get(key).is_some() => {
                    variables.insert(key.clone(), value.clone())
                }
                None => None,
            };
        }
        variables
    }

    /// Texts become what their parameters declare.
    fn convert_texts(
        &self,
        variables: Map<String, Value>,
        engine: &Engine,
    ) -> Result<Map<String, Value>, Problem> {
        let texts = variables.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        let converted = engine.variables_from_text(self.id(), texts)?;
        let mut all = variables;
        all.extend(converted);
        Ok(all)
    }
}

impl PromptInput {
    /// Gives a parameter what it takes of the conversation.
    fn take_conversation(&mut self, parameter: &Parameter) {
        let value = match parameter.origin {
            Origin::Conversation(ConversationValue::Messages) if !self.messages.is_empty() => {
                messages_to_json(&std::mem::take(&mut self.messages))
            }
            Origin::Conversation(ConversationValue::Message) => {
                let is_text =
                    |message: &Message| message.role() == Role::User && plain_text(message).is_some();
                let Some(index) = self.messages.iter().rposition(is_text) else { return };
                plain_text(&self.messages.remove(index)).into()
            }
            _ => return,
        };
        self.variables.insert(parameter.name.clone(), value);
    }
}

/// The text of a message that is nothing else.
fn plain_text(message: &Message) -> Option<String> {
    let is_plain = message.parts().iter().all(|part| part.as_text().is_some());
    is_plain.then(|| message.texts().collect::<Vec<_>>().join("\n"))
}

/// The one name of an option that has several ones.
fn plain_name(name: &str) -> &str {
    match name {
        "max_completion_tokens" | "max_output_tokens" => "max_tokens",
        "stop_sequences" => "stop",
        other => other,
    }
}

impl PromptCall {
    /// The call of a rendered prompt.
    pub(super) fn new(
        choice: ChosenModel,
        prompt: &VirtualPrompt,
        rendered: &Rendered,
        messages: Vec<Message>,
        system: &[Message],
        rule: SystemRule,
    ) -> Result<Self, Problem> {
        let mut compiled = Arc::unwrap_or_clone(rendered.prompt()?);
        if let RenderedBody::Text(text) = &rendered.body {
            let definition = &prompt.inherited.definition;
            let by_type = || (definition.metadata.kind == "system").then_some(Role::System);
            let role = definition.settings.role.or_else(by_type).unwrap_or(Role::User);
            compiled.data = vec![Element::Message(Message::from_content(role, text.as_str()))];
        }
        let rendered_facts = RenderedFacts {
            id: prompt.id().to_owned(),
            version: prompt.inherited.definition.metadata.version.clone(),
            hash: rendered.hash(),
        };
        let mut call = Self {
            choice,
            prompt: Arc::default(),
            base: rendered.request_options().with_files(NoFiles),
            rendered: Some(rendered_facts),
            notes: Vec::new(),
        };
        call.add_conversation(compiled, messages, system, rule);
        Ok(call)
    }

    /// The call of a model of the settings, with the caller's messages alone.
    pub(super) fn without_prompt(choice: ChosenModel, request: &VirtualRequest) -> Self {
        let base = RequestOptions::default().with_files(NoFiles);
        let mut call = Self { choice, prompt: Arc::default(), base, rendered: None, notes: Vec::new() };
        let messages = request.face.messages.clone();
        // The rule about the caller's instructions protects prompts.
        call.add_conversation(CompiledPrompt::default(), messages, &request.face.system, SystemRule::Append);
        call
    }

    /// Notes that the chosen model is passed over; what was noted about it alone, behind `noted`, no longer counts.
    pub(super) fn pass_over(&mut self, noted: usize, reason: &str) {
        self.notes.truncate(noted);
        self.notes.push(format!("`{}` is passed over: {reason}", self.choice.name()));
    }

    /// Adds the caller's instructions behind those of the prompt, and the caller's messages behind everything.
    fn add_conversation(
        &mut self,
        mut compiled: CompiledPrompt,
        mut messages: Vec<Message>,
        system: &[Message],
        rule: SystemRule,
    ) {
        let is_system = |message: &Message| message.role() == Role::System;
        let mut dropped = 0;
        match rule {
            SystemRule::Drop => {
                dropped = system.len() + messages.iter().filter(|message| is_system(message)).count();
                messages.retain(|message| !is_system(message));
            }
            SystemRule::Append | SystemRule::Refuse => {
                let is_rule =
                    |element: &Element| matches!(element, Element::Message(message) if is_system(message));
                let behind = compiled.data.iter().take_while(|element| is_rule(element)).count();
                let added = system.iter().cloned().map(Element::Message);
                compiled.data.splice(behind..behind, added);
            }
        }
        if dropped > 0 {
            self.notes.push("the system text of the caller is left out, as `v1.system` says".to_owned());
        }
        compiled.output.extend(messages.into_iter().map(Element::Message));
        self.prompt = Arc::new(compiled);
    }
}
