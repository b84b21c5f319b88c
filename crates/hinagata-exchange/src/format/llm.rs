//! Templates of the program `llm`: YAML 1.1 and `$name`.

use hinagata_document::{Node, Result};
use serde_json::json;

use crate::draft::{Draft, TextPlace};
use crate::language::dollar;
use crate::prompt::{PortableBody, PortableMessage, PortableParameter};
use crate::report::LossCode;
use crate::yaml;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let node = yaml::parse_legacy(draft.path, draft.text, draft.text, 1)?;
    let (mut system, mut prompt) = (None, None);
    if let Some(text) = node.as_str() {
        prompt = Some(translated(draft, text, &node)?);
    }
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "system" => system = Some(translated(draft, value.as_str().unwrap_or_default(), value)?),
            "prompt" => prompt = Some(translated(draft, value.as_str().unwrap_or_default(), value)?),
            "name" | "model" => draft.set_text(key, value),
            "options" => draft.set_config(value.as_map().unwrap_or_default()),
            "schema_object" => draft.set("output", json!({"format": "json", "schema": value.to_value()})),
            "defaults" => {
                for (name, default) in value.as_map().unwrap_or_default() {
                    let name = draft.names.variable(name);
                    let default = Some(default.to_value());
                    draft.declare(PortableParameter { name, default, ..PortableParameter::default() });
                }
            }
            "tools" => draft.keep(LossCode::Tools, key, value),
            "functions" => {
                draft.lose(LossCode::Code, value, "functions in Python, which are never imported", "");
            }
            "fragments" | "system_fragments" | "attachments" => {
                draft.lose(
                    LossCode::Reference,
                    value,
                    format!("`{key}`, which stand outside of the file"),
                    "",
                );
            }
            _ => draft.keep(LossCode::Unknown, key, value),
        }
    }
    let prompt = prompt.unwrap_or_else(|| format!("{{{{ {} }}}}", draft.names.variable("input")));
    let mut messages = Vec::new();
    messages.extend(system.map(|text| PortableMessage::from_text("system", text)));
    messages.push(PortableMessage::from_text("user", prompt));
    draft.prompt.body = PortableBody::Messages(messages);
    draft.prompt.undefined = Some("error");
    draft.declare_read(true);
    Ok(())
}

fn translated(draft: &mut Draft<'_>, text: &str, node: &Node) -> Result<String> {
    let result = dollar::translate(text, &mut draft.names);
    result.map_err(|problem| draft.problem(TextPlace::of(node), problem))
}
