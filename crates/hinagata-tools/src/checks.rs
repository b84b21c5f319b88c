//! Checks arguments and results against the schemas of a tool.

use std::sync::OnceLock;

use hinagata::{Error, Reason, Result};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::failure::{tool_error, truncate_for_display};

/// Maximum reported problems of one value.
const MAX_PROBLEMS: usize = 10;

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SchemaSide {
    Arguments,
    Answer,
}

impl SchemaSide {
    const fn reason(self) -> Reason {
        match self {
            Self::Arguments => Reason::Arguments,
            Self::Answer => Reason::Answer,
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Arguments => "the arguments do not match the definition",
            Self::Answer => "the response does not match the definition",
        }
    }
}

/// A schema, compiled on first use.
#[derive(Debug, Default)]
pub(crate) struct SchemaCheck {
    schema: Option<Value>,
    compiled: OnceLock<Result<Validator, String>>,
}

impl SchemaCheck {
    pub(crate) fn new(schema: Option<&Value>) -> Self {
        Self { schema: schema.cloned(), compiled: OnceLock::new() }
    }

    /// The schema.
    #[cfg(feature = "mcp")]
    pub(crate) fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// Whether `value` matches the schema. `None` without a usable schema.
    #[cfg(feature = "mcp")]
    pub(crate) fn is_match(&self, value: &Value) -> Option<bool> {
        let schema = self.schema.as_ref()?;
        let validator = self.compiled.get_or_init(|| compile(schema)).as_ref().ok()?;
        Some(validator.is_valid(value))
    }

    /// Checks `value` against the schema.
    ///
    /// # Errors
    /// Code `tool`, reason `arguments` or `answer`. Reason `schema` for an invalid schema.
    pub(crate) fn check_value(&self, side: SchemaSide, value: &Value) -> Result<()> {
        let Some(schema) = &self.schema else { return Ok(()) };
        let validator = self.compiled.get_or_init(|| compile(schema)).as_ref().map_err(|message| {
            tool_error(Reason::Schema, format!("invalid schema for the {}: {message}", side.reason()))
                .with_hint("fix the definition of the tool")
        })?;
        let problems: Vec<(String, String)> = validator
            .iter_errors(value)
            .take(MAX_PROBLEMS)
            .map(|error| (error.instance_path().to_string(), truncate_for_display(&error.to_string())))
            .collect();
        problems.first().map_or(Ok(()), |first| Err(mismatch_error(side, first, &problems)))
    }
}

fn mismatch_error(side: SchemaSide, first: &(String, String), all: &[(String, String)]) -> Error {
    let place = if first.0.is_empty() { String::new() } else { format!(" at `{}`", first.0) };
    let list: Vec<Value> =
        all.iter().map(|(path, message)| serde_json::json!({"path": path, "message": message})).collect();
    tool_error(side.reason(), format!("{}{place}: {}", side.sentence(), first.1)).with("problems", list)
}

fn compile(schema: &Value) -> Result<Validator, String> {
    // Patterns are untrusted, so use a regex engine with linear time.
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| truncate_for_display(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mismatch_is_reported_with_its_path() {
        let check =
            SchemaCheck::new(Some(&json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]})));
        assert!(check.check_value(SchemaSide::Answer, &json!({"n": 1})).is_ok());
        let error = check.check_value(SchemaSide::Answer, &json!({"n": "x"})).expect_err("does not fit");
        assert_eq!(error.reason(), Some(Reason::Answer));
        assert!(error.message().contains("at `/n`"), "{error}");
    }

    #[test]
    fn an_invalid_schema_fails_the_call() {
        let check = SchemaCheck::new(Some(&json!({"type": 5})));
        assert_eq!(
            check.check_value(SchemaSide::Answer, &json!(1)).expect_err("cannot be used").reason(),
            Some(Reason::Schema)
        );
    }

    #[test]
    fn a_remote_schema_is_not_fetched() {
        let check = SchemaCheck::new(Some(&json!({"$ref": "http://127.0.0.1:9/schema.json"})));
        assert_eq!(
            check.check_value(SchemaSide::Answer, &json!(1)).expect_err("cannot be used").reason(),
            Some(Reason::Schema)
        );
    }
}
