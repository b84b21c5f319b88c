//! A prompt as plain messages, for programs that call a provider themselves.

use super::{
    conversation::Conversation,
    dialect::{Dialect, ElementWriter},
};
use crate::{
    Attachment, CacheHint, CompiledPrompt, Content, Element, Message, Text, TextRecord, record::RecordedText,
};

/// A text that was made of several texts, and what was written where.
#[derive(Clone, Debug)]
pub struct MadeText {
    /// The text.
    pub text: Text,
    /// What it is made of.
    pub record: TextRecord,
}

/// The messages of a prompt: one with the instructions, then one for each element.
#[must_use]
pub fn chat_messages(prompt: &CompiledPrompt) -> Vec<Message> {
    write_messages(prompt, &mut None)
}

/// As [`chat_messages`], with the record of each text that is not a text of the prompt itself.
#[must_use]
pub fn recorded_messages(prompt: &CompiledPrompt) -> (Vec<Message>, Vec<MadeText>) {
    let mut made = Some(Vec::new());
    let messages = write_messages(prompt, &mut made);
    (messages, made.unwrap_or_default())
}

/// The records of texts, if they are recorded.
type Made = Option<Vec<MadeText>>;

fn write_messages(prompt: &CompiledPrompt, made: &mut Made) -> Vec<Message> {
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let mut all = Vec::with_capacity(conversation.turns.len() + 1);
    if !conversation.rules.is_empty() {
        let rules = conversation.rules.iter();
        let parts = rules.flat_map(|element| element_parts(&element_writer, element, made)).collect();
        let cache = conversation.rules.iter().map(|element| element.cache_hint()).max();
        let content = join_texts(parts, &conversation.rules, made);
        all.push(Message::system(content).with_cache_hint(cache.unwrap_or(CacheHint::Static)));
    }
    all.extend(conversation.turns.iter().map(|turn| match turn.message() {
        Some(message) => message.clone(),
        None => {
            let content = match element_parts(&element_writer, turn.element, made).as_slice() {
                [Attachment::Text(text)] => Content::Text(text.clone()),
                parts => Content::Parts(parts.to_vec()),
            };
            Message::user(content).with_cache_hint(turn.element.cache_hint())
        }
    }));
    all
}

/// Joins instructions that consist only of headings and texts.
fn join_texts(parts: Vec<Attachment>, rules: &[&Element], made: &mut Made) -> Content {
    let is_data = |element: &&Element| {
        matches!(element, Element::Material(_) | Element::Chunk(_) | Element::Message(_))
    };
    let texts = parts.iter().map(|part| match part {
        Attachment::Text(text) => Some(text),
        Attachment::ImageUrl { .. } | Attachment::File { .. } => None,
    });
    match texts.collect::<Option<Vec<_>>>() {
        Some(texts) if !rules.iter().any(is_data) => Content::Text(join_lines(&texts, made)),
        _ => Content::Parts(parts),
    }
}

/// The text of an element that is not a message, and its images and files.
fn element_parts(element_writer: &ElementWriter, element: &Element, made: &mut Made) -> Vec<Attachment> {
    let content = match element {
        Element::Text(element) => Some(&element.content),
        Element::Material(element) => Some(&element.content),
        Element::Chunk(element) => Some(&element.content),
        _ => None,
    };
    let Some(Content::Parts(attached)) = content else {
        return vec![Attachment::Text(match made {
            None => {
                let mut text = String::new();
                element_writer.write_element(&mut text, element);
                text.into()
            }
            Some(_) => {
                let mut text = RecordedText::default();
                element_writer.write_element(&mut text, element);
                keep_record(text, made)
            }
        })];
    };
    let (mut before, mut after) = (RecordedText::default(), RecordedText::default());
    element_writer.write_surrounding(element, &mut before, &mut after);
    let mut text =
        |text: RecordedText| (!text.text.is_empty()).then(|| Attachment::Text(keep_record(text, made)));
    let (before, after) = (text(before), text(after));
    before.into_iter().chain(attached.iter().cloned()).chain(after).collect()
}

fn keep_record(RecordedText { text, record }: RecordedText, made: &mut Made) -> Text {
    let text = Text::from(text);
    if let Some(made) = made {
        made.push(MadeText { text: text.clone(), record });
    }
    text
}

/// The texts with blank lines between them.
fn join_lines(texts: &[&Text], made: &mut Made) -> Text {
    const BLANK: &str = "\n\n";
    let joined: Vec<&str> = texts.iter().map(|text| text.as_str()).collect();
    let mut all = RecordedText { text: joined.join(BLANK), ..RecordedText::default() };
    let mut at = 0;
    for text in texts {
        let known = made.iter().flatten().find(|known| known.text.address() == text.address());
        if let Some(known) = known {
            all.record.append(at, &known.record);
        }
        at += text.len() + BLANK.len();
    }
    keep_record(all, made)
}
