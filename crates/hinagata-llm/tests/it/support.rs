//! What the tests of calls share: settings, a provider, prompts.

use std::{collections::HashMap, ffi::OsString, time::Instant};

use fake_provider::FakeProvider;
use hinagata::{Engine, Rendered, Request, Result, Settings, settings::SettingsSources};
use hinagata_llm::{AnswerStream, Llm};
use serde_json::{Map, Value, json};

/// The key that must be seen nowhere but in the header of a request.
pub(crate) const KEY: &str = "sk-very-secret-1234";

/// Settings with these flags.
pub(crate) fn settings(flags: &[&str]) -> Settings {
    let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
    Settings::resolve(&SettingsSources { flags, ..SettingsSources::default() }, false).expect("are settings")
}

/// Models at `provider`, in every language; retries wait for no time to speak of.
pub(crate) fn llm_with(provider: &FakeProvider, flags: &[&str]) -> Llm {
    llm_at(provider, flags, Instant::now)
}

/// As [`llm_with`], with a clock.
pub(crate) fn llm_at(
    provider: &FakeProvider,
    flags: &[&str],
    clock: impl Fn() -> Instant + Send + Sync + 'static,
) -> Llm {
    let (url, base_url) = (provider.url(), provider.base_url());
    let mut all = vec!["llm.retries=1ms, 1ms", "llm.timeout=20s"];
    all.extend(flags);
    let env = move |name: &str| match name {
        "OPENAI_BASE_URL" => Some(base_url.clone().into()),
        "ANTHROPIC_BASE_URL" | "GEMINI_BASE_URL" | "OLLAMA_HOST" => Some(url.clone().into()),
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" | "GEMINI_API_KEY" => Some(KEY.into()),
        _ => None,
    };
    Llm::with_clock(&settings(&all), env, clock).expect("are settings")
}

/// Models of the settings in `flags`, in an environment of these variables only.
pub(crate) fn llm_in(flags: &[&str], env: &[(&str, &str)]) -> Llm {
    let env: HashMap<String, OsString> =
        env.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
    Llm::new(&settings(flags), move |name| env.get(name).cloned()).expect("are settings")
}

/// As [`llm_with`] without more flags.
pub(crate) fn llm(provider: &FakeProvider) -> Llm {
    llm_with(provider, &[])
}

/// A prompt that is a text.
pub(crate) fn rendered() -> Rendered {
    let engine = Engine::open("no/such/workspace");
    let variables = json!({"task": "Paint the tower"});
    engine
        .render_blocking(&Request::new("planning_task_decomposition").with_variables(&variables))
        .expect("is built in")
}

/// An object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// Asks `model`, with options.
pub(crate) async fn chat(llm: &Llm, model: &str, options: Value) -> Result<hinagata_llm::Answer> {
    let choice = llm.choose_model(Some(model), None)?;
    llm.send_chat(llm.build_request(&choice, &rendered(), &object(options))?).await
}

/// Asks `model` for a stream.
pub(crate) async fn stream(llm: &Llm, model: &str, options: Value) -> Result<AnswerStream> {
    let choice = llm.choose_model(Some(model), None)?;
    llm.stream_chat(llm.build_request(&choice, &rendered(), &object(options))?).await
}
