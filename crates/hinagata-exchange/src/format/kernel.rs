//! Prompts of Semantic Kernel: YAML 1.1 and one of three template languages.

use hinagata_document::{Data, Node, Result};
use serde_json::json;

use crate::draft::{Draft, TextPlace, kind_of};
use crate::jinja_text::JinjaText;
use crate::language::handlebars::{Dialect, translate};
use crate::language::jinja::{Piece, split_pieces};
use crate::language::placeholder::translate_kernel;
use crate::prompt::{PortableBody, PortableLayout, PortableParameter};
use crate::report::LossCode;
use crate::yaml;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let node = yaml::parse_legacy(draft.path, draft.text, draft.text, 1)?;
    draft.prompt.layout = PortableLayout::Strip;
    draft.prompt.undefined = Some("empty");
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "name" | "description" => draft.set_text(key, value),
            "template" | "template_format" | "allow_dangerously_set_content" => {}
            "input_variables" => {
                value.as_list().unwrap_or_default().iter().for_each(|input| declare_input(draft, input));
            }
            "output_variable" => {
                let schema = value.get("json_schema").map(Node::to_value);
                draft.set(
                    "output",
                    json!({"format": if schema.is_some() { "json" } else { "text" }, "schema": schema}),
                );
            }
            "execution_settings" => {
                for (service, settings) in value.as_map().unwrap_or_default() {
                    match service.as_str() {
                        "default" => draft.set_config(settings.as_map().unwrap_or_default()),
                        _ => {
                            draft.keep(LossCode::Unknown, &format!("execution_settings.{service}"), settings);
                        }
                    }
                }
            }
            _ => draft.keep(LossCode::Unknown, key, value),
        }
    }
    let Some(source) = node.get("template") else {
        return Err(draft.invalid(node.at, "the prompt has no `template`"));
    };
    let place = TextPlace::of(source);
    let text = source.as_str().unwrap_or_default().to_owned();
    let template = match node.get("template_format").and_then(Node::as_str).unwrap_or("semantic-kernel") {
        "semantic-kernel" => {
            let mut losses = Vec::new();
            let result = translate_kernel(&text, &mut draft.names, &mut losses);
            let text: JinjaText = result.map_err(|problem| draft.problem(place, problem))?;
            draft.lose_all(place, losses);
            text.as_str().to_owned()
        }
        "handlebars" => {
            let result = translate(&text, Dialect::SemanticKernel, &mut draft.names, None, &|_| None);
            let translated = result.map_err(|problem| draft.problem(place, problem))?;
            draft.lose_all(place, translated.losses);
            translated.text
        }
        "jinja2" => {
            super::prompty::check_syntax(draft, &text, place)?;
            text
        }
        other => return Err(draft.invalid(source.at, format!("unknown template format `{other}`"))),
    };
    draft.prompt.body = PortableBody::Text(with_messages(draft, &template, source));
    draft.declare_read(false);
    Ok(())
}

fn declare_input(draft: &mut Draft<'_>, input: &Node) {
    let Some(name) = input.get("name").and_then(Node::as_str) else { return };
    let name = draft.names.variable(name);
    let schema = input.get("json_schema").map(Node::to_value).map(|schema| match &schema {
        serde_json::Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({})),
        _ => schema,
    });
    let kind = schema
        .as_ref()
        .and_then(|schema| schema.get("type"))
        .and_then(serde_json::Value::as_str)
        .and_then(kind_of);
    let default = input.get("default").map(Node::to_value).filter(|default| !default.is_null());
    draft.declare(PortableParameter {
        name,
        required: input.get("is_required").is_some_and(|required| required.data == Data::Bool(true))
            && default.is_none(),
        kind,
        default,
        description: input.get("description").and_then(Node::as_str).map(str::to_owned),
        schema,
        aliases: Vec::new(),
    });
}

/// The template with calls of `role` in place of `<message role="…">`.
fn with_messages(draft: &mut Draft<'_>, template: &str, node: &Node) -> String {
    let mut written = String::new();
    let mut has_message = false;
    for piece in split_pieces(template) {
        match piece {
            Piece::Tag(tag) => written.push_str(tag),
            Piece::Text(text) => {
                let mut rest = text;
                while let Some(found) = rest.find('<') {
                    written.push_str(&decoded(&rest[..found]));
                    let tag = &rest[found..];
                    if let Some((role, length)) = message_tag(tag) {
                        if !has_message && !written.trim().is_empty() {
                            written.insert_str(0, "{{ role(\"system\") }}");
                        }
                        has_message = true;
                        if !matches!(role, "system" | "user" | "assistant" | "tool" | "developer") {
                            draft.lose(LossCode::Role, node, format!("the role `{role}`"), "");
                        }
                        written.push_str(&format!("{{{{ role(\"{role}\") }}}}"));
                        rest = &tag[length..];
                    } else if let Some(after) = tag.strip_prefix("</message>") {
                        // What follows a message is the user's, unless it is blank.
                        let next = after.find("<message").unwrap_or(after.len());
                        if !after[..next].trim().is_empty() {
                            written.push_str("{{ role(\"user\") }}");
                        }
                        rest = after;
                    } else {
                        written.push('<');
                        rest = &tag[1..];
                    }
                }
                written.push_str(&decoded(rest));
            }
        }
    }
    if !has_message {
        written.insert_str(0, "{{ role(\"user\") }}");
    }
    written
}

/// The role and the length of `<message role="…">`.
fn message_tag(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("<message")?;
    let end = inner.find('>')?;
    let role = inner[..end].trim().strip_prefix("role=")?.trim_matches(['"', '\'']);
    crate::names::is_identifier(role).then_some((role, "<message".len() + end + 1))
}

fn decoded(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
}
