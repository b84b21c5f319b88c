//! Answers that come piece by piece from a real server on this machine.

use crate::support::{llm, stream};
use fake_provider::{ANSWER, FakeProvider, Reply};
use futures_util::StreamExt as _;
use hinagata::{Code, Reason, Result};
use hinagata_llm::AnswerStream;
use serde_json::{Value, json};

/// Everything that comes, until an error.
async fn all(mut answer: AnswerStream) -> (String, Option<hinagata::Error>) {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.next().await {
        match piece {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(error) => return (String::from_utf8(bytes).expect("is text"), Some(error)),
        }
    }
    (String::from_utf8(bytes).expect("is text"), None)
}

/// The data of the events of a stream, but for the mark at its end.
fn chunks(text: &str) -> Vec<Value> {
    let events: Vec<&str> = text.split_terminator("\n\n").collect();
    let (end, events) = events.split_last().expect("has an end");
    assert_eq!(*end, "data: [DONE]");
    let data = |event: &&str| event.strip_prefix("data: ").expect("is data").to_owned();
    events.iter().map(data).map(|data| serde_json::from_str(&data).expect("is JSON")).collect()
}

#[tokio::test]
async fn every_provider_streams_chunks_of_openai() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    for model in ["m", "claude-x", "gemini-g", "ollama/o"] {
        let (text, error) = all(stream(&llm, model, json!({})).await.expect(model)).await;
        assert!(error.is_none(), "{model}: {error:?}");
        let chunks = chunks(&text);
        let said: String =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
        assert_eq!(said, ANSWER, "{model}");
        let last = chunks.last().expect("has one");
        assert_eq!(last["choices"][0]["finish_reason"], "stop", "{model}");
        assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"), "{model}");
        if model != "m" {
            assert_eq!(last["usage"]["total_tokens"], 7, "{model}");
            assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant", "{model}");
        }
        let texts: Vec<Result<String>> =
            stream(&llm, model, json!({})).await.expect(model).into_text().collect().await;
        let texts: Result<String> = texts.into_iter().collect();
        assert_eq!(texts.expect(model), ANSWER, "{model}");
    }
    let received = provider.received();
    assert!(
        received[0].body["stream"] == true
            && received[2].body["stream"] == true
            && received[6].body["stream"] == true
    );
    assert_eq!(received[4].path, "/models/gemini-g:streamGenerateContent?alt=sse");
}

#[tokio::test]
async fn what_comes_is_passed_on_at_once_and_unread() {
    let provider = FakeProvider::start();
    let odd = [
        "data: {\"of\": \"a stranger\"}\r\n\r\n",
        ": ping\n\ndata: half",
        " an event\n\n",
        "data: [DONE]\n\n",
    ];
    provider.reply(Reply::Steps(odd.map(str::to_owned).to_vec()));
    provider.step();
    let mut answer = stream(&llm(&provider), "m", json!({})).await.expect("begins");
    for (place, piece) in odd.iter().enumerate() {
        let came = answer.next().await.expect("there is more").expect("is fine");
        assert_eq!(&came[..], piece.as_bytes(), "the next is not sent before this was seen");
        if place + 1 < odd.len() {
            provider.step();
        }
    }
    assert!(answer.next().await.is_none());
}

