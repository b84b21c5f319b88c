//! Calls of a real server on this machine: what is sent, what is tried again, what comes back.

use crate::support::{KEY, chat, llm, llm_with};
use fake_provider::{ANSWER, FakeProvider, Reply};
use hinagata::{
    Code, Reason,
    module::Message,
    ports::{Model as _, ModelRequest},
};
use hinagata_llm::ProviderFailure;
use serde_json::{Value, json};

const MODELS: [&str; 4] = ["openai/m", "anthropic/claude-x", "gemini/g", "ollama/o"];

#[tokio::test]
async fn every_provider_answers_in_its_own_language() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    for model in MODELS {
        let answer = chat(&llm, model, json!({})).await.expect(model);
        assert_eq!(answer.text().expect(model), ANSWER, "{model}");
        let completion: Value = serde_json::from_slice(&answer.to_openai()).expect("is JSON");
        assert_eq!(completion["object"], "chat.completion", "{model}");
        assert_eq!(completion["choices"][0]["message"]["content"], ANSWER, "{model}");
        assert_eq!(completion["choices"][0]["finish_reason"], "stop", "{model}");
        assert_eq!(completion["usage"]["total_tokens"], 7, "{model}");
        if model != "openai/m" {
            let raw: Value = serde_json::from_slice(answer.raw()).expect("is JSON");
            assert_eq!(completion["provider_answer"], raw, "the whole answer is there: {model}");
        }
    }
    let received = provider.received();
    let paths: Vec<&str> = received.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["/v1/chat/completions", "/v1/messages", "/models/g:generateContent", "/api/chat"]);
    assert_eq!(received[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(received[1].header("x-api-key"), Some(KEY));
    assert_eq!(received[1].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(received[2].header("x-goog-api-key"), Some(KEY));
    assert_eq!(received[3].header("authorization"), None, "ollama needs no key");
    assert_eq!(received[3].body["stream"], false);
}

#[tokio::test]
async fn a_text_prompt_is_one_message_of_the_user() {
    let provider = FakeProvider::start();
    chat(&llm(&provider), "m", json!({})).await.expect("answers");
    let body = &provider.received()[0].body;
    assert_eq!(body["model"], "m");
    let messages = body["messages"].as_array().expect("is a list");
    assert_eq!((messages.len(), &messages[0]["role"]), (1, &json!("user")));
    assert!(messages[0]["content"].as_str().expect("is a text").contains("Paint the tower"));
    assert!(body.get("stream").is_none());
}

#[tokio::test]
async fn the_settings_can_give_rules_to_prompts_without() {
    let provider = FakeProvider::start();
    let llm = llm_with(&provider, &["llm.system=Be brief."]);
    chat(&llm, "m", json!({})).await.expect("answers");
    chat(&llm, "claude-x", json!({})).await.expect("answers");
    let received = provider.received();
    assert_eq!(received[0].body["messages"][0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!(received[1].body["system"][0]["text"], "Be brief.");
}

#[tokio::test]
async fn options_are_sent_and_zero_is_one() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    let options = json!({
        "temperature": 0, "max_tokens": 9, "stop": ["x"], "seed": 0, "top_p": null,
        "of_a_stranger": {"a": [1, null]}, "stream": true, "model": "other",
    });
    for model in MODELS {
        chat(&llm, model, options.clone()).await.expect(model);
    }
    let received = provider.received();
    let openai = &received[0].body;
    for (key, value) in [
        ("temperature", json!(0)),
        ("max_tokens", json!(9)),
        ("stop", json!(["x"])),
        ("seed", json!(0)),
        ("model", json!("m")),
    ] {
        assert_eq!(openai[key], value, "{key}");
    }
    assert!(openai.get("top_p").is_none() && openai.get("stream").is_none());
    assert_eq!(received[1].body["temperature"], json!(0));
    assert_eq!(received[1].body["max_tokens"], 9);
    assert_eq!(received[1].body["stop_sequences"], json!(["x"]));
    assert_eq!(
        received[2].body["generationConfig"],
        json!({"maxOutputTokens": 9, "temperature": 0, "stopSequences": ["x"], "seed": 0})
    );
    assert_eq!(
        received[3].body["options"],
        json!({"num_predict": 9, "temperature": 0, "stop": ["x"], "seed": 0})
    );
    assert!(received.iter().all(|one| one.body["of_a_stranger"] == json!({"a": [1, null]})));
}

#[tokio::test]
async fn messages_of_the_call_follow_those_of_the_prompt() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    let options = json!({"messages": [
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
        {"role": "user", "content": "And now?", "own": true},
    ]});
    chat(&llm, "m", options.clone()).await.expect("answers");
    chat(&llm, "claude-x", options).await.expect("answers");
    let received = provider.received();
    let messages = received[0].body["messages"].as_array().expect("is a list");
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[3], json!({"role": "user", "content": "And now?", "own": true}), "as it is");
    let messages = received[1].body["messages"].as_array().expect("is a list");
    assert_eq!(messages[1]["content"][0]["type"], "tool_use");
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "c");
    assert_eq!(messages[2]["content"][1]["text"], "And now?");
    let error =
        chat(&llm, "claude-x", json!({"messages": [{"role": "judge"}]})).await.expect_err("is no role");
    assert_eq!(error.code(), Code::Validation);
}

