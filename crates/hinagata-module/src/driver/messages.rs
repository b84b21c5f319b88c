//! A prompt as plain messages, for programs that call a provider themselves.

use super::{
    conversation::Conversation,
    dialect::{Dialect, ElementWriter},
};
use crate::{
    Attachment, CacheHint, CompiledPrompt, Content, Element, Role, Text,
    message::{Said, ToolCall, ToolResult},
};

/// A message with everything that a provider may need.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    /// The role of the speaker.
    pub role: Role,
    /// The name of the speaker.
    pub name: Option<Text>,
    /// The content.
    pub parts: Vec<ChatPart>,
    /// The tool calls of the model.
    pub calls: Vec<ToolCall>,
    /// The result of a tool.
    pub result: Option<ToolResult>,
    /// How often it changes between calls.
    pub cache: CacheHint,
}

/// A part of a [`ChatMessage`].
#[derive(Clone, Debug, PartialEq)]
pub enum ChatPart {
    /// A text.
    Text(String),
    /// An image or a file.
    Attachment(Attachment),
}

/// The messages of a prompt: one with the instructions, then one for each element.
#[must_use]
pub fn chat_messages(prompt: &CompiledPrompt) -> Vec<ChatMessage> {
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let mut all = Vec::with_capacity(conversation.turns.len() + 1);
    if !conversation.rules.is_empty() {
        let parts =
            conversation.rules.iter().flat_map(|element| element_parts(&element_writer, element)).collect();
        let cache = conversation.rules.iter().map(|element| element.cache_hint()).max();
        all.push(ChatMessage {
            role: Role::System,
            name: None,
            parts: join_texts(parts, &conversation.rules),
            calls: Vec::new(),
            result: None,
            cache: cache.unwrap_or(CacheHint::Static),
        });
    }
    all.extend(conversation.turns.iter().map(|turn| {
        let message = turn.message();
        let (calls, result) = match message.map(|message| &message.said) {
            Some(Said::Assistant(_, calls)) => (calls.clone(), None),
            Some(Said::Tool(result)) => (Vec::new(), Some(result.clone())),
            _ => (Vec::new(), None),
        };
        ChatMessage {
            role: message.map_or(Role::User, crate::Message::role),
            name: message.and_then(|message| message.name.clone()),
            parts: element_parts(&element_writer, turn.element),
            calls,
            result,
            cache: turn.element.cache_hint(),
        }
    }));
    all
}

/// Joins instructions that consist only of headings and texts.
fn join_texts(parts: Vec<ChatPart>, rules: &[&Element]) -> Vec<ChatPart> {
    if rules
        .iter()
        .any(|element| matches!(element, Element::Material(_) | Element::Chunk(_) | Element::Message(_)))
    {
        return parts;
    }
    let mut texts = Vec::with_capacity(parts.len());
    for part in &parts {
        match part {
            ChatPart::Text(text) => texts.push(text.as_str()),
            ChatPart::Attachment(_) => return parts,
        }
    }
    vec![ChatPart::Text(texts.join("\n\n"))]
}

fn element_parts(element_writer: &ElementWriter, element: &Element) -> Vec<ChatPart> {
    let content = match element {
        Element::Text(element) => Some(&element.content),
        Element::Material(element) => Some(&element.content),
        Element::Chunk(element) => Some(&element.content),
        Element::Message(message) => message.content(),
        _ => None,
    };
    let Some(Content::Parts(attached)) = content else {
        let mut text = String::new();
        element_writer.write_element(&mut text, element);
        return vec![ChatPart::Text(text)];
    };
    let (before, after) = element_writer.surrounding_texts(element);
    let text = |text: String| (!text.is_empty()).then_some(ChatPart::Text(text));
    let attached = attached.iter().map(|part| match part {
        Attachment::Text(text) => ChatPart::Text(text.to_string()),
        other => ChatPart::Attachment(other.clone()),
    });
    text(before).into_iter().chain(attached).chain(text(after)).collect()
}
