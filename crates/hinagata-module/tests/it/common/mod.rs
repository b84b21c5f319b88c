//! What providers take, as JSON Schemas.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hinagata_module::driver::Driver;
use jsonschema::Validator;
use serde_json::Value;

pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The schemas of `tests/schemas`, by driver.
pub(crate) struct Schemas(Vec<(Driver, Validator)>);

impl Schemas {
    pub(crate) fn read() -> Self {
        let read = |driver: Driver| {
            let path = folder("schemas").join(format!("{}.json", driver.name()));
            let schema: Value =
                serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON");
            (driver, jsonschema::validator_for(&schema).expect("a schema"))
        };
        Self(Driver::ALL.into_iter().map(read).collect())
    }

    /// Why a provider would refuse a request.
    pub(crate) fn problem(&self, driver: Driver, body: &Value) -> Option<String> {
        let (_, schema) = self.0.iter().find(|(known, _)| *known == driver)?;
        let error = schema.iter_errors(body).next()?;
        Some(format!("{} at {}", error, error.instance_path()))
    }
}
