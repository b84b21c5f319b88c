//! Translates options from OpenAI's names to those of other providers.
//!
//! Options without a translation are sent unchanged, so that options of a single provider work too.

use hinagata::{
    Reason, Result,
    module::driver::{RequestOptions, Tool},
};
use hinagata_value::ValueType;
use serde_json::{Map, Value, json};

use crate::{failure::validation_error, providers::Translation};

/// The options of a request as its provider expects them.
#[derive(Debug, Default)]
pub(crate) struct Translated {
    pub(crate) options: RequestOptions,
    /// The schema of the answer.
    pub(crate) schema: Option<Value>,
    /// Fields that are added to the body unchanged.
    pub(crate) fields: RequestFields,
}

/// Fields of a request's body beside those that its driver writes.
#[derive(Debug, Default)]
pub(crate) struct RequestFields(Map<String, Value>);

impl RequestFields {
    /// Sets a field; an object is merged into an object that is already set.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        let mut field = Map::new();
        field.insert(name.to_owned(), value);
        merge_objects(&mut self.0, field);
    }

    /// Sets a member of a field that is an object, unless the object already has it.
    pub(crate) fn set_default(&mut self, name: &str, member: &str, value: &str) {
        if let Some(object) = self.0.get_mut(name).and_then(Value::as_object_mut) {
            object.entry(member).or_insert_with(|| value.into());
        }
    }

    /// Whether nothing was set.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Merges the fields into `body`; the fields win.
    pub(crate) fn merge_into(self, body: &mut Map<String, Value>) {
        merge_objects(body, self.0);
    }
}

/// The options for a provider with OpenAI's API, which gets the caller's options unchanged.
pub(crate) fn openai_options(
    base: RequestOptions,
    options: Map<String, Value>,
    is_openai: bool,
) -> RequestOptions {
    let mut extra = options;
    let limited = extra.contains_key("max_tokens") || extra.contains_key("max_completion_tokens");
    let max_tokens = base.max_tokens.filter(|_| !limited);
    if let (Some(most), false) = (max_tokens, is_openai) {
        // Only OpenAI requires the newer name; many other servers do not know it.
        extra.insert("max_tokens".to_owned(), most.into());
    }
    RequestOptions { max_tokens: max_tokens.filter(|_| is_openai), extra, ..base }
}

/// The options for a provider with another API.
///
/// # Errors
/// Code `validation`, if an option has the wrong type or is not supported.
pub(crate) fn translate_options(
    provider: &str,
    translation: &Translation,
    base: RequestOptions,
    options: Map<String, Value>,
) -> Result<Translated> {
    let mut all = Translated { options: base, ..Translated::default() };
    for (name, value) in options {
        match name.as_str() {
            "response_format" => all.set_response_format(provider, translation, &value)?,
            _ => all.set_option(translation, &name, value)?,
        }
    }
    Ok(all)
}

impl Translated {
    fn set_option(&mut self, translation: &Translation, name: &str, value: Value) -> Result<()> {
        let options = &mut self.options;
        match name {
            "max_tokens" | "max_completion_tokens" => options.max_tokens = Some(parse_count(name, &value)?),
            "temperature" => options.temperature = Some(parse_number(name, &value)?),
            "top_p" => options.top_p = Some(parse_number(name, &value)?),
            "top_k" => options.top_k = Some(parse_count(name, &value)?),
            "seed" => {
                options.seed =
                    Some(value.as_i64().ok_or_else(|| option_type_error(name, ValueType::Integer.noun()))?);
            }
            "stop" => options.stop = parse_texts(name, &value)?,
            "tools" => match parse_tools(&value) {
                Some(tools) => options.tools = tools,
                None => self.fields.set(name, value),
            },
            // This option is about OpenAI's own stream; ours always reports the usage.
            "stream_options" => {}
            _ => (translation.translate_option)(&mut self.fields, name, value),
        }
        Ok(())
    }

    fn set_response_format(
        &mut self,
        provider: &str,
        translation: &Translation,
        value: &Value,
    ) -> Result<()> {
        match (value.get("type").and_then(Value::as_str), translation.json_mode) {
            (Some("text"), _) => {}
            (Some("json_schema"), _) => {
                let schema = value.pointer("/json_schema/schema").cloned();
                self.schema = Some(schema.ok_or_else(|| {
                    validation_error("the option `response_format` has no `json_schema.schema`")
                        .with("option", "response_format")
                })?);
            }
            (Some("json_object"), Some(set_json_mode)) => set_json_mode(&mut self.fields),
            (kind, _) => {
                let kind = kind.unwrap_or("none");
                return Err(validation_error(format!(
                    "{provider} does not support `response_format` of type {kind}"
                ))
                .with("option", "response_format")
                .with_hint("use the type json_schema with a schema of the answer"));
            }
        }
        Ok(())
    }
}

/// Merges `more` into `all`: objects are merged, other values of `more` replace those of `all`.
fn merge_objects(all: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (all.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge_objects(inner, value),
            (_, value) => {
                all.insert(key, value);
            }
        }
    }
}

