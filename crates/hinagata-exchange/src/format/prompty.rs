//! Prompty, versions 1 and 2: YAML 1.1 and Jinja or mustache, with lines that name roles.

use hinagata_document::{Data, LineColumn, Node, Result};
use serde_json::{Map, Value, json};

use crate::detect::Format;
use crate::draft::{Draft, TextPlace, kind_of, kind_of_value};
use crate::jinja_text::quote_string;
use crate::language::jinja::{Piece, printed_variable, split_pieces};
use crate::language::mustache::{Dialect, translate};
use crate::names::file_name;
use crate::prompt::{PortableBody, PortableLayout, PortableParameter};
use crate::report::LossCode;
use crate::yaml;

/// Inputs with a meaning of their own.
#[derive(Default)]
struct Inputs {
    threads: Vec<String>,
    media: Vec<String>,
}

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let is_first = draft.prompt.format == Format::Prompty1;
    if yaml::has_open_matter(draft.text) {
        let at = LineColumn { line: 1, column: 1 };
        return Err(draft.invalid(at, "the front matter is not closed: a line `---` is missing"));
    }
    let text = draft.text;
    let (entries, body, offset) = match yaml::split_matter(text) {
        Some((matter, body, offset)) => {
            let node = yaml::parse_legacy(draft.path, text, matter, 2)?;
            (node.as_map().unwrap_or_default().to_vec(), body, offset)
        }
        None => (Vec::new(), text, 0),
    };
    draft.prompt.id = crate::names::to_segment(file_name(draft.path).trim_end_matches(".prompty"));
    draft.prompt.undefined = Some("jinja");
    draft.prompt.layout = if is_first { PortableLayout::Strip } else { PortableLayout::Lines };
    let mut inputs = Inputs::default();
    let mut is_mustache = false;
    for (key, node) in &entries {
        let node = resolve_references(draft, node);
        let Some(node) = node else { continue };
        match key.as_str() {
            "name" | "description" | "version" => draft.set_text(key, &node),
            "displayName" => draft.set_text("title", &node),
            "authors" => set_author(draft, &node),
            "tags" => draft.set("tags", node.to_value()),
            "metadata" => metadata(draft, &node),
            "model" => model(draft, &node, is_first),
            "inputs" | "input" => read_inputs(draft, &node, &mut inputs),
            "sample" => sample(draft, &node),
            "outputs" | "output" => outputs(draft, &node),
            "tools" => draft.keep(LossCode::Tools, key, &node),
            "template" => is_mustache = uses_mustache(&node),
            _ => draft.keep(LossCode::Unknown, key, &node),
        }
    }
    // The original leaves out white space before the template.
    let (offset, body) = (offset + body.len() - body.trim_start().len(), body.trim_start());
    let place = TextPlace::Offset(offset);
    let mut body = body.replace("\r\n", "\n");
    if is_mustache {
        let result = translate(&body, Dialect::Chevron, &mut draft.names, &|_| None);
        let translated = result.map_err(|problem| draft.problem(place, problem))?;
        draft.lose_all(place, translated.losses);
        draft.declare_read(false);
        body = translated.text;
    } else {
        check_syntax(draft, &body, place)?;
    }
    let body = with_roles(draft, &body, offset, is_first, &inputs);
    draft.prompt.body = PortableBody::Text(body);
    Ok(())
}

/// Fails for a template that is not valid Jinja.
pub(super) fn check_syntax(draft: &Draft<'_>, source: &str, place: TextPlace) -> Result<()> {
    crate::language::jinja::check_source(source).map_err(|problem| draft.problem(place, problem))
}

/// Replaces `${file:…}` and reports `${env:…}`; `None` if the value is gone.
fn resolve_references(draft: &mut Draft<'_>, node: &Node) -> Option<Node> {
    match &node.data {
        Data::String(text) => {
            let Some(inner) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
                return Some(node.clone());
            };
            let (kind, name) = inner.split_once(':').unwrap_or((inner, ""));
            match (kind, draft.files.beside(draft.path, name)) {
                ("file", Some(content)) => Some(Node::new(node.at, Data::String(content.to_owned()))),
                ("file", None) => {
                    draft.lose(
                        LossCode::Reference,
                        node,
                        format!("the file `{name}`, which is not beneath the prompt"),
                        "",
                    );
                    None
                }
                _ => Some(node.clone()),
            }
        }
        Data::List(items) => {
            let items = items.iter().filter_map(|item| resolve_references(draft, item)).collect();
            Some(Node::new(node.at, Data::List(items)))
        }
        Data::Map(entries) => {
            let entries = entries
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), resolve_references(draft, value)?)));
            let entries = entries.collect();
            Some(Node::new(node.at, Data::Map(entries)))
        }
        _ => Some(node.clone()),
    }
}

