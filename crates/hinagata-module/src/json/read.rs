//! Reads modules, prompts and elements from JSON, and reports every problem with its path.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    CacheHint, CompiledPrompt, CustomSection, Dynamic, DynamicElement, DynamicText, Element, Entry, Error,
    Order, Part, Problem, PromptModule, Section, SectionEntry, SectionName, SubsectionEntry, Text, Texts,
    Yielded,
    element::Meta,
    entry::{Item, TextItem},
    section,
};

/// Interprets values of a document as functions.
///
/// JSON has no functions; an implementation defines which values stand for one.
pub trait Functions {
    /// The dynamic content for `value`.
    fn content(&self, value: &Value) -> Option<Dynamic<Value>>;

    /// The dynamic texts of a subsection for `value`.
    fn texts(&self, value: &Value) -> Option<DynamicText<Value>>;
}

/// A document without functions.
struct NoFunctions;

impl Functions for NoFunctions {
    fn content(&self, _value: &Value) -> Option<Dynamic<Value>> {
        None
    }

    fn texts(&self, _value: &Value) -> Option<DynamicText<Value>> {
        None
    }
}

impl PromptModule<Value> {
    /// All problems of a module in JSON, each with its path.
    #[must_use]
    pub fn validate(document: &Value) -> Vec<Problem> {
        let mut reader = Reader::new(&NoFunctions);
        reader.read_module(document);
        reader.problems
    }

    /// The module of a JSON document.
    ///
    /// # Errors
    /// Every problem with its path.
    pub fn from_json(document: &Value) -> Result<Self, Error> {
        Self::from_json_with(document, &NoFunctions)
    }

    /// The module of a JSON document with functions.
    ///
    /// # Errors
    /// Every problem with its path.
    pub fn from_json_with(document: &Value, functions: &dyn Functions) -> Result<Self, Error> {
        let mut reader = Reader::new(functions);
        let module = reader.read_module(document);
        Error::from_problems(reader.problems)?;
        Ok(module)
    }
}

impl CompiledPrompt {
    /// The prompt of a JSON document; parts may be missing.
    ///
    /// # Errors
    /// Every problem with its path.
    pub fn from_json(document: &Value) -> Result<Self, Error> {
        let mut reader = Reader::new(&NoFunctions);
        let part = |reader: &mut Reader<'_>, part: Part| match document.get(part.name()) {
            None => Vec::new(),
            Some(value) => {
                reader.read_under(part.name(), |reader| reader.read_list(value, Reader::read_element))
            }
        };
        let prompt = Self {
            instructions: part(&mut reader, Part::Instructions),
            data: part(&mut reader, Part::Data),
            output: part(&mut reader, Part::Output),
            schema: document.pointer("/metadata/outputSchema").cloned().map(Arc::new),
            order: reader.read_order(document.pointer("/metadata/order")),
            ..Self::default()
        };
        Error::from_problems(reader.problems)?;
        Ok(prompt)
    }
}

impl Reader<'_> {
    fn read_order(&mut self, value: Option<&Value>) -> Order {
        let Some(value) = value else { return Order::default() };
        let known = value.as_str().and_then(Order::from_name);
        if known.is_none() {
            let names = Order::ALL.map(Order::name).join(", ");
            self.problems.push(Problem::new("metadata.order", format!("expected one of {names}")));
        }
        known.unwrap_or_default()
    }
}

impl Element {
    /// The element of a JSON document with `type`.
    ///
    /// # Errors
    /// Every problem with its path.
    pub fn from_json(document: &Value) -> Result<Self, Error> {
        let mut reader = Reader::new(&NoFunctions);
        let element = reader.read_element(document);
        Error::from_problems(reader.problems)?;
        element.ok_or_else(|| Problem::new("", "expected an element").into())
    }
}

