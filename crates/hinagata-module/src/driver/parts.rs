//! Parts of messages that providers treat differently: notes about what has no place, and missing ids of tool calls.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
};

use super::request::Notes;
use crate::{
    CompiledPrompt, Element, Error, Message, MessageFormat, MessagePart, PartContent, Problem, Role, Text,
    ToolResult, ToolValue,
};

/// Adds notes about everything in messages that the provider has no place for.
pub(super) fn note_messages<'p>(
    messages: impl Iterator<Item = &'p Message>,
    format: MessageFormat,
    notes: &mut Notes,
) {
    // What was read in the format of the provider is written unchanged.
    for message in messages.filter(|message| message.items_in(format).is_none()) {
        if message.name().is_some() && message.role() != Role::Tool && format != MessageFormat::OpenAi {
            notes.add(format!("{} does not support speaker names", format.name()));
        }
        message.parts().iter().filter(|part| !part.is_from(format)).for_each(|part| {
            if let Some(note) = part_note(part, format) {
                notes.add(format!("{} {note}", format.name()));
            }
        });
    }
}

/// Whether a provider accepts the part in some form.
pub(super) fn has_place(part: &MessagePart, format: MessageFormat) -> bool {
    match part.content() {
        PartContent::Reasoning(_) => format == MessageFormat::Ollama || part.is_from(format),
        PartContent::Other(_) => part.is_from(format),
        _ => true,
    }
}

fn part_note(part: &MessagePart, format: MessageFormat) -> Option<Cow<'static, str>> {
    match part.content() {
        PartContent::Attachment(_) => None,
        PartContent::Reasoning(_) if has_place(part, format) => None,
        PartContent::Reasoning(_) => {
            Some("does not accept the reasoning of other models; it is left out".into())
        }
        PartContent::Refusal(_) => match format {
            MessageFormat::OpenAi => None,
            _ => Some("has no refusals; the text is sent as an answer".into()),
        },
        PartContent::Other(kind) => {
            Some(format!("does not support the part `{}`; it is left out", shorten(kind)).into())
        }
        PartContent::ToolCall(call) => match (&*call.arguments, format) {
            (serde_json::Value::Object(_) | serde_json::Value::Null, _)
            | (_, MessageFormat::OpenAi | MessageFormat::OpenAiResponses) => None,
            _ => Some(
                "requires an object as arguments of a tool; others are sent as its member `input`".into(),
            ),
        },
        PartContent::ToolResult(result) => result_note(result, format),
    }
}

fn result_note(result: &ToolResult, format: MessageFormat) -> Option<Cow<'static, str>> {
    let takes_media = matches!(format, MessageFormat::Anthropic | MessageFormat::OpenAiResponses);
    if !takes_media && result.value.media().next().is_some() {
        return Some("does not accept images or files in results of tools; they follow the result".into());
    }
    match &result.value {
        ToolValue::Parts { is_error: true, .. }
            if !matches!(format, MessageFormat::Anthropic | MessageFormat::Gemini) =>
        {
            Some("has no mark for errors of tools; the text of the error is sent".into())
        }
        _ => None,
    }
}

fn shorten(kind: &str) -> String {
    kind.chars().take(40).collect()
}

/// The prompt with an id for every tool call that has none, if there are any: most providers require ids, some have
/// none.
///
/// The id follows from the position of the call. A result without an id belongs to the first call of its tool that has no
/// result yet.
pub(super) fn fill_call_ids(prompt: &CompiledPrompt) -> Option<CompiledPrompt> {
    let lacks_id = |part: &MessagePart| match part.content() {
        PartContent::ToolCall(call) => call.id.is_empty(),
        PartContent::ToolResult(result) => result.call_id.is_empty(),
        _ => false,
    };
    let lacks_ids = |element: &Element| matches!(element, Element::Message(message) if message.parts().iter().any(lacks_id));
    if !prompt.elements().any(lacks_ids) {
        return None;
    }
    let mut prompt = prompt.clone();
    let mut ids = CallIds::from_prompt(&prompt);
    for elements in [&mut prompt.instructions, &mut prompt.data, &mut prompt.output] {
        for element in elements {
            if let Element::Message(message) = element
                && let Some(parts) = message.parts_mut()
            {
                parts.iter_mut().for_each(|part| ids.fill_part(part));
            }
        }
    }
    Some(prompt)
}

/// The ids of the calls of a conversation.
struct CallIds {
    taken: HashSet<Text>,
    calls: usize,
    /// The calls without a result, by tool, the first one first.
    waiting: HashMap<Text, VecDeque<Text>>,
    /// The same in the order of the conversation, for results that name no tool.
    order: VecDeque<Text>,
}

impl CallIds {
    fn from_prompt(prompt: &CompiledPrompt) -> Self {
        let messages = prompt.elements().filter_map(|element| match element {
            Element::Message(message) => Some(message),
            _ => None,
        });
        let taken = messages.flat_map(Message::tool_calls).map(|call| call.id.clone()).collect();
        Self { taken, calls: 0, waiting: HashMap::new(), order: VecDeque::new() }
    }

    fn fill_part(&mut self, part: &mut MessagePart) {
        match part.content() {
            PartContent::ToolCall(call) => {
                let (id, name) = (call.id.clone(), call.name.clone());
                let id = if id.is_empty() { self.next_id() } else { id };
                self.waiting.entry(name).or_default().push_back(id.clone());
                self.order.push_back(id.clone());
                part.set_call_id(id);
            }
            PartContent::ToolResult(result) => {
                let id = if result.call_id.is_empty() {
                    self.id_of_result(result)
                } else {
                    result.call_id.clone()
                };
                self.order.retain(|waiting| *waiting != id);
                self.waiting.values_mut().for_each(|ids| ids.retain(|waiting| *waiting != id));
                part.set_call_id(id);
            }
            _ => {}
        }
    }

    fn next_id(&mut self) -> Text {
        loop {
            let id = Text::from(format!("call_{}", self.calls));
            self.calls += 1;
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }

    /// The id of the call that a result belongs to; empty without such a call.
    fn id_of_result(&self, result: &ToolResult) -> Text {
        let named = result.name.as_ref().and_then(|name| self.waiting.get(name.as_str()));
        let first = named.and_then(|ids| ids.front()).or_else(|| self.order.front());
        first.cloned().unwrap_or_default()
    }
}

/// Refuses the result of a tool that belongs to no call, which providers with ids reject.
pub(super) fn check_results<'p>(
    mut messages: impl Iterator<Item = &'p Message>,
    format: MessageFormat,
) -> Result<(), Error> {
    let is_lost = |message: &&Message| {
        message.items_in(format).is_none() && message.tool_results().any(|result| result.call_id.is_empty())
    };
    match messages.find(is_lost) {
        None => Ok(()),
        Some(_) => Err(Problem::new("", "the result of a tool belongs to no call")
            .with_hint("put the call before it, or give the result the id of its call: `toolCallId`")
            .into()),
    }
}