fn set_author(draft: &mut Draft<'_>, node: &Node) {
    let names: Vec<&str> = match node.as_list() {
        Some(items) => items.iter().filter_map(Node::as_str).collect(),
        None => node.as_str().into_iter().collect(),
    };
    draft.set("author", names.join(", "));
}

fn metadata(draft: &mut Draft<'_>, node: &Node) {
    let mut more = Map::new();
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "authors" => set_author(draft, value),
            "tags" => draft.set("tags", value.to_value()),
            "version" => draft.set_text("version", value),
            _ => {
                more.insert(key.clone(), value.to_value());
            }
        }
    }
    if !more.is_empty() {
        draft.set("metadata", Value::Object(more));
    }
}

fn model(draft: &mut Draft<'_>, node: &Node, is_first: bool) {
    if let Some(name) = node.as_str() {
        draft.set("model", name);
        return;
    }
    let provider = node.get("provider").and_then(Node::as_str);
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "id" => {
                let id = value.as_str().unwrap_or_default();
                draft.set(
                    "model",
                    provider.map_or_else(|| id.to_owned(), |provider| format!("{provider}/{id}")),
                );
            }
            "provider" => {}
            "options" | "parameters" => {
                let mut settings = value.as_map().unwrap_or_default().to_vec();
                if let Some(format) = value.get("response_format").filter(|_| is_first) {
                    let kind = format.get("type").and_then(Node::as_str).unwrap_or("text");
                    if kind.starts_with("json") {
                        draft.set("output", json!({"format": "json"}));
                    }
                    settings.retain(|(key, _)| key != "response_format");
                }
                draft.set_config(&settings);
            }
            "configuration" | "connection" => {
                if let Some(name) = value.get("model").or(value.get("azure_deployment")) {
                    draft.set_text("model", name);
                }
                draft.lose(
                    LossCode::Connection,
                    value,
                    format!("`model.{key}`: addresses and keys are not taken over"),
                    "the settings of the workspace",
                );
            }
            "api" | "apiType" => {
                draft.prompt.kept.insert(format!("model.{key}"), value.to_value());
            }
            _ => draft.keep(LossCode::Unknown, &format!("model.{key}"), value),
        }
    }
}

fn read_inputs(draft: &mut Draft<'_>, node: &Node, inputs: &mut Inputs) {
    if let Some(items) = node.as_list() {
        for item in items {
            if let Some(name) = item.get("name").and_then(Node::as_str) {
                declare_input(draft, name, item, inputs);
            }
        }
    }
    for (name, value) in node.as_map().unwrap_or_default() {
        match value.as_map() {
            Some(_) => declare_input(draft, name, value, inputs),
            None => {
                let default = value.to_value();
                draft.declare(PortableParameter {
                    name: name.clone(),
                    kind: kind_of_value(&default),
                    default: Some(default),
                    ..PortableParameter::default()
                });
            }
        }
    }
}

