//! Messages of a caller, in OpenAI's format, as elements for any driver.

use hinagata::{
    Error, Reason, Result,
    module::{Attachment, Content, Element, Message, ToolCall, ToolValue},
};
use serde_json::Value;

use crate::failure::validation_error;

/// The elements of `messages`, a list in OpenAI's format.
///
/// # Errors
/// Code `validation`, if it is not such a list.
pub(crate) fn parse_messages(messages: &Value) -> Result<Vec<Element>> {
    let list = messages.as_array().ok_or_else(|| messages_error("expected a list"))?;
    list.iter().map(|one| parse_message(one).map(Element::Message)).collect()
}

fn messages_error(why: &str) -> Error {
    validation_error(format!("invalid option `messages`: {why}"))
        .with_reason(Reason::Option)
        .with("option", "messages")
}

fn text_field<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn parse_message(value: &Value) -> Result<Message> {
    let content = || parse_content(value.get("content").unwrap_or(&Value::Null));
    let message = match text_field(value, "role") {
        Some("system" | "developer") => Message::system(content()?),
        Some("user") => Message::user(content()?),
        Some("assistant") => Message::assistant_with_calls(content()?, parse_calls(value)?),
        Some("tool") => {
            let id = text_field(value, "tool_call_id")
                .ok_or_else(|| messages_error("a tool message has no `tool_call_id`"))?;
            let said: Vec<String> = content()?.texts().map(str::to_owned).collect();
            let name = text_field(value, "name").unwrap_or_default();
            return Ok(Message::tool(id, name, ToolValue::Text(said.join("\n").into())));
        }
        _ => return Err(messages_error("`role` must be system, developer, user, assistant or tool")),
    };
    Ok(match text_field(value, "name") {
        Some(name) => message.with_name(name),
        None => message,
    })
}

fn parse_content(value: &Value) -> Result<Content> {
    match value {
        Value::Null => Ok(Content::default()),
        Value::String(text) => Ok(Content::from(text.as_str())),
        Value::Array(parts) => Ok(Content::Parts(parts.iter().map(parse_part).collect::<Result<_>>()?)),
        _ => Err(messages_error("`content` must be a string or a list of parts")),
    }
}

fn parse_part(value: &Value) -> Result<Attachment> {
    let at = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    match (text_field(value, "type"), at("/text"), at("/image_url/url"), at("/file/file_data")) {
        (Some("text"), Some(text), ..) => Ok(Attachment::text(text)),
        (Some("image_url"), _, Some(url), _) => Ok(Attachment::image(url)),
        (Some("file"), .., Some(data)) => {
            let mime = data.strip_prefix("data:").and_then(|rest| rest.split_once(';')).map(|(mime, _)| mime);
            let mime =
                mime.ok_or_else(|| messages_error("`file_data` must be a `data:` URL with a media type"))?;
            Ok(Attachment::file(data, mime))
        }
        _ => {
            Err(messages_error("a part must be `text`, `image_url` with a `url`, or `file` with `file_data`"))
        }
    }
}

fn parse_calls(value: &Value) -> Result<Vec<ToolCall>> {
    let list = value.get("tool_calls").and_then(Value::as_array);
    let call = |call: &Value| {
        let arguments = call.pointer("/function/arguments").and_then(Value::as_str).unwrap_or("{}");
        let arguments = serde_json::from_str(arguments).map_err(|error| {
            messages_error(&format!("the arguments of a tool call are not valid JSON: {error}"))
        })?;
        let name = call.pointer("/function/name").and_then(Value::as_str);
        match (text_field(call, "id"), name) {
            (Some(id), Some(name)) => Ok(ToolCall::new(id, name, arguments)),
            _ => Err(messages_error("a tool call needs an `id` and a `function` with a `name`")),
        }
    };
    list.into_iter().flatten().map(call).collect()
}
