//! Lists of messages with placeholders: Langfuse, GitHub Models, LangChain.

use hinagata_document::Result;
use hinagata_jinja::ast::Expr;
use serde_json::{Map, Value, json};

use super::Exporter;
use super::keys::{START, copy_keys, last_segment, lose_rest, pretty_json, restore_kept};
use super::pieces::{Piece, PieceKind, constant_text};
use super::programs::jinja_of_pieces;
use super::text::{Placeholders, printed_name, write_text};
use super::turns::{Turn, read_plain, read_turns};
use crate::definition::write_yaml;
use crate::detect::Format;
use crate::names::is_identifier;
use crate::prompt::PortableParameter;
use crate::report::LossCode;

/// Chat messages with placeholders in braces.
fn brace_messages(exporter: &mut Exporter<'_>, is_github: bool) -> Result<Vec<Value>> {
    let mut messages = Vec::new();
    for turn in read_turns(exporter, "user")? {
        match turn {
            Turn::Message(role, pieces) => {
                let content = brace_text(exporter, &pieces, is_github);
                messages.push(json!({"role": role, "content": content}));
            }
            Turn::History(name) if !is_github => {
                messages.push(json!({"type": "placeholder", "name": name}));
            }
            Turn::History(name) => {
                exporter.lose(LossCode::Part, START, format!("earlier messages in `{name}`"), "");
            }
        }
    }
    Ok(messages)
}

fn brace_text(exporter: &mut Exporter<'_>, pieces: &[Piece], is_github: bool) -> String {
    let print = |name: &str| {
        let is_name = !name.is_empty() && !name.contains([' ', '\t', '\n', '{', '}']);
        is_name.then(|| format!("{{{{{name}}}}}"))
    };
    // Braces around anything but one word are text for GitHub; after a longer row of braces, every reader differs.
    let is_read = |text: &str, at: usize| {
        let rest = &text[at + 2..];
        let inner = rest.find("}}").map(|end| &rest[..end]);
        inner.is_some_and(|inner| !is_github || inner.is_empty() || !inner.contains([' ', '\t', '\n']))
    };
    let has_placeholder = |text: &str| {
        text.match_indices("{{").any(|(at, _)| is_read(text, at))
            || (!is_github && text.contains("@@@langfusePrompt:"))
    };
    let escape = |text: &str| (!has_placeholder(text)).then(|| text.to_owned());
    write_text(exporter, pieces, &Placeholders { print: &print, escape: &escape, has_texts_only: false })
}

pub(super) fn write_langfuse(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    let name = exporter.header_text("name").unwrap_or(&exporter.prompt.id).to_owned();
    let version = exporter.header_text("version").and_then(|version| version.parse::<u64>().ok());
    let mut config =
        exporter.prompt.header.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(model) = exporter.prompt.header.get("model") {
        config.insert("model".to_owned(), model.clone());
    }
    let is_chat = exporter.prompt.is_structured();
    let prompt = match is_chat {
        true => Value::Array(brace_messages(exporter, false)?),
        false => {
            let pieces = read_plain(exporter)?;
            brace_text(exporter, &pieces, false).into()
        }
    };
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(name));
    entry.insert("version".to_owned(), json!(version.unwrap_or(1)));
    entry.insert("type".to_owned(), json!(if is_chat { "chat" } else { "text" }));
    entry.insert("prompt".to_owned(), prompt);
    entry.insert("config".to_owned(), Value::Object(config));
    entry.insert("labels".to_owned(), json!(["production"]));
    entry.insert("tags".to_owned(), exporter.prompt.header.get("tags").cloned().unwrap_or_else(|| json!([])));
    restore_kept(exporter, &[Format::Langfuse], &mut entry);
    lose_rest(exporter, &["name", "version", "tags", "model", "config"], false);
    if exporter.header_text("version").is_some() && version.is_none() {
        exporter.lose_key("version");
    }
    let file = format!("{}.json", last_segment(&exporter.prompt.id));
    Ok(vec![(file, pretty_json(&Value::Array(vec![Value::Object(entry)])))])
}

