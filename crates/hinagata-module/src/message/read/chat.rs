//! Messages with `role` and `content`: OpenAI's, Anthropic's, Ollama's, MCP's and our own.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Draft, text_part};
use crate::{
    Attachment, Content, MessageFormat, PartContent, Reasoning, Role, Text, ToolCall, ToolResult, ToolValue,
    json::Reader, message::format::FormatSet,
};

/// The formats in which a message of the user or the model with only `role` and a string as `content` is valid.
const PLAIN: FormatSet = FormatSet::from_formats(&[
    MessageFormat::Own,
    MessageFormat::OpenAi,
    MessageFormat::OpenAiResponses,
    MessageFormat::Anthropic,
    MessageFormat::Ollama,
]);

/// The same for a message with instructions, for which Anthropic has another place.
const PLAIN_RULES: FormatSet = FormatSet::from_formats(&[
    MessageFormat::Own,
    MessageFormat::OpenAi,
    MessageFormat::OpenAiResponses,
    MessageFormat::Ollama,
]);

/// The same for a list of texts as `content`.
const PLAIN_LIST: FormatSet =
    FormatSet::from_formats(&[MessageFormat::Own, MessageFormat::OpenAi, MessageFormat::Anthropic]);

/// The members of our own messages.
const OWN_KEYS: [&str; 10] = [
    "role",
    "content",
    "name",
    "id",
    "attachments",
    "toolCalls",
    "toolCallId",
    "kind",
    "value",
    "tool_calls",
];

