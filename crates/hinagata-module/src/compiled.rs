//! A compiled prompt.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{Element, Order, Part};

/// A compiled prompt: elements in three parts, and the schema of the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompiledPrompt {
    /// The task of the model.
    pub instructions: Vec<Element>,
    /// The data that it works on.
    pub data: Vec<Element>,
    /// The output that it writes.
    pub output: Vec<Element>,
    /// The JSON Schema of the answer.
    pub schema: Option<Arc<Value>>,
    /// The order in which it was compiled.
    pub order: Order,
    /// Entries that were ignored.
    pub warnings: Vec<Warning>,
}

/// An entry of a module that is not in the compiled prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The path of the entry in the module.
    pub path: String,
    /// What was ignored, and why.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl CompiledPrompt {
    /// The elements of one part.
    #[must_use]
    pub fn part(&self, part: Part) -> &[Element] {
        match part {
            Part::Instructions => &self.instructions,
            Part::Data => &self.data,
            Part::Output => &self.output,
        }
    }

    /// All elements in their order.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.instructions.iter().chain(&self.data).chain(&self.output)
    }

    /// The schema of the answer, unless it is null.
    #[must_use]
    pub fn schema(&self) -> Option<&Value> {
        self.schema.as_deref().filter(|schema| !schema.is_null())
    }
}
