//! Modules, prompts and elements as JSON documents.

use serde_json::{Map, Value};

use crate::{
    Attachment, Chunk, CompiledPrompt, Content, Element, Entry, Material, Message, Order, PromptModule,
    SectionElement, SectionEntry, SectionItem, SubsectionElement, SubsectionEntry, Text, TextElement,
    element::{JsonContent, JsonElement, Meta},
    entry::{Item, TextItem},
    message::{Body, MessagePart, PartContent, Role, ToolCall, ToolResult, ToolValue},
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
            Self::File { path, mime_type, name } => {
                let mut file = serde_json::json!({"path": path.as_str(), "mime_type": mime_type.as_str()});
                if let Some(name) = name {
                    file["name"] = text(name);
                }
                object("file", file)
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
    /// The message as documents: those that it was read from, or one in our own format.
    ///
    /// Only OpenAI's responses have several for one message.
    #[must_use]
    pub fn to_documents(&self) -> Vec<Value> {
        if let Some(source) = self.source() {
            return source.items.clone();
        }
        let mut document = self.to_json();
        if let Value::Object(fields) = &mut document {
            fields.shift_remove("type");
        }
        vec![document]
    }

    fn to_json(&self) -> Value {
        let object = Object::of_kind("message");
        let Some(source) = self.source() else { return self.fields(object).finish(&self.meta) };
        match source.items.as_slice() {
            [Value::Object(document)] if !document.contains_key("type") => {
                let mut all = object.0;
                all.extend(document.iter().map(|(key, value)| (key.clone(), value.clone())));
                Value::Object(all)
            }
            items => {
                object.with("role", self.role().name()).with("items", items.to_vec()).finish(&Meta::default())
            }
        }
    }

    fn fields(&self, object: Object) -> Object {
        let object = object.with("role", self.role().name());
        let named = |object: Object| object.with_some("name", self.name()).with_some("id", self.id());
        let parts = match self.body() {
            Body::Text(content) => return named(object.with("content", text(content))),
            Body::Parts(parts) => parts,
        };
        if let ([part], Role::Tool) = (parts.as_slice(), self.role())
            && let Some(result) = part.as_tool_result()
        {
            return named(result.fields(object));
        }
        let is_call = |part: &MessagePart| part.as_tool_call().is_some();
        let calls: Vec<Value> =
            parts.iter().filter_map(MessagePart::as_tool_call).map(ToolCall::to_json).collect();
        let is_apart = parts.iter().skip_while(|part| !is_call(part)).all(is_call)
            && parts.iter().all(|part| is_call(part) || matches!(part.content(), PartContent::Attachment(_)));
        if calls.is_empty() || !is_apart {
            return named(object.with("content", parts.iter().map(MessagePart::to_json).collect::<Value>()));
        }
        let content = match &parts[..parts.len() - calls.len()] {
            [] => Value::from(""),
            [part] if part.as_text().is_some() => part.as_text().into(),
            said => said.iter().map(MessagePart::to_json).collect(),
        };
        named(object.with("content", content).with("toolCalls", calls))
    }
}

/// Messages as a list, each as it was read or in our own format. [`crate::read_messages`] reads it again.
#[must_use]
pub fn messages_to_json(messages: &[Message]) -> Value {
    messages.iter().flat_map(Message::to_documents).collect()
}

impl MessagePart {
    /// The part as a document with `type`: the one that it was read from, if only that describes it, else ours.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self.content() {
            PartContent::Attachment(attachment) => attachment.to_json(),
            PartContent::ToolCall(call) => {
                let mut document = call.to_json();
                document["type"] = "tool_call".into();
                document
            }
            PartContent::ToolResult(result) => result.to_json(),
            PartContent::Reasoning(reasoning) => Object::of_kind("reasoning")
                .with("text", text(&reasoning.text))
                .with_some("signature", reasoning.signature.as_ref().map(text))
                .finish(&Meta::default()),
            PartContent::Refusal(said) => {
                Object::of_kind("refusal").with("refusal", text(said)).finish(&Meta::default())
            }
            PartContent::Other(kind) => {
                let document = self.source_value().cloned().unwrap_or_default();
                let fields = document.as_object().cloned().unwrap_or_default();
                let mut all = Object::of_kind(kind);
                all.0.extend(fields);
                all.finish(&Meta::default())
            }
        }
    }
}

impl ToolCall {
    fn to_json(&self) -> Value {
        serde_json::json!({"id": self.id.as_str(), "name": self.name.as_str(), "arguments": *self.arguments})
    }
}

