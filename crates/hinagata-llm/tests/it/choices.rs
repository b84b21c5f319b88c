//! Which model a name stands for, and what settings may say about models.

use hinagata::{
    Code, Reason, Settings,
    settings::{SettingsFile, SettingsSources},
};
use hinagata_llm::Llm;
use serde_json::{Value, json};

use crate::support::{KEY, object, rendered, settings};

fn llm(flags: &[&str]) -> Llm {
    Llm::new(&settings(flags), keys).expect("are settings")
}

fn keys(name: &str) -> Option<std::ffi::OsString> {
    matches!(name, "OPENAI_API_KEY" | "MY_KEY").then(|| KEY.into())
}

#[test]
fn the_call_decides_then_the_prompt_then_the_settings() {
    let llm = llm(&["llm.model=third"]);
    let name = |asked, of_prompt| llm.choose_model(asked, of_prompt).expect("is one").model().to_owned();
    assert_eq!(name(Some("first"), Some("second")), "first");
    assert_eq!(name(None, Some("second")), "second");
    assert_eq!(name(Some(" "), None), "third", "a blank names none");
    let error = Llm::new(&Settings::default(), keys)
        .expect("is fine")
        .choose_model(None, None)
        .expect_err("no model");
    assert_eq!(
        (error.code(), error.http_status(), error.reason()),
        (Code::Validation, 400, Some(Reason::Model))
    );
}

#[test]
fn names_lead_to_providers() {
    let llm = llm(&[
        r#"models.fast={provider = "openai", model = "gpt-5-mini", aliases = ["quick"], options = {temperature = 0}}"#,
        r#"models.speedy="quick""#,
        r#"models.big="anthropic/claude-opus""#,
        r#"llm.providers.groq={kind = "openai", base_url = "https://groq.example/v1", key_env = "MY_KEY"}"#,
    ]);
    for (name, provider, model) in [
        ("fast", "openai", "gpt-5-mini"),
        ("quick", "openai", "gpt-5-mini"),
        ("speedy", "openai", "gpt-5-mini"),
        ("big", "anthropic", "claude-opus"),
        ("groq/llama/3", "groq", "llama/3"),
        ("claude-haiku", "anthropic", "claude-haiku"),
        ("gemini-pro", "gemini", "gemini-pro"),
        ("ollama/qwen3:8b", "ollama", "qwen3:8b"),
        ("deepseek/deepseek-v3", "openai", "deepseek/deepseek-v3"),
    ] {
        let choice = llm.choose_model(Some(name), None).expect(name);
        assert_eq!((choice.name(), choice.provider(), choice.model()), (name, provider, model));
    }
    let models = llm.models();
    let fast = models.models.iter().find(|model| model.name == "fast").expect("is there");
    assert_eq!((fast.aliases.join(","), fast.ready), ("quick,speedy".to_owned(), true));
    let big = models.models.iter().find(|model| model.name == "big").expect("is there");
    assert!(!big.ready, "there is no key");
    let ready: Vec<&str> =
        models.providers.iter().filter(|one| one.is_ready()).map(|one| one.name.as_str()).collect();
    assert_eq!(ready, ["groq", "ollama", "openai"]);
}

#[test]
fn a_provider_can_have_all_models_that_nobody_configured() {
    let llm = llm(&["llm.provider=ollama"]);
    assert_eq!(llm.choose_model(Some("claude-x"), None).expect("is one").kind().name(), "ollama");
}

#[test]
fn options_of_a_model_count_below_those_of_the_call() {
    let llm =
        llm(&[r#"models.fast={model = "m", options = {temperature = 0, max_tokens = 5, top_p = 0.5}}"#]);
    let choice = llm.choose_model(Some("fast"), None).expect("is one");
    let request = |options: Value| {
        let request = llm.build_request(&choice, &rendered(), &object(options)).expect("is one");
        serde_json::from_slice::<Value>(&request.body(false)).expect("is JSON")
    };
    let body = request(json!({"temperature": 1, "max_completion_tokens": 7, "top_p": null}));
    assert_eq!((&body["temperature"], &body["max_completion_tokens"]), (&json!(1), &json!(7)));
    assert!(body.get("max_tokens").is_none() && body.get("top_p").is_none());
    let body = request(json!({}));
    assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(0), &json!(5)));
}

#[test]
fn wrong_settings_are_told_with_their_names() {
    for (flag, told) in [
        (r#"models.x={provider = "opnai"}"#, "opnai"),
        (r#"models.x={modle = "a"}"#, "models.x"),
        (r#"models.x={api_key = "sk-very-secret"}"#, "environment"),
        (r#"llm.providers.x={base_url = "http://h"}"#, "llm.providers.x"),
        (r#"llm.providers.openai={base_url = "nowhere"}"#, "base_url"),
        ("llm.provider=nobody", "nobody"),
        ("llm.retries=soon", "soon"),
    ] {
        let error = Llm::new(&settings(&[flag]), keys).expect_err(flag);
        assert_eq!((error.code(), error.exit_code()), (Code::Definition, 2), "{flag}");
        assert!(error.to_string().contains(told), "{error}");
        assert!(!format!("{error:?}").contains("sk-very-secret"), "{error:?}");
    }
    let llm = llm(&[r#"models.a="b""#, r#"models.b="a""#]);
    assert!(llm.choose_model(Some("a"), None).is_err(), "they stand for each other");
    assert!(llm.models().models.is_empty(), "and are no models");
}

#[test]
fn a_workspace_that_is_not_trusted_decides_nothing_about_models() {
    let text = r#"
[llm]
model = "evil"
provider = "evil"
[llm.providers.openai]
base_url = "http://evil.example/v1"
key_env = "OPENAI_API_KEY"
[models.gpt-5]
base_url = "http://evil.example/v1"
key_env = "OPENAI_API_KEY"
"#;
    let sources = || SettingsSources {
        workspace: Some(SettingsFile { name: "hinagata.toml".to_owned(), text: text.to_owned() }),
        ..SettingsSources::default()
    };
    let settings = Settings::resolve(&sources(), false).expect("are settings");
    assert!(settings.diagnostics().len() >= 4, "each is told of");
    let llm = Llm::new(&settings, keys).expect("are settings");
    let choice = llm.choose_model(Some("gpt-5"), None).expect("is one");
    let request = llm.build_request(&choice, &rendered(), &object(json!({}))).expect("is one");
    assert_eq!(request.url(false).as_str(), "https://api.openai.com/v1/chat/completions");
    assert!(llm.choose_model(None, None).is_err());
}

#[test]
fn fallbacks_exist_have_known_causes_and_lead_back_to_no_model() {
    let chain = |flags: &[&str]| -> Vec<String> {
        let llm = llm(flags);
        let first = llm.choose_model(Some("a"), None).expect("is one");
        let models = llm.fallback_chain(&first).expect("all exist");
        models.iter().map(|model| model.name().to_owned()).collect()
    };
    let a = r#"models.a={provider = "openai", fallback = ["b", "anthropic/c"]}"#;
    let b = r#"models.b={provider = "openai", fallback = ["d"]}"#;
    assert_eq!(chain(&[a, b]), ["a", "b", "d", "anthropic/c"]);
    let fails = |flags: &[&str]| Llm::new(&settings(flags), keys).expect_err("is wrong").message().to_owned();
    let back = r#"models.b={provider = "openai", fallback = ["a"]}"#;
    assert!(fails(&[a, back]).contains("lead back to it"));
    let cause = r#"models.a={provider = "openai", fallback = ["x"], fallback_on = ["4xx"]}"#;
    assert!(fails(&[cause]).contains("unknown cause `4xx`"));
}
