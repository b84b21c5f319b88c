//! Processes on models, over real HTTP on this machine.
#![cfg(feature = "llm")]

use std::sync::Mutex;

use fake_provider::{ANSWER, FakeProvider, Reply};
use hinagata::{Reason, Settings, module::PromptModule, settings::SettingsSources, tokens::TokenCounter};
use hinagata_llm::Llm;
use hinagata_process::{Ask as _, Chunk, Concat, Event, LlmModel, Process, Running};
use serde_json::{Map, Value, json};

fn model(provider: &FakeProvider, name: &str) -> LlmModel {
    let flags = vec!["llm.retries=1ms".to_owned()];
    let settings = Settings::resolve(&SettingsSources { flags, ..SettingsSources::default() }, false);
    let (url, base_url) = (provider.url(), provider.base_url());
    let env = move |name: &str| match name {
        "OPENAI_BASE_URL" => Some(base_url.clone().into()),
        "ANTHROPIC_BASE_URL" | "GEMINI_BASE_URL" | "OLLAMA_HOST" => Some(url.clone().into()),
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" | "GEMINI_API_KEY" => Some("sk-1".into()),
        _ => None,
    };
    let llm = Llm::new(&settings.expect("are settings"), env).expect("are settings");
    let choice = llm.choose_model(Some(name), None).expect("is a model");
    LlmModel::new(llm, choice, Map::new())
}

fn process(texts: &[&str]) -> Process {
    Concat::new(texts.iter().map(|text| Chunk::new("t", *text)).collect()).into()
}

fn module() -> PromptModule<Value> {
    PromptModule::new().objective("Shorten.").chunks(|context: &Value| {
        context.pointer("/chunks/0/content").and_then(Value::as_str).map(str::to_owned)
    })
}

#[tokio::test]
async fn every_provider_answers_piece_by_piece() {
    let provider = FakeProvider::start();
    for name in ["m", "anthropic/m", "gemini/m", "ollama/m"] {
        let pieces = Mutex::new(Vec::new());
        let watch = |event: Event<'_>| {
            if let Event::Piece(_, text) = event {
                pieces.lock().expect("is whole").push(text.to_owned());
            }
        };
        let (model, module) = (model(&provider, name), module());
        let outcome =
            process(&["x"]).run_calls(&Running::new(&module, &model, &watch)).await.expect("succeeds");
        assert_eq!(outcome.output, ANSWER, "{name}");
        assert_eq!(pieces.into_inner().expect("is whole"), ["Hello", " from", " afar!"], "{name}");
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_no_result() {
    let provider = FakeProvider::start();
    let chunk = json!({"choices": [{"delta": {"content": "half"}, "finish_reason": "length"}]});
    provider
        .reply(Reply::Canned)
        .reply(Reply::Stream(vec![format!("data: {chunk}\n\n"), "data: [DONE]\n\n".into()]));
    let (model, module, mut process) = (model(&provider, "m"), module(), process(&["x", "y"]));
    let failed =
        process.run_calls(&Running::new(&module, &model, &|_: Event<'_>| ())).await.expect_err("is cut");
    assert_eq!((failed.error.reason(), failed.partial.as_str()), (Some(Reason::Finish), ANSWER));
    let outcome =
        process.run_calls(&Running::new(&module, &model, &|_: Event<'_>| ())).await.expect("succeeds");
    assert_eq!(outcome.output, format!("{ANSWER}\n{ANSWER}"));
    let asked = provider.received();
    assert!(
        asked[1].body.to_string().contains('y') && asked[1].body == asked[2].body,
        "only the second is asked again"
    );
}

#[tokio::test]
async fn dropping_a_run_ends_the_call_and_keeps_the_answers() {
    let provider = FakeProvider::start();
    provider.reply(Reply::Canned).reply(Reply::Hang(Vec::new()));
    let (model, module, mut process) = (model(&provider, "m"), module(), process(&["x", "y"]));
    let watch = |_: Event<'_>| ();
    let running = Running::new(&module, &model, &watch);
    tokio::select! {
        _ = process.run_calls(&running) => panic!("the second answer never comes"),
        () = provider.wait_for_requests(2) => {}
    }
    provider.wait_for_disconnect().await;
    assert_eq!(process.partial_output(), ANSWER);
}

#[tokio::test]
async fn tokens_are_marked_where_they_are_estimated() {
    let provider = FakeProvider::start();
    assert!(model(&provider, "anthropic/m").count_tokens("hello world").is_estimated());
    let counter = TokenCounter::for_model("gpt-4o");
    let counted = model(&provider, "gpt-4o").count_tokens("hello world");
    assert_eq!(counted, counter.count_tokens("hello world"));
    let other = model(&provider, "m").with_counter(counter);
    assert_eq!(other.count_tokens("hello world"), counted);
}
