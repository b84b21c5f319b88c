//! Modules, prompts and elements as JSON documents.

use serde_json::{Map, Value};

use crate::{
    Attachment, Chunk, CompiledPrompt, Content, Element, Entry, Material, Message, PromptModule,
    SectionElement, SectionEntry, SectionItem, SubsectionElement, SubsectionEntry, Text, TextElement,
    element::{JsonContent, JsonElement, Meta},
    entry::{Item, TextItem},
    message::{Said, ToolCall, ToolResult, ToolValue},
};

/// An object that is filled key by key.
struct Object(Map<String, Value>);

impl Object {
    fn of_kind(kind: &str) -> Self {
        Self(Map::new()).with("type", kind)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn finish(self, meta: &Meta) -> Value {
        let mut all = self
            .with_some("usage", meta.usage)
            .with_some("cacheHint", meta.cache.map(crate::CacheHint::name));
        if let Some(extra) = &meta.extra {
            all.0.extend(extra.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Value::Object(all.0)
    }
}

fn text(text: &Text) -> Value {
    Value::from(text.as_str())
}

impl Attachment {
    pub(crate) fn to_json(&self) -> Value {
        let object =
            |kind: &str, value: Value| Object::of_kind(kind).with(kind, value).finish(&Meta::default());
        match self {
            Self::Text(content) => object("text", text(content)),
            Self::ImageUrl { url } => object("image_url", serde_json::json!({"url": url.as_str()})),
            Self::File { path, mime_type } => {
                object("file", serde_json::json!({"path": path.as_str(), "mime_type": mime_type.as_str()}))
            }
        }
    }
}

impl Content {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Text(content) => text(content),
            Self::Parts(parts) => parts.iter().map(Attachment::to_json).collect(),
        }
    }
}

impl Element {
    /// The element as a document with `type`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(element) => element.to_json(),
            Self::Message(element) => element.to_json(),
            Self::Material(element) => element.to_json(),
            Self::Chunk(element) => element.to_json(),
            Self::Json(element) => element.to_json(),
            Self::Section(element) => element.to_json(),
            Self::Subsection(element) => element.to_json(),
        }
    }
}

impl TextElement {
    fn to_json(&self) -> Value {
        Object::of_kind("text").with("content", self.content.to_json()).finish(&self.meta)
    }
}

impl Message {
    fn to_json(&self) -> Value {
        let object = Object::of_kind("message").with("role", self.role().name());
        let object = match &self.said {
            Said::System(content) | Said::User(content) => object.with("content", content.to_json()),
            Said::Assistant(content, calls) => {
                let calls: Vec<Value> = calls.iter().map(ToolCall::to_json).collect();
                let object = object.with("content", content.to_json());
                if calls.is_empty() { object } else { object.with("toolCalls", calls) }
            }
            Said::Tool(result) => result.fields(object),
        };
        object.with_some("name", self.name.as_ref().map(text)).finish(&self.meta)
    }
}

impl ToolCall {
    fn to_json(&self) -> Value {
        serde_json::json!({"id": self.id.as_str(), "name": self.name.as_str(), "arguments": *self.arguments})
    }
}

impl ToolResult {
    fn fields(&self, object: Object) -> Object {
        let object = object.with("toolCallId", text(&self.call_id));
        match &self.value {
            ToolValue::Text(value) => object.with("kind", "text").with("value", text(value)),
            ToolValue::Data(value) => object.with("kind", "data").with("value", Value::clone(value)),
            ToolValue::Error(value) => object.with("kind", "error").with("value", Value::clone(value)),
        }
    }
}

impl Material {
    fn to_json(&self) -> Value {
        Object::of_kind("material")
            .with("id", text(&self.id))
            .with("title", text(&self.title))
            .with("content", self.content.to_json())
            .finish(&self.meta)
    }
}

impl Chunk {
    fn to_json(&self) -> Value {
        Object::of_kind("chunk")
            .with("partOf", text(&self.part_of))
            .with("content", self.content.to_json())
            .with_some("index", self.index)
            .with_some("total", self.total)
            .finish(&self.meta)
    }
}

impl JsonElement {
    fn to_json(&self) -> Value {
        let content = match &self.content {
            JsonContent::Value(value) => Value::clone(value),
            JsonContent::Text(content) => text(content),
        };
        Object::of_kind("json").with("content", content).finish(&self.meta)
    }
}

impl SectionElement {
    fn to_json(&self) -> Value {
        let item = |item: &SectionItem| match item {
            SectionItem::Text(content) => text(content),
            SectionItem::Subsection(subsection) => subsection.to_json(),
            SectionItem::Other(value) => Value::clone(value),
        };
        Object::of_kind("section")
            .with_some("category", self.category.map(crate::Part::name))
            .with("title", text(&self.title))
            .with("items", self.items.iter().map(item).collect::<Value>())
            .finish(&self.meta)
    }
}

impl SubsectionElement {
    fn to_json(&self) -> Value {
        Object::of_kind("subsection")
            .with("title", text(&self.title))
            .with("items", self.items.iter().map(text).collect::<Value>())
            .finish(&self.meta)
    }
}

impl CompiledPrompt {
    /// The prompt as a document: the three parts, and the schema under `metadata`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let part = |elements: &[Element]| elements.iter().map(Element::to_json).collect::<Value>();
        let mut all = serde_json::json!({
            "instructions": part(&self.instructions), "data": part(&self.data), "output": part(&self.output),
        });
        if let Some(schema) = &self.schema {
            all["metadata"] = serde_json::json!({"outputSchema": **schema});
        }
        all
    }
}

impl<C> Entry<C> {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Text(content) => text(content),
            Self::Element(element) => element.to_json(),
            Self::Section(section) => section.to_json(),
            Self::Subsection(subsection) => subsection.to_json(),
            Self::Dynamic(dynamic) => dynamic.to_json(),
        }
    }
}

impl<C> SectionEntry<C> {
    pub(crate) fn to_json(&self) -> Value {
        Object::of_kind("section")
            .with_some("category", self.category.map(crate::Part::name))
            .with("title", text(&self.title))
            .with("items", self.items.iter().map(Item::to_json).collect::<Value>())
            .finish(&self.meta)
    }
}

impl<C> SubsectionEntry<C> {
    pub(crate) fn to_json(&self) -> Value {
        Object::of_kind("subsection")
            .with("title", text(&self.title))
            .with("items", self.items.iter().map(TextItem::to_json).collect::<Value>())
            .finish(&self.meta)
    }
}

impl<C> Item<C> {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Text(item) => item.to_json(),
            Self::Subsection(subsection) => subsection.to_json(),
            Self::Other(value) => Value::clone(value),
        }
    }
}

impl<C> TextItem<C> {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Fixed(content) => text(content),
            Self::Dynamic(dynamic) => dynamic.to_json(),
        }
    }
}

impl<C> PromptModule<C> {
    /// The entries of each section, by name; functions in their JSON form.
    #[must_use]
    pub fn sections_to_json(&self) -> Map<String, Value> {
        let entries = |entries: &[Entry<C>]| entries.iter().map(Entry::to_json).collect::<Value>();
        self.sections.iter().map(|(name, all)| (name.name().to_owned(), entries(all))).collect()
    }
}

impl PromptModule<Value> {
    /// The module as a document: its sections, and its default context as `createContext`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut all = Map::new();
        if !self.context.is_empty() {
            all.insert("createContext".to_owned(), self.create_context());
        }
        all.extend(self.sections_to_json());
        Value::Object(all)
    }
}
