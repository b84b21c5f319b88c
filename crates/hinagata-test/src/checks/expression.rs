//! Expressions and templates in assertions, as Jinja.

use hinagata_template::{Language, Options, Render, Template};
use hinagata_value::Limits;
use serde_json::{Map, Value, json};

/// The name of the template in errors.
const NAME: &str = "assertion";

fn compile_template(text: &str) -> Result<Template, String> {
    Template::compile(Language::Jinja, NAME, text, &Options::default(), &Limits::default())
        .map_err(|error| error.message().to_owned())
}

/// Compiles an expression.
///
/// # Errors
/// A message: it is not an expression of Jinja.
pub(super) fn compile_expression(text: &str) -> Result<Template, String> {
    compile_template(&format!("{{{{ ({text})|tojson }}}}"))
        .map_err(|message| format!("`{text}` is not an expression: {message}"))
}

/// The value of an expression over `output`, `json` and `vars`.
pub(super) fn run_expression(
    text: &str,
    output: &str,
    parsed: Option<Value>,
    variables: &Map<String, Value>,
) -> Result<Value, String> {
    let mut data = json!({"output": output, "vars": variables});
    if let Some(parsed) = parsed {
        data["json"] = parsed;
    }
    let printed = Render::new()
        .render_text(&compile_expression(text)?, &data)
        .map_err(|error| error.message().to_owned())?;
    serde_json::from_str(&printed).map_err(|error| format!("no value: {error}"))
}

/// The text of a template over the variables of a case.
pub(super) fn fill_template(text: &str, variables: &Map<String, Value>) -> Result<String, String> {
    let filled = compile_template(text).and_then(|template| {
        let data = Value::Object(variables.clone());
        Render::new().render_text(&template, &data).map_err(|error| error.message().to_owned())
    });
    filled.map_err(|message| format!("the template `{text}`: {message}"))
}

/// Whether a value counts as true, as in Jinja.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_see_the_output_its_json_and_the_variables() {
        let variables = Map::from_iter([("name".to_owned(), json!("Rumi"))]);
        let run =
            |text: &str| run_expression(text, r#"{"a": [1, 2]}"#, Some(json!({"a": [1, 2]})), &variables);
        assert_eq!(run("json.a[1] == 2 and output|length > 3"), Ok(json!(true)));
        assert_eq!(run("json.a|length / 4"), Ok(json!(0.5)));
        assert_eq!(run("vars.name in output"), Ok(json!(false)));
        assert!(compile_expression("1 +").is_err());
        assert_eq!(fill_template("Hi {{ name }}", &variables), Ok("Hi Rumi".to_owned()));
    }
}
