//! Commands and skills of agents: one text, with arguments at most.

use hinagata_document::{Code, Error, Result};
use serde_json::{Map, Value, json};

use super::keys::{START, copy_keys, kebab_name, lose_rest, restore_kept, toml_string, with_matter};
use super::pieces::{Piece, PieceKind};
use super::text::{Placeholders, printed_name, write_text};
use super::turns::{Turn, read_plain, read_turns};
use super::{ExportOptions, Exporter};
use crate::detect::Format;
use crate::names::is_identifier;
use crate::report::LossCode;

pub(super) fn write_skill(
    exporter: &mut Exporter<'_>,
    options: &ExportOptions,
) -> Result<Vec<(String, String)>> {
    let name = kebab_name(exporter)?;
    let description =
        exporter.header_text("description").or(exporter.header_text("title")).map(str::to_owned);
    let Some(description) = description.filter(|text| !text.trim().is_empty()) else {
        return Err(Error::new(Code::Validation, "a skill needs a description")
            .with_hint("add `description` to the prompt: it tells an agent when to use the skill"));
    };
    if description.chars().count() > 1_024 {
        return Err(Error::new(Code::Validation, "the description of a skill has more than 1024 characters"));
    }
    let mut keys = Map::new();
    keys.insert("name".to_owned(), json!(name));
    keys.insert("description".to_owned(), json!(description));
    let path = format!("{name}/SKILL.md");
    if options.is_live {
        return Ok(vec![(path, with_matter(&keys, &live_text(exporter)))]);
    }
    let mut metadata =
        exporter.prompt.header.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for key in ["license", "compatibility"] {
        if let Some(value) = metadata.shift_remove(key) {
            keys.insert(key.to_owned(), value);
        }
    }
    if !metadata.is_empty() {
        keys.insert("metadata".to_owned(), Value::Object(metadata));
    }
    restore_kept(exporter, &[Format::Skill], &mut keys);
    lose_rest(exporter, &["name", "description", "title", "metadata"], true);
    let pieces = read_plain(exporter)?;
    let body = match options.is_for_claude {
        true => arguments_text(exporter, &pieces),
        false => inputs_text(exporter, &pieces),
    };
    Ok(vec![(path, with_matter(&keys, &body))])
}

/// A skill that calls `hina`, so that the prompt stays in one place.
fn live_text(exporter: &Exporter<'_>) -> String {
    let id = &exporter.prompt.id;
    let mut text = format!(
        "Get the instructions of this skill with a call, then follow them. They are kept in one place and may change.\n\n\
         Call the MCP tool `render_prompt` of the server `hinagata` for the prompt `{id}`, or run:\n\n```sh\nhina render {id}"
    );
    for parameter in exporter.prompt.parameters.iter().filter(|parameter| parameter.required) {
        text.push_str(&format!(" {}=VALUE", parameter.name));
    }
    text.push_str("\n```\n");
    if !exporter.prompt.parameters.is_empty() {
        text.push_str("\nVariables:\n\n");
        for parameter in &exporter.prompt.parameters {
            let needed = if parameter.required { "required" } else { "optional" };
            let described = parameter.description.as_deref().unwrap_or_default();
            text.push_str(format!("- `{}` ({needed}) {described}", parameter.name).trim_end());
            text.push('\n');
        }
    }
    text
}

/// Text with `$ARGUMENTS` for the one parameter, and `$0` and so on for several.
fn arguments_text(exporter: &mut Exporter<'_>, pieces: &[Piece]) -> String {
    let names: Vec<String> =
        exporter.prompt.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let print = |name: &str| match names.as_slice() {
        [only] if only == name => Some("$ARGUMENTS".to_owned()),
        _ if name == "arguments" => Some("$ARGUMENTS".to_owned()),
        several => several.iter().position(|known| known == name).map(|number| format!("${number}")),
    };
    let is_command = |text: &str| {
        let dollar = text.match_indices('$').any(|(at, _)| {
            let rest = &text[at + 1..];
            rest.starts_with("ARGUMENTS") || rest.starts_with(|digit: char| digit.is_ascii_digit())
        });
        dollar || text.contains("!`")
    };
    let escape = |text: &str| (!is_command(text)).then(|| text.to_owned());
    write_text(exporter, pieces, &Placeholders { print: &print, escape: &escape, has_texts_only: true })
}

