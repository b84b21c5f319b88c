//! The names of sections, and the part of each.
//!
//! Names are restricted on purpose: all authors use the same name for the same thing, so modules of different authors
//! can be merged.

use std::{fmt, sync::Arc};

use crate::{Problem, Text};

/// One of the three parts of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The task of the model.
    Instructions,
    /// The data that it works on.
    Data,
    /// The output that it writes.
    Output,
}

impl Part {
    /// All parts in their order.
    pub const ALL: [Self; 3] = [Self::Instructions, Self::Data, Self::Output];

    /// The name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Data => "data",
            Self::Output => "output",
        }
    }

    /// The part with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A standard section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// The objective and the role.
    Objective,
    /// The persona and the tone.
    Persona,
    /// Definitions of terms.
    Terms,
    /// The algorithm to follow.
    Processing,
    /// An alias of [`Section::Processing`] with its own title.
    Methodology,
    /// Instructions.
    Instructions,
    /// Guidelines.
    Guidelines,
    /// Steps before the answer.
    PreparationNote,
    /// The current state.
    State,
    /// Input data.
    Inputs,
    /// Reference texts.
    Materials,
    /// Parts of a longer text.
    Chunks,
    /// A conversation.
    Messages,
    /// The start of the answer.
    Cue,
    /// The schema of the answer.
    Schema,
}

impl Section {
    /// All sections in standard order.
    pub const ALL: [Self; 15] = [
        Self::Objective,
        Self::Persona,
        Self::Terms,
        Self::Processing,
        Self::Methodology,
        Self::Instructions,
        Self::Guidelines,
        Self::PreparationNote,
        Self::State,
        Self::Inputs,
        Self::Materials,
        Self::Chunks,
        Self::Messages,
        Self::Cue,
        Self::Schema,
    ];

    /// The name in modules.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Objective => "objective",
            Self::Persona => "persona",
            Self::Terms => "terms",
            Self::Processing => "processing",
            Self::Methodology => "methodology",
            Self::Instructions => "instructions",
            Self::Guidelines => "guidelines",
            Self::PreparationNote => "preparationNote",
            Self::State => "state",
            Self::Inputs => "inputs",
            Self::Materials => "materials",
            Self::Chunks => "chunks",
            Self::Messages => "messages",
            Self::Cue => "cue",
            Self::Schema => "schema",
        }
    }

    /// The heading in a compiled prompt.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Objective => "Objective and Role",
            Self::Persona => "Persona and Character",
            Self::Terms => "Term Explanations",
            Self::Processing => "Processing Algorithm",
            Self::Methodology => "Processing Methodology",
            Self::Instructions => "Instructions",
            Self::Guidelines => "Guidelines",
            Self::PreparationNote => "Response Preparation Note",
            Self::State => "Current State",
            Self::Inputs => "Input Data",
            Self::Materials => "Prepared Materials",
            Self::Chunks => "Input Chunks",
            Self::Messages => "Messages",
            Self::Cue => "Output",
            Self::Schema => "Output Schema",
        }
    }

    /// The part that it belongs to.
    #[must_use]
    pub const fn part(self) -> Part {
        match self {
            Self::Objective
            | Self::Persona
            | Self::Terms
            | Self::Processing
            | Self::Methodology
            | Self::Instructions
            | Self::Guidelines
            | Self::PreparationNote => Part::Instructions,
            Self::State | Self::Inputs | Self::Materials | Self::Chunks | Self::Messages => Part::Data,
            Self::Cue | Self::Schema => Part::Output,
        }
    }

    /// The section with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }

    /// Its rank among the sections of its part.
    const fn rank(self, order: Order) -> u8 {
        match (order, self) {
            (Order::Cache, Self::Inputs) => 0,
            (Order::Cache, Self::Materials) => 1,
            (Order::Cache, Self::Messages) => 2,
            (Order::Cache, Self::Chunks) => 3,
            (Order::Cache, Self::State) => 4,
            // Both names of one section.
            (_, Self::Methodology) => Self::Processing as u8,
            (_, section) => section as u8,
        }
    }
}

/// The order of sections in a compiled prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The order for readers.
    #[default]
    Standard,
    /// Static content first, which makes better use of the prompt caches of providers.
    Cache,
}

impl Order {
    /// All orders.
    pub const ALL: [Self; 2] = [Self::Standard, Self::Cache];

    /// The name in module files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Cache => "cache",
        }
    }

    /// The order with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }
}

/// A section that a module declares in addition to the standard ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomSection {
    /// The name in modules.
    pub name: Text,
    /// The part that it belongs to.
    pub part: Part,
    /// The heading in a compiled prompt.
    pub title: Text,
}

/// A section of a module: standard or declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionName {
    /// A standard section.
    Standard(Section),
    /// A declared section.
    Custom(Arc<CustomSection>),
}

impl SectionName {
    /// The name in modules.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Standard(section) => section.name(),
            Self::Custom(section) => &section.name,
        }
    }

    /// The heading in a compiled prompt.
    #[must_use]
    pub fn title(&self) -> Text {
        match self {
            Self::Standard(section) => titles::shared_title(*section),
            Self::Custom(section) => section.title.clone(),
        }
    }

    /// The part that it belongs to.
    #[must_use]
    pub fn part(&self) -> Part {
        match self {
            Self::Standard(section) => section.part(),
            Self::Custom(section) => section.part,
        }
    }

    /// Whether both are the same section.
    pub(crate) fn is_same_section(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Standard(left), Self::Standard(right)) => {
                left.rank(Order::Standard) == right.rank(Order::Standard)
            }
            (Self::Custom(left), Self::Custom(right)) => left.name == right.name,
            _ => false,
        }
    }

    /// Its rank in a compiled prompt: declared sections follow the standard ones of their part.
    pub(crate) fn rank(&self, order: Order) -> (Part, u8) {
        match self {
            Self::Standard(section) => (section.part(), section.rank(order)),
            Self::Custom(section) => (section.part, u8::MAX),
        }
    }
}

impl From<Section> for SectionName {
    fn from(section: Section) -> Self {
        Self::Standard(section)
    }
}

impl From<CustomSection> for SectionName {
    fn from(section: CustomSection) -> Self {
        Self::Custom(Arc::new(section))
    }
}

/// The problem of an unknown section.
pub(crate) fn unknown_section(name: &str, custom: &[&str]) -> Problem {
    let names = Section::ALL.map(Section::name).into_iter().chain(custom.iter().copied());
    let problem = Problem::new(name, format!("unknown section `{name}`")).with_near(name, names);
    if problem.near.is_empty() {
        let all = Section::ALL.map(Section::name).join(", ");
        problem.with_hint(format!("use one of {all}, or declare it under `custom_sections`"))
    } else {
        problem
    }
}

/// The titles of standard sections as shared texts, so that compiling does not copy them.
mod titles {
    use std::sync::LazyLock;

    use super::Section;
    use crate::Text;

    static TITLES: LazyLock<[Text; 15]> =
        LazyLock::new(|| Section::ALL.map(|section| Text::from(section.title())));

    pub(super) fn shared_title(section: Section) -> Text {
        TITLES[section as usize].clone()
    }
}