#[tokio::test]
async fn a_stream_without_an_end_mark_gets_one() {
    for (sent, wanted) in
        [("data: {}\n\n", "data: {}\n\ndata: [DONE]\n\n"), ("data: {}", "data: {}\n\ndata: [DONE]\n\n")]
    {
        let provider = FakeProvider::start();
        provider.reply(Reply::Stream(vec![sent.to_owned()]));
        let (text, error) = all(stream(&llm(&provider), "m", json!({})).await.expect("begins")).await;
        assert_eq!((text.as_str(), error.is_none()), (wanted, true));
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_gives_one_piece() {
    let provider = FakeProvider::start();
    let call = json!({"id": "c", "function": {"name": "f"}});
    let llm = llm(&provider);
    provider.reply(Reply::Json(json!({"id": "1", "choices": [{"index": 0, "message": {"content": "Hi", "tool_calls": [call]}, "finish_reason": "stop"}]})));
    let (text, error) = all(stream(&llm, "m", json!({})).await.expect("begins")).await;
    assert!(error.is_none());
    let parts = chunks(&text);
    assert_eq!(parts[0]["choices"][0]["delta"]["content"], "Hi");
    assert_eq!(parts[0]["choices"][0]["delta"]["tool_calls"][0]["index"], 0);
    provider
        .reply(Reply::Json(json!({"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"})));
    let (text, _) = all(stream(&llm, "claude-x", json!({})).await.expect("begins")).await;
    assert_eq!(chunks(&text)[0]["choices"][0]["delta"]["content"], "Hi", "translated");
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_and_is_not_tried_again() {
    for (model, piece) in [
        ("m", "data: {\"choices\": []}\n\n"),
        (
            "claude-x",
            "data: {\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"type\": \"text_delta\", \"text\": \"a\"}}\n\n",
        ),
    ] {
        let provider = FakeProvider::start();
        provider.reply(Reply::BreakOff(vec![piece.to_owned()]));
        let (text, error) = all(stream(&llm(&provider), model, json!({})).await.expect("begins")).await;
        assert!(text.contains("data: ") && !text.contains("[DONE]"), "{text}");
        let error = error.expect("breaks off");
        assert_eq!((error.code(), error.reason()), (Code::Model, Some(Reason::Stream)));
        assert_eq!(provider.received().len(), 1);
    }
}

#[tokio::test]
async fn a_translated_stream_that_ends_too_early_is_an_error() {
    for (model, piece) in [
        ("claude-x", "data: {\"type\": \"ping\"}\n\n"),
        ("gemini-g", "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"a\"}]}}]}\n\n"),
        ("ollama/o", "{\"message\": {\"content\": \"a\"}, \"done\": false}\n"),
        ("ollama/o", "{\"message\": {\"content\": \"a\"}}\nrubbish\n"),
    ] {
        let provider = FakeProvider::start();
        provider.reply(Reply::Stream(vec![piece.to_owned()]));
        let (_, error) = all(stream(&llm(&provider), model, json!({})).await.expect("begins")).await;
        assert_eq!(error.expect(model).code(), Code::Model, "{model}");
    }
}

#[tokio::test]
async fn a_response_that_is_no_stream_is_an_error_before_the_stream_begins() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    for model in ["m", "claude-x", "gemini-g", "ollama/o"] {
        for reply in [
            Reply::page("<html>gateway</html>"),
            Reply::page(""),
            Reply::status(200, "[1, 2]"),
            Reply::status(200, ""),
            Reply::Stream(vec!["\n".to_owned(), "[1, 2]".to_owned()]),
            Reply::Stream(Vec::new()),
        ] {
            provider.reply(reply.clone());
            let error = stream(&llm, model, json!({})).await.expect_err("is no stream");
            assert_eq!(
                (error.code(), error.reason()),
                (Code::Model, Some(Reason::Answer)),
                "{model} {reply:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_told() {
    let cases = [
        ("m", "data: {\"error\": {\"message\": \"overloaded\"}}\n\ndata: [DONE]\n\n"),
        (
            "claude-x",
            "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"overloaded\"}}\n\n",
        ),
        ("ollama/o", "{\"error\": \"overloaded\"}\n"),
    ];
    for (model, piece) in cases {
        let provider = FakeProvider::start();
        provider.reply(Reply::Stream(vec![piece.to_owned()]));
        let texts: Vec<_> =
            stream(&llm(&provider), model, json!({})).await.expect("begins").into_text().collect().await;
        let error = texts.into_iter().last().expect("ends so").expect_err("is an error");
        assert!(error.to_string().contains("overloaded"), "{model}: {error}");
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_ends_the_call() {
    for model in ["m", "claude-x"] {
        let provider = FakeProvider::start();
        let piece =
            "data: {\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"text\": \"a\"}}\n\n";
        provider.reply(Reply::Hang(vec![piece.to_owned()]));
        let mut answer = stream(&llm(&provider), model, json!({})).await.expect("begins");
        answer.next().await.expect("there is one").expect("is fine");
        drop(answer);
        provider.wait_for_disconnect().await;
    }
}

#[tokio::test]
async fn a_stream_is_tried_again_before_it_begins() {
    let provider = FakeProvider::start();
    provider.reply(Reply::status(500, "")).reply(Reply::retry_after("0"));
    let (text, _) = all(stream(&llm(&provider), "m", json!({})).await.expect("the third begins")).await;
    assert!(text.ends_with("data: [DONE]\n\n"));
    assert_eq!(provider.received().len(), 3);
}

#[tokio::test]
async fn calls_of_tools_are_streamed_in_the_words_of_openai() {
    let anthropic = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t1", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a\""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ":1}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ];
    let anthropic: String = anthropic.iter().map(|event| format!("data: {event}\n\n")).collect();
    let part = json!({"functionCall": {"name": "f", "args": {"a": 1}, "id": "t1"}});
    let gemini = format!(
        "data: {}\n\n",
        json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})
    );
    let call = json!({"id": "t1", "function": {"name": "f", "arguments": {"a": 1}}});
    let ollama = format!(
        "{}\n",
        json!({"message": {"content": "", "tool_calls": [call]}, "done": true, "done_reason": "stop"})
    );
    for (model, sent) in [("claude-x", anthropic), ("gemini-g", gemini), ("ollama/o", ollama)] {
        let provider = FakeProvider::start();
        provider.reply(Reply::Stream(vec![sent]));
        let (text, error) = all(stream(&llm(&provider), model, json!({})).await.expect("begins")).await;
        assert!(error.is_none(), "{model}: {error:?}");
        let chunks = chunks(&text);
        let calls: Vec<&Value> =
            chunks.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0")).collect();
        assert_eq!((&calls[0]["id"], &calls[0]["function"]["name"]), (&json!("t1"), &json!("f")), "{model}");
        assert!(calls.iter().all(|call| call["index"] == 0), "{model}");
        let arguments: String =
            calls.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
        assert_eq!(arguments, "{\"a\":1}", "{model}");
        assert_eq!(chunks.last().expect("has one")["choices"][0]["finish_reason"], "tool_calls", "{model}");
    }
}
