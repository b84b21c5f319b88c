//! The elements of a compiled prompt.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{Attachment, Content, Message, Part, Text};

/// How often the content of an element changes between calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheHint {
    /// Never, by declaration of its author.
    Immutable,
    /// Only with the module: it does not depend on the context.
    Static,
    /// With the context.
    Contextual,
}

impl CacheHint {
    /// All hints.
    pub const ALL: [Self; 3] = [Self::Immutable, Self::Static, Self::Contextual];

    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Immutable => "immutable",
            Self::Static => "static",
            Self::Contextual => "contextual",
        }
    }

    /// The hint with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hint| hint.name() == name)
    }
}

/// Properties that every element may have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Meta {
    pub(crate) usage: Option<u64>,
    pub(crate) cache: Option<CacheHint>,
    /// Unknown members of a document, kept unchanged.
    pub(crate) extra: Option<Box<Map<String, Value>>>,
}

/// An element of a compiled prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A separate text.
    Text(TextElement),
    /// A message of a conversation.
    Message(Message),
    /// A reference text.
    Material(Material),
    /// A part of a longer text.
    Chunk(Chunk),
    /// Data, or the schema of the answer.
    Json(JsonElement),
    /// A heading with texts and subsections under it.
    Section(SectionElement),
    /// A heading of the second level with texts under it.
    Subsection(SubsectionElement),
}

/// An element that may depend on the context. Sections cannot: structure is static.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicElement {
    /// A separate text.
    Text(TextElement),
    /// A message of a conversation.
    Message(Message),
    /// A reference text.
    Material(Material),
    /// A part of a longer text.
    Chunk(Chunk),
    /// Data, or the schema of the answer.
    Json(JsonElement),
}

/// A text that is separate from the texts of its section.
#[derive(Clone, Debug, PartialEq)]
pub struct TextElement {
    /// The text.
    pub content: Content,
    pub(crate) meta: Meta,
}

impl TextElement {
    /// A text.
    #[must_use]
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: content.into(), meta: Meta::default() }
    }
}

/// A reference text with an id and a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The id by which the model refers to it.
    pub id: Text,
    /// The title.
    pub title: Text,
    /// The content.
    pub content: Content,
    pub(crate) meta: Meta,
}

impl Material {
    /// A material.
    #[must_use]
    pub fn new(id: impl Into<Text>, title: impl Into<Text>, content: impl Into<Content>) -> Self {
        Self { id: id.into(), title: title.into(), content: content.into(), meta: Meta::default() }
    }

    /// Adds an image or a file.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Attachment) -> Self {
        self.content = self.content.with_attachment(attachment);
        self
    }
}

/// A part of a longer text.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The text that it is a part of.
    pub part_of: Text,
    /// The content.
    pub content: Content,
    /// Its index.
    pub index: Option<u64>,
    /// The number of parts.
    pub total: Option<u64>,
    pub(crate) meta: Meta,
}

impl Chunk {
    /// A part of `part_of`.
    #[must_use]
    pub fn new(part_of: impl Into<Text>, content: impl Into<Content>) -> Self {
        let (part_of, content) = (part_of.into(), content.into());
        Self { part_of, content, index: None, total: None, meta: Meta::default() }
    }

    /// Sets the index.
    #[must_use]
    pub fn with_index(mut self, index: u64) -> Self {
        self.index = Some(index);
        self
    }

    /// Sets the number of parts.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Adds an image or a file.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Attachment) -> Self {
        self.content = self.content.with_attachment(attachment);
        self
    }
}

/// Data; in the section `schema`, the JSON Schema of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonElement {
    /// The data.
    pub content: JsonContent,
    pub(crate) meta: Meta,
}

/// The data of a [`JsonElement`].
#[derive(Clone, Debug, PartialEq)]
pub enum JsonContent {
    /// A value.
    Value(Arc<Value>),
    /// JSON text, printed unchanged.
    Text(Text),
}

impl JsonElement {
    /// An element with a value.
    #[must_use]
    pub fn new(value: Value) -> Self {
        Self { content: JsonContent::Value(Arc::new(value)), meta: Meta::default() }
    }

    /// An element with JSON text.
    #[must_use]
    pub fn text(text: impl Into<Text>) -> Self {
        Self { content: JsonContent::Text(text.into()), meta: Meta::default() }
    }
}

/// A heading with texts and subsections under it.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionElement {
    /// The heading.
    pub title: Text,
    /// The declared part of the prompt.
    pub category: Option<Part>,
    /// The content under the heading.
    pub items: Vec<SectionItem>,
    pub(crate) meta: Meta,
}

