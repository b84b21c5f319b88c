//! Configurations of promptfoo: prompts in Nunjucks, as texts, as lists of messages, or in files beside the configuration.

use std::collections::BTreeSet;

use hinagata_document::{Data, Error, LineColumn, Node, Reason, Result, yaml};
use serde_json::{Map, Value};

use super::finish_draft;
use crate::ImportedPrompt;
use crate::cases::CaseReader;
use crate::detect::Format;
use crate::draft::{Draft, TextPlace};
use crate::files::SourceFiles;
use crate::language::nunjucks::translate;
use crate::names::{file_name, to_segment};
use crate::prompt::{PortableBody, PortableLayout, PortableMessage};
use crate::report::LossCode;

/// Most prompts of a configuration.
const MOST_PROMPTS: usize = 10_000;

/// Endings of files that are programs, and of files that are prompts.
const PROGRAMS: [&str; 7] = ["py", "js", "cjs", "mjs", "ts", "mts", "cts"];
const TEXTS: [&str; 7] = ["txt", "md", "j2", "json", "jsonl", "yaml", "yml"];

/// Options of providers that requests of tests have.
const OPTIONS: [&str; 10] = [
    "temperature",
    "max_tokens",
    "top_p",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "response_format",
    "tools",
    "tool_choice",
];

/// One prompt of a configuration.
struct Found {
    label: Option<String>,
    text: String,
    at: LineColumn,
}

/// Something that is no prompt.
struct Lost {
    code: LossCode,
    at: LineColumn,
    what: String,
}

pub(super) fn read_config(files: &SourceFiles, path: &str, text: &str) -> Result<Vec<ImportedPrompt>> {
    let node = yaml::parse(path, text, text, 1)?;
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    let prompts = node.get("prompts").cloned();
    for (label, entry) in prompts.iter().flat_map(entries_of) {
        read_entry((files, path), label, &entry, &mut found, &mut lost);
    }
    if found.len() > MOST_PROMPTS {
        return Err(Error::definition(Reason::Size, "the configuration has more than 10 000 prompts"));
    }
    let base = base_name(path);
    let several = found.len() > 1;
    let (mut taken, mut read) = (BTreeSet::new(), Vec::new());
    for (index, prompt) in found.iter().enumerate() {
        let mut id = match &prompt.label {
            Some(label) => to_segment(label),
            None if several => format!("{base}_{}", index + 1),
            None => base.clone(),
        };
        while !taken.insert(id.clone()) {
            id = format!("{id}_{}", index + 1);
        }
        let mut draft = Draft::new(files, path, text, Format::Promptfoo, id);
        if let Some(label) = &prompt.label {
            draft.set("name", label.clone());
        }
        // What belongs to the whole file is told once.
        if index == 0 {
            for Lost { code, at, what } in lost.drain(..) {
                draft.lose_at(code, at, what, "");
            }
        }
        read_settings(&mut draft, &node, index == 0);
        read_body(&mut draft, prompt)?;
        read_tests(&mut draft, &node, index == 0);
        read.push(finish_draft(draft));
    }
    if read.is_empty() {
        let draft = Draft::new(files, path, text, Format::Promptfoo, base);
        let at = prompts.map_or(node.at, |prompts| prompts.at);
        let reason = lost.first().map_or_else(|| "`prompts` is empty".to_owned(), |lost| lost.what.clone());
        return Err(draft.invalid(at, format!("the configuration has no prompt that can be read: {reason}")));
    }
    Ok(read)
}

/// The prompts of a configuration with their labels: one, a list, or labels by file.
fn entries_of(prompts: &Node) -> Vec<(Option<String>, Node)> {
    if let Some(list) = prompts.as_list() {
        return list.iter().map(|entry| (None, entry.clone())).collect();
    }
    let Some(map) = prompts.as_map() else { return vec![(None, prompts.clone())] };
    let entry = |(file, label): &(String, Node)| {
        let name = Node { at: label.at, data: Data::String(file.clone()) };
        (label.as_str().map(str::to_owned), name)
    };
    map.iter().map(entry).collect()
}

fn read_entry(
    (files, path): (&SourceFiles, &str),
    label: Option<String>,
    entry: &Node,
    found: &mut Vec<Found>,
    lost: &mut Vec<Lost>,
) {
    let text_of = |key: &str| entry.get(key).and_then(Node::as_str).map(str::to_owned);
    let label = label.or_else(|| text_of("label"));
    let at = entry.at;
    let Some(text) = entry.as_str().map(str::to_owned).or_else(|| text_of("raw")).or_else(|| text_of("id"))
    else {
        return;
    };
    let named = text.strip_prefix("file://");
    let file = named.unwrap_or(&text);
    let ending = file_name(file).rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    // A program may be followed by the name of its function.
    let ending = ending.split(':').next().unwrap_or_default();
    let is_line = !text.contains(['\n', '{']) && !text.contains(' ');
    let is_program = text.starts_with("exec:") || (is_line && PROGRAMS.contains(&ending));
    if is_program {
        let what = format!("the prompt `{text}`, which is a program");
        return lost.push(Lost { code: LossCode::Code, at, what });
    }
    if named.is_none() && !(is_line && TEXTS.contains(&ending)) {
        return found.push(Found { label, text, at });
    }
    let directory = path.strip_suffix(file_name(path)).unwrap_or_default();
    let file = file.trim_start_matches("./");
    let Some(content) = files.get(&format!("{directory}{file}")) else {
        let what = format!("the file `{file}`, which is not there or not beneath the configuration");
        return lost.push(Lost { code: LossCode::Reference, at, what });
    };
    if ending != "txt" {
        return found.push(Found { label, text: content.to_owned(), at });
    }
    // A file of text may have several prompts.
    for part in content.split("---").map(str::trim).filter(|part| !part.is_empty()) {
        found.push(Found { label: label.clone(), text: part.to_owned(), at });
    }
}

