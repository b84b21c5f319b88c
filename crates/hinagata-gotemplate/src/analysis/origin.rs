//! The data that the values of a template may come from.

use hinagata_value::analysis::{PathPart, VariablePath};

/// Maximum number of values that one variable is followed to, if only the run decides which one it has.
const MAX_ALTERNATIVES: usize = 4;

/// The parts of the data that a value may come from. None if the value is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Origin(Vec<VariablePath>);

impl Origin {
    /// The data of the template itself.
    pub(super) fn whole_data() -> Self {
        Self(vec![VariablePath::whole_data()])
    }

    pub(super) fn paths(&self) -> &[VariablePath] {
        &self.0
    }

    pub(super) fn into_paths(self) -> Vec<VariablePath> {
        self.0
    }

    /// Adds the paths of `other`. Returns whether one of them is new.
    pub(super) fn add(&mut self, other: &Self) -> bool {
        let before = self.0.len();
        for path in &other.0 {
            if self.0.len() < MAX_ALTERNATIVES && !self.0.contains(path) {
                self.0.push(path.clone());
            }
        }
        self.0.len() > before
    }

    pub(super) fn with_parts(&self, parts: &[PathPart]) -> Self {
        Self(self.0.iter().map(|path| path.with_parts(parts.iter().cloned())).collect())
    }
}
