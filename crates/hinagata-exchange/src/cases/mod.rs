//! Tests of other programs, as test files: every assertion is carried, or listed with its line and the reason.

mod promptfoo;
mod script;

pub(crate) use promptfoo::CaseReader;

use serde_json::{Map, Value};

use crate::definition::write_yaml;

/// A test file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ImportedCases {
    /// What the cases have in common.
    pub(crate) shared: Map<String, Value>,
    /// The cases.
    pub(crate) cases: Vec<Value>,
}

impl ImportedCases {
    /// The text of the file; `None` without cases.
    pub(crate) fn to_text(&self) -> Option<String> {
        if self.cases.is_empty() {
            return None;
        }
        let mut all = self.shared.clone();
        all.insert("tests".to_owned(), Value::Array(self.cases.clone()));
        Some(write_yaml(&all))
    }
}
