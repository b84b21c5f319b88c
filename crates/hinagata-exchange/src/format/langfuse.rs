//! Exports of Langfuse: a list of prompts with versions.

use std::collections::BTreeMap;

use hinagata_document::{Error, Node, Reason, Result, json};

use super::finish_draft;
use crate::ImportedPrompt;
use crate::detect::Format;
use crate::draft::{Draft, TextPlace};
use crate::files::SourceFiles;
use crate::jinja_text::quote_string;
use crate::language::TemplateLoss;
use crate::language::placeholder::translate_langfuse;
use crate::names::id_from_path;
use crate::prompt::{PortableBody, PortableLayout, PortableMessage, PortableParameter};
use crate::report::LossCode;

/// Most prompts of an export.
const MOST_PROMPTS: usize = 10_000;

/// Keys of `config` that are settings of models.
const SETTINGS: [&str; 12] = [
    "temperature",
    "top_p",
    "topP",
    "top_k",
    "topK",
    "max_tokens",
    "maxTokens",
    "max_output_tokens",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
];

pub(super) fn read_export(files: &SourceFiles, path: &str, text: &str) -> Result<Vec<ImportedPrompt>> {
    let node = json::parse(path, text)?;
    let entries = node.as_list().or_else(|| node.get("data").and_then(Node::as_list));
    let entries = entries.unwrap_or(std::slice::from_ref(&node));
    if entries.len() > MOST_PROMPTS {
        return Err(Error::definition(Reason::Size, "the export has more than 10 000 prompts"));
    }
    let mut newest: BTreeMap<String, (&Node, usize)> = BTreeMap::new();
    for entry in entries {
        let name = entry.get("name").and_then(Node::as_str).unwrap_or("prompt").to_owned();
        let known = newest.entry(name).or_insert((entry, 0));
        known.1 += 1;
        if version(entry) > version(known.0) {
            known.0 = entry;
        }
    }
    let names: Vec<String> = newest.keys().cloned().collect();
    let mut prompts = Vec::new();
    for (name, (entry, count)) in newest {
        let mut draft = Draft::new(files, path, text, Format::Langfuse, id_from_path(&name));
        read_prompt(&mut draft, entry, &names)?;
        if count > 1 {
            draft.lose(
                LossCode::Versions,
                entry,
                format!("{} older versions of `{name}`", count - 1),
                "the newest version",
            );
        }
        prompts.push(finish_draft(draft));
    }
    Ok(prompts)
}

fn version(entry: &Node) -> f64 {
    entry.get("version").and_then(|version| version.to_value().as_f64()).unwrap_or_default()
}

fn read_prompt(draft: &mut Draft<'_>, entry: &Node, known: &[String]) -> Result<()> {
    draft.prompt.layout = PortableLayout::Keep;
    draft.prompt.undefined = Some("error");
    for (key, node) in entry.as_map().unwrap_or_default() {
        match key.as_str() {
            "name" | "version" => draft.set_text(key, node),
            "tags" if node.as_list().is_some_and(|tags| !tags.is_empty()) => {
                draft.set("tags", node.to_value());
            }
            "labels" => {
                let labels = node.as_list().unwrap_or_default();
                if labels.iter().any(|label| !matches!(label.as_str(), Some("latest" | "production"))) {
                    draft.keep(LossCode::Unknown, key, node);
                }
            }
            "config" => {
                let mut settings = Vec::new();
                for (key, value) in node.as_map().unwrap_or_default() {
                    match key.as_str() {
                        "model" => draft.set_text("model", value),
                        key if SETTINGS.contains(&key) => settings.push((key.to_owned(), value.clone())),
                        _ => draft.keep(LossCode::Unknown, &format!("config.{key}"), value),
                    }
                }
                draft.set_config(&settings);
            }
            "prompt" => read_body(draft, node, known)?,
            _ => {}
        }
    }
    draft.declare_read(true);
    Ok(())
}

fn read_body(draft: &mut Draft<'_>, node: &Node, known: &[String]) -> Result<()> {
    if let Some(text) = node.as_str() {
        let text = translated(draft, text, node, known)?;
        draft.prompt.body = PortableBody::Text(text);
        return Ok(());
    }
    let mut messages = Vec::new();
    for message in node.as_list().unwrap_or_default() {
        if message.get("type").and_then(Node::as_str) == Some("placeholder") {
            let name = message.get("name").and_then(Node::as_str).unwrap_or("history").to_owned();
            let name = draft.names.variable(&name);
            draft.declare(PortableParameter {
                name: name.clone(),
                required: true,
                kind: Some("list"),
                ..PortableParameter::default()
            });
            messages.push(PortableMessage::History(name));
            continue;
        }
        let role = match message.get("role").and_then(Node::as_str).unwrap_or("user") {
            role @ ("system" | "user" | "assistant" | "developer" | "tool") => role.to_owned(),
            other => {
                draft.lose(LossCode::Role, message, format!("the role `{other}`"), "the role `user`");
                "user".to_owned()
            }
        };
        let content = message.get("content").unwrap_or(message);
        let text = translated(draft, content.as_str().unwrap_or_default(), content, known)?;
        messages.push(PortableMessage::from_text(&role, text));
    }
    draft.prompt.body = PortableBody::Messages(messages);
    Ok(())
}

fn translated(draft: &mut Draft<'_>, text: &str, node: &Node, known: &[String]) -> Result<String> {
    let mut losses = Vec::new();
    let mut include = |name: &str, offset: usize| {
        if !known.iter().any(|known| known == name) {
            let what = format!("the prompt `{name}`, which the export does not have");
            losses.push(TemplateLoss::new(LossCode::Partial, offset, what, ""));
        }
        format!("{{% include {} %}}", quote_string(&format!("{}/template.md", id_from_path(name))))
    };
    let result = translate_langfuse(text, &mut draft.names, &mut include);
    let text = result.map_err(|problem| draft.problem(TextPlace::of(node), problem))?;
    draft.lose_all(TextPlace::of(node), losses);
    Ok(text)
}