/// `promptfooconfig.yaml` has the name of its directory.
fn base_name(path: &str) -> String {
    let stem = file_name(path).split('.').next().unwrap_or_default();
    let directory = path.rsplit('/').nth(1).filter(|_| stem == "promptfooconfig");
    to_segment(directory.unwrap_or(stem))
}

/// What the configuration says about all its prompts; losses are told if `reports`.
fn read_settings(draft: &mut Draft<'_>, node: &Node, reports: bool) {
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "prompts" | "$schema" => {}
            "description" => draft.set_text(key, value),
            "providers" | "targets" => read_providers(draft, key, value, reports),
            // The cases of the tests.
            "tests" | "defaultTest" | "scenarios" | "assertionTemplates" => {}
            "env" if reports => {
                draft.lose(LossCode::Connection, value, "`env`, which may have keys and addresses", "");
            }
            "extensions" | "nunjucksFilters" if reports => {
                draft.lose(LossCode::Code, value, format!("`{key}`: programs"), "");
            }
            "env" | "extensions" | "nunjucksFilters" => {}
            _ if reports => draft.keep(LossCode::Unknown, key, value),
            _ => {
                draft.prompt.kept.insert(key.clone(), value.to_value());
            }
        }
    }
}

/// Every prompt gets the tests, with the model of the first provider; losses are told if `reports`.
fn read_tests(draft: &mut Draft<'_>, node: &Node, reports: bool) {
    let told = draft.report.clone();
    let mut cases = CaseReader::new(draft, node).read_cases();
    if !reports {
        draft.report = told;
    }
    let mut shared = test_model(node);
    shared.append(&mut cases.shared);
    cases.shared = shared;
    if let Some(text) = cases.to_text() {
        draft.prompt.files.push(("tests/promptfoo.yaml".to_owned(), text));
    }
}

/// The model of the first provider, with its options. The provider `echo` answers with the prompt, so it has no model.
fn test_model(node: &Node) -> Map<String, Value> {
    let mut shared = Map::new();
    let providers = node.get("providers").or_else(|| node.get("targets"));
    let first = providers.and_then(|providers| match providers.as_list() {
        Some(list) => list.first(),
        None => Some(providers),
    });
    let Some(first) = first else { return shared };
    let Some(model) = provider_id(first).as_deref().and_then(model_name) else { return shared };
    shared.insert("model".to_owned(), model.into());
    let config = first.get("config").or_else(|| first.as_map().and_then(|map| map.first()?.1.get("config")));
    let mut options = Map::new();
    for (key, value) in config.and_then(Node::as_map).unwrap_or_default() {
        let is_file = value.as_str().is_some_and(|text| text.starts_with("file://"));
        if OPTIONS.contains(&key.as_str()) && !is_file {
            options.insert(key.clone(), value.to_value());
        }
    }
    if !options.is_empty() {
        shared.insert("options".to_owned(), Value::Object(options));
    }
    shared
}

/// One provider is the model of the prompts; of several, the prompts do not choose.
fn read_providers(draft: &mut Draft<'_>, key: &str, node: &Node, reports: bool) {
    let all = node.as_list().unwrap_or(std::slice::from_ref(node));
    let [only] = all else {
        let names: Vec<Value> = all.iter().filter_map(provider_id).map(Value::from).collect();
        draft.prompt.kept.insert(key.to_owned(), Value::Array(names));
        if reports {
            let instead = format!("kept as `x-promptfoo.{key}`: set `model`");
            draft.lose(LossCode::Unknown, node, format!("`{key}`: several models"), instead);
        }
        return;
    };
    let Some(id) = provider_id(only) else { return };
    match model_of(&id) {
        Some(model) => draft.set("model", model),
        None if reports => {
            draft.lose(LossCode::Connection, only, format!("the provider `{id}`"), "set `model`");
        }
        None => {}
    }
    let config = only.get("config").or_else(|| only.as_map().and_then(|map| map.first()?.1.get("config")));
    let mut settings = Vec::new();
    for (name, value) in config.and_then(Node::as_map).unwrap_or_default() {
        let lower = name.to_lowercase();
        let is_connection =
            ["key", "host", "url", "token", "secret", "header", "organization", "project", "region"]
                .iter()
                .any(|word| lower.contains(word) && !lower.contains("tokens"));
        match is_connection {
            true if reports => {
                draft.lose(LossCode::Connection, value, format!("`{name}` of the provider"), "");
            }
            true => {}
            false => settings.push((name.clone(), value.clone())),
        }
    }
    draft.set_config(&settings);
}

