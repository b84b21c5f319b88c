//! Bodies that are lists of messages.

use std::sync::Arc;

use hinagata_document::{Fields, Node, TextOrigin, truncate_for_display};
use hinagata_template::Language;
use serde_json::{Map, Value};

use super::model::{Message, Part, Role, TemplateText};

/// The roles that a document may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum KnownRoles {
    /// Those of [`Role::NAMES`].
    #[default]
    Named,
    /// Any: the programs that write to the store decide.
    Any,
}

/// A message before the language of its templates is known.
#[derive(Clone, Debug)]
pub(super) struct DraftMessage {
    role: DraftText,
    parts: Vec<DraftPart>,
    history: Option<String>,
    unknown: Map<String, Value>,
}

#[derive(Clone, Debug)]
enum DraftPart {
    Text(DraftText),
    Other { kind: String, fields: Map<String, Value> },
}

/// A template before its language is known.
#[derive(Clone, Debug)]
pub(super) struct DraftText {
    text: Arc<str>,
    file: String,
    origin: TextOrigin,
}

/// Reads the value of `messages`; `None` when it contains no message.
pub(super) fn read_messages(
    fields: &mut Fields<'_>,
    node: &Node,
    roles: KnownRoles,
) -> Option<Vec<DraftMessage>> {
    let items = fields.list("messages", node);
    if items.is_empty() {
        if node.as_list().is_some() || node.is_null() {
            fields.problem("messages", node, "`messages` has no message");
        }
        return None;
    }
    Some(items.iter().enumerate().filter_map(|(index, item)| message(fields, index, item, roles)).collect())
}

fn message(fields: &mut Fields<'_>, index: usize, node: &Node, roles: KnownRoles) -> Option<DraftMessage> {
    let path = format!("messages[{index}]");
    if node.as_map().is_none() {
        let hint = "write `{role: user, content: \"...\"}`";
        fields.problem_with_hint(
            &path,
            node,
            format!("`{path}` must be an object, not {}", node.kind()),
            hint,
        );
        return None;
    }
    let mut draft = DraftMessage {
        role: DraftText::whole_lines(fields, node, "user"),
        parts: Vec::new(),
        history: None,
        unknown: Map::new(),
    };
    for (key, value) in node.as_map().unwrap_or_default() {
        let field = format!("{path}.{key}");
        match key.as_str() {
            "role" => draft.role = role(fields, &field, value, roles)?,
            "content" => draft.parts = content(fields, &field, value),
            "history" => draft.history = Some(fields.string(&field, value)?),
            _ => {
                draft.unknown.insert(key.clone(), value.to_value());
            }
        }
    }
    if draft.history.is_some() && (node.get("role").is_some() || node.get("content").is_some()) {
        fields.problem(
            &path,
            node,
            format!("`{path}` has `history` and a message of its own; keep one of them"),
        );
    }
    for key in ["role", "content"] {
        if draft.history.is_none() && node.get(key).is_none() {
            fields.problem(&path, node, format!("`{path}` has no `{key}`"));
        }
    }
    Some(draft)
}

/// Reads a role: a known name, or a template that takes the role from data.
fn role(fields: &mut Fields<'_>, field: &str, node: &Node, roles: KnownRoles) -> Option<DraftText> {
    if node.as_str().is_some_and(|word| word.contains("{{")) {
        return Some(DraftText::from_node(fields, node, node.as_str().unwrap_or_default()));
    }
    match node.as_str().filter(|word| roles == KnownRoles::Any && !word.is_empty()) {
        Some(word) if Role::from_name(word).is_none() => {
            let message = format!("unknown role `{}`, which models may refuse", truncate_for_display(word));
            fields.warn_of_unknown(field, node, (word, &message), &Role::NAMES);
        }
        Some(_) => {}
        None => {
            fields.one_of(field, node, &Role::NAMES, Role::from_name)?;
        }
    }
    Some(DraftText::from_node(fields, node, node.as_str().unwrap_or_default()))
}

fn content(fields: &mut Fields<'_>, field: &str, node: &Node) -> Vec<DraftPart> {
    if let Some(words) = node.as_str() {
        return vec![DraftPart::Text(DraftText::from_node(fields, node, words))];
    }
    if node.as_list().is_none() {
        fields.problem(
            field,
            node,
            format!("`{field}` must be a string or a list of parts, not {}", node.kind()),
        );
        return Vec::new();
    }
    let items = node.as_list().unwrap_or_default();
    items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| part(fields, &format!("{field}[{index}]"), item))
        .collect()
}

fn part(fields: &mut Fields<'_>, field: &str, node: &Node) -> Option<DraftPart> {
    if let Some(words) = node.as_str() {
        return Some(DraftPart::Text(DraftText::from_node(fields, node, words)));
    }
    let Some(entries) = node.as_map() else {
        fields.problem(
            field,
            node,
            format!("`{field}` must be a string or an object with a `type`, not {}", node.kind()),
        );
        return None;
    };
    let kind = match node.get("type") {
        Some(kind) => fields.string(&format!("{field}.type"), kind)?,
        None if node.get("text").is_some() => "text".to_owned(),
        None => {
            fields.problem(field, node, format!("`{field}` has no `type`"));
            return None;
        }
    };
    if kind == "text" {
        let Some(words) = node.get("text") else {
            fields.problem(field, node, format!("`{field}` has no `text`"));
            return None;
        };
        let string = fields.string(&format!("{field}.text"), words)?;
        return Some(DraftPart::Text(DraftText::from_node(fields, words, &string)));
    }
    let others =
        entries.iter().filter(|(key, _)| key != "type").map(|(key, value)| (key.clone(), value.to_value()));
    Some(DraftPart::Other { kind, fields: others.collect() })
}

impl DraftMessage {
    /// The message, with its templates in the language `engine`.
    pub(super) fn finish(self, engine: Language) -> Message {
        let part = |part| match part {
            DraftPart::Text(text) => Part::Text(text.finish(engine)),
            DraftPart::Other { kind, fields } => Part::Other { kind, fields },
        };
        let role = Role::from_name(&self.role.text).unwrap_or_else(|| match self.role.text.contains("{{") {
            true => Role::Template(self.role.finish(engine)),
            false => Role::Other(self.role.text.as_ref().into()),
        });
        let parts = self.parts.into_iter().map(part).collect();
        Message { role, parts, history: self.history, unknown: self.unknown }
    }
}

impl DraftText {
    /// The string `node` with the value `text`.
    pub(super) fn from_node(fields: &Fields<'_>, node: &Node, text: &str) -> Self {
        let text = Arc::from(text);
        let origin = fields.text_origin(node, &text);
        Self { text, file: fields.file().to_owned(), origin }
    }

    /// A text whose lines are those of the file, from the line of `node`.
    pub(super) fn whole_lines(fields: &Fields<'_>, node: &Node, text: &str) -> Self {
        let origin = TextOrigin::from_line(node.at.line);
        Self { text: text.into(), file: fields.file().to_owned(), origin }
    }

    /// The template in the language `engine`.
    pub(super) fn finish(self, engine: Language) -> TemplateText {
        TemplateText { engine, text: self.text, file: self.file, origin: self.origin }
    }
}
