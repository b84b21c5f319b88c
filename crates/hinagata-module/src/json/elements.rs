//! The elements of a JSON document.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::read::{Reader, is_subsection};
use crate::{
    Chunk, Element, Material, Message, MessageFormat, Problem, SectionElement, SectionItem,
    SubsectionElement, Text, TextElement,
    element::{JsonContent, JsonElement},
    message::Expected,
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
            "message" => self.read_message(value).map(Element::Message),
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

    /// A message in any format. `items` are those of OpenAI's responses.
    fn read_message(&mut self, value: &Value) -> Option<Message> {
        let fields = self.read_object(value)?;
        if let Some(items) = fields.get("items") {
            return self.read_under("items", |reader| reader.read_turn(items));
        }
        let mut document = fields.clone();
        document.shift_remove("type");
        let document = Value::Object(document);
        self.read_draft(&document, Expected::certain(MessageFormat::Own))
            .map(|draft| draft.into_element(document))
    }
}
