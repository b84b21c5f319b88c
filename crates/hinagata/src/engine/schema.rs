//! Compiled JSON Schemas of parameters.

#[cfg(feature = "schema")]
use std::collections::HashMap;

use serde_json::Value;

use super::validate::SchemaProblem;
use crate::{
    Result,
    definition::{Parameter, Parameters},
};

/// The schemas of a prompt's parameters.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    #[cfg(feature = "schema")]
    by_name: HashMap<String, jsonschema::Validator>,
}

#[cfg(feature = "schema")]
impl Schemas {
    /// Compiles the schemas of `parameters`.
    ///
    /// # Errors
    /// Code `definition`, reason `schema`, for an invalid schema.
    pub(super) fn compile(parameters: &Parameters) -> Result<Self> {
        let mut by_name = HashMap::new();
        for parameter in parameters {
            let Some(schema) = &parameter.schema else { continue };
            let validator = jsonschema::validator_for(schema).map_err(|error| unusable(parameter, &error))?;
            by_name.insert(parameter.name.clone(), validator);
        }
        Ok(Self { by_name })
    }

    /// The problems of `value` as the value of `parameter`.
    pub(super) fn problems(&self, parameter: &Parameter, value: &Value) -> Vec<SchemaProblem> {
        /// Maximum reported problems of one value.
        const MOST: usize = 10;
        // Most parameters have no schema: this avoids the lookup.
        let Some(validator) = parameter.schema.as_ref().and_then(|_| self.by_name.get(&parameter.name))
        else {
            return Vec::new();
        };
        let shown = |error: jsonschema::ValidationError<'_>| SchemaProblem {
            name: parameter.name.clone(),
            path: error.instance_path().to_string(),
            // The message quotes the value, which may be secret.
            message: match parameter.secret {
                true => "does not match its schema".to_owned(),
                false => error.to_string(),
            },
        };
        validator.iter_errors(value).take(MOST).map(shown).collect()
    }
}

#[cfg(feature = "schema")]
fn unusable(parameter: &Parameter, error: &jsonschema::ValidationError<'_>) -> crate::Error {
    let message = format!("invalid schema of `{}`: {error}", parameter.name);
    let error =
        crate::Error::definition(crate::Reason::Schema, message).with("parameter", parameter.name.as_str());
    match &parameter.place {
        Some(place) => error.at(place.clone()),
        None => error,
    }
}

#[cfg(not(feature = "schema"))]
impl Schemas {
    pub(super) fn compile(_parameters: &Parameters) -> Result<Self> {
        Ok(Self::default())
    }

    pub(super) fn problems(&self, _parameter: &Parameter, _value: &Value) -> Vec<SchemaProblem> {
        Vec::new()
    }
}
