//! The entries of a module's sections.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    Chunk, Element, Error, JsonElement, Material, Message, Part, Text, TextElement,
    element::Meta,
    yielded::{Elements, IntoElements, IntoTexts, Texts},
};

/// An entry of a section.
///
/// `C` is the context of its dynamic content.
pub enum Entry<C> {
    /// A text.
    Text(Text),
    /// A static element.
    Element(Element),
    /// A heading with its content.
    Section(SectionEntry<C>),
    /// A heading of the second level with its texts.
    Subsection(SubsectionEntry<C>),
    /// Content that depends on the context.
    Dynamic(Dynamic<C>),
}

/// A function of the context.
type Function<C, R> = Arc<dyn Fn(&C) -> R + Send + Sync>;

/// Content that depends on the context: elements or texts, but no structure.
pub struct Dynamic<C> {
    function: Function<C, Result<Elements, Error>>,
    written: Option<Arc<Value>>,
}

/// Texts of a section or subsection that depend on the context.
pub struct DynamicText<C> {
    function: Function<C, Result<Texts, Error>>,
    written: Option<Arc<Value>>,
}

impl<C> Dynamic<C> {
    /// Content that `function` creates from the context.
    pub fn new<R: IntoElements>(function: impl Fn(&C) -> R + Send + Sync + 'static) -> Self {
        let function = move |context: &C| {
            let mut all = Elements::new();
            function(context).add_to(&mut all)?;
            Ok(all)
        };
        Self { function: Arc::new(function), written: None }
    }

    /// Sets the JSON form of this content in a document.
    #[must_use]
    pub fn with_json_form(mut self, value: Value) -> Self {
        self.written = Some(Arc::new(value));
        self
    }

    pub(crate) fn call(&self, context: &C) -> Result<Elements, Error> {
        (self.function)(context)
    }

    pub(crate) fn map_context<B: 'static>(&self, inner: &Inner<B, C>) -> Dynamic<B>
    where
        C: 'static,
    {
        let (function, inner) = (Arc::clone(&self.function), Arc::clone(inner));
        Dynamic { function: Arc::new(move |outer| function(inner(outer))), written: self.written.clone() }
    }
}

impl<C> DynamicText<C> {
    /// Texts that `function` creates from the context.
    pub fn new<R: IntoTexts>(function: impl Fn(&C) -> R + Send + Sync + 'static) -> Self {
        let function = move |context: &C| {
            let mut all = Texts::default();
            function(context).add_texts(&mut all)?;
            Ok(all)
        };
        Self { function: Arc::new(function), written: None }
    }

    /// Sets the JSON form of these texts in a document.
    #[must_use]
    pub fn with_json_form(mut self, value: Value) -> Self {
        self.written = Some(Arc::new(value));
        self
    }

    pub(crate) fn call(&self, context: &C) -> Result<Texts, Error> {
        (self.function)(context)
    }

    fn map_context<B: 'static>(&self, inner: &Inner<B, C>) -> DynamicText<B>
    where
        C: 'static,
    {
        let (function, inner) = (Arc::clone(&self.function), Arc::clone(inner));
        DynamicText { function: Arc::new(move |outer| function(inner(outer))), written: self.written.clone() }
    }
}

/// Finds the context of a module in a larger one.
pub(crate) type Inner<B, C> = Arc<dyn Fn(&B) -> &C + Send + Sync>;

/// The JSON form of a function, or a default.
pub(crate) fn json_form(written: Option<&Arc<Value>>) -> Value {
    written.map_or_else(
        || Value::Object(Map::from_iter([("dynamic".to_owned(), Value::from("function"))])),
        |value| Value::clone(value),
    )
}

impl<C> Dynamic<C> {
    pub(crate) fn to_json(&self) -> Value {
        json_form(self.written.as_ref())
    }
}

impl<C> DynamicText<C> {
    pub(crate) fn to_json(&self) -> Value {
        json_form(self.written.as_ref())
    }
}

/// A heading in a module, with its content.
pub struct SectionEntry<C> {
    pub(crate) title: Text,
    pub(crate) category: Option<Part>,
    pub(crate) items: Vec<Item<C>>,
    pub(crate) meta: Meta,
}

/// A heading of the second level in a module, with its texts.
pub struct SubsectionEntry<C> {
    pub(crate) title: Text,
    pub(crate) items: Vec<TextItem<C>>,
    pub(crate) meta: Meta,
}

/// Content under the heading of a [`SectionEntry`].
pub enum Item<C> {
    /// A text, or texts from the context.
    Text(TextItem<C>),
    /// A heading of the second level.
    Subsection(SubsectionEntry<C>),
    /// Another value of a document, kept unchanged.
    Other(Arc<Value>),
}

/// Content under the heading of a [`SubsectionEntry`].
pub enum TextItem<C> {
    /// A text.
    Fixed(Text),
    /// Texts from the context.
    Dynamic(DynamicText<C>),
}