impl Reader<'_> {
    pub(super) fn read_chat_message(
        &mut self,
        fields: &Map<String, Value>,
        format: Option<MessageFormat>,
    ) -> Option<Draft> {
        let role = self.read_role(fields)?;
        let mut draft = Draft::new(format.unwrap_or(MessageFormat::OpenAi), role);
        draft.name = self.read_optional_text(fields, "name")?;
        draft.id = fields.get("id").and_then(Value::as_str).map(Text::from);
        draft.meta = self.read_meta(fields, &OWN_KEYS)?;
        if role == Role::Tool {
            draft.push_whole(PartContent::ToolResult(self.read_tool_message(fields)?));
            return Some(draft);
        }
        self.read_reasoning_fields(fields, &mut draft);
        self.read_content_field(fields, &mut draft)?;
        self.read_images(fields, &mut draft)?;
        self.read_attachments_field(fields, &mut draft)?;
        if let Some(text) = fields.get("refusal").and_then(Value::as_str) {
            draft.push(PartContent::Refusal(text.into()), "refusal", None);
        }
        if let Some(audio) = fields.get("audio").filter(|audio| !audio.is_null()) {
            draft.push(PartContent::Other("audio".into()), "audio", None);
            let _ = audio;
        }
        self.read_calls(fields, &mut draft)?;
        if draft.parts.iter().any(|(part, _)| matches!(part, PartContent::ToolCall(_)))
            && role != Role::Assistant
        {
            self.add_problem(format!("a message of role {role} cannot call tools: only the assistant does"));
            return None;
        }
        Some(draft)
    }

    /// What the model thought, where it is a string beside the content.
    fn read_reasoning_fields(&mut self, fields: &Map<String, Value>, draft: &mut Draft) {
        for key in ["reasoning_content", "reasoning", "thinking"] {
            if let Some(text) = fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()) {
                let reasoning = Reasoning { text: text.into(), signature: None };
                draft.push(PartContent::Reasoning(reasoning), key, None);
            }
        }
    }

    fn read_content_field(&mut self, fields: &Map<String, Value>, draft: &mut Draft) -> Option<()> {
        match fields.get("content") {
            Some(Value::String(text)) => {
                draft.is_text = true;
                // An empty text beside other parts says nothing.
                if !text.is_empty() {
                    draft.push(text_part(text), "content", None);
                }
            }
            Some(Value::Array(parts)) => {
                let format = draft.format;
                for (index, part) in parts.iter().enumerate() {
                    let step = format!("content[{index}]");
                    let content = self.read_under(&step, |reader| reader.read_part(part, format))?;
                    draft.push(content, "content", Some(index));
                }
            }
            Some(part @ Value::Object(_)) => {
                let format = draft.format;
                let content = self.read_under("content", |reader| reader.read_part(part, format))?;
                draft.push(content, "content", None);
            }
            None | Some(Value::Null) => {
                let others =
                    ["tool_calls", "toolCalls", "function_call", "audio", "refusal", "images", "attachments"];
                let is_silent = !others.iter().any(|key| fields.contains_key(*key));
                if fields.get("content").is_none() && is_silent && draft.role != Role::Assistant {
                    self.add_problem("`content` is missing");
                    return None;
                }
                draft.is_text = true;
            }
            Some(other) => {
                self.read_under("content", |reader| {
                    reader.add_type_error("a string, a list of parts or null", other);
                });
                return None;
            }
        }
        Some(())
    }

    /// Ollama's images, in base64.
    fn read_images(&mut self, fields: &Map<String, Value>, draft: &mut Draft) -> Option<()> {
        let Some(images) = fields.get("images").filter(|images| !images.is_null()) else { return Some(()) };
        let images = self.read_under("images", |reader| {
            reader.read_list(images, |reader, image| match image {
                Value::String(data) => Some(Attachment::image(image_url(data))),
                other => {
                    reader.add_type_error("an image in base64", other);
                    None
                }
            })
        });
        for (index, image) in images.into_iter().enumerate() {
            draft.push(PartContent::Attachment(image), "images", Some(index));
        }
        Some(())
    }

    /// The attachments beside the content, in our own format.
    fn read_attachments_field(&mut self, fields: &Map<String, Value>, draft: &mut Draft) -> Option<()> {
        let Some(list) = fields.get("attachments").filter(|list| !list.is_null()) else { return Some(()) };
        draft.is_text = false;
        for (index, attachment) in self.read_attachments("attachments", list).into_iter().enumerate() {
            draft.push(PartContent::Attachment(attachment), "attachments", Some(index));
        }
        Some(())
    }

    fn read_calls(&mut self, fields: &Map<String, Value>, draft: &mut Draft) -> Option<()> {
        for key in ["tool_calls", "toolCalls"] {
            let Some(calls) = fields.get(key).filter(|calls| !calls.is_null()) else { continue };
            let calls = self.read_under(key, |reader| reader.read_list(calls, Self::read_call));
            for (index, call) in calls.into_iter().enumerate() {
                draft.push(PartContent::ToolCall(call), key, Some(index));
            }
        }
        if let Some(call) = fields.get("function_call").filter(|call| !call.is_null()) {
            let call = self.read_under("function_call", |reader| reader.read_call(call))?;
            draft.push(PartContent::ToolCall(call), "function_call", None);
        }
        Some(())
    }

    /// A tool call: OpenAI's and Ollama's under `function` or `custom`, ours directly.
    pub(super) fn read_call(&mut self, value: &Value) -> Option<ToolCall> {
        let fields = self.read_object(value)?;
        let id = self.read_optional_text(fields, "id")?.unwrap_or_default();
        let inner = ["function", "custom"].into_iter().find(|key| fields.contains_key(*key));
        let Some(key) = inner else { return self.read_named_call(id, fields) };
        self.read_under(key, |reader| {
            let fields = reader.read_object(&fields[key])?;
            reader.read_named_call(id, fields)
        })
    }

    fn read_named_call(&mut self, id: Text, fields: &Map<String, Value>) -> Option<ToolCall> {
        let name = self.read_text(fields, "name")?;
        let arguments = ["arguments", "input", "args"].into_iter().find_map(|key| fields.get(key));
        let arguments = arguments.cloned().unwrap_or_else(|| Value::Object(Map::new()));
        Some(ToolCall::new(id, name, arguments))
    }

    /// A message of a tool: the result of a call.
    fn read_tool_message(&mut self, fields: &Map<String, Value>) -> Option<ToolResult> {
        if let Some(parts) = fields.get("content").and_then(Value::as_array)
            && let Some(reference) = parts.iter().find(|part| is_reference(part))
        {
            return self.read_referring_message(parts, reference);
        }
        let id = ["tool_call_id", "toolCallId", "call_id"].into_iter().find(|key| fields.contains_key(*key));
        let call_id = match id {
            Some(key) => self.read_text(fields, key)?,
            None => Text::default(),
        };
        let name = ["name", "tool_name"].into_iter().find_map(|key| fields.get(key)).and_then(Value::as_str);
        let value = match (fields.get("kind").and_then(Value::as_str), fields.get("value")) {
            (Some("text"), Some(Value::String(text))) => ToolValue::Text(text.into()),
            (Some("data"), Some(value)) => ToolValue::Data(Arc::new(value.clone())),
            (Some("error"), Some(value)) => ToolValue::Error(Arc::new(value.clone())),
            (None, None) => {
                let content = fields.get("content");
                let content = content.or_else(|| {
                    self.add_problem("`content` is missing");
                    None
                })?;
                self.read_under("content", |reader| reader.read_result_value(content, false))?
            }
            _ => {
                self.add_problem(
                    "a tool message needs `content`, or a `kind` (text, data or error) and a matching `value`",
                );
                return None;
            }
        };
        Some(ToolResult { call_id, name: name.map(Text::from), value })
    }

    /// A message of a tool as renders write it: the content, and a part that refers to the call.
    fn read_referring_message(&mut self, parts: &[Value], reference: &Value) -> Option<ToolResult> {
        let fields = self.read_object(reference)?;
        let call_id = self.read_optional_text(fields, "id")?.unwrap_or_default();
        let name = self.read_optional_text(fields, "name")?;
        let is_error = fields.get("is_error") == Some(&Value::Bool(true));
        let others: Value = parts.iter().filter(|part| !is_reference(part)).cloned().collect();
        let value = self.read_under("content", |reader| reader.read_result_value(&others, is_error))?;
        let value = match value {
            ToolValue::Parts { parts, is_error } => match parts.as_slice() {
                [] => text_value(Text::default(), is_error),
                [Attachment::Text(text)] => text_value(text.clone(), is_error),
                _ => ToolValue::Parts { parts, is_error },
            },
            other => other,
        };
        Some(ToolResult { call_id, name, value })
    }

    /// The value of a tool result: a string, a list of parts, or nothing.
    pub(super) fn read_result_value(&mut self, value: &Value, is_error: bool) -> Option<ToolValue> {
        let parts = match value {
            Value::Null => return Some(text_value(Text::default(), is_error)),
            Value::String(text) => return Some(text_value(text.into(), is_error)),
            Value::Array(parts) => parts,
            other => {
                self.add_type_error("a string or a list of parts", other);
                return None;
            }
        };
        let mut all = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let step = format!("[{index}]");
            let content =
                self.read_under(&step, |reader| reader.read_part(part, MessageFormat::Anthropic))?;
            match content {
                PartContent::Attachment(attachment) => all.push(attachment),
                // Search results and the like are data for other providers.
                _ => all.push(Attachment::text(part.to_string())),
            }
        }
        Some(ToolValue::Parts { parts: all, is_error })
    }

    /// The content of an element: a string or a list of attachments, and attachments beside it.
    pub(crate) fn read_content(&mut self, fields: &Map<String, Value>) -> Option<Content> {
        let content = match fields.get("content") {
            Some(Value::String(text)) => Content::Text(Text::from(text)),
            Some(list @ Value::Array(_)) => Content::Parts(self.read_attachments("content", list)),
            Some(other) => {
                self.read_under("content", |reader| {
                    reader.add_type_error("a string or a list of attachments", other);
                });
                return None;
            }
            None => {
                self.add_problem("`content` is missing");
                return None;
            }
        };
        match fields.get("attachments") {
            None | Some(Value::Null) => Some(content),
            Some(list) => Some(
                self.read_attachments("attachments", list)
                    .into_iter()
                    .fold(content, Content::with_attachment),
            ),
        }
    }

    fn read_attachments(&mut self, key: &str, list: &Value) -> Vec<Attachment> {
        self.read_under(key, |reader| reader.read_list(list, Self::read_attachment))
    }
}

