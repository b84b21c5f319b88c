//! Gemini's contents: a role, and parts that are told apart by their members. Names in snake case are read too, as SDKs
//! write them.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Draft, part::encoded, text_part};
use crate::{
    Attachment, MessageFormat, PartContent, Reasoning, Role, Text, ToolCall, ToolResult, ToolValue,
    json::Reader,
};

impl Reader<'_> {
    pub(super) fn read_content_object(&mut self, fields: &Map<String, Value>) -> Option<Draft> {
        // Without a role it is the user.
        let role = match fields.get("role") {
            None | Some(Value::Null) => Role::User,
            Some(_) => self.read_role(fields)?,
        };
        let mut draft = Draft::new(MessageFormat::Gemini, role);
        let parts = match fields.get("parts") {
            Some(Value::Array(parts)) => parts.as_slice(),
            None | Some(Value::Null) => &[],
            Some(other) => {
                self.read_under("parts", |reader| reader.add_type_error("a list", other));
                return None;
            }
        };
        for (index, part) in parts.iter().enumerate() {
            let step = format!("parts[{index}]");
            let content = self.read_under(&step, |reader| reader.read_gemini_part(part))?;
            draft.push(content, "parts", Some(index));
        }
        let is_result = |(part, _): &(PartContent, _)| matches!(part, PartContent::ToolResult(_));
        if role == Role::User && !draft.parts.is_empty() && draft.parts.iter().all(is_result) {
            draft.role = Role::Tool;
        }
        Some(draft)
    }

    fn read_gemini_part(&mut self, value: &Value) -> Option<PartContent> {
        let fields = self.read_object(value)?;
        let get = |camel: &str, snake: &str| {
            fields.get(camel).or_else(|| fields.get(snake)).filter(|value| !value.is_null())
        };
        let is_thought = get("thought", "thought") == Some(&Value::Bool(true));
        if let Some(call) = get("functionCall", "function_call") {
            return self.read_under("functionCall", |reader| reader.read_function_call(call));
        }
        if let Some(response) = get("functionResponse", "function_response") {
            return self.read_under("functionResponse", |reader| reader.read_function_response(response));
        }
        if let Some(data) = get("inlineData", "inline_data") {
            return Some(
                inline_data(data).map_or(PartContent::Other("inlineData".into()), PartContent::Attachment),
            );
        }
        if let Some(file) = get("fileData", "file_data") {
            return Some(
                file_data(file).map_or(PartContent::Other("fileData".into()), PartContent::Attachment),
            );
        }
        if let Some(text) = get("text", "text") {
            let Value::String(text) = text else {
                self.read_under("text", |reader| reader.add_type_error("a string", text));
                return None;
            };
            if is_thought {
                let signature = get("thoughtSignature", "thought_signature").and_then(Value::as_str);
                let signature = signature.map(Text::from);
                return Some(PartContent::Reasoning(Reasoning { text: text.into(), signature }));
            }
            return Some(text_part(text));
        }
        let kind = fields.keys().find(|key| *key != "thought").map_or("empty", String::as_str);
        Some(PartContent::Other(kind.into()))
    }

    fn read_function_call(&mut self, call: &Value) -> Option<PartContent> {
        let fields = self.read_object(call)?;
        let id = self.read_optional_text(fields, "id")?.unwrap_or_default();
        let name = self.read_text(fields, "name")?;
        Some(PartContent::ToolCall(ToolCall::new(id, name, fields.get("args").cloned().unwrap_or_default())))
    }

    fn read_function_response(&mut self, response: &Value) -> Option<PartContent> {
        let fields = self.read_object(response)?;
        let call_id = self.read_optional_text(fields, "id")?.unwrap_or_default();
        let name = self.read_optional_text(fields, "name")?;
        let value = fields.get("response").unwrap_or(&Value::Null);
        let value = match (value.get("output"), value.get("error")) {
            (Some(Value::String(text)), _) => ToolValue::Text(text.into()),
            (Some(output), _) => ToolValue::Data(Arc::new(output.clone())),
            (None, Some(error)) if !error.is_null() => ToolValue::Error(Arc::new(error.clone())),
            _ => ToolValue::Data(Arc::new(value.clone())),
        };
        Some(PartContent::ToolResult(ToolResult { call_id, name, value }))
    }
}

fn member<'v>(value: &'v Value, camel: &str, snake: &str) -> Option<&'v str> {
    value.get(camel).or_else(|| value.get(snake)).and_then(Value::as_str)
}

fn inline_data(value: &Value) -> Option<Attachment> {
    let mime = member(value, "mimeType", "mime_type")?;
    Some(encoded(member(value, "data", "data")?, mime, member(value, "displayName", "display_name")))
}

fn file_data(value: &Value) -> Option<Attachment> {
    let uri = member(value, "fileUri", "file_uri")?;
    Some(match member(value, "mimeType", "mime_type") {
        Some(mime) if !mime.starts_with("image/") => Attachment::file(uri, mime),
        _ => Attachment::image(uri),
    })
}