/// Tools in OpenAI's format; `None` if they are in the format of the provider.
fn parse_tools(value: &Value) -> Option<Vec<Tool>> {
    let tool = |tool: &Value| {
        let function = tool.get("function")?;
        let text = |key: &str| function.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Tool {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            parameters: function.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"})),
        })
    };
    value.as_array()?.iter().map(tool).collect()
}

fn option_type_error(name: &str, wanted: &str) -> hinagata::Error {
    validation_error(format!("the option `{name}` must be {wanted}"))
        .with_reason(Reason::Option)
        .with("option", name)
}

fn parse_count(name: &str, value: &Value) -> Result<u64> {
    value.as_u64().ok_or_else(|| option_type_error(name, ValueType::Integer.noun()))
}

fn parse_number(name: &str, value: &Value) -> Result<f64> {
    value.as_f64().ok_or_else(|| option_type_error(name, ValueType::Number.noun()))
}

fn parse_texts(name: &str, value: &Value) -> Result<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = match value {
        Value::Array(items) => items.iter().map(text).collect(),
        one => text(one).map(|text| vec![text]),
    };
    list.ok_or_else(|| option_type_error(name, "a string or a list of strings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(provider: &str, options: Value) -> Result<Translated> {
        let Value::Object(options) = options else { panic!("is an object") };
        let spec = crate::ProviderKind::from_name(provider).expect("is a provider").spec();
        let translation = spec.translation.as_ref().expect("is translated");
        translate_options(provider, translation, RequestOptions::default(), options)
    }

    fn fields(provider: &str, options: Value) -> Value {
        Value::Object(translated(provider, options).expect("is fine").fields.0)
    }

    #[test]
    fn zero_is_not_absent() {
        let all = translated("anthropic", json!({"temperature": 0, "top_p": 0.0, "seed": 0, "stop": "x"}));
        let options = all.expect("is fine").options;
        assert_eq!((options.temperature, options.top_p, options.seed), (Some(0.0), Some(0.0), Some(0)));
        assert_eq!(options.stop, ["x"]);
    }

    #[test]
    fn tools_and_their_choice_are_translated() {
        let tool = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
        let all = translated("gemini", json!({"tools": tool})).expect("is fine");
        assert_eq!(all.options.tools.len(), 1);
        let own = json!([{"googleSearch": {}}]);
        assert_eq!(fields("gemini", json!({"tools": own})), json!({"tools": own}));

        let one = json!({"type": "function", "function": {"name": "f"}});
        for (provider, choice, wanted) in [
            ("anthropic", json!("auto"), json!({"tool_choice": {"type": "auto"}})),
            ("anthropic", json!("required"), json!({"tool_choice": {"type": "any"}})),
            ("anthropic", one.clone(), json!({"tool_choice": {"type": "tool", "name": "f"}})),
            ("gemini", json!("none"), json!({"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}})),
            (
                "gemini",
                one,
                json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}}),
            ),
            ("anthropic", json!({"type": "any"}), json!({"tool_choice": {"type": "any"}})),
        ] {
            assert_eq!(fields(provider, json!({"tool_choice": choice})), wanted);
        }
        assert_eq!(
            fields("anthropic", json!({"tool_choice": "required", "parallel_tool_calls": false})),
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}})
        );
    }

    #[test]
    fn schemas_and_json_are_asked_for_as_each_provider_wants_it() {
        let schema =
            json!({"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}});
        let all = translated("anthropic", json!({"response_format": schema})).expect("is fine");
        assert_eq!(all.schema, Some(json!({"type": "object"})));
        let object = json!({"response_format": {"type": "json_object"}});
        assert_eq!(fields("ollama", object.clone()), json!({"format": "json"}));
        assert_eq!(
            fields("gemini", object.clone()),
            json!({"generationConfig": {"responseMimeType": "application/json"}})
        );
        let error = translated("anthropic", object).expect_err("has none");
        assert_eq!(error.code(), hinagata::Code::Validation);
    }

    #[test]
    fn other_fields_are_passed_on_as_they_are() {
        let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}, "x": [0]});
        assert_eq!(fields("anthropic", thinking.clone()), thinking);
        assert_eq!(fields("ollama", json!({"stream_options": {"include_usage": true}})), json!({}));
    }

    #[test]
    fn an_option_of_a_wrong_type_is_named() {
        for (name, value) in [("temperature", json!("hot")), ("max_tokens", json!(-1)), ("stop", json!([1]))]
        {
            let error = translated("gemini", json!({name: value})).expect_err("is wrong");
            assert_eq!(error.details()["option"], json!(name));
        }
    }

    #[test]
    fn the_limit_of_a_prompt_gets_the_name_that_the_server_knows() {
        let base = || RequestOptions { max_tokens: Some(5), ..RequestOptions::default() };
        assert_eq!(openai_options(base(), Map::new(), true).max_tokens, Some(5));
        let other = openai_options(base(), Map::new(), false);
        assert_eq!((other.max_tokens, &other.extra["max_tokens"]), (None, &json!(5)));
        let Value::Object(called) = json!({"max_completion_tokens": 9}) else { panic!("is an object") };
        let called = openai_options(base(), called, false);
        assert_eq!((called.max_tokens, called.extra.len()), (None, 1), "the call decides");
    }
}
