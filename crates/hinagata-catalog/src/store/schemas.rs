//! The JSON Schemas of documents that other programs write to the store.

use hinagata_document::Result;
#[cfg(feature = "schema")]
use hinagata_document::{Code, Error, Hint};
use serde_json::Value;

use super::StoreKind;

/// The JSON Schema of an extension.
pub const EXTENSION_SCHEMA: &str = include_str!("../../schemas/extension.json");

/// The JSON Schema of a tool.
pub const TOOL_SCHEMA: &str = include_str!("../../schemas/tool.json");

/// Checks that `document` matches the schema of its kind.
///
/// # Errors
/// Code `validation` with the detail `schema_errors`.
#[cfg(feature = "schema")]
pub fn check_shape(kind: StoreKind, id: &str, document: &Value) -> Result<()> {
    use std::sync::LazyLock;

    /// Most reported problems.
    const MOST: usize = 10;
    static EXTENSION: LazyLock<Option<jsonschema::Validator>> =
        LazyLock::new(|| compiled(EXTENSION_SCHEMA, None));
    static TEMPLATE: LazyLock<Option<jsonschema::Validator>> =
        LazyLock::new(|| compiled(EXTENSION_SCHEMA, Some("#/$defs/prompt")));
    static TOOL: LazyLock<Option<jsonschema::Validator>> = LazyLock::new(|| compiled(TOOL_SCHEMA, None));

    let validator = match kind {
        StoreKind::Extension => &EXTENSION,
        StoreKind::Template => &TEMPLATE,
        StoreKind::Tool => &TOOL,
        StoreKind::Environ => return Ok(()),
    };
    let Some(validator) = validator.as_ref() else { return Ok(()) };
    let problems: Vec<(String, String)> = validator
        .iter_errors(document)
        .take(MOST)
        .map(|error| (error.instance_path().to_string(), error.to_string()))
        .collect();
    let Some((path, message)) = problems.first() else { return Ok(()) };
    let place = if path.is_empty() { String::new() } else { format!(" at {path}") };
    let details: Vec<Value> = problems
        .iter()
        .map(|(path, message)| serde_json::json!({"path": path, "message": message}))
        .collect();
    Err(Error::new(Code::Validation, format!("`{id}` is not a valid {}{place}: {message}", kind.singular()))
        .with("schema_errors", details)
        .with_hint(Hint::PrintSchema { kind: kind.as_str().to_owned() }))
}

/// Accepts every document: this build has no schema validator.
///
/// # Errors
/// None.
#[cfg(not(feature = "schema"))]
pub fn check_shape(_kind: StoreKind, _id: &str, _document: &Value) -> Result<()> {
    Ok(())
}

/// The validator of a schema, or of one of its definitions.
#[cfg(feature = "schema")]
fn compiled(text: &str, part: Option<&str>) -> Option<jsonschema::Validator> {
    let mut schema: Value = serde_json::from_str(text).ok()?;
    if let Some(part) = part {
        // A template may omit the name, because its key is the name.
        let prompt = schema.pointer_mut("/$defs/prompt")?.as_object_mut()?;
        prompt.shift_remove("required");
        schema = serde_json::json!({"$ref": part, "$defs": schema.get("$defs")?});
    }
    jsonschema::validator_for(&schema).ok()
}

#[cfg(all(test, feature = "schema"))]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_schemas_can_be_used() {
        assert!(compiled(EXTENSION_SCHEMA, None).is_some());
        assert!(compiled(EXTENSION_SCHEMA, Some("#/$defs/prompt")).is_some());
        assert!(compiled(TOOL_SCHEMA, None).is_some());
    }

    #[test]
    fn problems_say_where() {
        let document = json!({"name": "a", "contributes": {"prompts": [{"name": "p"}]}});
        let error = check_shape(StoreKind::Extension, "a", &document).expect_err("a prompt without a body");
        assert_eq!(error.code(), Code::Validation);
        assert!(error.message().contains("at /contributes/prompts/0"), "{error}");
        let error = check_shape(StoreKind::Tool, "t", &json!({"name": "t", "type": "carrier pigeon"}));
        assert!(error.expect_err("no such type").message().contains("at /type"));
        assert!(check_shape(StoreKind::Tool, "t", &json!({"name": "t"})).is_err(), "no address");
        assert!(check_shape(StoreKind::Template, "t", &json!({"prompt": "hello"})).is_ok());
        assert!(check_shape(StoreKind::Environ, "e", &json!([null])).is_ok());
    }
}