impl Yielded {
    /// The results of dynamic content in JSON: texts, elements, a list of them, or null for none.
    ///
    /// # Errors
    /// If it contains structure, or values of other types.
    pub fn from_json(value: &Value) -> Result<Vec<Self>, Error> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| Self::from_json_item(item, &format!("[{index}]")))
                .collect(),
            one => Ok(vec![Self::from_json_item(one, "")?]),
        }
    }

    fn from_json_item(value: &Value, path: &str) -> Result<Self, Error> {
        match value {
            Value::String(text) => Ok(Self::Text(Text::from(text))),
            Value::Object(_) => {
                let element = Element::from_json(value).map_err(|error| error.prefix_path(path))?;
                DynamicElement::try_from(element).map(Self::Element).map_err(|error| error.prefix_path(path))
            }
            other => {
                let message = format!(
                    "dynamic content returned {}: expected strings or elements",
                    describe_kind(other)
                );
                Err(Problem::new(path, message).into())
            }
        }
    }
}

impl Texts {
    /// The results of dynamic texts in JSON. Elements, and list items that are not strings, are ignored and described.
    ///
    /// # Errors
    /// If it is neither a string, an element nor a list.
    pub fn from_json(value: &Value) -> Result<Self, Error> {
        let mut all = Self::default();
        match value {
            Value::Array(items) => items.iter().for_each(|item| all.add(item)),
            Value::Null | Value::String(_) => all.add(value),
            element if element_kind(element).is_some() => all.add(element),
            other => {
                let message = format!(
                    "dynamic content returned {}: a subsection contains only strings",
                    describe_kind(other)
                );
                return Err(Problem::new("", message).into());
            }
        }
        Ok(all)
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) => self.texts.push(Text::from(text)),
            other => self.left_out.push(match element_kind(other) {
                Some(element) => format!("an element of type `{element}`"),
                None => describe_kind(other).to_owned(),
            }),
        }
    }
}

/// The type of an element; `None` for other values.
fn element_kind(value: &Value) -> Option<&str> {
    value.get("type").and_then(Value::as_str).filter(|kind| Element::KINDS.contains(kind))
}

impl TryFrom<Element> for DynamicElement {
    type Error = Error;

    /// # Errors
    /// If it is a section or a subsection: structure cannot depend on the context.
    fn try_from(element: Element) -> Result<Self, Error> {
        let title = match element {
            Element::Text(element) => return Ok(Self::Text(element)),
            Element::Message(element) => return Ok(Self::Message(element)),
            Element::Material(element) => return Ok(Self::Material(element)),
            Element::Chunk(element) => return Ok(Self::Chunk(element)),
            Element::Json(element) => return Ok(Self::Json(element)),
            Element::Section(section) => section.title,
            Element::Subsection(subsection) => subsection.title,
        };
        Err(Problem::new(
            "",
            format!("dynamic content returned the heading `{title}`: headings cannot depend on the context"),
        )
        .with_hint("write the heading into the module; only its content can depend on the context")
        .into())
    }
}

/// The type of a value, with its article.
fn describe_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(map) if map.contains_key("type") => "an object with an unknown `type`",
        Value::Object(_) => "an object without `type`",
    }
}

pub(super) fn is_subsection(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some("subsection")
}

/// Reads one document and collects its problems.
pub(crate) struct Reader<'f> {
    functions: &'f dyn Functions,
    pub(crate) problems: Vec<Problem>,
    pub(crate) path: String,
}

impl Reader<'static> {
    /// A reader of documents without functions.
    pub(crate) fn without_functions() -> Self {
        Self::new(&NoFunctions)
    }
}

impl<'f> Reader<'f> {
    fn new(functions: &'f dyn Functions) -> Self {
        Self { functions, problems: Vec::new(), path: String::new() }
    }

