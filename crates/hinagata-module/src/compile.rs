//! Compiles a module and a context to a prompt.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    CacheHint, CompiledPrompt, Element, Entry, Error, Order, Part, Problem, PromptModule, Section,
    SectionElement, SectionEntry, SectionItem, SectionName, SubsectionElement, SubsectionEntry, Text,
    TextElement, Warning,
    element::{JsonContent, JsonElement, Meta},
    entry::{Item, TextItem},
    yielded::Yielded,
};

impl<C> PromptModule<C> {
    /// Compiles the prompt with the standard titles, in standard order.
    ///
    /// Each section that is not empty becomes one heading with its texts and subsections, followed by its other
    /// elements. The JSON of the section `schema` becomes the schema of the answer.
    ///
    /// # Errors
    /// Those of dynamic content; a schema that is not JSON.
    pub fn compile(&self, context: &C) -> Result<CompiledPrompt, Error> {
        self.compile_in(Order::Standard, context)
    }

    /// Compiles the prompt with the standard titles, in the given order.
    ///
    /// # Errors
    /// As [`PromptModule::compile`].
    pub fn compile_in(&self, order: Order, context: &C) -> Result<CompiledPrompt, Error> {
        let mut sections: Vec<_> = self.sections.iter().collect();
        sections.sort_by_key(|(name, _)| name.rank(order));
        let mut compiling = Compiling::new(order, context);
        for (name, entries) in sections {
            compiling.compile_titled(name, entries).map_err(|error| error.prefix_path(name.name()))?;
        }
        Ok(compiling.prompt)
    }

    /// Compiles a list of elements without titles, in the order of the sections in the module.
    ///
    /// # Errors
    /// As [`PromptModule::compile`].
    pub fn compile_flat(&self, context: &C) -> Result<CompiledPrompt, Error> {
        let mut compiling = Compiling::new(Order::Standard, context);
        for (name, entries) in &self.sections {
            compiling.compile_flat_section(name, entries).map_err(|error| error.prefix_path(name.name()))?;
        }
        Ok(compiling.prompt)
    }
}

struct Compiling<'c, C> {
    context: &'c C,
    prompt: CompiledPrompt,
}

/// The content of one section.
#[derive(Default)]
struct Gathered {
    texts: Vec<Text>,
    subsections: Vec<SubsectionElement>,
    others: Vec<Element>,
    /// Whether something under the heading depends on the context.
    contextual: bool,
}

