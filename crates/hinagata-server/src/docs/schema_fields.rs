//! The fields of a JSON Schema, as rows of a table.

use serde_json::Value;

use super::html::{code_html, escape_html};

/// How deep fields of fields are shown.
const DEPTH: usize = 4;

/// Schemas by name.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'d>(&'d Value);

impl<'d> Schemas<'d> {
    /// The schemas of an OpenAPI document.
    pub(super) fn of_document(document: &'d Value) -> Self {
        Self(&document["components"]["schemas"])
    }

    /// The name that a schema refers to.
    pub(super) fn referred_name(schema: &Value) -> Option<&str> {
        schema.get("$ref")?.as_str()?.strip_prefix("#/components/schemas/")
    }

    fn resolve(self, schema: &'d Value) -> &'d Value {
        Self::referred_name(schema).map_or(schema, |name| &self.0[name])
    }

    /// The fields of a schema as a table; empty without fields.
    pub(super) fn fields_table(self, schema: &'d Value) -> String {
        let mut rows = String::new();
        self.push_fields(&mut rows, "", schema, DEPTH);
        if rows.is_empty() {
            return rows;
        }
        format!(
            "<table><thead><tr><th>field<th>type<th>description</tr></thead><tbody>{rows}</tbody></table>"
        )
    }

    /// The description of a schema, as HTML.
    pub(super) fn description_html(self, schema: &'d Value) -> String {
        let text = |schema: &'d Value| schema["description"].as_str();
        text(schema).or_else(|| text(self.resolve(schema))).map(code_html).unwrap_or_default()
    }

    fn push_fields(self, rows: &mut String, prefix: &str, schema: &'d Value, depth: usize) {
        let schema = self.resolve(schema);
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Some(items) = schema.get("items") {
            self.push_fields(rows, &format!("{prefix}[]"), items, depth);
        }
        for choice in choices(schema) {
            self.push_fields_of_choice(rows, prefix, choice, depth);
        }
        let Some(fields) = schema["properties"].as_object() else { return };
        let required = schema["required"].as_array();
        for (name, field) in fields {
            let is_required = required.is_some_and(|required| required.iter().any(|known| known == name));
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            rows.push_str(&format!(
                "<tr><td><code>{}</code>{}<td>{}<td>{}</tr>",
                escape_html(&path),
                if is_required { " <strong>required</strong>" } else { "" },
                escape_html(&self.type_text(field)),
                self.description_html(field),
            ));
            self.push_fields(rows, &path, field, depth);
        }
    }

    /// Choices that only restrict the fields beside them add no fields.
    fn push_fields_of_choice(self, rows: &mut String, prefix: &str, choice: &'d Value, depth: usize) {
        if choice.get("$ref").is_some() || choice.get("items").is_some() {
            self.push_fields(rows, prefix, choice, depth);
        }
    }

    /// The type of a schema in words.
    pub(super) fn type_text(self, schema: &'d Value) -> String {
        let schema = self.resolve(schema);
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        }
        let names = match &schema["type"] {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => {
                let choices: Vec<String> =
                    choices(schema).iter().map(|choice| self.type_text(choice)).collect();
                return if choices.is_empty() { "any".to_owned() } else { choices.join(" or ") };
            }
        };
        let name = |name: &str| match (name, schema.get("items")) {
            ("array", Some(items)) => format!("list of {}", self.type_text(items)),
            ("array", None) => "list".to_owned(),
            _ => name.to_owned(),
        };
        let mut text = names.into_iter().map(name).collect::<Vec<_>>().join(" or ");
        if let (Some(least), Some(most)) = (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            match most {
                u64::MAX => text.push_str(&format!(", at least {least}")),
                _ => text.push_str(&format!(", {least} to {most}")),
            }
        }
        text
    }
}

fn choices(schema: &Value) -> &[Value] {
    let listed = ["oneOf", "anyOf"].into_iter().find_map(|key| schema[key].as_array());
    listed.map(Vec::as_slice).unwrap_or_default()
}
