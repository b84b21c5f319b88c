//! The fields of each face's requests, and their names in OpenAI's chat completions.

use std::collections::BTreeMap;

use hinagata::{Reason, Result};
use serde_json::{Map, Value, json};

use super::request::Untranslated;
use crate::failure::validation_error;

/// The options that every provider gets, under OpenAI's names.
pub(super) const COMMON_OPTIONS: [&str; 10] = [
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "tools",
    "response_format",
    "stream_options",
];

/// The fields that an answer of OpenAI's responses repeats.
pub(super) const ECHOED: [&str; 9] = [
    "max_output_tokens",
    "parallel_tool_calls",
    "reasoning",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "user",
];

/// Fields of OpenAI's responses that chat completions have under the same name.
const SAME_IN_CHAT: [&str; 9] = [
    "parallel_tool_calls",
    "prompt_cache_key",
    "safety_identifier",
    "seed",
    "service_tier",
    "temperature",
    "top_logprobs",
    "top_p",
    "user",
];

/// Fields of OpenAI's responses that continue something that nobody keeps here.
const STATEFUL: [&str; 3] = ["background", "conversation", "previous_response_id"];

/// What a request says to the model.
pub(super) struct FaceInput {
    pub(super) system: Vec<String>,
    /// A list of messages.
    pub(super) messages: Value,
    pub(super) translated: TranslatedFields,
}

/// Options under OpenAI's names, and the fields that have none.
#[derive(Default)]
pub(super) struct TranslatedFields {
    pub(super) options: Map<String, Value>,
    pub(super) untranslated: BTreeMap<String, Untranslated>,
}

impl TranslatedFields {
    fn set(&mut self, name: &str, value: Value) {
        self.options.insert(name.to_owned(), value);
    }

    fn leave_out(&mut self, name: &str) {
        self.untranslated.insert(name.to_owned(), Untranslated::LeftOut);
    }

    fn refuse(&mut self, name: &str) {
        self.untranslated.insert(name.to_owned(), Untranslated::Refused);
    }
}

fn field_error(name: &str, wanted: &str) -> hinagata::Error {
    validation_error(format!("`{name}` must be {wanted}")).with_reason(Reason::Option).with("option", name)
}

fn take_messages(body: &mut Map<String, Value>, name: &'static str) -> Result<Value> {
    match body.shift_remove(name) {
        None | Some(Value::Null) => Ok(json!([])),
        Some(list @ Value::Array(_)) => Ok(list),
        Some(_) => Err(field_error(name, "a list of messages")),
    }
}

/// Reads the messages of chat completions; the other fields are options already.
pub(super) fn take_chat_input(body: &mut Map<String, Value>) -> Result<FaceInput> {
    body.retain(|_, value| !value.is_null());
    let messages = take_messages(body, "messages")?;
    let translated = TranslatedFields { options: body.clone(), ..TranslatedFields::default() };
    Ok(FaceInput { system: Vec::new(), messages, translated })
}

/// Reads what a request of OpenAI's responses says, and translates its options.
pub(super) fn take_responses_input(body: &mut Map<String, Value>) -> Result<FaceInput> {
    body.retain(|_, value| !value.is_null());
    for name in STATEFUL {
        if body.shift_remove(name).is_some_and(|value| value != Value::Bool(false)) {
            return Err(validation_error(format!("`{name}` is not supported: no response is kept here"))
                .with_reason(Reason::Option)
                .with("option", name)
                .with_hint("send the earlier items in `input`"));
        }
    }
    let messages = match body.shift_remove("input") {
        None => json!([]),
        Some(Value::String(text)) => json!([{"type": "message", "role": "user", "content": text}]),
        Some(Value::Array(items)) => items.into_iter().map(to_item).collect(),
        Some(_) => return Err(field_error("input", "a string or a list of items")),
    };
    let system = match body.shift_remove("instructions") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![text],
        Some(_) => return Err(field_error("instructions", "a string")),
    };
    let mut translated = TranslatedFields::default();
    for (name, value) in body.iter() {
        translate_responses_field(name, value, &mut translated)?;
    }
    Ok(FaceInput { system, messages, translated })
}

/// A message whose content is a string looks like one of chat completions, unless its type says otherwise.
fn to_item(mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut()
        && fields.contains_key("role")
    {
        fields.entry("type").or_insert_with(|| "message".into());
    }
    item
}

