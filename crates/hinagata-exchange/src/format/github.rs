//! Prompts of GitHub Models: `.prompt.yml`.

use hinagata_document::{Node, Result, yaml};
use serde_json::{Map, Value, json};

use crate::cases::ImportedCases;
use crate::draft::{Draft, TextPlace};
use crate::language::placeholder::translate_strict;
use crate::prompt::{PortableBody, PortableMessage};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let node = yaml::parse(draft.path, draft.text, draft.text, 1)?;
    let mut output = serde_json::Map::new();
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "name" | "description" | "model" => draft.set_text(key, value),
            "modelParameters" => draft.set_config(value.as_map().unwrap_or_default()),
            "responseFormat" => {
                let format = value.as_str().unwrap_or_default();
                output.insert(
                    "format".to_owned(),
                    json!(if format.starts_with("json") { "json" } else { "text" }),
                );
            }
            "jsonSchema" => {
                let schema: Value = match value.as_str() {
                    Some(text) => serde_json::from_str(text).map_err(|error| {
                        draft.invalid(value.at, format!("`jsonSchema` is not valid JSON: {error}"))
                    })?,
                    None => value.to_value(),
                };
                let schema = schema.get("schema").cloned().unwrap_or(schema);
                output.insert("schema".to_owned(), schema);
            }
            "messages" => read_messages(draft, value)?,
            "testData" => {
                draft.prompt.kept.insert(key.clone(), value.to_value());
            }
            "evaluators" => {
                draft.prompt.kept.insert(key.clone(), value.to_value());
            }
            _ => draft.keep(LossCode::Unknown, key, value),
        }
    }
    if !output.is_empty() {
        draft.set("output", Value::Object(output));
    }
    draft.prompt.undefined = Some("error");
    if let Some(text) = read_cases(draft, &node).to_text() {
        draft.prompt.files.push(("tests/github.yaml".to_owned(), text));
    }
    draft.declare_read(true);
    Ok(())
}

/// The test file of the data and the evaluators.
fn read_cases(draft: &mut Draft<'_>, node: &Node) -> ImportedCases {
    let mut cases = ImportedCases::default();
    let list = |key: &str| node.get(key).and_then(Node::as_list).unwrap_or_default();
    let assertions: Vec<Value> =
        list("evaluators").iter().filter_map(|evaluator| read_evaluator(draft, evaluator)).collect();
    let reads_expected = assertions.iter().any(|assertion| assertion.to_string().contains("expected"));
    for (index, row) in list("testData").iter().enumerate() {
        let mut variables = Map::new();
        for (key, value) in row.as_map().unwrap_or_default() {
            if key != "expected" || reads_expected {
                let name = draft.names.variable(key);
                variables.insert(name, value.to_value());
            }
        }
        cases.cases.push(json!({"name": format!("case {}", index + 1), "vars": variables}));
    }
    if let Some(model) = node.get("model").and_then(Node::as_str) {
        cases.shared.insert("model".to_owned(), model.into());
    }
    if !assertions.is_empty() {
        cases.shared.insert("assert".to_owned(), Value::Array(assertions));
    }
    cases
}

/// The assertion of an evaluator; `None` if it is reported as lost.
fn read_evaluator(draft: &mut Draft<'_>, evaluator: &Node) -> Option<Value> {
    let name = evaluator.get("name").and_then(Node::as_str);
    let named = name.map(|name| format!(" `{name}`")).unwrap_or_default();
    let check = evaluator.get("string").and_then(Node::as_map);
    let [(kind, value)] = check.unwrap_or_default() else {
        let what = format!("the evaluator{named}: it asks a model or a program");
        draft.lose(LossCode::Tests, evaluator, what, "");
        return None;
    };
    let text = value.as_str()?;
    let (kind, value) = match kind.as_str() {
        "contains" => ("contains", text.to_owned()),
        "equals" => ("equals", text.to_owned()),
        "startsWith" => ("starts-with", text.to_owned()),
        "endsWith" if !text.contains("{{") => ("regex", format!("(?:{})$", escape_regex(text))),
        other => {
            draft.lose(LossCode::Tests, evaluator, format!("the evaluator{named}: `{other}`"), "");
            return None;
        }
    };
    let mut assertion = json!({"type": kind, "value": value});
    if let Some(name) = name {
        assertion["metric"] = name.into();
    }
    if text.contains("{{") {
        assertion["template"] = true.into();
    }
    Some(assertion)
}

/// The pattern that finds a text as it is.
fn escape_regex(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~/".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

fn read_messages(draft: &mut Draft<'_>, node: &Node) -> Result<()> {
    let mut messages = Vec::new();
    for message in node.as_list().unwrap_or_default() {
        let role = message.get("role").and_then(Node::as_str).unwrap_or("user").to_owned();
        let content = message.get("content").unwrap_or(message);
        let source = content.as_str().unwrap_or_default().to_owned();
        let result = translate_strict(&source, &mut draft.names);
        let text = result.map_err(|problem| draft.problem(TextPlace::of(content), problem))?;
        messages.push(PortableMessage::from_text(&role, text));
    }
    draft.prompt.body = PortableBody::Messages(messages);
    Ok(())
}
