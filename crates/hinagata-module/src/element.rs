//! The pieces that a compiled prompt consists of.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{Attachment, Content, Message, Part, Text};

/// How often the content of an element changes from call to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheHint {
    /// Never, as its author says.
    Immutable,
    /// Only with the module: nothing of it comes from the context.
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

    /// The hint called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hint| hint.name() == name)
    }
}

/// What every element may carry beside its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Meta {
    pub(crate) usage: Option<u64>,
    pub(crate) cache: Option<CacheHint>,
    /// Keys of a document that have no meaning here, kept as they are.
    pub(crate) extra: Option<Box<Map<String, Value>>>,
}

/// A piece of a compiled prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A text of its own.
    Text(TextElement),
    /// A message of a conversation.
    Message(Message),
    /// A text to refer to.
    Material(Material),
    /// A piece of a longer text.
    Chunk(Chunk),
    /// Data, or the schema of the answer.
    Json(JsonElement),
    /// A heading with texts and subsections under it.
    Section(SectionElement),
    /// A heading of the second level with texts under it.
    Subsection(SubsectionElement),
}

/// A piece that may depend on the context. There are no sections among them: structure is static.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicElement {
    /// A text of its own.
    Text(TextElement),
    /// A message of a conversation.
    Message(Message),
    /// A text to refer to.
    Material(Material),
    /// A piece of a longer text.
    Chunk(Chunk),
    /// Data, or the schema of the answer.
    Json(JsonElement),
}

/// A text of its own, apart from the texts of its section.
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

/// A text to refer to by its id and title.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// What the model refers to it by.
    pub id: Text,
    /// What it is called.
    pub title: Text,
    /// What it says.
    pub content: Content,
    pub(crate) meta: Meta,
}

impl Material {
    /// A material.
    #[must_use]
    pub fn new(id: impl Into<Text>, title: impl Into<Text>, content: impl Into<Content>) -> Self {
        Self { id: id.into(), title: title.into(), content: content.into(), meta: Meta::default() }
    }

    /// The same material with a picture or a file.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Attachment) -> Self {
        self.content = self.content.with_attachment(attachment);
        self
    }
}

/// A piece of a longer text.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The text that it is a piece of.
    pub part_of: Text,
    /// What it says.
    pub content: Content,
    /// Which piece it is.
    pub index: Option<u64>,
    /// How many pieces there are.
    pub total: Option<u64>,
    pub(crate) meta: Meta,
}

impl Chunk {
    /// A piece of `part_of`.
    #[must_use]
    pub fn new(part_of: impl Into<Text>, content: impl Into<Content>) -> Self {
        let (part_of, content) = (part_of.into(), content.into());
        Self { part_of, content, index: None, total: None, meta: Meta::default() }
    }

    /// The same piece with its place.
    #[must_use]
    pub fn with_index(mut self, index: u64) -> Self {
        self.index = Some(index);
        self
    }

    /// The same piece with the number of all pieces.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// The same piece with a picture or a file.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Attachment) -> Self {
        self.content = self.content.with_attachment(attachment);
        self
    }
}

/// Data, or in the section `schema` the JSON Schema of the answer.
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
    /// JSON text, shown as it is written.
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
    /// The part of the prompt that it says it belongs to.
    pub category: Option<Part>,
    /// What stands under it.
    pub items: Vec<SectionItem>,
    pub(crate) meta: Meta,
}

impl SectionElement {
    /// A heading with what stands under it.
    #[must_use]
    pub fn new(title: impl Into<Text>, items: Vec<SectionItem>) -> Self {
        Self { title: title.into(), category: None, items, meta: Meta::default() }
    }
}

/// What stands under the heading of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionItem {
    /// A text.
    Text(Text),
    /// A heading of the second level.
    Subsection(SubsectionElement),
    /// Anything else that a document has there, kept as it is and shown as JSON.
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
    /// The names of all kinds, as `type` spells them.
    pub const KINDS: [&'static str; 7] =
        ["text", "message", "material", "chunk", "section", "subsection", "json"];

    /// The name of its kind, as `type` spells it.
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

    /// How often it changes; what was not compiled is taken as changing.
    #[must_use]
    pub fn cache_hint(&self) -> CacheHint {
        self.meta().cache.unwrap_or(CacheHint::Contextual)
    }

    /// The tokens that it says it takes.
    #[must_use]
    pub fn usage(&self) -> Option<u64> {
        self.meta().usage
    }

    /// Keys of its document that have no meaning here.
    #[must_use]
    pub fn extra(&self) -> Option<&Map<String, Value>> {
        self.meta().extra.as_deref()
    }

    /// The same element, with `hint` unless its author gave another one.
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
            /// The same element with the tokens that it takes.
            #[must_use]
            pub fn with_usage(mut self, tokens: u64) -> Self {
                self.meta.usage = Some(tokens);
                self
            }

            /// The same element with a hint for caches of its own.
            #[must_use]
            pub fn with_cache_hint(mut self, hint: CacheHint) -> Self {
                self.meta.cache = Some(hint);
                self
            }
        }
    )*};
}

with_meta!(TextElement, Message, Material, Chunk, JsonElement);