fn translate_responses_field(name: &str, value: &Value, fields: &mut TranslatedFields) -> Result<()> {
    match name {
        "max_output_tokens" => fields.set("max_completion_tokens", value.clone()),
        "tools" => translate_tools(value, to_chat_tool, fields)?,
        "tool_choice" => match value.get("type").and_then(Value::as_str) {
            None => fields.set("tool_choice", value.clone()),
            Some("function") => {
                let function = json!({"name": value.get("name")});
                fields.set("tool_choice", json!({"type": "function", "function": function}));
            }
            Some(_) => fields.refuse(name),
        },
        "text" => translate_text_options(value, fields),
        "reasoning" => {
            if let Some(effort) = value.get("effort").filter(|effort| !effort.is_null()) {
                fields.set("reasoning_effort", effort.clone());
            }
        }
        // A request that stores nothing is what it is here.
        "store" if value == &Value::Bool(false) => {}
        // The rule that is the default here.
        "truncation" if value == "disabled" => {}
        "stream_options" => {}
        _ if SAME_IN_CHAT.contains(&name) => fields.set(name, value.clone()),
        _ => fields.leave_out(name),
    }
    Ok(())
}

fn translate_text_options(value: &Value, fields: &mut TranslatedFields) {
    if let Some(verbosity) = value.get("verbosity").filter(|verbosity| !verbosity.is_null()) {
        fields.set("verbosity", verbosity.clone());
    }
    let Some(format) = value.get("format").and_then(Value::as_object) else { return };
    match format.get("type").and_then(Value::as_str) {
        Some("json_schema") => {
            let mut schema = format.clone();
            schema.shift_remove("type");
            fields.set("response_format", json!({"type": "json_schema", "json_schema": schema}));
        }
        _ => fields.set("response_format", Value::Object(format.clone())),
    }
}

/// Translates the list of tools. A tool that only the provider of this API has cannot be translated.
fn translate_tools(
    value: &Value,
    to_tool: impl Fn(&Value) -> Option<Value>,
    fields: &mut TranslatedFields,
) -> Result<()> {
    let list = value.as_array().ok_or_else(|| field_error("tools", "a list of tools"))?;
    match list.iter().map(to_tool).collect::<Option<Vec<Value>>>() {
        Some(tools) if tools.is_empty() => {}
        Some(tools) => fields.set("tools", tools.into()),
        None => fields.refuse("tools"),
    }
    Ok(())
}

fn to_chat_tool(tool: &Value) -> Option<Value> {
    let tool = tool.as_object().filter(|tool| tool.get("type").is_some_and(|kind| kind == "function"))?;
    let mut function = tool.clone();
    function.shift_remove("type");
    function.retain(|_, value| !value.is_null());
    Some(json!({"type": "function", "function": function}))
}

/// Reads what a request of Anthropic's messages says, and translates its options.
pub(super) fn take_messages_input(body: &mut Map<String, Value>) -> Result<FaceInput> {
    body.retain(|_, value| !value.is_null());
    let messages = take_messages(body, "messages")?;
    let system = match body.shift_remove("system") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(blocks)) => blocks.iter().map(block_text).collect::<Result<_>>()?,
        Some(_) => return Err(field_error("system", "a string or a list of text blocks")),
    };
    let mut translated = TranslatedFields::default();
    for (name, value) in body.iter() {
        translate_messages_field(name, value, &mut translated)?;
    }
    Ok(FaceInput { system, messages, translated })
}

fn block_text(block: &Value) -> Result<String> {
    let text = block.get("text").and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| field_error("system", "a string or a list of text blocks"))
}

fn translate_messages_field(name: &str, value: &Value, fields: &mut TranslatedFields) -> Result<()> {
    match name {
        "max_tokens" | "temperature" | "top_p" | "top_k" => fields.set(name, value.clone()),
        "stop_sequences" => fields.set("stop", value.clone()),
        "metadata" => {
            if let Some(user) = value.get("user_id").filter(|user| !user.is_null()) {
                fields.set("user", user.clone());
            }
        }
        "tools" => translate_tools(value, from_anthropic_tool, fields)?,
        "tool_choice" => translate_tool_choice(value, fields),
        "output_config" => match value.pointer("/format/schema") {
            Some(schema) => {
                let schema = json!({"name": "answer", "schema": schema});
                fields.set("response_format", json!({"type": "json_schema", "json_schema": schema}));
            }
            None => fields.leave_out(name),
        },
        _ => fields.leave_out(name),
    }
    Ok(())
}

fn from_anthropic_tool(tool: &Value) -> Option<Value> {
    let kind = tool.get("type").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "custom") {
        return None;
    }
    let mut function = json!({"name": tool.get("name")?, "parameters": tool.get("input_schema")?});
    if let Some(description) = tool.get("description").filter(|text| !text.is_null()) {
        function["description"] = description.clone();
    }
    Some(json!({"type": "function", "function": function}))
}

fn translate_tool_choice(value: &Value, fields: &mut TranslatedFields) {
    let choice = match value.get("type").and_then(Value::as_str) {
        Some("any") => json!("required"),
        Some("tool") => json!({"type": "function", "function": {"name": value.get("name")}}),
        Some(word @ ("auto" | "none")) => json!(word),
        _ => return fields.refuse("tool_choice"),
    };
    fields.set("tool_choice", choice);
    if value.get("disable_parallel_tool_use") == Some(&Value::Bool(true)) {
        fields.set("parallel_tool_calls", false.into());
    }
}