impl<C> Compiling<'_, C> {
    fn new(order: Order, context: &C) -> Compiling<'_, C> {
        Compiling { context, prompt: CompiledPrompt { order, ..CompiledPrompt::default() } }
    }

    fn part_mut(&mut self, part: Part) -> &mut Vec<Element> {
        match part {
            Part::Instructions => &mut self.prompt.instructions,
            Part::Data => &mut self.prompt.data,
            Part::Output => &mut self.prompt.output,
        }
    }

    fn compile_titled(&mut self, name: &SectionName, entries: &[Entry<C>]) -> Result<(), Error> {
        let mut all = self.gather_entries(name, entries)?;
        if *name == SectionName::Standard(Section::Schema) {
            self.take_schema(&mut all.others)?;
        }
        if all.texts.is_empty() && all.subsections.is_empty() && all.others.is_empty() {
            return Ok(());
        }
        let hint = if all.contextual { CacheHint::Contextual } else { CacheHint::Static };
        let texts = all.texts.into_iter().map(SectionItem::Text);
        let items = texts.chain(all.subsections.into_iter().map(SectionItem::Subsection)).collect();
        let heading = Element::Section(SectionElement {
            title: name.title(),
            category: Some(name.part()),
            items,
            meta: Meta { cache: Some(hint), ..Meta::default() },
        });
        let part = self.part_mut(name.part());
        part.reserve(all.others.len() + 1);
        part.push(heading);
        part.extend(all.others);
        Ok(())
    }

    fn gather_entries(&mut self, name: &SectionName, entries: &[Entry<C>]) -> Result<Gathered, Error> {
        let mut all = Gathered::default();
        for (index, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Text(text) => all.texts.push(text.clone()),
                Entry::Element(element) => {
                    all.others.push(element.clone().with_default_hint(CacheHint::Static));
                }
                Entry::Section(section) => {
                    let element = self.compile_section(name, index, section)?;
                    all.others.push(element);
                }
                Entry::Subsection(subsection) => {
                    let (element, dynamic) = self.compile_subsection(name, index, subsection)?;
                    all.contextual |= dynamic;
                    all.subsections.push(element);
                }
                Entry::Dynamic(dynamic) => {
                    let given =
                        dynamic.call(self.context).map_err(|error| error.prefix_path(&index_step(index)))?;
                    all.others.reserve(given.len());
                    for yielded in given {
                        match yielded {
                            Yielded::Text(text) => {
                                all.contextual = true;
                                all.texts.push(text);
                            }
                            Yielded::Element(element) => {
                                all.others
                                    .push(Element::from(element).with_default_hint(CacheHint::Contextual));
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    fn compile_flat_section(&mut self, name: &SectionName, entries: &[Entry<C>]) -> Result<(), Error> {
        let mut all = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Text(text) => all.push(text_element(text, CacheHint::Static)),
                Entry::Element(element) => all.push(element.clone().with_default_hint(CacheHint::Static)),
                Entry::Section(section) => all.push(self.compile_section(name, index, section)?),
                Entry::Subsection(subsection) => {
                    let (element, dynamic) = self.compile_subsection(name, index, subsection)?;
                    let hint = if dynamic { CacheHint::Contextual } else { CacheHint::Static };
                    all.push(Element::Subsection(element).with_default_hint(hint));
                }
                Entry::Dynamic(dynamic) => {
                    let given =
                        dynamic.call(self.context).map_err(|error| error.prefix_path(&index_step(index)))?;
                    for yielded in given {
                        match yielded {
                            // Empty content is ignored.
                            Yielded::Text(text) if text.is_empty() => {}
                            Yielded::Text(text) => all.push(text_element(&text, CacheHint::Contextual)),
                            Yielded::Element(element) => {
                                all.push(Element::from(element).with_default_hint(CacheHint::Contextual));
                            }
                        }
                    }
                }
            }
        }
        if *name == SectionName::Standard(Section::Schema) {
            self.take_schema(&mut all)?;
        }
        self.part_mut(name.part()).extend(all);
        Ok(())
    }

    /// Removes the JSON from the section `schema`; the first one becomes the schema of the answer.
    fn take_schema(&mut self, elements: &mut Vec<Element>) -> Result<(), Error> {
        let mut schemas = Vec::new();
        elements.retain_mut(|element| match element {
            Element::Json(json) => {
                schemas.push(std::mem::replace(&mut json.content, JsonContent::Text(Text::default())));
                false
            }
            _ => true,
        });
        let more = schemas.len().saturating_sub(1);
        if more > 0 {
            let message = format!("only the first schema is used; {more} more ignored");
            self.prompt.warnings.push(Warning { path: Section::Schema.name().to_owned(), message });
        }
        if let Some(first) = schemas.into_iter().next() {
            self.prompt.schema = Some(first.into_value()?);
        }
        Ok(())
    }

    fn compile_section(
        &mut self,
        name: &SectionName,
        index: usize,
        section: &SectionEntry<C>,
    ) -> Result<Element, Error> {
        let mut contextual = false;
        let mut items = Vec::with_capacity(section.items.len());
        for item in &section.items {
            match item {
                Item::Text(text) => {
                    let mut texts = Vec::new();
                    contextual |= self.compile_texts(name, index, &section.title, text, &mut texts)?;
                    items.extend(texts.into_iter().map(SectionItem::Text));
                }
                Item::Subsection(subsection) => {
                    let (element, dynamic) = self.compile_subsection(name, index, subsection)?;
                    contextual |= dynamic;
                    items.push(SectionItem::Subsection(element));
                }
                Item::Other(value) => items.push(SectionItem::Other(Arc::clone(value))),
            }
        }
        let hint = if contextual { CacheHint::Contextual } else { CacheHint::Static };
        let element = SectionElement {
            title: section.title.clone(),
            category: section.category,
            items,
            meta: section.meta.clone(),
        };
        Ok(Element::Section(element).with_default_hint(hint))
    }

    /// The subsection, and whether something in it depends on the context.
    fn compile_subsection(
        &mut self,
        name: &SectionName,
        index: usize,
        subsection: &SubsectionEntry<C>,
    ) -> Result<(SubsectionElement, bool), Error> {
        let mut dynamic = false;
        let mut items = Vec::with_capacity(subsection.items.len());
        for item in &subsection.items {
            dynamic |= self.compile_texts(name, index, &subsection.title, item, &mut items)?;
        }
        let title = subsection.title.clone();
        Ok((SubsectionElement { title, items, meta: subsection.meta.clone() }, dynamic))
    }

    fn compile_texts(
        &mut self,
        name: &SectionName,
        index: usize,
        title: &str,
        item: &TextItem<C>,
        all: &mut Vec<Text>,
    ) -> Result<bool, Error> {
        match item {
            TextItem::Fixed(text) => {
                all.push(text.clone());
                Ok(false)
            }
            TextItem::Dynamic(dynamic) => {
                let given =
                    dynamic.call(self.context).map_err(|error| error.prefix_path(&index_step(index)))?;
                all.extend(given.texts);
                for what in given.left_out {
                    let message = format!("{what} was ignored: only strings are allowed under `{title}`");
                    let path = format!("{}{}", name.name(), index_step(index));
                    self.prompt.warnings.push(Warning { path, message });
                }
                Ok(true)
            }
        }
    }
}

fn index_step(index: usize) -> String {
    format!("[{index}]")
}

fn text_element(text: &Text, hint: CacheHint) -> Element {
    Element::Text(TextElement::new(text.clone())).with_default_hint(hint)
}

impl JsonContent {
    /// The value.
    fn into_value(self) -> Result<Arc<Value>, Error> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Text(text) => match serde_json::from_str(&text) {
                Ok(value) => Ok(Arc::new(value)),
                Err(error) => Err(Problem::new("", format!("invalid JSON in the schema: {error}"))
                    .with_hint("write the schema as data instead of text, or fix the JSON")
                    .into()),
            },
        }
    }
}

impl JsonElement {
    /// The value.
    ///
    /// # Errors
    /// If it is text that is not JSON.
    pub fn value(&self) -> Result<Arc<Value>, Error> {
        self.content.clone().into_value()
    }
}
