//! What a caller says about a request in the words of OpenAI, in the words of the other providers.
//!
//! What has no other word is passed on as it is: so the fields that only one provider has can be used as well.

use hinagata::{
    Result,
    module::driver::{RequestOptions, Tool},
};
use serde_json::{Map, Value, json};

use crate::{Provider, failure::invalid};

/// A request's options in the words of its provider.
#[derive(Debug, Default)]
pub(crate) struct Translated {
    pub(crate) options: RequestOptions,
    /// The schema of the answer.
    pub(crate) schema: Option<Value>,
    /// What goes into the body as it is.
    pub(crate) fields: Map<String, Value>,
}

/// The options for OpenAI, which takes all of the caller's as they are.
pub(crate) fn for_openai(
    base: RequestOptions,
    options: Map<String, Value>,
    is_openai: bool,
) -> RequestOptions {
    let mut extra = options;
    let limited = extra.contains_key("max_tokens") || extra.contains_key("max_completion_tokens");
    let max_tokens = base.max_tokens.filter(|_| !limited);
    if let (Some(most), false) = (max_tokens, is_openai) {
        // The newer name is one that only OpenAI wants and many others do not know.
        extra.insert("max_tokens".to_owned(), most.into());
    }
    RequestOptions { max_tokens: max_tokens.filter(|_| is_openai), extra, ..base }
}

/// The options for another provider.
///
/// # Errors
/// Code `validation`, when an option has a wrong type, or no counterpart.
pub(crate) fn translate(
    provider: Provider,
    base: RequestOptions,
    options: Map<String, Value>,
) -> Result<Translated> {
    let mut all = Translated { options: base, ..Translated::default() };
    for (name, value) in options {
        all.take(provider, &name, value)?;
    }
    Ok(all)
}

impl Translated {
    fn take(&mut self, provider: Provider, name: &str, value: Value) -> Result<()> {
        let options = &mut self.options;
        match name {
            "max_tokens" | "max_completion_tokens" => options.max_tokens = Some(whole(name, &value)?),
            "temperature" => options.temperature = Some(number(name, &value)?),
            "top_p" => options.top_p = Some(number(name, &value)?),
            "top_k" => options.top_k = Some(whole(name, &value)?),
            "seed" => options.seed = Some(value.as_i64().ok_or_else(|| mistyped(name, "a whole number"))?),
            "stop" => options.stop = texts(name, &value)?,
            "tools" => match functions(&value) {
                Some(tools) => options.tools = tools,
                None => self.set(name, value),
            },
            "tool_choice" => self.tool_choice(provider, value),
            "response_format" => self.response_format(provider, &value)?,
            // It is about the form of OpenAI's own stream; ours always tells what was used.
            "stream_options" => {}
            _ => self.other(provider, name, value),
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: Value) {
        let mut field = Map::new();
        field.insert(name.to_owned(), value);
        merge(&mut self.fields, field);
    }

    fn other(&mut self, provider: Provider, name: &str, value: Value) {
        match (provider, name) {
            (Provider::Gemini, "presence_penalty") => {
                self.set("generationConfig", json!({"presencePenalty": value}));
            }
            (Provider::Gemini, "frequency_penalty") => {
                self.set("generationConfig", json!({"frequencyPenalty": value}));
            }
            (Provider::Gemini, "n") => self.set("generationConfig", json!({"candidateCount": value})),
            (Provider::Ollama, "presence_penalty" | "frequency_penalty") => {
                self.set("options", json!({name: value}));
            }
            (Provider::Anthropic, "user") => self.set("metadata", json!({"user_id": value})),
            (Provider::Anthropic, "parallel_tool_calls") => {
                let single = value == Value::Bool(false);
                self.set("tool_choice", json!({"disable_parallel_tool_use": single}));
                self.fields["tool_choice"]
                    .as_object_mut()
                    .map(|choice| choice.entry("type").or_insert_with(|| "auto".into()));
            }
            _ => self.set(name, value),
        }
    }

    fn tool_choice(&mut self, provider: Provider, value: Value) {
        let name = value.pointer("/function/name").and_then(Value::as_str);
        match (provider, value.as_str(), name) {
            (Provider::Anthropic, _, Some(name)) => {
                self.set("tool_choice", json!({"type": "tool", "name": name}));
            }
            (Provider::Anthropic, Some("required"), _) => self.set("tool_choice", json!({"type": "any"})),
            (Provider::Anthropic, Some(word), _) => self.set("tool_choice", json!({"type": word})),
            (Provider::Gemini, _, Some(name)) => {
                let config = json!({"mode": "ANY", "allowedFunctionNames": [name]});
                self.set("toolConfig", json!({"functionCallingConfig": config}));
            }
            (Provider::Gemini, Some(word), _) => {
                let mode = if word == "required" { "ANY".to_owned() } else { word.to_uppercase() };
                self.set("toolConfig", json!({"functionCallingConfig": {"mode": mode}}));
            }
            _ => self.set("tool_choice", value),
        }
    }

    fn response_format(&mut self, provider: Provider, value: &Value) -> Result<()> {
        match (value.get("type").and_then(Value::as_str), provider) {
            (Some("text"), _) => {}
            (Some("json_schema"), _) => {
                let schema = value.pointer("/json_schema/schema").cloned();
                self.schema = Some(schema.ok_or_else(|| {
                    invalid("the option `response_format` has no `json_schema.schema`")
                        .with("option", "response_format")
                })?);
            }
            (Some("json_object"), Provider::Gemini) => {
                self.set("generationConfig", json!({"responseMimeType": "application/json"}));
            }
            (Some("json_object"), Provider::Ollama) => self.set("format", "json".into()),
            (kind, _) => {
                let kind = kind.unwrap_or("none");
                return Err(invalid(format!(
                    "{} has no counterpart of the `response_format` of type {kind}",
                    provider.name()
                ))
                .with("option", "response_format")
                .with_hint("use type json_schema with the schema of the answer"));
            }
        }
        Ok(())
    }
}

/// Puts `more` into `all`; objects on both sides become one, anything else of `more` wins.
pub(crate) fn merge(all: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (all.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (_, value) => {
                all.insert(key, value);
            }
        }
    }
}

