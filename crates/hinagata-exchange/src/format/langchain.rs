//! Serialized prompts of LangChain. Constructors are data: unknown ones are reported and never run.

use hinagata_document::{Data, Node, Result, json};
use serde_json::json;

use crate::draft::{Draft, TextPlace};
use crate::language::jinja::read_variables;
use crate::language::{fstring, mustache};
use crate::prompt::{PortableBody, PortableLayout, PortableMessage, PortableParameter, PortablePart};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let node = json::parse(draft.path, draft.text)?;
    draft.prompt.layout = PortableLayout::Keep;
    draft.prompt.undefined = Some("jinja");
    read_constructor(draft, &node)?;
    draft.declare_read(true);
    Ok(())
}

fn class(node: &Node) -> &str {
    node.get("id").and_then(Node::as_list).and_then(<[Node]>::last).and_then(Node::as_str).unwrap_or_default()
}

fn arguments(node: &Node) -> &Node {
    node.get("kwargs").unwrap_or(node)
}

fn read_constructor(draft: &mut Draft<'_>, node: &Node) -> Result<()> {
    let kwargs = arguments(node);
    match class(node) {
        "PromptTemplate" => {
            let text = template(draft, node)?;
            declare_common(draft, kwargs);
            draft.prompt.body = PortableBody::Text(text);
        }
        "ChatPromptTemplate" | "StructuredPrompt" => {
            let mut messages = Vec::new();
            for message in kwargs.get("messages").and_then(Node::as_list).unwrap_or_default() {
                messages.extend(read_message(draft, message)?);
            }
            if let Some(schema) = kwargs.get("schema_") {
                draft.set("output", json!({"format": "json", "schema": schema.to_value()}));
            }
            declare_common(draft, kwargs);
            draft.prompt.body = PortableBody::Messages(messages);
        }
        "RunnableSequence" => {
            if let Some(first) = kwargs.get("first") {
                read_constructor(draft, first)?;
            }
            for part in ["middle", "last"].into_iter().filter_map(|key| kwargs.get(key)) {
                for bound in part.as_list().unwrap_or(std::slice::from_ref(part)) {
                    read_model(draft, bound);
                }
            }
        }
        other => {
            return Err(draft.invalid(node.at, format!("`{other}` is not a prompt; it is never constructed")));
        }
    }
    Ok(())
}

fn read_model(draft: &mut Draft<'_>, node: &Node) {
    let kwargs = arguments(node);
    let model = kwargs.get("model_name").or(kwargs.get("model")).and_then(Node::as_str).map(str::to_owned);
    match model {
        Some(model) => {
            draft.set("model", model);
            let mut settings = Vec::new();
            for (key, value) in kwargs.as_map().unwrap_or_default() {
                let is_secret = value.get("type").and_then(Node::as_str) == Some("secret");
                match key.as_str() {
                    "model" | "model_name" => {}
                    _ if is_secret || key.contains("key") || key.contains("base") => {
                        draft.lose(
                            LossCode::Connection,
                            value,
                            format!("`{key}`: addresses and keys are not taken over"),
                            "",
                        );
                    }
                    _ => settings.push((key.clone(), value.clone())),
                }
            }
            draft.set_config(&settings);
        }
        None => draft.lose(LossCode::Code, node, format!("`{}`, a program", class(node)), ""),
    }
}

fn declare_common(draft: &mut Draft<'_>, kwargs: &Node) {
    for (name, value) in kwargs.get("partial_variables").and_then(Node::as_map).unwrap_or_default() {
        let name = draft.names.variable(name);
        draft.declare(PortableParameter {
            name,
            default: Some(value.to_value()),
            ..PortableParameter::default()
        });
    }
    for name in kwargs.get("optional_variables").and_then(Node::as_list).unwrap_or_default() {
        let Some(name) = name.as_str() else { continue };
        let name = draft.names.variable(name);
        draft.declare(PortableParameter { name, ..PortableParameter::default() });
    }
    for name in kwargs.get("input_variables").and_then(Node::as_list).unwrap_or_default() {
        if let Some(name) = name.as_str() {
            draft.names.variable(name);
        }
    }
    for key in ["metadata", "tags"] {
        if let Some(value) = kwargs.get(key).filter(|value| !value.is_null()) {
            draft.set(key, value.to_value());
        }
    }
}

/// The template of a `PromptTemplate`.
fn template(draft: &mut Draft<'_>, node: &Node) -> Result<String> {
    let kwargs = arguments(node);
    let Some(source) = kwargs.get("template") else {
        return Err(draft.invalid(node.at, "the prompt has no `template`"));
    };
    let format = kwargs.get("template_format").and_then(Node::as_str).unwrap_or("f-string").to_owned();
    let text = source.as_str().unwrap_or_default().to_owned();
    translate_source(draft, &text, &format, TextPlace::of(source))
}

