//! Requests that are ready to send.

use std::sync::Arc;

use bytes::Bytes;
use hinagata::{
    Reason, Result,
    definition::module_error,
    module::{
        CompiledPrompt, Element, Role, TextElement,
        driver::{RequestOptions, TurnRule},
        read_messages,
    },
};
use hyper::Uri;
use serde_json::{Map, Value};
use url::Url;

use crate::{
    ChosenModel,
    failure::validation_error,
    models::TURNS,
    options::{self, RequestFields, Translated},
    providers::StreamField,
};

/// A request that is ready to send; the sender decides whether the answer is streamed.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    pub(crate) choice: ChosenModel,
    /// The body without `stream`.
    body: Bytes,
    notes: Vec<String>,
}

impl ProviderRequest {
    /// The model of the request.
    #[must_use]
    pub fn chosen_model(&self) -> &ChosenModel {
        &self.choice
    }

    /// Parts of the prompt or options that the provider does not support; they are left out.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The address that it goes to.
    #[must_use]
    pub fn url(&self, stream: bool) -> Url {
        self.choice.endpoint.url(self.choice.model(), stream)
    }

    /// The address that it goes to, as HTTP has it.
    ///
    /// # Errors
    /// Code `model`, reason `request`, if HTTP has no such address.
    pub(crate) fn uri(&self, stream: bool) -> Result<Uri> {
        self.choice.endpoint.uri(self.choice.model(), stream)
    }

    /// The exact body.
    #[must_use]
    pub fn body(&self, stream: bool) -> Bytes {
        let end: &[u8] = match (&self.choice.kind().spec().stream_field, stream) {
            (StreamField::Absent, _) | (StreamField::OnlyIfTrue, false) => return self.body.clone(),
            (StreamField::Always, false) => br#","stream":false}"#,
            (StreamField::OnlyIfTrue | StreamField::Always, true) => br#","stream":true}"#,
        };
        // Every body contains messages, so a comma is valid here.
        let open = self.body.len().saturating_sub(1);
        [&self.body[..open], end].concat().into()
    }
}

/// The rule with this name.
///
/// # Errors
/// Code `validation`, reason `option`.
fn parse_turns(name: &str) -> Result<TurnRule> {
    TurnRule::from_name(name).ok_or_else(|| {
        validation_error("the option `turns` must be `as-is`, `join` or `alternate`")
            .with_reason(Reason::Option)
            .with("option", TURNS)
    })
}

/// Builds a request from the options of the prompt, `base`, and those of the caller, `options`.
///
/// # Errors
/// Code `validation` for invalid options; those of the driver for content that the provider does not accept.
pub(crate) fn build_request(
    choice: &ChosenModel,
    prompt: Arc<CompiledPrompt>,
    base: RequestOptions,
    options: &Map<String, Value>,
    system: Option<&str>,
) -> Result<ProviderRequest> {
    let base = RequestOptions { model: Some(choice.model().to_owned()), stream: None, ..base };
    let (mut options, messages) = merge_options(choice, &base, options);
    let turns = options.shift_remove(TURNS).map(|turns| parse_turns(turns.as_str().unwrap_or_default()));
    let base = RequestOptions { turns: turns.transpose()?.or(base.turns), ..base };
    let prompt = with_messages(with_system(prompt, system), messages.as_ref())?;
    let spec = choice.kind().spec();
    let made = match (&choice.template, &spec.translation) {
        (Some(template), _) => {
            let options = options::openai_options(base, options, choice.endpoint.is_openai());
            let made = choice.driver().format(&prompt, &options).map_err(module_error)?;
            let (body, more) = template.write_body(made.body())?;
            (body, made.notes().iter().cloned().chain(more).collect())
        }
        (None, None) => {
            let options = options::openai_options(base, options, choice.endpoint.is_openai());
            let made = choice.driver().format(&prompt, &options).map_err(module_error)?;
            let notes = made.notes().to_vec();
            (made.into_bytes(), notes)
        }
        (None, Some(translation)) => {
            let Translated { options, schema, fields } =
                options::translate_options(spec.name, translation, base, options)?;
            let prompt = with_schema(prompt, schema);
            let made = choice.driver().format(&prompt, &options).map_err(module_error)?;
            (merge_fields(made.body(), fields), made.notes().to_vec())
        }
    };
    Ok(ProviderRequest { choice: choice.clone(), body: made.0.into(), notes: made.1 })
}