/// The id of a provider: a text, the key `id`, or the only key of a map.
fn provider_id(node: &Node) -> Option<String> {
    if let Some(text) = node.as_str() {
        return Some(text.to_owned());
    }
    if let Some(id) = node.get("id").and_then(Node::as_str) {
        return Some(id.to_owned());
    }
    match node.as_map()? {
        [(id, _)] => Some(id.clone()),
        _ => None,
    }
}

/// `provider:kind:model` as `provider/model`; nothing for programs and addresses.
fn model_of(id: &str) -> Option<String> {
    let (provider, rest) = id.split_once(':')?;
    let is_program =
        matches!(provider, "exec" | "file" | "python" | "http" | "https" | "websocket" | "ws" | "wss");
    let is_program =
        is_program || rest.starts_with("//") || PROGRAMS.iter().any(|end| id.ends_with(&format!(".{end}")));
    let kinds = ["chat:", "completion:", "responses:", "messages:", "embedding:"];
    let model = kinds.iter().find_map(|kind| rest.strip_prefix(kind)).unwrap_or(rest);
    (!is_program && !model.is_empty()).then(|| format!("{provider}/{model}"))
}

/// A list of messages, or a text.
fn read_body(draft: &mut Draft<'_>, prompt: &Found) -> Result<()> {
    draft.prompt.undefined = Some("empty");
    draft.prompt.layout = PortableLayout::Keep;
    let may_be_chat = prompt.text.trim_start().starts_with(['[', '-']);
    let parsed = may_be_chat.then(|| yaml::parse(draft.path, &prompt.text, &prompt.text, 1).ok());
    let messages = parsed.flatten().filter(is_chat);
    let mut bodies = Vec::new();
    let place = TextPlace::At(prompt.at);
    match &messages {
        Some(messages) => {
            for message in messages.as_list().unwrap_or_default() {
                let text = |key: &str| message.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
                let role = match text("role").as_str() {
                    role @ ("system" | "user" | "assistant" | "developer" | "tool") => role.to_owned(),
                    other => {
                        let what = format!("the role `{other}`");
                        draft.lose_at(LossCode::Role, prompt.at, what, "the role `user`");
                        "user".to_owned()
                    }
                };
                bodies.push((role, text("content")));
            }
        }
        None => bodies.push((String::new(), prompt.text.clone())),
    }
    let mut written = Vec::new();
    for (role, source) in bodies {
        let source = draft.with_plain_newlines(&source, place);
        let result = translate(&source, &mut draft.names);
        let (text, losses) = result.map_err(|problem| draft.problem(place, problem))?;
        draft.lose_all(place, losses);
        written.push((role, text));
    }
    draft.prompt.body = match (messages, written.pop()) {
        (None, Some((_, text))) => PortableBody::Text(text),
        (_, last) => {
            let all = written.into_iter().chain(last);
            PortableBody::Messages(all.map(|(role, text)| PortableMessage::from_text(&role, text)).collect())
        }
    };
    draft.declare_read(false);
    Ok(())
}

/// Whether a text is a list of messages with texts.
fn is_chat(node: &Node) -> bool {
    let has_text = |message: &Node, key: &str| message.get(key).is_some_and(|value| value.as_str().is_some());
    node.as_list().is_some_and(|list| {
        !list.is_empty()
            && list.iter().all(|message| has_text(message, "role") && has_text(message, "content"))
    })
}

/// The name of a model in the words of the settings.
fn model_name(id: &str) -> Option<String> {
    let mut parts = id.split(':');
    let provider = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    let last = rest.last().filter(|name| !name.is_empty())?;
    match (provider, rest.as_slice()) {
        ("openai", ["embedding" | "image" | "assistant" | "realtime" | "moderation", ..]) => None,
        ("openai" | "anthropic", _) => Some((*last).to_owned()),
        ("google", _) => Some((*last).to_owned()),
        ("ollama", ["chat" | "completion", name @ ..]) => Some(format!("ollama/{}", name.join(":"))),
        ("ollama", name) => Some(format!("ollama/{}", name.join(":"))),
        ("openrouter" | "groq" | "mistral" | "deepseek" | "xai", _) => Some(format!("{provider}/{last}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_names_of_settings() {
        for (id, name) in [
            ("openai:gpt-4.1", Some("gpt-4.1")),
            ("openai:chat:gpt-4.1-mini", Some("gpt-4.1-mini")),
            ("anthropic:messages:claude-opus-4", Some("claude-opus-4")),
            ("google:gemini-2.5-pro", Some("gemini-2.5-pro")),
            ("ollama:chat:llama3:8b", Some("ollama/llama3:8b")),
            ("echo", None),
            ("openai:embedding:x", None),
            ("file://provider.js", None),
        ] {
            assert_eq!(model_name(id).as_deref(), name, "{id}");
        }
    }
}
