//! Chats: a model answers as an agent, calls tools, and answers again.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::join_all;
use hinagata::{
    Code, Error, Reason, Result, Settings, Warning,
    module::{CompiledPrompt, Element, Message, ToolCall, ToolValue, driver::RequestOptions},
    ports::{PortFuture, Tool, ToolSet},
};
use hinagata_llm::{ChatCall, CheckedReply, ChosenModel, Llm};
use serde_json::{Map, Value, json};

use crate::InvocationOutput;

/// The default of `agent.max_steps`.
const STEPS: u64 = 8;
/// The longest name of a function that all providers accept.
const LONGEST_NAME: usize = 64;
/// The argument of a tool that takes a list, because models write objects.
const LIST: &str = "arguments";

/// Decides about calls of tools, and keeps the messages of a chat.
pub trait ChatHost: Send + Sync {
    /// Whether a tool may be called that the settings do not allow.
    fn approve_call<'a>(&'a self, call: &'a RequestedCall) -> PortFuture<'a, bool>;

    /// Keeps messages: those of the user and the model, and the results of tools. The next request waits for it.
    ///
    /// # Errors
    /// An error ends the chat.
    fn keep_messages(&self, _messages: &[Message]) -> Result<()> {
        Ok(())
    }
}

/// A call of a tool that a model requests.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedCall {
    /// The id of the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
}

/// The tools of a chat.
#[derive(Clone, Default)]
pub struct ChatTools {
    set: Option<Arc<dyn ToolSet>>,
    /// By the names that the model knows.
    offered: BTreeMap<String, OfferedTool>,
    allowed: Vec<String>,
    max_steps: u64,
}

#[derive(Clone)]
struct OfferedTool {
    /// The name in the set.
    function: String,
    tool: Arc<Tool>,
}

impl ChatTools {
    /// The tools of `set` that have one of the names in `choice`, all without one. `agent.allow_tools` names those that run
    /// without approval, `agent.max_steps` limits the requests.
    #[must_use]
    pub fn new(set: Option<Arc<dyn ToolSet>>, choice: Option<&[String]>, settings: &Settings) -> Self {
        let allowed = settings.texts("agent.allow_tools");
        let max_steps = settings.count("agent.max_steps").unwrap_or(STEPS);
        let mut tools = Self { set: None, offered: BTreeMap::new(), allowed, max_steps };
        for (function, tool) in set.iter().flat_map(|set| set.tools()) {
            // A tool can have several names.
            let known = tools.offered.values().any(|offered| offered.tool.id == tool.id);
            if !known && choice.is_none_or(|names| matches_name(names, &tool.id)) {
                let offered = OfferedTool { function: function.clone(), tool: Arc::clone(tool) };
                tools.offered.insert(tools.free_name(function), offered);
            }
        }
        Self { set, ..tools }
    }

    /// The same tools, of which those with these names also run without approval; `*` stands for any characters.
    #[must_use]
    pub fn with_allowed(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.allowed.extend(names);
        self
    }

    /// A name that all providers accept.
    fn free_name(&self, function: &str) -> String {
        let plain = |found: char| if found.is_ascii_alphanumeric() { found } else { '_' };
        let name: String = function.chars().map(plain).take(LONGEST_NAME - 4).collect();
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(|name| !self.offered.contains_key(name)).unwrap_or(name)
    }

    /// The tools as OpenAI describes them, the names of which the options of a request have.
    fn to_option(&self) -> Option<Value> {
        let function = |(name, offered): (&String, &OfferedTool)| {
            let mut function = json!({"name": name, "parameters": parameters(&offered.tool)});
            if let Some(description) = &offered.tool.description {
                function["description"] = description.as_str().into();
            }
            json!({"type": "function", "function": function})
        };
        (!self.offered.is_empty()).then(|| self.offered.iter().map(function).collect())
    }

    /// The results of the calls in an answer, in their order.
    async fn run_calls(&self, calls: &[ToolCall], host: &dyn ChatHost) -> Vec<(Message, Option<Warning>)> {
        let mut approved = Vec::with_capacity(calls.len());
        for call in calls {
            approved.push(self.approve_call(call, host).await);
        }
        join_all(calls.iter().zip(approved).map(|(call, approved)| self.run_call(call, approved))).await
    }

