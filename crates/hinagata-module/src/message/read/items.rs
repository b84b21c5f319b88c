//! The items of OpenAI's responses.

use serde_json::{Map, Value};

use super::Draft;
use crate::{MessageFormat, PartContent, Reasoning, Role, Text, ToolResult, json::Reader};

impl Reader<'_> {
    /// One item.
    pub(super) fn read_item(&mut self, fields: &Map<String, Value>) -> Option<Draft> {
        let kind = match fields.get("type") {
            None | Some(Value::Null) if fields.contains_key("role") => "message",
            None | Some(Value::Null) => "item_reference",
            Some(Value::String(kind)) => kind.as_str(),
            Some(other) => {
                self.read_under("type", |reader| reader.add_type_error("a string", other));
                return None;
            }
        };
        let format = MessageFormat::OpenAiResponses;
        let (role, content) = match kind {
            "message" => return self.read_chat_message(fields, Some(format)),
            "function_call" | "custom_tool_call" => {
                (Role::Assistant, PartContent::ToolCall(self.read_call_part(fields, "call_id")?))
            }
            "function_call_output" | "custom_tool_call_output" => {
                (Role::Tool, PartContent::ToolResult(self.read_output(fields)?))
            }
            "reasoning" => (Role::Assistant, PartContent::Reasoning(reasoning_of(fields))),
            kind if kind.ends_with("_output") || kind == "mcp_approval_response" => {
                (Role::Tool, PartContent::Other(kind.into()))
            }
            kind => (Role::Assistant, PartContent::Other(kind.into())),
        };
        let mut draft = Draft::new(format, role);
        draft.id = fields.get("id").and_then(Value::as_str).map(Text::from);
        draft.push_whole(content);
        Some(draft)
    }

    fn read_output(&mut self, fields: &Map<String, Value>) -> Option<ToolResult> {
        let call_id = self.read_optional_text(fields, "call_id")?.unwrap_or_default();
        let Some(output) = fields.get("output") else {
            self.add_problem("`output` is missing");
            return None;
        };
        let value = self.read_under("output", |reader| reader.read_result_value(output, false))?;
        Some(ToolResult { call_id, name: None, value })
    }
}

/// The summary of what the model thought, else the text itself.
fn reasoning_of(fields: &Map<String, Value>) -> Reasoning {
    let texts = |key: &str| {
        let parts = fields.get(key).and_then(Value::as_array).into_iter().flatten();
        parts.filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n\n")
    };
    let text = Some(texts("summary")).filter(|text| !text.is_empty()).unwrap_or_else(|| texts("content"));
    let signature = fields.get("encrypted_content").and_then(Value::as_str).map(Text::from);
    Reasoning { text: text.into(), signature }
}

/// Whether an item belongs to the answer that `first` began: reasoning, one message, then calls.
pub(super) fn continues_turn(first: &Draft, next: &Draft) -> bool {
    let is_item =
        |draft: &Draft| draft.format == MessageFormat::OpenAiResponses && draft.role == Role::Assistant;
    let has_answer = |draft: &Draft| {
        let is_thought = |part: &PartContent| matches!(part, PartContent::Reasoning(_));
        draft.parts.is_empty() || draft.parts.iter().any(|(part, _)| !is_thought(part))
    };
    let is_call = |draft: &Draft| {
        let is_call = |part: &PartContent| matches!(part, PartContent::ToolCall(_) | PartContent::Other(_));
        draft.parts.iter().any(|(part, place)| is_call(part) && place.key.is_none())
    };
    is_item(first) && is_item(next) && (is_call(next) || !has_answer(first))
}