/// Tools as OpenAI writes them; others are in the words of the provider.
fn functions(value: &Value) -> Option<Vec<Tool>> {
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

fn mistyped(name: &str, wanted: &str) -> hinagata::Error {
    invalid(format!("the option `{name}` must be {wanted}")).with("reason", "option").with("option", name)
}

fn whole(name: &str, value: &Value) -> Result<u64> {
    value.as_u64().ok_or_else(|| mistyped(name, "a whole number"))
}

fn number(name: &str, value: &Value) -> Result<f64> {
    value.as_f64().ok_or_else(|| mistyped(name, "a number"))
}

fn texts(name: &str, value: &Value) -> Result<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = match value {
        Value::Array(items) => items.iter().map(text).collect(),
        one => text(one).map(|text| vec![text]),
    };
    list.ok_or_else(|| mistyped(name, "a text or a list of texts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(provider: Provider, options: Value) -> Result<Translated> {
        let Value::Object(options) = options else { panic!("is an object") };
        translate(provider, RequestOptions::default(), options)
    }

    fn fields(provider: Provider, options: Value) -> Value {
        Value::Object(translated(provider, options).expect("is fine").fields)
    }

    #[test]
    fn zero_is_not_absent() {
        let all =
            translated(Provider::Anthropic, json!({"temperature": 0, "top_p": 0.0, "seed": 0, "stop": "x"}));
        let options = all.expect("is fine").options;
        assert_eq!((options.temperature, options.top_p, options.seed), (Some(0.0), Some(0.0), Some(0)));
        assert_eq!(options.stop, ["x"]);
    }

    #[test]
    fn tools_and_their_choice_are_translated() {
        let tool = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
        let all = translated(Provider::Gemini, json!({"tools": tool})).expect("is fine");
        assert_eq!(all.options.tools.len(), 1);
        let own = json!([{"googleSearch": {}}]);
        assert_eq!(fields(Provider::Gemini, json!({"tools": own})), json!({"tools": own}));

        let one = json!({"type": "function", "function": {"name": "f"}});
        for (provider, choice, wanted) in [
            (Provider::Anthropic, json!("auto"), json!({"tool_choice": {"type": "auto"}})),
            (Provider::Anthropic, json!("required"), json!({"tool_choice": {"type": "any"}})),
            (Provider::Anthropic, one.clone(), json!({"tool_choice": {"type": "tool", "name": "f"}})),
            (
                Provider::Gemini,
                json!("none"),
                json!({"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
            ),
            (
                Provider::Gemini,
                one,
                json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}}),
            ),
            (Provider::Anthropic, json!({"type": "any"}), json!({"tool_choice": {"type": "any"}})),
        ] {
            assert_eq!(fields(provider, json!({"tool_choice": choice})), wanted);
        }
        assert_eq!(
            fields(Provider::Anthropic, json!({"tool_choice": "required", "parallel_tool_calls": false})),
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}})
        );
    }

    #[test]
    fn schemas_and_json_are_asked_for_as_each_provider_wants_it() {
        let schema =
            json!({"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}});
        let all = translated(Provider::Anthropic, json!({"response_format": schema})).expect("is fine");
        assert_eq!(all.schema, Some(json!({"type": "object"})));
        let object = json!({"response_format": {"type": "json_object"}});
        assert_eq!(fields(Provider::Ollama, object.clone()), json!({"format": "json"}));
        assert_eq!(
            fields(Provider::Gemini, object.clone()),
            json!({"generationConfig": {"responseMimeType": "application/json"}})
        );
        let error = translated(Provider::Anthropic, object).expect_err("has none");
        assert_eq!(error.code(), hinagata::Code::Validation);
    }

    #[test]
    fn other_fields_are_passed_on_as_they_are() {
        let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}, "x": [0]});
        assert_eq!(fields(Provider::Anthropic, thinking.clone()), thinking);
        assert_eq!(fields(Provider::Ollama, json!({"stream_options": {"include_usage": true}})), json!({}));
    }

    #[test]
    fn an_option_of_a_wrong_type_is_named() {
        for (name, value) in [("temperature", json!("hot")), ("max_tokens", json!(-1)), ("stop", json!([1]))]
        {
            let error = translated(Provider::Gemini, json!({name: value})).expect_err("is wrong");
            assert_eq!(error.details()["option"], json!(name));
        }
    }

    #[test]
    fn the_limit_of_a_prompt_gets_the_name_that_the_server_knows() {
        let base = || RequestOptions { max_tokens: Some(5), ..RequestOptions::default() };
        assert_eq!(for_openai(base(), Map::new(), true).max_tokens, Some(5));
        let other = for_openai(base(), Map::new(), false);
        assert_eq!((other.max_tokens, &other.extra["max_tokens"]), (None, &json!(5)));
        let Value::Object(called) = json!({"max_completion_tokens": 9}) else { panic!("is an object") };
        let called = for_openai(base(), called, false);
        assert_eq!((called.max_tokens, called.extra.len()), (None, 1), "the call decides");
    }
}
