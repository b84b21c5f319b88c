//! Models with a chat template: they are sent the text that they continue.

use std::fs;

use crate::support::{chat, llm_with, settings, stream};
use fake_provider::{FakeProvider, Reply};
use futures_util::StreamExt as _;
use hinagata::{Code, Result};
use hinagata_llm::Llm;
use serde_json::{Value, json};

const TEMPLATE: &str = "{{ bos_token }}{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}\
                        {% if tools %}[{{ tools[0].function.name }}]{% endif %}<assistant>";

/// A directory of a model, and the flags of a model that uses it.
fn model() -> (tempfile::TempDir, Vec<String>) {
    let place = tempfile::tempdir().expect("a directory");
    let config = json!({"chat_template": TEMPLATE, "bos_token": "<s>"});
    fs::write(place.path().join("tokenizer_config.json"), config.to_string()).expect("written");
    let path = place.path().display();
    let flag = format!(r#"models.local={{provider = "openai", model = "m", chat_template = "{path}"}}"#);
    (place, vec![flag])
}

fn completion(text: &str) -> Reply {
    let answer = json!({
        "id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "text": text, "finish_reason": "stop", "logprobs": null}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    });
    Reply::status(200, &answer.to_string())
}

#[tokio::test]
async fn a_model_with_a_chat_template_is_sent_a_text() {
    let (_place, flags) = model();
    let provider = FakeProvider::start();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let llm = llm_with(&provider, &flags);
    provider.reply(completion("Hello")).reply(completion("Again"));
    let answer = chat(&llm, "local", json!({"max_tokens": 9, "temperature": 0})).await.expect("answers");
    assert_eq!(answer.text().expect("is a text"), "Hello");
    let completion: Value = serde_json::from_slice(&answer.to_openai()).expect("is JSON");
    assert_eq!(completion["choices"][0]["message"], json!({"role": "assistant", "content": "Hello"}));
    assert_eq!(
        (&completion["object"], &completion["usage"]["total_tokens"]),
        (&json!("chat.completion"), &json!(7))
    );
    let tool = json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}});
    let more = json!([{"role": "assistant", "content": "<s>"}]);
    chat(&llm, "local", json!({"tools": [tool], "messages": more})).await.expect("answers");
    let received = provider.received();
    let (first, second) = (&received[0], &received[1]);
    assert_eq!(first.path, "/v1/completions");
    assert_eq!((&first.body["max_tokens"], &first.body["temperature"]), (&json!(9), &json!(0)));
    assert!(first.body.get("messages").is_none(), "{}", first.body);
    let prompt = first.body["prompt"].as_str().expect("is a text");
    assert!(prompt.starts_with("<s><user>") && prompt.ends_with("<assistant>"), "{prompt}");
    let prompt = second.body["prompt"].as_str().expect("is a text");
    assert!(prompt.ends_with("<assistant><s>[look]<assistant>"), "{prompt}");
    assert!(second.body.get("tools").is_none(), "{}", second.body);
}

#[tokio::test]
async fn its_answer_streams_as_a_chat() {
    let (_place, flags) = model();
    let provider = FakeProvider::start();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let llm = llm_with(&provider, &flags);
    let piece = |text: &str, reason: Value| {
        let choice = json!({"index": 0, "text": text, "finish_reason": reason});
        format!(
            "data: {}\n\n",
            json!({"id": "cmpl-1", "object": "text_completion", "model": "m", "choices": [choice]})
        )
    };
    let pieces = vec![piece("Hel", Value::Null), piece("lo", Value::Null), piece("", json!("stop"))];
    provider.reply(Reply::Stream(pieces.into_iter().chain(["data: [DONE]\n\n".to_owned()]).collect()));
    let texts: Vec<Result<String>> =
        stream(&llm, "local", json!({})).await.expect("streams").into_text().collect().await;
    assert_eq!(texts.into_iter().collect::<Result<String>>().expect("is fine"), "Hello");
    assert_eq!(provider.received()[0].body["stream"], true);
}

#[tokio::test]
async fn a_template_that_cannot_be_used_is_told() {
    let provider = FakeProvider::start();
    let flag = r#"models.local={provider = "openai", chat_template = "no/such/model"}"#;
    let llm = llm_with(&provider, &[flag]);
    let error = chat(&llm, "local", json!({})).await.expect_err("has no template");
    assert_eq!(error.code(), Code::Definition);
    assert!(error.message().contains("`no/such/model`"), "{}", error.message());
    let flag = r#"models.local={provider = "anthropic", chat_template = "x"}"#;
    let error = Llm::new(&settings(&[flag]), |_| None).expect_err("is refused");
    assert!(error.message().contains("no completion endpoint"), "{}", error.message());
}