#[tokio::test]
async fn what_passes_is_asked_again_twice() {
    for status in [429, 500, 503] {
        let provider = FakeProvider::start();
        provider.reply(Reply::status(status, "busy")).reply(Reply::status(status, "busy"));
        let answer = chat(&llm(&provider), "m", json!({})).await.expect("the third answers");
        assert_eq!((answer.text().expect("is one").as_str(), provider.received().len()), (ANSWER, 3));
    }
}

#[tokio::test]
async fn after_the_last_attempt_the_error_tells_what_the_provider_said() {
    let provider = FakeProvider::start();
    for _ in 0..3 {
        provider.reply(Reply::status(503, r#"{"error": {"message": "all engines\nare busy"}}"#));
    }
    let error = chat(&llm(&provider), "m", json!({})).await.expect_err("fails");
    assert_eq!((error.code(), error.http_status(), error.exit_code()), (Code::Model, 502, 5));
    assert_eq!(error.details()["provider_status"], 503);
    assert_eq!(error.details()["provider_message"], "all engines are busy");
    assert_eq!(error.details()["attempts"], 3);
    assert_eq!(provider.received().len(), 3);
    let failure = ProviderFailure::from_error(&error).expect("is kept");
    assert_eq!(failure.status, 503);
    assert!(failure.body.starts_with(br#"{"error": {"#) && failure.content_type.is_some());
}

#[tokio::test]
async fn what_the_caller_did_wrong_is_not_asked_again() {
    for status in [400, 401, 403, 404, 422, 302] {
        let provider = FakeProvider::start();
        provider.reply(Reply::Status {
            status,
            headers: vec![("location".to_owned(), provider.url())],
            body: "no".to_owned(),
        });
        let error = chat(&llm(&provider), "m", json!({})).await.expect_err("fails");
        assert_eq!((error.code(), &error.details()["provider_status"]), (Code::Model, &json!(status)));
        assert_eq!(provider.received().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_wait_that_is_too_long_ends_the_retries() {
    let provider = FakeProvider::start();
    provider.reply(Reply::retry_after("3"));
    let error = chat(&llm(&provider), "m", json!({})).await.expect_err("fails");
    assert_eq!(
        (&error.details()["attempts"], &error.details()["provider_message"]),
        (&json!(1), &json!("slow down"))
    );
    assert_eq!(error.details()["retry_after"], 3);

    provider.reply(Reply::retry_after("0")).reply(Reply::retry_after("0"));
    chat(&llm(&provider), "m", json!({})).await.expect("short waits are waited for");
    assert_eq!(provider.received().len(), 4);
}

#[tokio::test]
async fn the_policy_is_a_setting() {
    let provider = FakeProvider::start();
    provider.reply(Reply::status(500, ""));
    let llm = llm_with(&provider, &["llm.retries="]);
    assert!(chat(&llm, "m", json!({})).await.is_err());
    assert_eq!(provider.received().len(), 1);
}

#[tokio::test]
async fn nobody_there_is_tried_three_times() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    drop(provider);
    let error = chat(&llm, "m", json!({})).await.expect_err("nobody is there");
    assert_eq!((error.code(), error.reason()), (Code::Model, Some(Reason::Connect)));
    assert_eq!(error.details()["attempts"], 3);
    assert!(error.hint().expect("has one").to_string().contains("OPENAI_BASE_URL"), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_asked_for_again() {
    let provider = FakeProvider::start();
    provider.reply(Reply::BreakOff(vec!["{\"id\":".to_owned()]));
    let error = chat(&llm(&provider), "m", json!({})).await.expect_err("breaks off");
    assert_eq!((error.code(), error.reason()), (Code::Model, Some(Reason::Stream)));
    assert_eq!(provider.received().len(), 1);
}

#[tokio::test]
async fn an_answer_is_passed_on_byte_by_byte() {
    let provider = FakeProvider::start();
    let whole = json!({"choices": [{"message": {"content": null, "tool_calls": [{"id": "x"}]}}], "usage": {"a": 1}, "new": [1.50]});
    provider.reply(Reply::Json(whole.clone()));
    let llm = llm(&provider);
    let answer = chat(&llm, "m", json!({})).await.expect("answers");
    assert_eq!(answer.to_openai(), whole.to_string().as_bytes());
    assert_eq!(answer.text().expect("has none"), "");
}

#[tokio::test]
async fn a_response_that_is_no_answer_is_an_error_also_with_status_200() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    let quoted = r#"{"error": {"message": "no credit"}}"#;
    for model in MODELS {
        for (reply, said) in [
            (Reply::page("<html>gateway</html>"), Some("<html>gateway</html>")),
            (Reply::status(200, "[1, 2]"), Some("[1, 2]")),
            (Reply::status(200, "[[]]"), Some("[[]]")),
            (Reply::status(200, "null"), Some("null")),
            (Reply::status(200, quoted), Some("no credit")),
            (Reply::status(200, ""), None),
        ] {
            provider.reply(reply.clone());
            let error = chat(&llm, model, json!({})).await.expect_err("is no answer");
            assert_eq!(
                (error.code(), error.reason()),
                (Code::Model, Some(Reason::Answer)),
                "{model} {reply:?}"
            );
            assert_eq!(error.details().get("provider_message").and_then(Value::as_str), said, "{model}");
        }
    }
    assert_eq!(provider.received().len(), 6 * MODELS.len(), "it is not asked again");
}

#[tokio::test]
async fn a_connection_that_is_closed_before_the_answer_is_replaced_once() {
    let provider = FakeProvider::start();
    let llm = llm_with(&provider, &["llm.retries="]);
    for round in 1..=3 {
        chat(&llm, "m", json!({})).await.expect("answers");
        provider.reply(Reply::Close);
        let answer = chat(&llm, "m", json!({})).await.expect("the new connection answers");
        assert_eq!(answer.text().expect("is one"), ANSWER, "round {round}");
        assert_eq!(provider.received().len(), 3 * round);
    }
    provider.reply(Reply::Close);
    let stream = crate::support::stream(&llm, "m", json!({})).await;
    stream.expect("a stream begins on the new connection");
}

#[tokio::test]
async fn a_provider_that_closes_every_connection_is_not_asked_forever() {
    let provider = FakeProvider::start();
    provider.reply(Reply::Close).reply(Reply::Close);
    let error = chat(&llm(&provider), "m", json!({})).await.expect_err("fails");
    assert_eq!((error.reason(), &error.details()["attempts"]), (Some(Reason::Request), &json!(1)));
    assert_eq!((provider.received().len(), provider.connections()), (2, 2), "each request had its own");
}

#[tokio::test]
async fn a_closed_connection_does_not_count_as_an_attempt() {
    let provider = FakeProvider::start();
    provider.reply(Reply::Close).reply(Reply::status(500, "")).reply(Reply::status(500, ""));
    chat(&llm(&provider), "m", json!({})).await.expect("the third attempt answers");
    assert_eq!(provider.received().len(), 4);
}

#[tokio::test]
async fn an_answer_has_a_size_and_a_time() {
    let provider = FakeProvider::start();
    let small = llm_with(&provider, &["llm.max_answer=10"]);
    assert_eq!(chat(&small, "m", json!({})).await.expect_err("is long").reason(), Some(Reason::Size));
    let hasty = llm_with(&provider, &["llm.timeout=1ms"]);
    provider.reply(Reply::Silence);
    let error = chat(&hasty, "m", json!({})).await.expect_err("does not come");
    assert_eq!((error.code(), error.reason()), (Code::Model, Some(Reason::Timeout)));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_ends() {
    let provider = FakeProvider::start();
    provider.reply(Reply::Silence);
    let llm = llm(&provider);
    tokio::select! {
        _ = chat(&llm, "m", json!({})) => panic!("it never answers"),
        () = provider.wait_for_requests(1) => {}
    }
    provider.wait_for_disconnect().await;
}

#[tokio::test]
async fn a_key_is_in_no_error_and_no_debug() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    let mut seen = format!("{llm:?}{:?}", llm.models());
    for model in MODELS {
        let body = format!(r#"{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}"#);
        provider.reply(Reply::status(401, &body));
        let choice = llm.choose_model(Some(model), None).expect("is one");
        let request = llm
            .build_request(&choice, &crate::support::rendered(), &crate::support::object(json!({})))
            .expect("is one");
        seen += &format!("{choice:?}{request:?}");
        let error = llm.send_chat(request).await.expect_err("fails");
        let failure = ProviderFailure::from_error(&error).expect("is kept");
        seen += &format!("{error}{error:?}{failure}{failure:?}{:?}", error.details());
        // Ollama was given none, and what it invents is not ours to hide.
        if model == "ollama/o" {
            continue;
        }
        assert!(!seen.contains(KEY), "{model}: {seen}");
        assert!(seen.contains("•••"), "{model}: {seen}");
    }
}

#[tokio::test]
async fn the_engine_asks_models_from_any_thread() {
    let provider = FakeProvider::start();
    let llm = llm_with(&provider, &["llm.model=m", "hooks.max_tokens=7"]);
    let request = |max_tokens| ModelRequest {
        messages: vec![Message::system("Be kind."), Message::user("Hi")],
        model: None,
        max_tokens,
        schema: None,
    };
    let requests = [request(Some(5)), request(Some(9)), request(None)];
    // A thread that knows no runtime, as that of a hook.
    let said = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime without timers");
        requests.map(|request| runtime.block_on(llm.call_model(request)).expect("answers"))
    });
    assert_eq!(said.join().expect("does not panic"), [ANSWER; 3].map(Value::from));
    let received = provider.received();
    let limits: Vec<&Value> = received.iter().map(|one| &one.body["max_tokens"]).collect();
    assert_eq!(limits, [5, 7, 7], "a hook gets no more than the settings say");
    let body = &received[0].body;
    assert_eq!(
        body["messages"],
        json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}])
    );
}