    async fn approve_call(&self, call: &ToolCall, host: &dyn ChatHost) -> Result<()> {
        let Some(offered) = self.offered.get(&*call.name) else {
            return Err(
                Error::new(Code::Tool, format!("unknown tool `{}`", call.name)).with_reason(Reason::Unknown)
            );
        };
        let id = &offered.tool.id;
        let requested = RequestedCall { tool: id.clone(), arguments: Value::clone(&call.arguments) };
        if matches_name(&self.allowed, id) || host.approve_call(&requested).await {
            return Ok(());
        }
        Err(Error::new(Code::Approval, format!("the call of `{id}` is not allowed"))
            .with("tool", id.as_str())
            .with_hint("`agent.allow_tools` names tools that run without approval"))
    }

    async fn run_call(&self, call: &ToolCall, approved: Result<()>) -> (Message, Option<Warning>) {
        let value = match (approved, self.offered.get(&*call.name), &self.set) {
            (Ok(()), Some(offered), Some(set)) => {
                set.call_tool(&offered.function, call_arguments(&offered.tool, &call.arguments)).await
            }
            (approved, ..) => approved.map(|()| Value::Null),
        };
        let answer = |value| Message::tool(call.id.clone(), call.name.clone(), value);
        match value {
            Ok(Value::String(text)) => (answer(ToolValue::Text(text.into())), None),
            Ok(value) => (answer(ToolValue::Data(Arc::new(value))), None),
            Err(error) => {
                let message = Value::from(error.message());
                let warning = Warning { about: call.name.to_string(), error };
                (answer(ToolValue::Error(Arc::new(message))), Some(warning))
            }
        }
    }
}

/// Whether a name is in a list, in which `*` stands for any characters.
fn matches_name(names: &[String], name: &str) -> bool {
    names.iter().any(|pattern| matches_pattern(pattern, name))
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut behind) = name.strip_prefix(start) else { return false };
    loop {
        if matches_pattern(rest, behind) {
            return true;
        }
        let mut characters = behind.chars();
        if characters.next().is_none() {
            return false;
        }
        behind = characters.as_str();
    }
}

/// The schema of the arguments as an object.
fn parameters(tool: &Tool) -> Value {
    match &tool.parameters {
        Some(schema) if takes_object(tool) => schema.clone(),
        Some(schema) => json!({"type": "object", "properties": {LIST: schema}, "required": [LIST]}),
        None => json!({"type": "object", "properties": {LIST: {"type": "array"}}}),
    }
}

fn takes_object(tool: &Tool) -> bool {
    let schema = tool.parameters.as_ref();
    schema.is_some_and(|schema| schema["type"] == "object" || schema["properties"].is_object())
}

/// The arguments as the tool takes them.
fn call_arguments(tool: &Tool, arguments: &Value) -> Value {
    match takes_object(tool) {
        true => arguments.clone(),
        false => arguments.get(LIST).cloned().unwrap_or_else(|| json!([])),
    }
}

/// A chat with a model.
pub struct AgentChat<'c> {
    /// The models.
    pub llm: &'c Llm,
    /// The model.
    pub choice: ChosenModel,
    /// The options of the requests.
    pub base: RequestOptions,
    /// The options of the call, as OpenAI names them.
    pub options: Map<String, Value>,
    /// The schema of the answer.
    pub schema: Option<Arc<Value>>,
    /// The tools.
    pub tools: ChatTools,
    /// Who decides about calls and keeps messages.
    pub host: &'c dyn ChatHost,
}

/// The end of a chat.
#[derive(Clone, Debug)]
pub struct ChatOutput {
    /// The last answer.
    pub reply: CheckedReply,
    /// The new messages: that of the user without the context, the answers and the results of tools.
    pub messages: Vec<Message>,
    /// The number of answers.
    pub steps: u64,
    /// Calls of tools that failed or were refused.
    pub warnings: Vec<Warning>,
}