pub(super) fn write_github(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    let mut keys = copy_keys(exporter, &["name", "description", "model"]);
    if let Some(config) = exporter.prompt.header.get("config") {
        keys.insert("modelParameters".to_owned(), config.clone());
    }
    if let Some(output) = exporter.prompt.header.get("output").cloned() {
        let schema = output.get("schema").cloned();
        let format = output.get("format").and_then(Value::as_str).unwrap_or("json");
        let word = match (&schema, format) {
            (Some(_), _) => "json_schema",
            (None, "json") => "json_object",
            _ => "text",
        };
        keys.insert("responseFormat".to_owned(), json!(word));
        if let Some(schema) = schema {
            let text = json!({"name": "output", "strict": true, "schema": schema}).to_string();
            keys.insert("jsonSchema".to_owned(), json!(text));
        }
    }
    let messages = brace_messages(exporter, true)?;
    keys.insert("messages".to_owned(), Value::Array(messages));
    restore_kept(exporter, &[Format::Github], &mut keys);
    lose_rest(exporter, &["name", "description", "model", "config", "output"], false);
    Ok(vec![(format!("{}.prompt.yml", last_segment(&exporter.prompt.id)), write_yaml(&keys))])
}

pub(super) fn write_langchain(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    lose_rest(exporter, &["metadata", "tags"], true);
    let has_details = |parameter: &PortableParameter| {
        parameter.kind.is_some_and(|kind| kind != "list")
            || parameter.description.is_some()
            || parameter.schema.is_some()
    };
    if exporter.prompt.parameters.iter().any(has_details) {
        let what = "types and descriptions of parameters".to_owned();
        exporter.lose(LossCode::Schema, START, what, "parameters are read from the template");
    }
    restore_kept(exporter, &[], &mut Map::new());
    let is_chat = exporter.prompt.is_structured();
    let value = match is_chat {
        false => {
            let pieces = read_plain(exporter)?;
            let mut value = prompt_template(exporter, &pieces);
            add_common(exporter, &mut value["kwargs"], is_chat);
            value
        }
        true => {
            let mut messages = Vec::new();
            for turn in read_turns(exporter, "user")? {
                messages.push(match turn {
                    Turn::History(name) => {
                        let optional = exporter.parameter(&name).is_some_and(|parameter| !parameter.required);
                        let name = exporter.original_name(&name);
                        constructor(
                            &["chat", "MessagesPlaceholder"],
                            &json!({"variable_name": name, "optional": optional}),
                        )
                    }
                    Turn::Message(role, pieces) => langchain_message(exporter, &role, &pieces),
                });
            }
            let mut kwargs = json!({"messages": messages});
            add_common(exporter, &mut kwargs, is_chat);
            constructor(&["chat", "ChatPromptTemplate"], &kwargs)
        }
    };
    Ok(vec![(format!("{}.json", last_segment(&exporter.prompt.id)), pretty_json(&value))])
}

fn constructor(id: &[&str], kwargs: &Value) -> Value {
    let id: Vec<&str> = ["langchain", "prompts"].into_iter().chain(id.iter().copied()).collect();
    json!({"lc": 1, "type": "constructor", "id": id, "kwargs": kwargs})
}

fn langchain_message(exporter: &mut Exporter<'_>, role: &str, pieces: &[Piece]) -> Value {
    let class = match role {
        "system" => "SystemMessagePromptTemplate",
        "user" => "HumanMessagePromptTemplate",
        "assistant" => "AIMessagePromptTemplate",
        other => {
            let prompt = prompt_template(exporter, pieces);
            return constructor(
                &["chat", "ChatMessagePromptTemplate"],
                &json!({"prompt": prompt, "role": other}),
            );
        }
    };
    let is_media = |piece: &Piece| matches!(piece.kind, PieceKind::Media(..));
    let prompt = match pieces.iter().any(is_media) {
        false => prompt_template(exporter, pieces),
        true => {
            // Media stand alone, texts stay together.
            let parts = pieces.chunk_by(|a, b| !is_media(a) && !is_media(b));
            let part = |part: &[Piece]| match part {
                [Piece { kind: PieceKind::Media(url, None), .. }] => {
                    image_template(exporter, url).unwrap_or_else(|| prompt_template(exporter, part))
                }
                _ => prompt_template(exporter, part),
            };
            parts.map(part).collect()
        }
    };
    constructor(&["chat", class], &json!({"prompt": prompt}))
}