fn declare_input(draft: &mut Draft<'_>, name: &str, node: &Node, inputs: &mut Inputs) {
    let kind = node.get("kind").or(node.get("type")).and_then(Node::as_str).unwrap_or_default();
    let default = node.get("default").or(node.get("sample")).map(Node::to_value);
    let mut parameter = PortableParameter {
        name: name.to_owned(),
        required: node.get("required").is_some_and(|required| required.data == Data::Bool(true))
            && default.is_none(),
        kind: kind_of(kind),
        default,
        description: node.get("description").and_then(Node::as_str).map(str::to_owned),
        schema: node.get("enumValues").map(|values| json!({"enum": values.to_value()})),
        aliases: Vec::new(),
    };
    // A default may have another type than the declared one, which the original does not check.
    if let Some(actual) = parameter.default.as_ref().and_then(kind_of_value)
        && parameter.kind.is_some_and(|kind| kind != actual && !(kind == "number" && actual == "integer"))
    {
        parameter.kind = None;
    }
    match kind {
        "thread" => {
            inputs.threads.push(name.to_owned());
            parameter.kind = Some("list");
            parameter.default = parameter.default.or_else(|| Some(json!([])));
        }
        "image" | "file" | "audio" => {
            inputs.media.push(name.to_owned());
            parameter.kind = Some("string");
        }
        _ => {}
    }
    if let Some(example) = node.get("example") {
        draft.prompt.kept.insert(format!("inputs.{name}.example"), example.to_value());
    }
    draft.declare(parameter);
}

fn sample(draft: &mut Draft<'_>, node: &Node) {
    for (name, value) in node.as_map().unwrap_or_default() {
        let name = name.clone();
        draft.declare(PortableParameter {
            name,
            default: Some(value.to_value()),
            ..PortableParameter::default()
        });
    }
}