impl AgentChat<'_> {
    /// Sends the messages of a call, runs the tools that the model calls, and sends their results, until the model answers without
    /// calls. What is kept of the call is the message of the user, without the context: the next call has its own.
    ///
    /// # Errors
    /// Those of the model and of [`ChatHost::keep_messages`]; code `model`, reason `steps`, if the last answer calls tools.
    pub async fn run_chat(mut self, call: &InvocationOutput) -> Result<ChatOutput> {
        if let Some(tools) = self.tools.to_option() {
            self.options.entry("tools").or_insert(tools);
        }
        let (mut all, mut warnings) = (call.messages.clone(), Vec::new());
        // Kept with the first answer: a call that fails is made again.
        let (mut new, mut kept) = (vec![call.user_message()], 0);
        for step in 1..=self.tools.max_steps.max(1) {
            let reply = self.llm.send_checked(self.chat_call(&all)).await?;
            let answer = reply.answer.to_message()?;
            let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
            new.push(answer);
            self.host.keep_messages(&new[kept..])?;
            if calls.is_empty() {
                return Ok(ChatOutput { reply, messages: new, steps: step, warnings });
            }
            let answered = new.len();
            for (result, warning) in self.tools.run_calls(&calls, self.host).await {
                new.push(result);
                warnings.extend(warning);
            }
            self.host.keep_messages(&new[answered..])?;
            all.extend(new[kept.max(1)..].iter().cloned());
            kept = new.len();
        }
        let steps = self.tools.max_steps;
        Err(Error::new(Code::Model, format!("the model still calls tools after {steps} answers"))
            .with_reason(Reason::Steps)
            .with("steps", steps)
            .with_hint("continue the session, or raise `agent.max_steps`"))
    }

    fn chat_call(&self, messages: &[Message]) -> ChatCall {
        let data = messages.iter().cloned().map(Element::Message).collect();
        let prompt = CompiledPrompt { data, schema: self.schema.clone(), ..CompiledPrompt::default() };
        let (choice, base, options) = (self.choice.clone(), self.base.clone(), self.options.clone());
        ChatCall { choice, prompt: Arc::new(prompt), base, options }
    }
}

/// Adds results to calls that have none, because the program ended while they ran; providers refuse such calls.
pub fn close_open_calls(messages: &mut Vec<Message>) {
    let Some(last) = messages.iter().rposition(|message| message.tool_calls().next().is_some()) else {
        return;
    };
    let results = |message: &Message| message.tool_results().count();
    let answered: usize = messages[last + 1..].iter().map(results).sum();
    let open: Vec<ToolCall> = messages[last].tool_calls().skip(answered).cloned().collect();
    let end = last + 1 + messages[last + 1..].iter().take_while(|message| results(message) > 0).count();
    let error = || ToolValue::Error(Arc::new("the program ended before the tool returned".into()));
    let closed = open.into_iter().map(|call| Message::tool(call.id, call.name, error()));
    messages.splice(end..end, closed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let matches = |pattern: &str, name: &str| matches_pattern(pattern, name);
        assert!(
            matches("*", "a.b")
                && matches("a.*", "a.b")
                && matches("*.b", "a.b")
                && matches("a*b*c", "aXbYc")
        );
        assert!(matches("a", "a") && matches("a*", "a"));
        assert!(!matches("a", "ab") && !matches("a.*", "b.a") && !matches("a*c", "ab"));
    }

    #[test]
    fn calls_without_results_get_one_before_what_follows_them() {
        let calls = ["1", "2"].map(|id| ToolCall::new(id, "look", json!({})));
        let mut messages = vec![
            Message::user("go"),
            Message::assistant_with_calls("", calls),
            Message::tool("1", "look", ToolValue::Text("seen".into())),
            Message::user("and?"),
        ];
        close_open_calls(&mut messages);
        let roles: Vec<&str> = messages.iter().map(|message| message.role().name()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
        let result = messages[3].tool_results().next().expect("is there");
        assert!(&*result.call_id == "2" && result.value.is_error());
        let before = messages.clone();
        close_open_calls(&mut messages);
        assert_eq!(messages, before);
    }
}