/// A heading; add content with [`SectionEntry::item`] and [`SectionEntry::subsection`].
#[must_use]
pub fn section<C>(title: impl Into<Text>) -> SectionEntry<C> {
    SectionEntry { title: title.into(), category: None, items: Vec::new(), meta: Meta::default() }
}

/// A heading of the second level; add content with [`SubsectionEntry::item`].
#[must_use]
pub fn subsection<C>(title: impl Into<Text>) -> SubsectionEntry<C> {
    SubsectionEntry { title: title.into(), items: Vec::new(), meta: Meta::default() }
}

impl<C> SectionEntry<C> {
    /// Adds a text, texts, or a function from the context to texts.
    #[must_use]
    pub fn item<M>(mut self, item: impl IntoTextItems<C, M>) -> Self {
        self.items.extend(item.into_items().into_iter().map(Item::Text));
        self
    }

    /// Adds a heading of the second level.
    #[must_use]
    pub fn subsection(mut self, subsection: SubsectionEntry<C>) -> Self {
        self.items.push(Item::Subsection(subsection));
        self
    }
}

impl<C> SubsectionEntry<C> {
    /// Adds a text, texts, or a function from the context to texts.
    #[must_use]
    pub fn item<M>(mut self, item: impl IntoTextItems<C, M>) -> Self {
        self.items.extend(item.into_items());
        self
    }
}

/// Distinguishes values, lists and functions, so that one method accepts all of them.
pub mod kinds {
    /// One value.
    #[derive(Debug)]
    pub enum One {}
    /// Several values.
    #[derive(Debug)]
    pub enum Many {}
    /// An item that needs no conversion.
    #[derive(Debug)]
    pub enum Ready {}
    /// A function from the context to `R`.
    #[derive(Debug)]
    pub struct Function<R>(std::marker::PhantomData<R>);
}

/// Entries for a section: texts, elements, headings, lists of them, or a function
/// `Fn(&C) -> impl IntoElements`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a section can hold",
    note = "give a text, an element, a list of them, or a function such as `|context: &Context| …` that gives elements"
)]
pub trait IntoEntries<C, M> {
    /// The entries.
    fn into_entries(self) -> Vec<Entry<C>>;
}

impl<C, T: Into<Entry<C>>> IntoEntries<C, kinds::One> for T {
    fn into_entries(self) -> Vec<Entry<C>> {
        vec![self.into()]
    }
}

impl<C, T: Into<Entry<C>>, const N: usize> IntoEntries<C, kinds::Many> for [T; N] {
    fn into_entries(self) -> Vec<Entry<C>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<C, T: Into<Entry<C>>> IntoEntries<C, kinds::Many> for Vec<T> {
    fn into_entries(self) -> Vec<Entry<C>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<C, R: IntoElements, F> IntoEntries<C, kinds::Function<R>> for F
where
    F: Fn(&C) -> R + Send + Sync + 'static,
{
    fn into_entries(self) -> Vec<Entry<C>> {
        vec![Entry::Dynamic(Dynamic::new(self))]
    }
}

/// Items for a heading: a text, texts, or a function `Fn(&C) -> impl IntoTexts`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that can stand under a heading",
    note = "give a text, a list of texts, or a function such as `|context: &Context| …` that gives texts"
)]
pub trait IntoTextItems<C, M> {
    /// The items.
    fn into_items(self) -> Vec<TextItem<C>>;
}

impl<C, T: Into<Text>> IntoTextItems<C, kinds::One> for T {
    fn into_items(self) -> Vec<TextItem<C>> {
        vec![TextItem::Fixed(self.into())]
    }
}

impl<C> IntoTextItems<C, kinds::Ready> for TextItem<C> {
    fn into_items(self) -> Vec<TextItem<C>> {
        vec![self]
    }
}

impl<C, T: Into<Text>, const N: usize> IntoTextItems<C, kinds::Many> for [T; N] {
    fn into_items(self) -> Vec<TextItem<C>> {
        self.into_iter().map(|text| TextItem::Fixed(text.into())).collect()
    }
}

impl<C, T: Into<Text>> IntoTextItems<C, kinds::Many> for Vec<T> {
    fn into_items(self) -> Vec<TextItem<C>> {
        self.into_iter().map(|text| TextItem::Fixed(text.into())).collect()
    }
}

impl<C, R: IntoTexts, F> IntoTextItems<C, kinds::Function<R>> for F
where
    F: Fn(&C) -> R + Send + Sync + 'static,
{
    fn into_items(self) -> Vec<TextItem<C>> {
        vec![TextItem::Dynamic(DynamicText::new(self))]
    }
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl<C> From<$type> for Entry<C> {
            fn from(text: $type) -> Self {
                Self::Text(text.into())
            }
        }
    )*};
}

