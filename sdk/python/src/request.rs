//! Requests as keyword arguments of the official clients.

use hinagata::{
    Code, Error, Result,
    module::driver::{DataRole, Driver, Formatted, RequestOptions, Tool},
};
use pyo3::{
    ffi::c_str,
    intern,
    prelude::*,
    types::{PyDict, PyList},
};
use serde_json::{Map, Value};

use crate::{errors::warning_class, values::to_python};

/// The options of a prompt with those of a call, which win. What is no option of ours goes to the client as it is.
pub(crate) fn merge_options(mut all: RequestOptions, given: Map<String, Value>) -> Result<RequestOptions> {
    for (name, value) in given {
        if value.is_null() {
            continue;
        }
        match name.as_str() {
            "model" => all.model = Some(text(&name, &value)?),
            "max_tokens" => all.max_tokens = Some(count(&name, &value)?),
            "temperature" => all.temperature = Some(number(&name, &value)?),
            "top_p" => all.top_p = Some(number(&name, &value)?),
            "top_k" => all.top_k = Some(count(&name, &value)?),
            "seed" => all.seed = Some(value.as_i64().ok_or_else(|| wrong(&name, "an integer", &value))?),
            "stream" => all.stream = Some(value.as_bool().ok_or_else(|| wrong(&name, "a boolean", &value))?),
            "cache_marks" => {
                all.without_cache_marks =
                    !value.as_bool().ok_or_else(|| wrong(&name, "a boolean", &value))?;
            }
            "data_role" => {
                all.data_role = match value.as_str() {
                    Some("user") => DataRole::User,
                    Some("system") => DataRole::System,
                    _ => return Err(wrong(&name, "`user` or `system`", &value)),
                };
            }
            "stop" => {
                all.stop = match &value {
                    Value::String(one) => vec![one.clone()],
                    Value::Array(texts) => texts.iter().map(|one| text(&name, one)).collect::<Result<_>>()?,
                    _ => return Err(wrong(&name, "text or a list of texts", &value)),
                };
            }
            "tools" => match value.as_array().and_then(|tools| tools.iter().map(read_tool).collect()) {
                Some(tools) => all.tools = tools,
                None => {
                    all.extra.insert(name, value);
                }
            },
            _ => {
                all.extra.insert(name, value);
            }
        }
    }
    Ok(all)
}

/// A tool in our form or in OpenAI's; `None` for those of other clients.
fn read_tool(tool: &Value) -> Option<Tool> {
    let fields = match tool.get("function") {
        Some(function) => function,
        None => tool,
    };
    let parameters = fields.get("parameters")?;
    Some(Tool {
        name: fields.get("name")?.as_str()?.to_owned(),
        description: fields.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        parameters: parameters.clone(),
    })
}

fn text(name: &str, value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, "text", value))
}

fn count(name: &str, value: &Value) -> Result<u64> {
    value.as_u64().ok_or_else(|| wrong(name, "a positive integer", value))
}

fn number(name: &str, value: &Value) -> Result<f64> {
    value.as_f64().ok_or_else(|| wrong(name, "a number", value))
}

fn wrong(name: &str, wanted: &str, value: &Value) -> Error {
    Error::new(Code::Validation, format!("the option `{name}` must be {wanted}, not {value}"))
        .with("option", name)
}

/// The keyword arguments for the client's call.
pub(crate) fn to_arguments<'py>(
    py: Python<'py>,
    driver: Driver,
    formatted: &Formatted,
    options: &RequestOptions,
) -> PyResult<Bound<'py, PyAny>> {
    warn_of_notes(py, formatted.notes())?;
    let arguments = to_python(py, &client_arguments(driver, formatted.to_value(), options))?;
    if driver == Driver::Gemini {
        decode_parts(&arguments)?;
    }
    Ok(arguments)
}

/// The arguments of the client's call for the body of a request.
fn client_arguments(driver: Driver, body: Value, options: &RequestOptions) -> Value {
    match (driver, body) {
        (Driver::Gemini, Value::Object(body)) => Value::Object(gemini_arguments(body, options)),
        (Driver::Anthropic, Value::Object(body)) => Value::Object(anthropic_arguments(body)),
        (_, body) => body,
    }
}

/// Newer versions of Anthropic's client have no arguments for sampling; in every version, `extra_body` is merged into the
/// body.
fn anthropic_arguments(body: Map<String, Value>) -> Map<String, Value> {
    let is_sampling = |name: &str| ["temperature", "top_p", "top_k"].contains(&name);
    let (sampling, mut arguments): (Map<_, _>, Map<_, _>) =
        body.into_iter().partition(|(name, _)| is_sampling(name));
    if !sampling.is_empty() {
        let extra = arguments.entry("extra_body").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(extra) = extra {
            extra.extend(sampling);
        }
    }
    arguments
}

