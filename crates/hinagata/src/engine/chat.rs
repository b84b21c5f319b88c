//! Converts between compiled prompts and messages.

use hinagata_module::{
    Attachment, CompiledPrompt, Element, Message as ModuleMessage, MessageFormat, MessagePart, MessageReader,
    PartContent, Role, Text, ToolValue, driver::chat_messages,
};
use hinagata_template::{Content, Message};
use serde_json::{Value, json};

use super::rendered::{RenderedBody, message_json};
use crate::{Code, Error, Reason, Result};

impl From<&CompiledPrompt> for RenderedBody {
    /// The messages of a compiled prompt.
    fn from(prompt: &CompiledPrompt) -> Self {
        Self::Messages(chat_messages(prompt).iter().map(|one| message(one, &mut |_| ())).collect())
    }
}

/// The messages of a prompt, and each text of them with the address of the text that it is a copy of.
pub(super) fn body_with_addresses(messages: &[ModuleMessage]) -> (RenderedBody, Vec<(String, usize)>) {
    let mut texts = Vec::new();
    let mut note = |text: &str| texts.push((text.to_owned(), text.as_ptr().addr()));
    let messages = messages.iter().map(|one| message(one, &mut note)).collect();
    (RenderedBody::Messages(messages), texts)
}

/// Is called with each text that becomes a text of a message.
type NoteText<'n> = &'n mut dyn FnMut(&str);

fn message(message: &ModuleMessage, note: NoteText<'_>) -> Message {
    let text = message.as_text().and_then(|text| text_content(text, note));
    let parts = message.parts().iter().flat_map(|part| contents(part, message, note));
    Message { role: message.role().name().to_owned(), content: text.into_iter().chain(parts).collect() }
}

/// The contents of a part: the result of a tool is a text and a part that refers to the call.
fn contents(part: &MessagePart, message: &ModuleMessage, note: NoteText<'_>) -> Vec<Content> {
    match part.content() {
        PartContent::Attachment(attachment) => attachment_content(attachment, note).into_iter().collect(),
        PartContent::Refusal(text) => {
            note(text);
            vec![Content::Text(text.to_string())]
        }
        PartContent::ToolResult(result) => {
            let mut all: Vec<Content> = match &result.value {
                ToolValue::Parts { parts, .. } => {
                    parts.iter().filter_map(|part| attachment_content(part, note)).collect()
                }
                value => text_content(&value.to_text(), note).into_iter().collect(),
            };
            let name = result.name.as_deref().or(message.name());
            let mut fields = json!({"id": result.call_id.as_str(), "name": name});
            if result.value.is_error() {
                fields["is_error"] = true.into();
            }
            all.push(Content::Part { kind: "tool_result".to_owned(), content: fields });
            all
        }
        PartContent::ToolCall(_) | PartContent::Reasoning(_) | PartContent::Other(_) => {
            vec![typed_content(part.to_json())]
        }
    }
}

fn text_content(text: &str, note: NoteText<'_>) -> Option<Content> {
    (!text.is_empty()).then(|| {
        note(text);
        Content::Text(text.to_owned())
    })
}

fn attachment_content(attachment: &Attachment, note: NoteText<'_>) -> Option<Content> {
    let media = |content: Value| Content::Part { kind: "media".to_owned(), content };
    match attachment {
        Attachment::Text(text) => text_content(text, note),
        Attachment::ImageUrl { url } => Some(media(json!({"url": url.as_str()}))),
        Attachment::File { path, mime_type, .. } => {
            Some(media(json!({"url": path.as_str(), "type": mime_type.as_str()})))
        }
    }
}

/// A part in JSON, whose `type` is its kind.
fn typed_content(mut document: Value) -> Content {
    let kind = document.as_object_mut().and_then(|fields| fields.shift_remove("type"));
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("part").to_owned();
    Content::Part { kind, content: document }
}

/// Compiles the messages of a prompt that is not a module.
pub(super) fn compile_messages(messages: &[Message]) -> Result<CompiledPrompt> {
    let data: Result<Vec<Element>> = messages.iter().map(|one| Ok(Element::Message(element(one)?))).collect();
    Ok(CompiledPrompt { data: data?, ..CompiledPrompt::default() })
}

fn element(message: &Message) -> Result<ModuleMessage> {
    let role = match message.role.as_str() {
        "developer" => Some(Role::System),
        "model" => Some(Role::Assistant),
        other => Role::from_name(other),
    };
    match (role, message.content.as_slice()) {
        (None, _) => {
            Err(message_error(format!("unknown role `{}`", message.role), "use system, user or assistant"))
        }
        (Some(role), []) if role != Role::Tool => Ok(ModuleMessage::from_content(role, Text::default())),
        (Some(role), [Content::Text(text)]) if role != Role::Tool => {
            Ok(ModuleMessage::from_content(role, text))
        }
        _ => MessageReader::new()
            .with_format(MessageFormat::Own)
            .read_message(&message_json(message))
            .map_err(|error| {
                let hint = "use `media` with a URL, or with data and a type, or render as messages";
                message_error(error.to_string(), hint)
            }),
    }
}

fn message_error(message: String, hint: &'static str) -> Error {
    Error::new(Code::RenderRuntime, message).with_reason(Reason::Runtime).with_hint(hint)
}