fn outputs(draft: &mut Draft<'_>, node: &Node) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let named = node
        .as_list()
        .unwrap_or_default()
        .iter()
        .filter_map(|item| Some((item.get("name")?.as_str()?, item)));
    let mapped = node.as_map().unwrap_or_default().iter().map(|(name, item)| (name.as_str(), item));
    for (name, item) in named.chain(mapped) {
        let mut schema = Map::new();
        let kind = item.get("kind").or(item.get("type")).and_then(Node::as_str).unwrap_or("string");
        schema.insert("type".to_owned(), json!(if kind == "float" { "number" } else { kind }));
        if let Some(description) = item.get("description") {
            schema.insert("description".to_owned(), description.to_value());
        }
        if item.get("required").is_some_and(|required| required.data == Data::Bool(true)) {
            required.push(name.to_owned());
        }
        properties.insert(name.to_owned(), Value::Object(schema));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    draft.set("output", json!({"format": "json", "schema": schema}));
}

fn uses_mustache(node: &Node) -> bool {
    let format = node.get("format").unwrap_or(node);
    let kind = format.get("kind").unwrap_or(format);
    kind.as_str() == Some("mustache")
}

/// The role that a line names, and whether it has attributes.
fn role_of(line: &str) -> Option<(&'static str, bool)> {
    let line = line.trim();
    let line = line.strip_prefix('#').map_or(line, str::trim_start);
    let line = line.strip_suffix(':')?.trim_end();
    let (word, has_attributes) = match line.split_once('[') {
        Some((word, rest)) if rest.ends_with(']') => (word.trim_end(), true),
        Some(_) => return None,
        None => (line, false),
    };
    let role = ["system", "user", "assistant", "developer", "tool", "function"]
        .into_iter()
        .find(|role| role.eq_ignore_ascii_case(word))?;
    Some((role, has_attributes))
}

/// The source with calls of `role` in place of the lines that name one.
fn with_roles(draft: &mut Draft<'_>, source: &str, offset: usize, is_first: bool, inputs: &Inputs) -> String {
    let mut written = String::new();
    let mut state = RoleState { role: None, pending: None, has_text: false, is_reopened: false };
    let mut at = 0;
    let mut placed: Vec<&str> = Vec::new();
    let mut starts_line = true;
    let pieces = split_pieces(source);
    // Whatever stands before the first role is the system's, also if it prints nothing.
    let is_spoken = match pieces.first() {
        Some(Piece::Tag(tag)) => {
            let variable = printed_variable(tag);
            !inputs.threads.iter().any(|name| Some(name.as_str()) == variable)
        }
        Some(Piece::Text(text)) => text.lines().next().is_some_and(|line| role_of(line).is_none()),
        None => false,
    };
    if is_spoken {
        state.open(&mut written);
    }
    for piece in pieces {
        match piece {
            Piece::Tag(tag) => {
                let variable = printed_variable(tag);
                if let Some(name) = inputs.threads.iter().find(|name| Some(name.as_str()) == variable) {
                    state.open(&mut written);
                    written.truncate(written.trim_end().len());
                    written.push_str(&format!(
                        "{{% for message in {name} %}}{{{{ role(message.role) }}}}{{{{ message.content }}}}{{% endfor %}}"
                    ));
                    let role = state.role.unwrap_or("system");
                    state = RoleState {
                        role: Some(role),
                        pending: Some(role),
                        has_text: false,
                        is_reopened: true,
                    };
                    placed.push(name);
                } else if let Some(name) = inputs.media.iter().find(|name| Some(name.as_str()) == variable) {
                    state.open(&mut written);
                    written.push_str(&format!("{{{{ media({name}) }}}}"));
                } else {
                    let is_statement = tag.starts_with("{%") && state.pending.is_some() && !state.is_reopened;
                    if tag.starts_with("{{") || is_statement {
                        state.open(&mut written);
                    }
                    written.push_str(tag);
                }
                at += tag.len();
                starts_line = false;
            }
            Piece::Text(text) => {
                for line in text.split_inclusive('\n') {
                    let ends_line = line.ends_with('\n') || at + line.len() == source.len();
                    match role_of(line).filter(|_| starts_line && ends_line) {
                        Some((role, has_attributes)) => {
                            let place =
                                LineColumn::at_offset(draft.text, (offset + at).min(draft.text.len()));
                            if has_attributes {
                                draft.lose_at(LossCode::Unknown, place, "attributes of a role", "");
                            }
                            let role = if role == "function" {
                                draft.lose_at(
                                    LossCode::Role,
                                    place,
                                    "the role `function`",
                                    "the role `tool`",
                                );
                                "tool"
                            } else {
                                role
                            };
                            state = RoleState {
                                role: Some(role),
                                pending: Some(role),
                                has_text: false,
                                is_reopened: false,
                            };
                        }
                        None if state.pending.is_some()
                            && line.trim_matches(['\n', '\r']).is_empty()
                            && !state.has_text =>
                        {
                            // A line between two roles makes a message of the first one.
                            if !state.is_reopened {
                                state.open(&mut written);
                                written.push_str(line);
                            }
                        }
                        None => {
                            state.open_for(line, &mut written);
                            push_line(&mut written, line, is_first);
                        }
                    }
                    at += line.len();
                    starts_line = line.ends_with('\n');
                }
            }
        }
    }
    for name in inputs.threads.iter().filter(|name| !placed.contains(&name.as_str())) {
        written.truncate(written.trim_end().len());
        written.push_str(&format!(
            "{{% for message in {name} %}}{{{{ role(message.role) }}}}{{{{ message.content }}}}{{% endfor %}}"
        ));
    }
    written
}

/// Adds a line; in version 1, pictures of Markdown become media.
fn push_line(written: &mut String, line: &str, is_first: bool) {
    let mut rest = line;
    while is_first && let Some(found) = rest.find("![") {
        let after = &rest[found..];
        let picture = after.find("](").and_then(|middle| {
            let end = after[middle + 2..].find(')')?;
            Some((after[middle + 2..middle + 2 + end].trim().to_owned(), middle + 2 + end + 1))
        });
        let Some((url, length)) = picture else { break };
        written.push_str(&rest[..found]);
        written.push_str(&format!("{{{{ media({}) }}}}", quote_string(&url)));
        rest = &after[length..];
    }
    written.push_str(rest);
}

/// The message that is open while a source is read.
struct RoleState {
    /// The role that was named last.
    role: Option<&'static str>,
    /// The role whose call is not written yet.
    pending: Option<&'static str>,
    has_text: bool,
    /// Whether the role speaks again after earlier messages.
    is_reopened: bool,
}

impl RoleState {
    /// Writes the call for the role, if it is missing.
    fn open(&mut self, written: &mut String) {
        match (self.pending.take(), self.role) {
            (Some(role), _) => written.push_str(&format!("{{{{ role(\"{role}\") }}}}\n")),
            (None, None) => {
                self.role = Some("system");
                written.push_str("{{ role(\"system\") }}");
            }
            _ => {}
        }
        self.has_text = true;
    }

    /// As [`RoleState::open`], for a line of text. Blank text before the first role is no message.
    fn open_for(&mut self, line: &str, written: &mut String) {
        if self.pending.is_some() || !line.trim().is_empty() {
            self.open(written);
        }
    }
}