impl SectionElement {
    /// A heading with content.
    #[must_use]
    pub fn new(title: impl Into<Text>, items: Vec<SectionItem>) -> Self {
        Self { title: title.into(), category: None, items, meta: Meta::default() }
    }
}

/// Content under the heading of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionItem {
    /// A text.
    Text(Text),
    /// A heading of the second level.
    Subsection(SubsectionElement),
    /// Another value of a document, kept unchanged and printed as JSON.
    Other(Arc<Value>),
}

/// A heading of the second level with texts under it.
#[derive(Clone, Debug, PartialEq)]
pub struct SubsectionElement {
    /// The heading.
    pub title: Text,
    /// The texts.
    pub items: Vec<Text>,
    pub(crate) meta: Meta,
}

impl SubsectionElement {
    /// A heading with texts.
    #[must_use]
    pub fn new(title: impl Into<Text>, items: Vec<Text>) -> Self {
        Self { title: title.into(), items, meta: Meta::default() }
    }
}

impl Element {
    /// The names of all kinds, as in `type`.
    pub const KINDS: [&'static str; 7] =
        ["text", "message", "material", "chunk", "section", "subsection", "json"];

    /// The name of its kind, as in `type`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Message(_) => "message",
            Self::Material(_) => "material",
            Self::Chunk(_) => "chunk",
            Self::Json(_) => "json",
            Self::Section(_) => "section",
            Self::Subsection(_) => "subsection",
        }
    }

    pub(crate) fn meta(&self) -> &Meta {
        match self {
            Self::Text(element) => &element.meta,
            Self::Message(element) => &element.meta,
            Self::Material(element) => &element.meta,
            Self::Chunk(element) => &element.meta,
            Self::Json(element) => &element.meta,
            Self::Section(element) => &element.meta,
            Self::Subsection(element) => &element.meta,
        }
    }

    pub(crate) fn meta_mut(&mut self) -> &mut Meta {
        match self {
            Self::Text(element) => &mut element.meta,
            Self::Message(element) => &mut element.meta,
            Self::Material(element) => &mut element.meta,
            Self::Chunk(element) => &mut element.meta,
            Self::Json(element) => &mut element.meta,
            Self::Section(element) => &mut element.meta,
            Self::Subsection(element) => &mut element.meta,
        }
    }

    /// How often it changes; contextual by default.
    #[must_use]
    pub fn cache_hint(&self) -> CacheHint {
        self.meta().cache.unwrap_or(CacheHint::Contextual)
    }

    /// Its declared number of tokens.
    #[must_use]
    pub fn usage(&self) -> Option<u64> {
        self.meta().usage
    }

    /// Unknown members of its document.
    #[must_use]
    pub fn extra(&self) -> Option<&Map<String, Value>> {
        self.meta().extra.as_deref()
    }

    /// Sets the hint, unless the author set one.
    #[must_use]
    pub(crate) fn with_default_hint(mut self, hint: CacheHint) -> Self {
        self.meta_mut().cache.get_or_insert(hint);
        self
    }
}

impl From<DynamicElement> for Element {
    fn from(element: DynamicElement) -> Self {
        match element {
            DynamicElement::Text(element) => Self::Text(element),
            DynamicElement::Message(element) => Self::Message(element),
            DynamicElement::Material(element) => Self::Material(element),
            DynamicElement::Chunk(element) => Self::Chunk(element),
            DynamicElement::Json(element) => Self::Json(element),
        }
    }
}

impl From<SectionElement> for Element {
    fn from(element: SectionElement) -> Self {
        Self::Section(element)
    }
}

impl From<SubsectionElement> for Element {
    fn from(element: SubsectionElement) -> Self {
        Self::Subsection(element)
    }
}

macro_rules! kinds {
    ($($kind:ident: $type:ty),*) => {$(
        impl From<$type> for Element {
            fn from(element: $type) -> Self {
                Self::$kind(element)
            }
        }

        impl From<$type> for DynamicElement {
            fn from(element: $type) -> Self {
                Self::$kind(element)
            }
        }
    )*};
}

kinds!(Text: TextElement, Message: Message, Material: Material, Chunk: Chunk, Json: JsonElement);

macro_rules! with_meta {
    ($($type:ty),*) => {$(
        impl $type {
            /// Sets the number of tokens.
            #[must_use]
            pub fn with_usage(mut self, tokens: u64) -> Self {
                self.meta.usage = Some(tokens);
                self
            }

            /// Sets the cache hint.
            #[must_use]
            pub fn with_cache_hint(mut self, hint: CacheHint) -> Self {
                self.meta.cache = Some(hint);
                self
            }
        }
    )*};
}

with_meta!(TextElement, Message, Material, Chunk, JsonElement);
