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
    pub(super) fn read_element(&mut self, value: &Value) -> Option<Element> {
        let fields = self.read_object(value)?;
        let Some(kind) = fields.get("type").and_then(Value::as_str) else {
            self.add_type_error("an element with `type`", value);
            return None;
        };
        match kind {
            "text" => self.read_text_element(fields).map(Element::Text),
            "message" => self.read_message(fields).map(Element::Message),
            "material" => self.read_material(fields).map(Element::Material),
            "chunk" => self.read_chunk(fields).map(Element::Chunk),
            "json" => self.read_json(fields).map(Element::Json),
            "section" => self.read_section_element(value).map(Element::Section),
            "subsection" => self.read_subsection_element(value).map(Element::Subsection),
            other => {
                let problem = Problem::new(self.path.clone(), format!("unknown element type `{other}`"))
                    .with_near(other, Element::KINDS);
                self.problems.push(problem);
                None
            }
        }
    }

    fn read_text_element(&mut self, fields: &Map<String, Value>) -> Option<TextElement> {
        Some(TextElement { content: self.read_content(fields)?, meta: self.read_meta(fields, &["content"])? })
    }

    fn read_material(&mut self, fields: &Map<String, Value>) -> Option<Material> {
        Some(Material {
            id: self.read_text(fields, "id")?,
            title: self.read_text(fields, "title")?,
            content: self.read_content(fields)?,
            meta: self.read_meta(fields, &["id", "title", "content", "attachments"])?,
        })
    }

    fn read_chunk(&mut self, fields: &Map<String, Value>) -> Option<Chunk> {
        Some(Chunk {
            part_of: self.read_text(fields, "partOf")?,
            content: self.read_content(fields)?,
            index: self.read_count(fields, "index")?,
            total: self.read_count(fields, "total")?,
            meta: self.read_meta(fields, &["partOf", "content", "index", "total", "attachments"])?,
        })
    }

    fn read_json(&mut self, fields: &Map<String, Value>) -> Option<JsonElement> {
        let content = match fields.get("content") {
            None => {
                self.add_problem("`content` is missing");
                return None;
            }
            Some(Value::String(text)) => JsonContent::Text(Text::from(text)),
            Some(value) => JsonContent::Value(Arc::new(value.clone())),
        };
        Some(JsonElement { content, meta: self.read_meta(fields, &["content"])? })
    }

    fn read_section_element(&mut self, value: &Value) -> Option<SectionElement> {
        let (fields, title, items) = self.read_titled(value, |reader, value| match value {
            Value::String(text) => Some(SectionItem::Text(Text::from(text))),
            value if is_subsection(value) => {
                reader.read_subsection_element(value).map(SectionItem::Subsection)
            }
            value => reader.read_other_item(value).map(SectionItem::Other),
        })?;
        let category = self.read_category(fields)?;
        Some(SectionElement {
            title,
            category,
            items,
            meta: self.read_meta(fields, &["title", "category", "items"])?,
        })
    }

    fn read_subsection_element(&mut self, value: &Value) -> Option<SubsectionElement> {
        let (fields, title, items) = self.read_titled(value, |reader, value| match value {
            Value::String(text) => Some(Text::from(text)),
            value => {
                reader.add_type_error("a string", value);
                None
            }
        })?;
        Some(SubsectionElement { title, items, meta: self.read_meta(fields, &["title", "items"])? })
    }

    fn read_message(&mut self, fields: &Map<String, Value>) -> Option<Message> {
        let role = self.read_text(fields, "role")?;
        let role = self.read_known_name(&role, "role", Role::from_name, &Role::ALL.map(Role::name))?;
        let said = match role {
            Role::System => Said::System(self.read_content(fields)?),
            Role::User => Said::User(self.read_content(fields)?),
            Role::Assistant => Said::Assistant(self.read_content(fields)?, self.read_tool_calls(fields)),
            Role::Tool => Said::Tool(self.read_tool_result(fields)?),
        };
        let name = match fields.get("name") {
            None | Some(Value::Null) => None,
            Some(_) => Some(self.read_text(fields, "name")?),
        };
        let known: &[&str] = match role {
            Role::System | Role::User => &["role", "content", "name", "attachments"],
            Role::Assistant => &["role", "content", "name", "attachments", "toolCalls"],
            Role::Tool => &["role", "content", "name", "toolCallId", "kind", "value"],
        };
        Some(Message { said, name, meta: self.read_meta(fields, known)? })
    }

    fn read_tool_calls(&mut self, fields: &Map<String, Value>) -> Vec<ToolCall> {
        let Some(calls) = fields.get("toolCalls") else { return Vec::new() };
        self.read_under("toolCalls", |reader| {
            reader.read_list(calls, |reader, value| {
                let fields = reader.read_object(value)?;
                let arguments = fields.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
                Some(ToolCall::new(
                    reader.read_text(fields, "id")?,
                    reader.read_text(fields, "name")?,
                    arguments,
                ))
            })
        })
    }

    fn read_tool_result(&mut self, fields: &Map<String, Value>) -> Option<ToolResult> {
        let call_id = self.read_text(fields, "toolCallId")?;
        let value = match (fields.get("kind").and_then(Value::as_str), fields.get("value")) {
            (Some("text"), Some(Value::String(text))) => ToolValue::Text(Text::from(text)),
            (Some("data"), Some(value)) => ToolValue::Data(Arc::new(value.clone())),
            (Some("error"), Some(value)) => ToolValue::Error(Arc::new(value.clone())),
            (None, None) => ToolValue::Text(self.read_text(fields, "content")?),
            _ => {
                self.add_problem(
                    "a tool message needs `content`, or a `kind` (text, data or error) and a matching `value`",
                );
                return None;
            }
        };
        Some(ToolResult { call_id, value })
    }

    fn read_content(&mut self, fields: &Map<String, Value>) -> Option<Content> {
        let content = match fields.get("content") {
            Some(Value::String(text)) => Content::Text(Text::from(text)),
            Some(list @ Value::Array(_)) => Content::Parts(self.read_attachments("content", list)),
            Some(other) => {
                self.read_under("content", |reader| {
                    reader.add_type_error("a string or a list of attachments", other);
                });
                return None;
            }
            None => {
                self.add_problem("`content` is missing");
                return None;
            }
        };
        match fields.get("attachments") {
            None | Some(Value::Null) => Some(content),
            Some(list) => Some(
                self.read_attachments("attachments", list)
                    .into_iter()
                    .fold(content, Content::with_attachment),
            ),
        }
    }

    fn read_attachments(&mut self, key: &str, list: &Value) -> Vec<Attachment> {
        self.read_under(key, |reader| reader.read_list(list, Self::read_attachment))
    }

    fn read_attachment(&mut self, value: &Value) -> Option<Attachment> {
        const KINDS: [&str; 3] = ["text", "image_url", "file"];
        let fields = self.read_object(value)?;
        let kind = self.read_text(fields, "type")?;
        let kind =
            self.read_known_name(&kind, "type", |name| KINDS.into_iter().find(|kind| *kind == name), &KINDS)?;
        if kind == "text" {
            return Some(Attachment::Text(self.read_text(fields, "text")?));
        }
        let Some(inner) = fields.get(kind) else {
            self.add_problem(format!("`{kind}` is missing"));
            return None;
        };
        self.read_under(kind, |reader| {
            let inner = reader.read_object(inner)?;
            Some(match kind {
                "image_url" => Attachment::ImageUrl { url: reader.read_text(inner, "url")? },
                _ => Attachment::File {
                    path: reader.read_text(inner, "path")?,
                    mime_type: reader.read_text(inner, "mime_type")?,
                },
            })
        })
    }
}