/// Text with names in brackets, after a list of inputs to fill.
fn inputs_text(exporter: &mut Exporter<'_>, pieces: &[Piece]) -> String {
    let parameters = exporter.prompt.parameters.clone();
    let mut text = String::new();
    if !parameters.is_empty() {
        let what = "parameters, which skills do not have".to_owned();
        exporter.lose(LossCode::Data, START, what, "a list of inputs that the agent fills");
        text.push_str("Inputs to fill before you follow the instructions:\n\n");
        for parameter in &parameters {
            let described = parameter.description.as_deref().unwrap_or_default();
            text.push_str(format!("- [{}] {described}", parameter.name).trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    let print = |name: &str| Some(format!("[{name}]"));
    let escape = |text: &str| Some(text.to_owned());
    text.push_str(&write_text(
        exporter,
        pieces,
        &Placeholders { print: &print, escape: &escape, has_texts_only: true },
    ));
    text
}

/// Removes the end that an import adds to a command that does not place its arguments.
fn without_added_end(mut pieces: Vec<Piece>) -> Vec<Piece> {
    let is_added = pieces.last().is_some_and(|piece| match &piece.kind {
        PieceKind::If { arms, otherwise } => {
            let tests_arguments =
                arms.iter().all(|(test, _)| printed_name(test).as_deref() == Some("arguments"));
            arms.len() == 1 && otherwise.is_empty() && tests_arguments
        }
        _ => false,
    });
    if is_added {
        pieces.pop();
    }
    pieces
}

pub(super) fn write_claude(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    let mut keys = copy_keys(exporter, &["description", "model"]);
    if let Some(hint) = exporter.parameter("arguments").and_then(|arguments| arguments.description.clone()) {
        keys.insert("argument-hint".to_owned(), json!(hint));
    }
    let own_name = exporter.header_text("name").filter(|_| exporter.prompt.format == Format::Claude);
    if let Some(name) = own_name {
        keys.insert("name".to_owned(), json!(name));
    }
    restore_kept(exporter, &[Format::Claude], &mut keys);
    lose_rest(exporter, &["description", "model", "name"], true);
    let pieces = without_added_end(read_plain(exporter)?);
    let body = arguments_text(exporter, &pieces);
    let path = exporter.prompt.id.replace('.', "/").replace('_', "-");
    Ok(vec![(format!(".claude/commands/{path}.md"), with_matter(&keys, &body))])
}

pub(super) fn write_claude_agent(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    let name = kebab_name(exporter)?;
    let mut keys = Map::new();
    keys.insert("name".to_owned(), json!(name));
    keys.extend(copy_keys(exporter, &["description", "model"]));
    restore_kept(exporter, &[Format::ClaudeAgent], &mut keys);
    lose_rest(exporter, &["name", "description", "model"], false);
    let mut body = String::new();
    for turn in read_turns(exporter, "system")? {
        match turn {
            Turn::Message(role, pieces) => {
                if role != "system" {
                    exporter.lose(LossCode::Role, START, format!("the role `{role}`"), "the system's");
                }
                let print = |_: &str| None;
                let escape = |text: &str| Some(text.to_owned());
                body.push_str(&write_text(
                    exporter,
                    &pieces,
                    &Placeholders { print: &print, escape: &escape, has_texts_only: true },
                ));
            }
            Turn::History(name) => {
                exporter.lose(LossCode::Part, START, format!("earlier messages in `{name}`"), "");
            }
        }
    }
    Ok(vec![(format!(".claude/agents/{name}.md"), with_matter(&keys, &body))])
}

pub(super) fn write_gemini(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    let mut keys = copy_keys(exporter, &["description"]);
    restore_kept(exporter, &[Format::Gemini], &mut keys);
    lose_rest(exporter, &["description"], true);
    let pieces = without_added_end(read_plain(exporter)?);
    let only = match exporter.prompt.parameters.as_slice() {
        [only] => Some(exporter.original_name(&only.name)),
        _ => None,
    };
    let print = |name: &str| {
        let is_only = only.as_deref() == Some(name) || matches!(name, "arguments" | "args");
        is_only.then(|| "{{args}}".to_owned())
    };
    let escape = |text: &str| {
        let is_command = ["{{args}}", "!{", "@{"].iter().any(|mark| text.contains(mark));
        (!is_command).then(|| text.to_owned())
    };
    let body =
        write_text(exporter, &pieces, &Placeholders { print: &print, escape: &escape, has_texts_only: true });
    let mut text = String::new();
    for (key, value) in &keys {
        let value = value.as_str().map_or_else(|| value.to_string(), toml_string);
        text.push_str(&format!(
            "{} = {value}\n",
            if is_identifier(key) { key.clone() } else { toml_string(key) }
        ));
    }
    text.push_str(&format!("prompt = {}\n", toml_string(&body)));
    let path = exporter.prompt.id.replace('.', "/");
    Ok(vec![(format!(".gemini/commands/{path}.toml"), text)])
}
