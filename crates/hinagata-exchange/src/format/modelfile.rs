//! Modelfiles of Ollama. Their templates are what `hina render --format chat-template` runs.

use hinagata_document::Result;
use serde_json::{Map, Value, json};

use crate::draft::Draft;
use crate::jinja_text::literal_template;
use crate::modelfile::{Instruction, read_instructions};
use crate::names::{file_name, to_segment};
use crate::prompt::{PortableBody, PortableLayout, PortableMessage};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let instructions = read_instructions(draft.path, draft.text)?;
    draft.prompt.id = to_segment(name_of(draft.path));
    draft.prompt.layout = PortableLayout::Keep;
    let (mut config, mut system, mut messages) = (Map::new(), None, Vec::new());
    for found in &instructions {
        match found.name.as_str() {
            "FROM" => read_model(draft, found),
            "SYSTEM" => system = Some(found.value.as_str()),
            "MESSAGE" => {
                let role = found.key.to_lowercase();
                if !matches!(role.as_str(), "system" | "user" | "assistant") {
                    let message =
                        format!("a message has the role system, user or assistant, not `{}`", found.key);
                    return Err(draft.invalid(found.at, message));
                }
                messages.push(PortableMessage::from_text(&role, literal_template(&found.value)));
            }
            "PARAMETER" => add_setting(&mut config, found),
            name => {
                let key = name.to_lowercase();
                let what = format!("`{name}`, which has no meaning here");
                draft.lose_at(LossCode::Unknown, found.at, what, format!("kept as `x-modelfile.{key}`"));
                draft.prompt.kept.insert(key, found.value.clone().into());
            }
        }
    }
    if let Some(system) = system {
        messages.insert(0, PortableMessage::from_text("system", literal_template(system)));
    }
    if messages.is_empty() {
        let at = instructions.first().map(|first| first.at).unwrap_or_default();
        return Err(draft.invalid(at, "the Modelfile has no prompt: neither SYSTEM nor MESSAGE"));
    }
    draft.set_config_values(config.iter().map(|(key, value)| (key.as_str(), value.clone())));
    draft.prompt.body = PortableBody::Messages(messages);
    Ok(())
}

/// `Modelfile` has the name of its directory, `Modelfile.x` and `x.modelfile` are called `x`.
fn name_of(path: &str) -> &str {
    let name = file_name(path);
    match name.split_once('.') {
        Some((first, rest)) if first.eq_ignore_ascii_case("modelfile") => rest,
        Some((first, _)) => first,
        None if name.eq_ignore_ascii_case("modelfile") => path.rsplit('/').nth(1).unwrap_or(name),
        None => name,
    }
}

/// The model: one of Ollama, or files of the machine that the Modelfile was written on.
fn read_model(draft: &mut Draft<'_>, found: &Instruction) {
    let model = found.value.as_str();
    let is_file =
        model.starts_with(['.', '/', '~']) || model.ends_with(".gguf") || model.ends_with(".safetensors");
    match is_file {
        true => {
            draft.prompt.kept.insert("from".to_owned(), model.into());
            draft.lose_at(
                LossCode::Reference,
                found.at,
                format!("`FROM {model}`, the file of a model"),
                "create it with Ollama, and set `model` to its name",
            );
        }
        false => draft.set("model", format!("ollama/{model}")),
    }
}

/// A setting of the model: `stop` may stand there several times.
fn add_setting(config: &mut Map<String, Value>, found: &Instruction) {
    if found.key == "stop" {
        if let Value::Array(all) = config.entry("stop").or_insert_with(|| json!([])) {
            all.push(found.value.clone().into());
        }
        return;
    }
    let value: Option<Value> = serde_json::from_str(&found.value).ok();
    let value = value.filter(|value| value.is_number() || value.is_boolean());
    config.insert(found.key.clone(), value.unwrap_or_else(|| found.value.clone().into()));
}
