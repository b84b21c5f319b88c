//! The elements of a JSON document.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::read::{Reader, is_subsection};
use crate::{
    Attachment, Chunk, Content, Element, Material, Message, Problem, Role, SectionElement, SectionItem,
    SubsectionElement, Text, TextElement,
    element::{JsonContent, JsonElement},
    message::{Said, ToolCall, ToolResult, ToolValue},
};

impl Reader<'_> {
    pub(super) fn element(&mut self, value: &Value) -> Option<Element> {
        let fields = self.object(value)?;
        let Some(kind) = fields.get("type").and_then(Value::as_str) else {
            self.wrong("an element with `type`", value);
            return None;
        };
        match kind {
            "text" => self.text_element(fields).map(Element::Text),
            "message" => self.message(fields).map(Element::Message),
            "material" => self.material(fields).map(Element::Material),
            "chunk" => self.chunk(fields).map(Element::Chunk),
            "json" => self.json(fields).map(Element::Json),
            "section" => self.section_element(value).map(Element::Section),
            "subsection" => self.subsection_element(value).map(Element::Subsection),
            other => {
                let problem =
                    Problem::new(self.path.clone(), format!("there is no element of type `{other}`"))
                        .near(other, Element::KINDS);
                self.problems.push(problem);
                None
            }
        }
    }

    fn text_element(&mut self, fields: &Map<String, Value>) -> Option<TextElement> {
        Some(TextElement { content: self.content(fields)?, meta: self.meta(fields, &["content"])? })
    }

    fn material(&mut self, fields: &Map<String, Value>) -> Option<Material> {
        Some(Material {
            id: self.text(fields, "id")?,
            title: self.text(fields, "title")?,
            content: self.content(fields)?,
            meta: self.meta(fields, &["id", "title", "content", "attachments"])?,
        })
    }

    fn chunk(&mut self, fields: &Map<String, Value>) -> Option<Chunk> {
        Some(Chunk {
            part_of: self.text(fields, "partOf")?,
            content: self.content(fields)?,
            index: self.count(fields, "index")?,
            total: self.count(fields, "total")?,
            meta: self.meta(fields, &["partOf", "content", "index", "total", "attachments"])?,
        })
    }

    fn json(&mut self, fields: &Map<String, Value>) -> Option<JsonElement> {
        let content = match fields.get("content") {
            None => {
                self.problem("`content` is missing");
                return None;
            }
            Some(Value::String(text)) => JsonContent::Text(Text::from(text)),
            Some(value) => JsonContent::Value(Arc::new(value.clone())),
        };
        Some(JsonElement { content, meta: self.meta(fields, &["content"])? })
    }

    fn section_element(&mut self, value: &Value) -> Option<SectionElement> {
        let (fields, title, items) = self.titled(value, |reader, value| match value {
            Value::String(text) => Some(SectionItem::Text(Text::from(text))),
            value if is_subsection(value) => reader.subsection_element(value).map(SectionItem::Subsection),
            value => reader.other_item(value).map(SectionItem::Other),
        })?;
        let category = self.category(fields)?;
        Some(SectionElement {
            title,
            category,
            items,
            meta: self.meta(fields, &["title", "category", "items"])?,
        })
    }

    fn subsection_element(&mut self, value: &Value) -> Option<SubsectionElement> {
        let (fields, title, items) = self.titled(value, |reader, value| match value {
            Value::String(text) => Some(Text::from(text)),
            value => {
                reader.wrong("a text", value);
                None
            }
        })?;
        Some(SubsectionElement { title, items, meta: self.meta(fields, &["title", "items"])? })
    }

    fn message(&mut self, fields: &Map<String, Value>) -> Option<Message> {
        let role = self.text(fields, "role")?;
        let role = self.known(&role, "role", Role::named, &Role::ALL.map(Role::name))?;
        let said = match role {
            Role::System => Said::System(self.content(fields)?),
            Role::User => Said::User(self.content(fields)?),
            Role::Assistant => Said::Assistant(self.content(fields)?, self.tool_calls(fields)),
            Role::Tool => Said::Tool(self.tool_result(fields)?),
        };
        let name = match fields.get("name") {
            None | Some(Value::Null) => None,
            Some(_) => Some(self.text(fields, "name")?),
        };
        let known: &[&str] = match role {
            Role::System | Role::User => &["role", "content", "name", "attachments"],
            Role::Assistant => &["role", "content", "name", "attachments", "toolCalls"],
            Role::Tool => &["role", "content", "name", "toolCallId", "kind", "value"],
        };
        Some(Message { said, name, meta: self.meta(fields, known)? })
    }

    fn tool_calls(&mut self, fields: &Map<String, Value>) -> Vec<ToolCall> {
        let Some(calls) = fields.get("toolCalls") else { return Vec::new() };
        self.beneath("toolCalls", |reader| {
            reader.list(calls, |reader, value| {
                let fields = reader.object(value)?;
                let arguments = fields.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
                Some(ToolCall::new(reader.text(fields, "id")?, reader.text(fields, "name")?, arguments))
            })
        })
    }

    fn tool_result(&mut self, fields: &Map<String, Value>) -> Option<ToolResult> {
        let call_id = self.text(fields, "toolCallId")?;
        let value = match (fields.get("kind").and_then(Value::as_str), fields.get("value")) {
            (Some("text"), Some(Value::String(text))) => ToolValue::Text(Text::from(text)),
            (Some("data"), Some(value)) => ToolValue::Data(Arc::new(value.clone())),
            (Some("error"), Some(value)) => ToolValue::Error(Arc::new(value.clone())),
            (None, None) => ToolValue::Text(self.text(fields, "content")?),
            _ => {
                self.problem(
                    "a tool answers with `content`, or with `kind` text, data or error and a `value` of it",
                );
                return None;
            }
        };
        Some(ToolResult { call_id, value })
    }

    fn content(&mut self, fields: &Map<String, Value>) -> Option<Content> {
        let content = match fields.get("content") {
            Some(Value::String(text)) => Content::Text(Text::from(text)),
            Some(list @ Value::Array(_)) => Content::Parts(self.attachments("content", list)),
            Some(other) => {
                self.beneath("content", |reader| reader.wrong("a text or a list of attachments", other));
                return None;
            }
            None => {
                self.problem("`content` is missing");
                return None;
            }
        };
        match fields.get("attachments") {
            None | Some(Value::Null) => Some(content),
            Some(list) => {
                Some(self.attachments("attachments", list).into_iter().fold(content, Content::with))
            }
        }
    }

    fn attachments(&mut self, key: &str, list: &Value) -> Vec<Attachment> {
        self.beneath(key, |reader| reader.list(list, Self::attachment))
    }

    fn attachment(&mut self, value: &Value) -> Option<Attachment> {
        const KINDS: [&str; 3] = ["text", "image_url", "file"];
        let fields = self.object(value)?;
        let kind = self.text(fields, "type")?;
        let kind = self.known(&kind, "type", |name| KINDS.into_iter().find(|kind| *kind == name), &KINDS)?;
        if kind == "text" {
            return Some(Attachment::Text(self.text(fields, "text")?));
        }
        let Some(inner) = fields.get(kind) else {
            self.problem(format!("`{kind}` is missing"));
            return None;
        };
        self.beneath(kind, |reader| {
            let inner = reader.object(inner)?;
            Some(match kind {
                "image_url" => Attachment::ImageUrl { url: reader.text(inner, "url")? },
                _ => Attachment::File {
                    path: reader.text(inner, "path")?,
                    mime_type: reader.text(inner, "mime_type")?,
                },
            })
        })
    }
}