impl ToolResult {
    /// The fields of a message of the tool.
    fn fields(&self, object: Object) -> Object {
        let object = object.with("toolCallId", text(&self.call_id));
        match &self.value {
            ToolValue::Text(value) => object.with("kind", "text").with("value", text(value)),
            ToolValue::Data(value) => object.with("kind", "data").with("value", Value::clone(value)),
            ToolValue::Error(value) => object.with("kind", "error").with("value", Value::clone(value)),
            ToolValue::Parts { parts, .. } => {
                object.with("content", parts.iter().map(Attachment::to_json).collect::<Value>())
            }
        }
    }

    /// A part of a message of somebody else.
    fn to_json(&self) -> Value {
        let object = Object::of_kind("tool_result").with("id", text(&self.call_id));
        let object = object.with_some("name", self.name.as_ref().map(text));
        let object = match &self.value {
            ToolValue::Text(value) => object.with("content", text(value)),
            ToolValue::Data(value) => object.with("structuredContent", Value::clone(value)),
            ToolValue::Error(value) => match &**value {
                Value::String(message) => object.with("content", message.as_str()),
                other => object.with("content", other.to_string()),
            },
            ToolValue::Parts { parts, .. } => {
                object.with("content", parts.iter().map(Attachment::to_json).collect::<Value>())
            }
        };
        let object = if self.value.is_error() { object.with("is_error", true) } else { object };
        object.finish(&Meta::default())
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

    /// As [`CompiledPrompt::to_json`], with the order under `metadata` unless it is standard, so that drivers make the same
    /// requests of the prompt that is read again.
    #[must_use]
    pub fn to_json_with_order(&self) -> Value {
        let mut all = self.to_json();
        if self.order != Order::Standard {
            all["metadata"]["order"] = self.order.name().into();
        }
        all
    }
}

/// Writes what does not depend on a context.
pub(crate) type WriteFixed<'w> = &'w dyn Fn(Value) -> Value;

impl<C> Entry<C> {
    pub(crate) fn to_json(&self, fixed: WriteFixed<'_>) -> Value {
        match self {
            Self::Text(content) => fixed(text(content)),
            Self::Element(element) => fixed(element.to_json()),
            Self::Section(section) => section.to_json(fixed),
            Self::Subsection(subsection) => subsection.to_json(fixed),
            Self::Dynamic(dynamic) => dynamic.to_json(),
        }
    }
}

impl<C> SectionEntry<C> {
    pub(crate) fn to_json(&self, fixed: WriteFixed<'_>) -> Value {
        Object::of_kind("section")
            .with_some("category", self.category.map(crate::Part::name))
            .with("title", text(&self.title))
            .with("items", self.items.iter().map(|item| item.to_json(fixed)).collect::<Value>())
            .finish(&self.meta)
    }
}

impl<C> SubsectionEntry<C> {
    pub(crate) fn to_json(&self, fixed: WriteFixed<'_>) -> Value {
        Object::of_kind("subsection")
            .with("title", text(&self.title))
            .with("items", self.items.iter().map(|item| item.to_json(fixed)).collect::<Value>())
            .finish(&self.meta)
    }
}

impl<C> Item<C> {
    pub(crate) fn to_json(&self, fixed: WriteFixed<'_>) -> Value {
        match self {
            Self::Text(item) => item.to_json(fixed),
            Self::Subsection(subsection) => subsection.to_json(fixed),
            Self::Other(value) => Value::clone(value),
        }
    }
}

impl<C> TextItem<C> {
    pub(crate) fn to_json(&self, fixed: WriteFixed<'_>) -> Value {
        match self {
            Self::Fixed(content) => fixed(text(content)),
            Self::Dynamic(dynamic) => dynamic.to_json(),
        }
    }
}

impl<C> PromptModule<C> {
    /// The entries of each section, by name; functions in their JSON form.
    #[must_use]
    pub fn sections_to_json(&self) -> Map<String, Value> {
        self.sections_to_json_with(&std::convert::identity)
    }

    /// As [`PromptModule::sections_to_json`]; `fixed` writes the texts and elements that do not depend on the context, for
    /// formats in which some texts have a meaning.
    #[must_use]
    pub fn sections_to_json_with(&self, fixed: &dyn Fn(Value) -> Value) -> Map<String, Value> {
        let entries =
            |entries: &[Entry<C>]| entries.iter().map(|entry| entry.to_json(fixed)).collect::<Value>();
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
