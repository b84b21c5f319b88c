//! A prompt as plain messages, for programs that call a provider themselves.

use super::{
    conversation::Conversation,
    dialect::{Dialect, ElementWriter},
};
use crate::{Attachment, CacheHint, CompiledPrompt, Content, Element, Message};

/// The messages of a prompt: one with the instructions, then one for each element.
#[must_use]
pub fn chat_messages(prompt: &CompiledPrompt) -> Vec<Message> {
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let mut all = Vec::with_capacity(conversation.turns.len() + 1);
    if !conversation.rules.is_empty() {
        let parts =
            conversation.rules.iter().flat_map(|element| element_parts(&element_writer, element)).collect();
        let cache = conversation.rules.iter().map(|element| element.cache_hint()).max();
        let content = join_texts(parts, &conversation.rules);
        all.push(Message::system(content).with_cache_hint(cache.unwrap_or(CacheHint::Static)));
    }
    all.extend(conversation.turns.iter().map(|turn| match turn.message() {
        Some(message) => message.clone(),
        None => {
            let content = match element_parts(&element_writer, turn.element).as_slice() {
                [Attachment::Text(text)] => Content::Text(text.clone()),
                parts => Content::Parts(parts.to_vec()),
            };
            Message::user(content).with_cache_hint(turn.element.cache_hint())
        }
    }));
    all
}

/// Joins instructions that consist only of headings and texts.
fn join_texts(parts: Vec<Attachment>, rules: &[&Element]) -> Content {
    let is_data = |element: &&Element| {
        matches!(element, Element::Material(_) | Element::Chunk(_) | Element::Message(_))
    };
    let texts = parts.iter().map(|part| match part {
        Attachment::Text(text) => Some(text.as_str()),
        Attachment::ImageUrl { .. } | Attachment::File { .. } => None,
    });
    match texts.collect::<Option<Vec<_>>>() {
        Some(texts) if !rules.iter().any(is_data) => Content::from(texts.join("\n\n")),
        _ => Content::Parts(parts),
    }
}

/// The text of an element that is not a message, and its images and files.
fn element_parts(element_writer: &ElementWriter, element: &Element) -> Vec<Attachment> {
    let content = match element {
        Element::Text(element) => Some(&element.content),
        Element::Material(element) => Some(&element.content),
        Element::Chunk(element) => Some(&element.content),
        _ => None,
    };
    let Some(Content::Parts(attached)) = content else {
        let mut text = String::new();
        element_writer.write_element(&mut text, element);
        return vec![Attachment::text(text)];
    };
    let (before, after) = element_writer.surrounding_texts(element);
    let text = |text: String| (!text.is_empty()).then(|| Attachment::text(text));
    text(before).into_iter().chain(attached.iter().cloned()).chain(text(after)).collect()
}