    pub(crate) fn read_under<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if !self.path.is_empty() && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        let result = read(self);
        self.path.truncate(length);
        result
    }

    pub(crate) fn add_problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::new(self.path.clone(), message));
    }

    pub(crate) fn add_type_error(&mut self, wanted: &str, found: &Value) {
        self.add_problem(format!("must be {wanted}, not {}", describe_kind(found)));
    }

    pub(crate) fn read_list<T>(
        &mut self,
        value: &Value,
        mut read: impl FnMut(&mut Self, &Value) -> Option<T>,
    ) -> Vec<T> {
        let Value::Array(items) = value else {
            self.add_type_error("a list", value);
            return Vec::new();
        };
        let each = |(index, item)| self.read_under(&format!("[{index}]"), |reader| read(reader, item));
        items.iter().enumerate().filter_map(each).collect()
    }

    fn read_module(&mut self, document: &Value) -> PromptModule<Value> {
        let mut module = PromptModule::new();
        let Value::Object(entries) = document else {
            self.add_type_error("an object with sections", document);
            return module;
        };
        let custom =
            entries.get("custom_sections").map(|value| self.read_custom_sections(value)).unwrap_or_default();
        for (name, value) in entries {
            match (name.as_str(), value) {
                ("custom_sections", _) => {}
                ("createContext", Value::Object(values)) => {
                    module = module.with_context_values(values.clone());
                }
                ("createContext", other) => {
                    self.read_under(name, |reader| reader.add_type_error("an object", other));
                }
                _ => {
                    let Some(section) = self.read_section_name(name, &custom) else { continue };
                    let all = self.read_under(name, |reader| reader.read_list(value, Self::read_entry));
                    module.section_mut(section).extend(all);
                }
            }
        }
        module
    }

    fn read_section_name(&mut self, name: &str, custom: &[CustomSection]) -> Option<SectionName> {
        if let Some(section) = Section::from_name(name) {
            return Some(section.into());
        }
        if let Some(section) = custom.iter().find(|section| section.name == name) {
            return Some(section.clone().into());
        }
        let names: Vec<&str> = custom.iter().map(|section| section.name.as_str()).collect();
        let unknown = section::unknown_section(name, &names);
        self.problems.push(unknown);
        None
    }

    fn read_custom_sections(&mut self, value: &Value) -> Vec<CustomSection> {
        self.read_under("custom_sections", |reader| {
            reader.read_list(value, |reader, value| {
                let fields = reader.read_object(value)?;
                let (name, title) = (reader.read_text(fields, "name")?, reader.read_text(fields, "title")?);
                let part = reader.read_text(fields, "type")?;
                let part =
                    reader.read_known_name(&part, "type", Part::from_name, &Part::ALL.map(Part::name))?;
                if Section::from_name(&name).is_some() {
                    reader.add_problem(format!("`{name}` is a standard section"));
                    return None;
                }
                Some(CustomSection { name, part, title })
            })
        })
    }

    fn read_entry(&mut self, value: &Value) -> Option<Entry<Value>> {
        if let Value::String(text) = value {
            return Some(Entry::Text(Text::from(text)));
        }
        if let Some(dynamic) = self.functions.content(value) {
            return Some(Entry::Dynamic(dynamic));
        }
        match value.get("type").and_then(Value::as_str) {
            Some("section") => self.read_section_entry(value).map(Entry::Section),
            Some("subsection") => self.read_subsection_entry(value).map(Entry::Subsection),
            Some(_) => self.read_element(value).map(Entry::Element),
            None => {
                self.add_type_error("a string or an element with `type`", value);
                None
            }
        }
    }

    fn read_section_entry(&mut self, value: &Value) -> Option<SectionEntry<Value>> {
        let (fields, title, items) = self.read_titled(value, |reader, value| match value {
            Value::String(text) => Some(Item::Text(TextItem::Fixed(Text::from(text)))),
            value if is_subsection(value) => reader.read_subsection_entry(value).map(Item::Subsection),
            value => reader.read_other_item(value).map(Item::Other),
        })?;
        let category = self.read_category(fields)?;
        Some(SectionEntry {
            title,
            category,
            items,
            meta: self.read_meta(fields, &["title", "category", "items"])?,
        })
    }

    fn read_subsection_entry(&mut self, value: &Value) -> Option<SubsectionEntry<Value>> {
        let (fields, title, items) = self.read_titled(value, |reader, value| match value {
            Value::String(text) => Some(TextItem::Fixed(Text::from(text))),
            value => match reader.functions.texts(value) {
                Some(dynamic) => Some(TextItem::Dynamic(dynamic)),
                None => {
                    reader.add_type_error("a string", value);
                    None
                }
            },
        })?;
        Some(SubsectionEntry { title, items, meta: self.read_meta(fields, &["title", "items"])? })
    }

    /// An item of a section that is neither a string nor a subsection: an object without `type`.
    pub(super) fn read_other_item(&mut self, value: &Value) -> Option<Arc<Value>> {
        match value {
            Value::Object(fields) if !fields.contains_key("type") => Some(Arc::new(value.clone())),
            other => {
                self.add_type_error("a string or a subsection", other);
                None
            }
        }
    }

    /// The fields of a value with a heading, the heading, and its items.
    pub(super) fn read_titled<'v, T>(
        &mut self,
        value: &'v Value,
        read: impl FnMut(&mut Self, &Value) -> Option<T>,
    ) -> Option<(&'v Map<String, Value>, Text, Vec<T>)> {
        let fields = self.read_object(value)?;
        let title = self.read_text(fields, "title")?;
        let Some(items) = fields.get("items") else {
            self.add_problem("`items` is missing");
            return None;
        };
        let items = self.read_under("items", |reader| reader.read_list(items, read));
        Some((fields, title, items))
    }

    pub(super) fn read_category(&mut self, fields: &Map<String, Value>) -> Option<Option<Part>> {
        if !fields.contains_key("category") {
            return Some(None);
        }
        let name = self.read_text(fields, "category")?;
        self.read_known_name(&name, "category", Part::from_name, &Part::ALL.map(Part::name)).map(Some)
    }

    pub(crate) fn read_meta(&mut self, fields: &Map<String, Value>, known: &[&str]) -> Option<Meta> {
        let usage = self.read_count(fields, "usage")?;
        let cache = match fields.get("cacheHint") {
            None => None,
            Some(_) => {
                let name = self.read_text(fields, "cacheHint")?;
                let names = CacheHint::ALL.map(CacheHint::name);
                Some(self.read_known_name(&name, "cacheHint", CacheHint::from_name, &names)?)
            }
        };
        let is_extra = |key: &str| !["type", "usage", "cacheHint"].contains(&key) && !known.contains(&key);
        let extra: Map<String, Value> = fields
            .iter()
            .filter(|(key, _)| is_extra(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        Some(Meta { usage, cache, extra: (!extra.is_empty()).then(|| Box::new(extra)) })
    }

    pub(crate) fn read_object<'v>(&mut self, value: &'v Value) -> Option<&'v Map<String, Value>> {
        if let Value::Object(fields) = value {
            return Some(fields);
        }
        self.add_type_error("an object", value);
        None
    }

    pub(crate) fn read_text(&mut self, fields: &Map<String, Value>, key: &str) -> Option<Text> {
        match fields.get(key) {
            Some(Value::String(text)) => Some(Text::from(text)),
            Some(other) => {
                self.read_under(key, |reader| reader.add_type_error("a string", other));
                None
            }
            None => {
                self.add_problem(format!("`{key}` is missing"));
                None
            }
        }
    }

    pub(super) fn read_count(&mut self, fields: &Map<String, Value>, key: &str) -> Option<Option<u64>> {
        match fields.get(key) {
            None | Some(Value::Null) => Some(None),
            Some(value) => match value.as_u64() {
                Some(count) => Some(Some(count)),
                None => {
                    self.read_under(key, |reader| reader.add_type_error("an integer", value));
                    None
                }
            },
        }
    }

    pub(crate) fn read_known_name<T>(
        &mut self,
        name: &str,
        key: &str,
        named: impl Fn(&str) -> Option<T>,
        names: &[&str],
    ) -> Option<T> {
        let found = named(name);
        if found.is_none() {
            let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
            let problem = Problem::new(path, format!("unknown {key} `{name}`"))
                .with_near(name, names.iter().copied())
                .with_hint(format!("use one of {}", names.join(", ")));
            self.problems.push(problem);
        }
        found
    }
}