/// Merges the options of the settings below those of the prompt and the call; returns them and the messages of the call.
fn merge_options(
    choice: &ChosenModel,
    base: &RequestOptions,
    options: &Map<String, Value>,
) -> (Map<String, Value>, Option<Value>) {
    let of_prompt = |key: &str| match key {
        "max_tokens" | "max_completion_tokens" => base.max_tokens.is_some(),
        "temperature" => base.temperature.is_some(),
        "top_p" => base.top_p.is_some(),
        "top_k" => base.top_k.is_some(),
        "stop" => !base.stop.is_empty(),
        "seed" => base.seed.is_some(),
        TURNS => base.turns.is_some(),
        _ => false,
    };
    let defaults = choice.options.iter().filter(|(key, _)| !of_prompt(key));
    let mut all: Map<String, Value> =
        defaults.chain(options).map(|(key, value)| (key.clone(), value.clone())).collect();
    if options.contains_key("max_tokens") || options.contains_key("max_completion_tokens") {
        // Both names mean the same; the name that the caller uses wins.
        all.retain(|key, _| !key.starts_with("max_") || options.contains_key(key));
    }
    // Clients send null for options that they do not set.
    all.retain(|key, value| !value.is_null() && !matches!(key.as_str(), "stream" | "model"));
    let messages = all.shift_remove("messages");
    (all, messages)
}

/// Adds the system text of the settings, if the prompt has no instructions.
fn with_system(prompt: Arc<CompiledPrompt>, system: Option<&str>) -> Arc<CompiledPrompt> {
    let is_rule =
        |element: &Element| matches!(element, Element::Message(message) if message.role() == Role::System);
    let has_rules = !prompt.instructions.is_empty() || prompt.elements().any(is_rule);
    let Some(text) = system.filter(|_| !has_rules) else { return prompt };
    let mut prompt = Arc::unwrap_or_clone(prompt);
    prompt.instructions.push(TextElement::new(text).into());
    Arc::new(prompt)
}

/// Adds the schema of the caller.
fn with_schema(prompt: Arc<CompiledPrompt>, schema: Option<Value>) -> Arc<CompiledPrompt> {
    let Some(schema) = schema else { return prompt };
    let mut prompt = Arc::unwrap_or_clone(prompt);
    prompt.schema = Some(Arc::new(schema));
    Arc::new(prompt)
}

/// Adds the messages of the caller, in the format of any provider.
fn with_messages(prompt: Arc<CompiledPrompt>, messages: Option<&Value>) -> Result<Arc<CompiledPrompt>> {
    let Some(messages) = messages else { return Ok(prompt) };
    let messages = read_messages(messages).map_err(|error| {
        validation_error(format!("invalid option `messages`: {error}"))
            .with_reason(Reason::Option)
            .with("option", "messages")
    })?;
    let mut prompt = Arc::unwrap_or_clone(prompt);
    prompt.output.extend(messages.into_iter().map(Element::Message));
    Ok(Arc::new(prompt))
}

/// Merges fields into a body.
fn merge_fields(body: &str, fields: RequestFields) -> Vec<u8> {
    if fields.is_empty() {
        return body.as_bytes().to_vec();
    }
    let mut all: Map<String, Value> = serde_json::from_str(body).unwrap_or_default();
    fields.merge_into(&mut all);
    Value::Object(all).to_string().into_bytes()
}
