//! Converts between compiled prompts and messages.

use hinagata_module::{
    Attachment, CompiledPrompt, Content as Said, Element, Message as ModuleMessage,
    driver::{ChatMessage, ChatPart, chat_messages},
};
use hinagata_template::{Content, Message};
use serde_json::{Value, json};

use super::rendered::RenderedBody;
use crate::{Code, Error, Reason, Result};

impl From<&CompiledPrompt> for RenderedBody {
    /// The messages of a compiled prompt.
    fn from(prompt: &CompiledPrompt) -> Self {
        Self::Messages(chat_messages(prompt).into_iter().map(message).collect())
    }
}

fn message(message: ChatMessage) -> Message {
    let mut content: Vec<Content> = message.parts.into_iter().filter_map(part).collect();
    content.extend(message.calls.iter().map(|call| Content::Part {
        kind: "tool_call".to_owned(),
        content: json!({"id": call.id.as_str(), "name": call.name.as_str(), "arguments": *call.arguments}),
    }));
    if let Some(result) = &message.result {
        let id = json!({"id": result.call_id.as_str(), "name": message.name.as_deref()});
        content.push(Content::Part { kind: "tool_result".to_owned(), content: id });
    }
    Message { role: message.role.name().to_owned(), content }
}

fn part(part: ChatPart) -> Option<Content> {
    Some(match part {
        ChatPart::Text(text) if text.is_empty() => return None,
        ChatPart::Text(text) => Content::Text(text),
        ChatPart::Attachment(Attachment::Text(text)) => Content::Text(text.to_string()),
        ChatPart::Attachment(Attachment::ImageUrl { url }) => {
            Content::Part { kind: "media".to_owned(), content: json!({"url": url.as_str()}) }
        }
        ChatPart::Attachment(Attachment::File { path, mime_type }) => Content::Part {
            kind: "media".to_owned(),
            content: json!({"url": path.as_str(), "type": mime_type.as_str()}),
        },
    })
}

/// Compiles the messages of a prompt that is not a module.
pub(super) fn compile_messages(messages: &[Message]) -> Result<CompiledPrompt> {
    let data: Result<Vec<Element>> = messages.iter().map(|one| Ok(Element::Message(element(one)?))).collect();
    Ok(CompiledPrompt { data: data?, ..CompiledPrompt::default() })
}

fn element(message: &Message) -> Result<ModuleMessage> {
    let said = match message.content.as_slice() {
        [] => Said::default(),
        [Content::Text(text)] => Said::from(text),
        parts => Said::Parts(parts.iter().map(attachment).collect::<Result<_>>()?),
    };
    match message.role.as_str() {
        "system" | "developer" => Ok(ModuleMessage::system(said)),
        "user" => Ok(ModuleMessage::user(said)),
        "assistant" | "model" => Ok(ModuleMessage::assistant(said)),
        "tool" => Err(Error::new(
            Code::RenderRuntime,
            "a tool message has no tool call id, which every provider requires",
        )
        .with_reason(Reason::Runtime)
        .with_hint(
            "render as messages, or write the prompt as a module and give the message a `toolCallId`",
        )),
        other => Err(Error::new(Code::RenderRuntime, format!("unknown role `{other}`"))
            .with_reason(Reason::Runtime)
            .with_hint("use system, user or assistant")),
    }
}

/// Converts a part, in any form that templates and declared messages produce, to an attachment.
fn attachment(content: &Content) -> Result<Attachment> {
    let (kind, fields) = match content {
        Content::Text(text) => return Ok(Attachment::text(text)),
        Content::Part { kind, content } => (kind.as_str(), content),
    };
    let text = |pointer: &str| fields.pointer(pointer).and_then(Value::as_str);
    if kind == "resource"
        && let Some(said) = text("/text")
    {
        return Ok(Attachment::text(said));
    }
    let mime = text("/type").or_else(|| text("/media_type")).or_else(|| text("/mime_type"));
    let address = text("/url").or_else(|| text("/image_url/url")).or_else(|| text("/image_url"));
    let is_image = kind.starts_with("image") || mime.is_none_or(|mime| mime.starts_with("image/"));
    match (address, text("/data"), mime) {
        (Some(url), _, _) if is_image => Ok(Attachment::image(url)),
        (Some(url), _, Some(mime)) => Ok(Attachment::file(url, mime)),
        (None, Some(data), Some(mime)) if is_image => {
            Ok(Attachment::image(format!("data:{mime};base64,{data}")))
        }
        (None, Some(data), Some(mime)) => Ok(Attachment::file(format!("data:{mime};base64,{data}"), mime)),
        _ => match (text("/file/path"), text("/file/mime_type")) {
            (Some(path), Some(mime)) => Ok(Attachment::file(path, mime)),
            _ => Err(Error::new(Code::RenderRuntime, format!("unsupported part type `{kind}`"))
                .with_reason(Reason::Runtime)
                .with_hint("use `media` with a URL, or with data and a type, or render as messages")),
        },
    }
}