texts!(&str, String, &String, Text);

macro_rules! elements {
    ($($type:ty),*) => {$(
        impl<C> From<$type> for Entry<C> {
            fn from(element: $type) -> Self {
                Self::Element(element.into())
            }
        }
    )*};
}

elements!(TextElement, Message, Material, Chunk, JsonElement);

impl<C> From<SectionEntry<C>> for Entry<C> {
    fn from(section: SectionEntry<C>) -> Self {
        Self::Section(section)
    }
}

impl<C> From<SubsectionEntry<C>> for Entry<C> {
    fn from(subsection: SubsectionEntry<C>) -> Self {
        Self::Subsection(subsection)
    }
}

impl<C> From<Dynamic<C>> for Entry<C> {
    fn from(dynamic: Dynamic<C>) -> Self {
        Self::Dynamic(dynamic)
    }
}

impl<C: 'static> Entry<C> {
    /// The entry for a larger context.
    pub(crate) fn map_context<B: 'static>(&self, inner: &Inner<B, C>) -> Entry<B> {
        match self {
            Self::Text(text) => Entry::Text(text.clone()),
            Self::Element(element) => Entry::Element(element.clone()),
            Self::Section(section) => Entry::Section(section.map_context(inner)),
            Self::Subsection(subsection) => Entry::Subsection(subsection.map_context(inner)),
            Self::Dynamic(dynamic) => Entry::Dynamic(dynamic.map_context(inner)),
        }
    }
}

impl<C: 'static> SectionEntry<C> {
    fn map_context<B: 'static>(&self, inner: &Inner<B, C>) -> SectionEntry<B> {
        let item = |item: &Item<C>| match item {
            Item::Text(text) => Item::Text(text.map_context(inner)),
            Item::Subsection(subsection) => Item::Subsection(subsection.map_context(inner)),
            Item::Other(value) => Item::Other(Arc::clone(value)),
        };
        SectionEntry {
            title: self.title.clone(),
            category: self.category,
            items: self.items.iter().map(item).collect(),
            meta: self.meta.clone(),
        }
    }
}

impl<C: 'static> SubsectionEntry<C> {
    fn map_context<B: 'static>(&self, inner: &Inner<B, C>) -> SubsectionEntry<B> {
        SubsectionEntry {
            title: self.title.clone(),
            items: self.items.iter().map(|item| item.map_context(inner)).collect(),
            meta: self.meta.clone(),
        }
    }
}

impl<C: 'static> TextItem<C> {
    fn map_context<B: 'static>(&self, inner: &Inner<B, C>) -> TextItem<B> {
        match self {
            Self::Fixed(text) => TextItem::Fixed(text.clone()),
            Self::Dynamic(dynamic) => TextItem::Dynamic(dynamic.map_context(inner)),
        }
    }
}

// Deriving these would require `C: Clone` and `C: Debug`.

impl<C> Clone for Entry<C> {
    fn clone(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.clone()),
            Self::Element(element) => Self::Element(element.clone()),
            Self::Section(section) => Self::Section(section.clone()),
            Self::Subsection(subsection) => Self::Subsection(subsection.clone()),
            Self::Dynamic(dynamic) => Self::Dynamic(dynamic.clone()),
        }
    }
}

impl<C> Clone for Dynamic<C> {
    fn clone(&self) -> Self {
        Self { function: Arc::clone(&self.function), written: self.written.clone() }
    }
}

impl<C> Clone for DynamicText<C> {
    fn clone(&self) -> Self {
        Self { function: Arc::clone(&self.function), written: self.written.clone() }
    }
}

impl<C> Clone for SectionEntry<C> {
    fn clone(&self) -> Self {
        let (title, items) = (self.title.clone(), self.items.clone());
        Self { title, category: self.category, items, meta: self.meta.clone() }
    }
}

impl<C> Clone for SubsectionEntry<C> {
    fn clone(&self) -> Self {
        Self { title: self.title.clone(), items: self.items.clone(), meta: self.meta.clone() }
    }
}

impl<C> Clone for Item<C> {
    fn clone(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.clone()),
            Self::Subsection(subsection) => Self::Subsection(subsection.clone()),
            Self::Other(value) => Self::Other(Arc::clone(value)),
        }
    }
}

impl<C> Clone for TextItem<C> {
    fn clone(&self) -> Self {
        match self {
            Self::Fixed(text) => Self::Fixed(text.clone()),
            Self::Dynamic(dynamic) => Self::Dynamic(dynamic.clone()),
        }
    }
}

macro_rules! shown_as_json {
    ($with:tt: $($type:ident),*) => {$(
        impl<C> fmt::Debug for $type<C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.to_json $with)
            }
        }
    )*};
}

shown_as_json!((): Dynamic, DynamicText);
shown_as_json!((&std::convert::identity): Entry, SectionEntry, SubsectionEntry, Item, TextItem);
