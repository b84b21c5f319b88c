//! Modules: entries in named sections.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::{Entry, IntoEntries, Section, SectionName, entry::Inner, section::CustomSection};

/// A prompt that is composed of named sections.
///
/// `C` is the context of its dynamic content. [`merge_modules`](crate::merge_modules) merges modules,
/// and a module with a context is compiled to a prompt:
///
/// ```
/// use hinagata_module::{Material, Message, PromptModule, driver, merge_modules, subsection};
///
/// #[derive(Default)]
/// struct Ticket { body: String, docs: Vec<Material> }
///
/// let support = PromptModule::new()
///     .objective("Decide how urgent the ticket is.")
///     .materials(|ticket: &Ticket| ticket.docs.clone())
///     .messages(|ticket: &Ticket| Message::user(&ticket.body));
/// let tone = PromptModule::new()
///     .guidelines(["Be brief.", "Be kind."])
///     .guidelines(subsection("Never").item("Blame the customer."));
///
/// let ticket = Ticket { body: "It is on fire.".into(), docs: vec![Material::new("m1", "Manual", "Keep dry.")] };
/// let prompt = merge_modules([support, tone])?.compile(&ticket)?;
/// let request = driver::openai(&prompt, &driver::RequestOptions::new("gpt-4o"))?;
/// assert_eq!(request.to_value()["messages"][0]["role"], "system");
/// # Ok::<(), hinagata_module::Error>(())
/// ```
pub struct PromptModule<C> {
    pub(crate) context: Vec<SetContext<C>>,
    pub(crate) sections: Vec<(SectionName, Vec<Entry<C>>)>,
}

/// Sets values in the context.
pub(crate) type SetContext<C> = Arc<dyn Fn(&mut C) + Send + Sync>;

impl<C> PromptModule<C> {
    /// An empty module.
    #[must_use]
    pub fn new() -> Self {
        Self { context: Vec::new(), sections: Vec::new() }
    }

    /// Adds entries to a section.
    ///
    /// An entry is a text, an element, a heading, a list of them, or a function from the context to elements.
    #[must_use]
    pub fn add_entry<M>(mut self, section: impl Into<SectionName>, entry: impl IntoEntries<C, M>) -> Self {
        self.section_mut(section.into()).extend(entry.into_entries());
        self
    }

    /// The entries of a section, which is created if missing.
    pub(crate) fn section_mut(&mut self, name: SectionName) -> &mut Vec<Entry<C>> {
        let place =
            self.sections.iter().position(|(known, _)| known.is_same_section(&name)).unwrap_or_else(|| {
                self.sections.push((name, Vec::new()));
                self.sections.len() - 1
            });
        &mut self.sections[place].1
    }

    /// The sections in order of first use, with their entries.
    pub fn sections(&self) -> impl Iterator<Item = (&SectionName, &[Entry<C>])> {
        self.sections.iter().map(|(name, entries)| (name, entries.as_slice()))
    }

    /// The entries of a section.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[Entry<C>]> {
        self.sections.iter().find(|(known, _)| known.name() == name).map(|(_, entries)| entries.as_slice())
    }

    /// The declared sections.
    pub fn custom_sections(&self) -> impl Iterator<Item = &CustomSection> {
        self.sections.iter().filter_map(|(name, _)| match name {
            SectionName::Custom(custom) => Some(&**custom),
            SectionName::Standard(_) => None,
        })
    }

    /// The module for a larger context, in which `inner` finds its own context.
    #[must_use]
    pub fn map_context<B: 'static>(&self, inner: impl Fn(&B) -> &C + Send + Sync + 'static) -> PromptModule<B>
    where
        C: 'static,
    {
        let inner: Inner<B, C> = Arc::new(inner);
        let entries = |entries: &[Entry<C>]| entries.iter().map(|entry| entry.map_context(&inner)).collect();
        PromptModule {
            // Its defaults belong to its own context, which the larger context creates.
            context: Vec::new(),
            sections: self.sections.iter().map(|(name, all)| (name.clone(), entries(all))).collect(),
        }
    }
}

impl<C: Default> PromptModule<C> {
    /// Adds a default to the context of callers without one.
    #[must_use]
    pub fn with_context(mut self, set: impl Fn(&mut C) + Send + Sync + 'static) -> Self {
        self.context.push(Arc::new(set));
        self
    }

    /// The context for callers without one: the defaults of all merged modules, later ones winning.
    #[must_use]
    pub fn create_context(&self) -> C {
        let mut context = C::default();
        for set in &self.context {
            set(&mut context);
        }
        context
    }
}

impl PromptModule<Value> {
    /// Adds default values to the context of callers without one.
    #[must_use]
    pub fn with_context_values(self, values: Map<String, Value>) -> Self {
        self.with_context(move |context| {
            if !context.is_object() {
                *context = Value::Object(Map::new());
            }
            if let Value::Object(all) = context {
                all.extend(values.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
        })
    }
}

macro_rules! sections {
    ($($method:ident: $section:ident, $doc:literal;)*) => {
        impl<C> PromptModule<C> {
            $(
                #[doc = $doc]
                #[must_use]
                pub fn $method<M>(self, entry: impl IntoEntries<C, M>) -> Self {
                    self.add_entry(Section::$section, entry)
                }
            )*
        }
    };
}

sections! {
    objective: Objective, "Says what is to be reached, and in which role.";
    persona: Persona, "Says who speaks, and how.";
    terms: Terms, "Says what words mean.";
    processing: Processing, "Says which algorithm to follow.";
    methodology: Methodology, "Says which method to follow: `processing` under its other name.";
    instructions: Instructions, "Says what to do.";
    guidelines: Guidelines, "Says what to keep to.";
    preparation_note: PreparationNote, "Says what to do before answering.";
    state: State, "Says where things stand.";
    inputs: Inputs, "Gives what to work on.";
    materials: Materials, "Gives texts to refer to.";
    chunks: Chunks, "Gives pieces of a longer text.";
    messages: Messages, "Gives a conversation.";
    cue: Cue, "Says where the answer starts.";
    schema: Schema, "Says which shape the answer has.";
}

impl<C> Default for PromptModule<C> {
    fn default() -> Self {
        Self::new()
    }
}

// Deriving this would require `C: Clone`.
impl<C> Clone for PromptModule<C> {
    fn clone(&self) -> Self {
        Self { context: self.context.clone(), sections: self.sections.clone() }
    }
}

impl<C> fmt::Debug for PromptModule<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Value::Object(self.sections_to_json()))
    }
}