/// A picture by the variable that has its URL, or by a URL.
fn image_template(exporter: &Exporter<'_>, url: &Expr) -> Option<Value> {
    let (template, variables) = match (constant_text(url), printed_name(url)) {
        (Some(text), _) => (text.replace('{', "{{").replace('}', "}}"), Vec::new()),
        (None, Some(name)) => {
            let name = Some(exporter.original_name(&name)).filter(|name| is_identifier(name))?;
            (format!("{{{name}}}"), vec![name])
        }
        _ => return None,
    };
    let kwargs = json!({"template": {"url": template}, "input_variables": variables});
    let id = ["langchain_core", "prompts", "image", "ImagePromptTemplate"];
    Some(json!({"lc": 1, "type": "constructor", "id": id, "kwargs": kwargs}))
}

/// A template as f-string if it only prints variables, else as Jinja.
fn prompt_template(exporter: &mut Exporter<'_>, pieces: &[Piece]) -> Value {
    let names: Vec<String> = pieces
        .iter()
        .filter_map(|piece| match &piece.kind {
            PieceKind::Print(expression) => printed_name(expression),
            _ => None,
        })
        .collect();
    let is_plain = pieces.iter().all(|piece| match &piece.kind {
        PieceKind::Text(_) => true,
        PieceKind::Print(expression) => {
            matches!(expression.kind, hinagata_jinja::ast::ExprKind::Name(_))
                && printed_name(expression).is_some_and(|name| is_identifier(&exporter.original_name(&name)))
        }
        _ => false,
    });
    let (template, format) = match is_plain {
        true => {
            let print = |name: &str| Some(format!("{{{name}}}"));
            let escape = |text: &str| Some(text.replace('{', "{{").replace('}', "}}"));
            (
                write_text(
                    exporter,
                    pieces,
                    &Placeholders { print: &print, escape: &escape, has_texts_only: false },
                ),
                "f-string",
            )
        }
        false => (jinja_of_pieces(exporter, pieces), "jinja2"),
    };
    let mut variables: Vec<String> = match is_plain {
        true => names.iter().map(|name| exporter.original_name(name)).collect(),
        false => crate::language::jinja::read_variables(&template),
    };
    variables.sort();
    variables.dedup();
    let defaults = defaults_of(exporter);
    variables.retain(|name| !defaults.contains_key(name));
    let kwargs = json!({"input_variables": variables, "template": template, "template_format": format});
    constructor(&["prompt", "PromptTemplate"], &kwargs)
}

fn defaults_of(exporter: &Exporter<'_>) -> Map<String, Value> {
    let with_default =
        exporter.prompt.parameters.iter().filter(|parameter| parameter.default != Some(json!([])));
    with_default
        .filter_map(|parameter| Some((exporter.original_name(&parameter.name), parameter.default.clone()?)))
        .collect()
}

/// Adds the variables, the metadata and the tags.
fn add_common(exporter: &Exporter<'_>, kwargs: &mut Value, is_chat: bool) {
    let name = |parameter: &PortableParameter| exporter.original_name(&parameter.name);
    if is_chat {
        let required = exporter.prompt.parameters.iter().filter(|parameter| parameter.required);
        kwargs["input_variables"] = required.map(name).collect();
    }
    let is_optional = |parameter: &&PortableParameter| {
        !parameter.required && parameter.default.as_ref().is_none_or(|default| *default == json!([]))
    };
    let optional: Vec<String> = exporter.prompt.parameters.iter().filter(is_optional).map(name).collect();
    if !optional.is_empty() {
        kwargs["optional_variables"] = json!(optional);
    }
    let defaults = defaults_of(exporter);
    if !defaults.is_empty() {
        kwargs["partial_variables"] = Value::Object(defaults);
    }
    for key in ["metadata", "tags"] {
        if let Some(value) = exporter.prompt.header.get(key) {
            kwargs[key] = value.clone();
        }
    }
}
