//! Which format a message has.

use serde_json::{Map, Value};

use super::MessageFormat;

/// The format that the shape of a message shows; `None` if it fits several ones.
pub(super) fn evident_format(fields: &Map<String, Value>) -> Option<MessageFormat> {
    let has = |key: &str| fields.contains_key(key);
    let has_any = |keys: &[&str]| keys.iter().any(|key| has(key));
    if has("parts") {
        return Some(MessageFormat::Gemini);
    }
    if let Some(kind) = text(fields.get("type")).filter(|kind| *kind != "message") {
        return is_item_type(kind).then_some(MessageFormat::OpenAiResponses);
    }
    if has("type") && has("status") {
        return Some(MessageFormat::OpenAiResponses);
    }
    if has_any(&["toolCalls", "toolCallId", "attachments", "cacheHint", "kind"]) {
        return Some(MessageFormat::Own);
    }
    if let Some(calls) = fields.get("tool_calls").and_then(Value::as_array).filter(|calls| !calls.is_empty())
    {
        let is_object = |call: &Value| call.pointer("/function/arguments").is_some_and(Value::is_object);
        let is_ollama = calls.iter().any(is_object) && !has("tool_call_id");
        return Some(if is_ollama { MessageFormat::Ollama } else { MessageFormat::OpenAi });
    }
    if has_any(&["images", "tool_name", "thinking"]) {
        return Some(MessageFormat::Ollama);
    }
    let openai = ["tool_call_id", "refusal", "function_call", "audio", "reasoning_content", "annotations"];
    if has_any(&openai) || matches!(text(fields.get("role")), Some("developer" | "function")) {
        return Some(MessageFormat::OpenAi);
    }
    match fields.get("content") {
        Some(Value::Object(_)) => Some(MessageFormat::Mcp),
        Some(Value::Array(parts)) => parts.iter().find_map(part_format),
        _ => None,
    }
}

/// The format that the shape of a part shows.
fn part_format(part: &Value) -> Option<MessageFormat> {
    let has = |key: &str| part.get(key).is_some();
    match text(part.get("type"))? {
        "input_text" | "output_text" | "input_image" | "input_file" => Some(MessageFormat::OpenAiResponses),
        // Ours is the same.
        "image_url"
            if has_only(part.get("image_url"), &["url"]) && has_only(Some(part), &["type", "image_url"]) =>
        {
            None
        }
        "image_url" | "input_audio" | "refusal" | "video_url" => Some(MessageFormat::OpenAi),
        "file" if part.pointer("/file/path").is_some() => Some(MessageFormat::Own),
        "file" => Some(MessageFormat::OpenAi),
        "image" if has("source") => Some(MessageFormat::Anthropic),
        "image" | "audio" | "resource" | "resource_link" if has("data") || has("uri") || has("resource") => {
            Some(MessageFormat::Mcp)
        }
        "tool_result" if has("tool_use_id") => Some(MessageFormat::Anthropic),
        "tool_result" if has("toolUseId") => Some(MessageFormat::Mcp),
        "tool_result" | "tool_call" | "reasoning" | "media" => Some(MessageFormat::Own),
        "text" if has("cache_control") || has("citations") => Some(MessageFormat::Anthropic),
        "text" if has("prompt_cache_breakpoint") => Some(MessageFormat::OpenAi),
        "text" if has("annotations") || has("_meta") => Some(MessageFormat::Mcp),
        kind => is_anthropic_block(kind).then_some(MessageFormat::Anthropic),
    }
}

/// Whether only Anthropic has blocks of this type.
fn is_anthropic_block(kind: &str) -> bool {
    let known = [
        "document",
        "thinking",
        "redacted_thinking",
        "search_result",
        "tool_use",
        "server_tool_use",
        "container_upload",
        "tool_reference",
        "browser_state",
        "mcp_tool_use",
    ];
    known.contains(&kind) || kind.ends_with("_tool_result")
}

/// Whether OpenAI's responses have items of this type, beside messages.
pub(super) fn is_item_type(kind: &str) -> bool {
    let known = [
        "reasoning",
        "item_reference",
        "compaction",
        "compaction_trigger",
        "compaction_summary",
        "program",
        "program_output",
        "additional_tools",
        "configuration_update",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "tool_search_output",
        "local_shell_call_output",
    ];
    // `tool_call` is a part of our own.
    known.contains(&kind)
        || (kind != "tool_call" && (kind.ends_with("_call") || kind.ends_with("_call_output")))
}

/// The format of all messages of a list whose format is evident, if it is the same one.
pub(super) fn common_format(items: &[Value]) -> Option<MessageFormat> {
    let mut formats = items.iter().filter_map(Value::as_object).filter_map(evident_format);
    let first = formats.next()?;
    formats.all(|format| format == first).then_some(first)
}

fn has_only(value: Option<&Value>, keys: &[&str]) -> bool {
    let object = value.and_then(Value::as_object);
    object.is_some_and(|object| object.keys().all(|key| keys.contains(&key.as_str())))
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}