/// The members of `generationConfig` and those beside it, which Google's client takes as `config`.
fn gemini_arguments(body: Map<String, Value>, options: &RequestOptions) -> Map<String, Value> {
    let mut arguments = Map::new();
    if let Some(model) = &options.model {
        arguments.insert("model".to_owned(), model.as_str().into());
    }
    let mut config = Map::new();
    let mut others = Map::new();
    for (name, value) in body {
        match (name.as_str(), value) {
            // An option of the caller that is the client's own argument.
            (name, value) if options.extra.contains_key(name) => {
                others.insert(name.to_owned(), value);
            }
            ("contents", Value::Array(contents)) => {
                let contents = contents.into_iter().map(rename_content).collect();
                arguments.insert("contents".to_owned(), Value::Array(contents));
            }
            ("generationConfig", Value::Object(fields)) => {
                config.extend(fields.into_iter().map(|(name, value)| (snake_case(&name), value)));
            }
            ("systemInstruction", content) => {
                config.insert("system_instruction".to_owned(), rename_content(content));
            }
            ("tools", Value::Array(tools)) => {
                config.insert("tools".to_owned(), tools.into_iter().map(rename_tool).collect());
            }
            (name, value) => {
                config.insert(snake_case(name), value);
            }
        }
    }
    match others.remove("config") {
        Some(Value::Object(own)) => config.extend(own),
        Some(other) => {
            arguments.insert("config".to_owned(), other);
        }
        None => {}
    }
    if !config.is_empty() {
        arguments.insert("config".to_owned(), Value::Object(config));
    }
    arguments.extend(others);
    arguments
}

/// A turn with the names of Google's client: those of parts and of what they hold, but not names within data.
fn rename_content(content: Value) -> Value {
    let Value::Object(fields) = content else { return content };
    let rename = |(name, value): (String, Value)| match value {
        Value::Array(parts) if name == "parts" => (name, parts.into_iter().map(rename_part).collect()),
        other => (name, other),
    };
    Value::Object(fields.into_iter().map(rename).collect())
}

fn rename_part(part: Value) -> Value {
    let Value::Object(fields) = part else { return part };
    let rename = |(name, value): (String, Value)| match value {
        Value::Object(held) => {
            let held = held.into_iter().map(|(name, value)| (snake_case(&name), value)).collect();
            (snake_case(&name), Value::Object(held))
        }
        other => (snake_case(&name), other),
    };
    Value::Object(fields.into_iter().map(rename).collect())
}

fn rename_tool(tool: Value) -> Value {
    let Value::Object(fields) = tool else { return tool };
    let rename = |(name, value): (String, Value)| match value {
        Value::Array(declared) => (snake_case(&name), declared.into_iter().map(rename_keys).collect()),
        other => (snake_case(&name), other),
    };
    Value::Object(fields.into_iter().map(rename).collect())
}

fn rename_keys(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (snake_case(&name), value)).collect())
        }
        other => other,
    }
}

fn snake_case(name: &str) -> String {
    let mut all = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            all.push('_');
        }
        all.push(letter.to_ascii_lowercase());
    }
    all
}

/// Replaces the base64 texts of Gemini's parts by bytes: Google's client encodes them itself.
fn decode_parts(arguments: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = arguments.py();
    let Some(contents) = arguments.cast::<PyDict>()?.get_item(intern!(py, "contents"))? else {
        return Ok(());
    };
    let decode = py.import(intern!(py, "base64"))?.getattr(intern!(py, "b64decode"))?;
    for content in contents.cast::<PyList>()?.iter() {
        let Some(parts) = content.cast::<PyDict>()?.get_item(intern!(py, "parts"))? else { continue };
        for part in parts.cast::<PyList>()?.iter() {
            let part = part.cast_into::<PyDict>()?;
            if let Some(held) = part.get_item(intern!(py, "inline_data"))?
                && let Some(data) = held.cast::<PyDict>()?.get_item(intern!(py, "data"))?
            {
                held.set_item(intern!(py, "data"), decode.call1((data,))?)?;
            }
            if let Some(signature) = part.get_item(intern!(py, "thought_signature"))? {
                part.set_item(intern!(py, "thought_signature"), decode.call1((signature,))?)?;
            }
        }
    }
    Ok(())
}

/// Warns of what a driver changed or left out.
fn warn_of_notes(py: Python<'_>, notes: &[String]) -> PyResult<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let class = warning_class(py)?;
    for note in notes {
        let text = std::ffi::CString::new(note.replace('\0', " ")).unwrap_or_else(|_| c_str!("").to_owned());
        PyErr::warn(py, &class, &text, 1)?;
    }
    Ok(())
}
