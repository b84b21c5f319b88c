//! Earlier messages that a prompt places between its own: a list in a variable.

use hinagata_template::{Content, Message};
use hinagata_value::Role;
use serde_json::Value;

use crate::{Code, Error, Reason, Result};

/// The messages of the variable `name`. Their roles are user, assistant and tool; a missing variable has none.
///
/// # Errors
/// Code `validation` for a value that is not a list of messages, `render.security` for another role.
pub(super) fn read_history(name: &str, value: Option<&Value>) -> Result<Vec<Message>> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or_else(|| invalid(name, "must be a list of messages"))?;
    items.iter().map(|item| read_message(name, item)).collect()
}

fn read_message(name: &str, item: &Value) -> Result<Message> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let role = text("role").ok_or_else(|| invalid(name, "has a message without a `role`"))?;
    let role = Role::from_data(role).map_err(|_| {
        let shown: String = role.chars().take(40).collect();
        let message = format!("a role from data must be user, assistant or tool, not `{shown}`");
        Error::new(Code::RenderSecurity, message).with_reason(Reason::Security)
    })?;
    let content = match item.get("content") {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![Content::Text(text.clone())],
        Some(Value::Array(parts)) => parts.iter().map(|part| read_part(name, part)).collect::<Result<_>>()?,
        Some(Value::Null) | None => Vec::new(),
        Some(_) => return Err(invalid(name, "has a message whose `content` is neither a string nor a list")),
    };
    Ok(Message { role: role.as_str().to_owned(), content })
}

fn read_part(name: &str, part: &Value) -> Result<Content> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
    match (kind, part.get("text").and_then(Value::as_str), part.as_object()) {
        ("text", Some(text), _) => Ok(Content::Text(text.to_owned())),
        ("media" | "resource", _, Some(fields)) => {
            let mut fields = fields.clone();
            fields.remove("type");
            Ok(Content::Part { kind: kind.to_owned(), content: Value::Object(fields) })
        }
        _ => Err(invalid(name, "has a part that is neither a text nor media")),
    }
}

fn invalid(name: &str, problem: &str) -> Error {
    Error::new(Code::Validation, format!("the variable `{name}` {problem}"))
        .with_hint("pass a list such as `[{\"role\": \"user\", \"content\": \"Hello\"}]`")
}