/// Whether a part refers to the call of the result beside it.
fn is_reference(part: &Value) -> bool {
    part.get("type").and_then(Value::as_str) == Some("tool_result") && part.get("content").is_none()
}

fn text_value(text: Text, is_error: bool) -> ToolValue {
    if is_error { ToolValue::Error(Arc::new(text.as_str().into())) } else { ToolValue::Text(text) }
}

/// A `data:` URL with an image; the first characters of base64 show its type.
fn image_url(data: &str) -> String {
    let mime = match data.get(..4).unwrap_or_default() {
        "iVBO" => "image/png",
        "R0lG" => "image/gif",
        "UklG" => "image/webp",
        _ => "image/jpeg",
    };
    format!("data:{mime};base64,{data}")
}

/// All formats in which a message whose format is not evident is valid.
pub(super) fn plain_formats(fields: &Map<String, Value>, draft: &Draft) -> FormatSet {
    let is_plain_part = |part: &Value| {
        part.as_object().is_some_and(|part| part.len() == 2 && part.get("text").is_some_and(Value::is_string))
    };
    let is_simple = fields.keys().all(|key| key == "role" || key == "content");
    match (fields.get("content"), draft.role) {
        _ if !is_simple => draft.formats,
        (Some(Value::String(_)), Role::System) => PLAIN_RULES,
        (Some(Value::String(_)), Role::User | Role::Assistant) => PLAIN,
        (Some(Value::Array(parts)), Role::User | Role::Assistant) if parts.iter().all(is_plain_part) => {
            PLAIN_LIST
        }
        _ => draft.formats,
    }
}