fn translate_source(draft: &mut Draft<'_>, source: &str, format: &str, place: TextPlace) -> Result<String> {
    match format {
        "f-string" => {
            let result = fstring::translate(source, &mut draft.names);
            result.map_err(|problem| draft.problem(place, problem))
        }
        "mustache" => {
            let before: Vec<String> = draft.names.iter().map(|(_, name)| name.to_owned()).collect();
            let result = mustache::translate(source, mustache::Dialect::Chevron, &mut draft.names, &|_| None);
            let translated = result.map_err(|problem| draft.problem(place, problem))?;
            draft.lose_all(place, translated.losses);
            // A name that only sections read may be a key of their values.
            let inner: Vec<String> = draft
                .names
                .iter()
                .filter(|(_, name)| {
                    !translated.outer.contains(*name) && !before.iter().any(|known| known == name)
                })
                .map(|(_, name)| name.to_owned())
                .collect();
            for name in inner {
                draft.declare(PortableParameter { name, ..PortableParameter::default() });
            }
            Ok(translated.text)
        }
        "jinja2" => {
            super::prompty::check_syntax(draft, source, place)?;
            for name in read_variables(source) {
                draft.names.bind(&name, &name);
            }
            Ok(source.to_owned())
        }
        other => {
            let problem =
                crate::language::TemplateProblem::new(0, format!("unknown template format `{other}`"));
            Err(draft.problem(place, problem))
        }
    }
}

fn read_message(draft: &mut Draft<'_>, node: &Node) -> Result<Option<PortableMessage>> {
    let kwargs = arguments(node);
    let role = match class(node) {
        "SystemMessagePromptTemplate" | "SystemMessage" => "system",
        "HumanMessagePromptTemplate" | "HumanMessage" => "user",
        "AIMessagePromptTemplate" | "AIMessage" => "assistant",
        "ChatMessagePromptTemplate" | "ChatMessage" => chat_role(draft, kwargs),
        "MessagesPlaceholder" => {
            let name = kwargs.get("variable_name").and_then(Node::as_str).unwrap_or("history").to_owned();
            let optional = kwargs.get("optional").is_some_and(|optional| optional.data == Data::Bool(true));
            let name = draft.names.variable(&name);
            draft.declare(PortableParameter {
                name: name.clone(),
                required: !optional,
                kind: Some("list"),
                default: optional.then(|| json!([])),
                ..PortableParameter::default()
            });
            return Ok(Some(PortableMessage::History(name)));
        }
        other => {
            draft.lose(LossCode::Code, node, format!("`{other}`, a program"), "");
            return Ok(None);
        }
    };
    let mut parts = Vec::new();
    if let Some(content) = kwargs.get("content").and_then(Node::as_str) {
        parts.push(PortablePart::Text(crate::jinja_text::literal_template(content)));
    }
    if let Some(prompt) = kwargs.get("prompt") {
        for part in prompt.as_list().unwrap_or(std::slice::from_ref(prompt)) {
            match class(part) {
                "PromptTemplate" => {
                    parts.push(PortablePart::Text(template(draft, part)?));
                    declare_common(draft, arguments(part));
                }
                "ImagePromptTemplate" => {
                    let kwargs = arguments(part);
                    let url = kwargs.get("template").and_then(|template| template.get("url"));
                    let format = kwargs.get("template_format").and_then(Node::as_str).unwrap_or("f-string");
                    match url {
                        Some(url) => {
                            let source = url.as_str().unwrap_or_default();
                            let text = translate_source(draft, source, format, TextPlace::of(url))?;
                            parts.push(PortablePart::Media(text));
                        }
                        None => draft.lose(LossCode::Part, part, "an image without a URL", ""),
                    }
                }
                other => {
                    draft.lose(LossCode::Part, part, format!("`{other}`, a part without a counterpart"), "");
                }
            }
        }
    }
    Ok(Some(PortableMessage::Message { role: role.to_owned(), parts }))
}

fn chat_role(draft: &mut Draft<'_>, kwargs: &Node) -> &'static str {
    let Some(node) = kwargs.get("role") else { return "user" };
    match node.as_str().unwrap_or_default() {
        "system" => "system",
        "user" | "human" => "user",
        "assistant" | "ai" => "assistant",
        "tool" => "tool",
        other => {
            draft.lose(LossCode::Role, node, format!("the role `{other}`"), "the role `user`");
            "user"
        }
    }
}
