//! How requests and answers travel: connections, proxies, compression. TLS needs certificates that the process trusts: see
//! the tests of `hina chat`.

use std::io::Write as _;

use crate::support::{KEY, chat, llm, llm_in, stream};
use fake_provider::{ANSWER, FakeProvider, Reply};
use flate2::{Compression, write::GzEncoder};
use futures_util::TryStreamExt as _;
use hinagata::Reason;
use serde_json::json;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("is memory");
    encoder.finish().expect("is memory")
}

#[tokio::test]
async fn calls_use_a_connection_again() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    for _ in 0..3 {
        chat(&llm, "m", json!({})).await.expect("answers");
        let pieces: Vec<_> =
            stream(&llm, "m", json!({})).await.expect("begins").try_collect().await.expect("ends");
        assert!(!pieces.is_empty());
    }
    assert_eq!((provider.received().len(), provider.connections()), (6, 1));
    let agent = format!("hinagata/{}", env!("CARGO_PKG_VERSION"));
    assert!(provider.received().iter().all(|one| one.header("user-agent") == Some(&agent)));
}

#[tokio::test]
async fn a_compressed_answer_is_decompressed() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    let answer = json!({"choices": [{"message": {"content": "é".repeat(100_000)}}]}).to_string();
    provider.reply(Reply::Encoded { encoding: "gzip", body: gzip(&answer) });
    assert_eq!(chat(&llm, "m", json!({})).await.expect("answers").raw(), answer.as_bytes());

    let piece = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": ANSWER}}]}));
    provider.reply(Reply::Encoded { encoding: "x-gzip", body: gzip(&format!("{piece}data: [DONE]\n\n")) });
    let text = stream(&llm, "m", json!({})).await.expect("begins").into_text();
    assert_eq!(text.try_collect::<String>().await.expect("ends"), ANSWER);
    assert!(
        provider.received().iter().all(|one| one.header("accept-encoding").is_none()),
        "nobody asked for it"
    );
}

#[tokio::test]
async fn a_compressed_answer_is_limited_by_what_it_becomes() {
    let provider = FakeProvider::start();
    let small = crate::support::llm_with(&provider, &["llm.max_answer=100000"]);
    provider.reply(Reply::Encoded { encoding: "gzip", body: gzip(&" ".repeat(10_000_000)) });
    let error = chat(&small, "m", json!({})).await.expect_err("is long");
    assert_eq!(error.reason(), Some(Reason::Size));
    let mut half = gzip(&"x".repeat(1000));
    half.truncate(half.len() / 2);
    provider.reply(Reply::Encoded { encoding: "gzip", body: half });
    let error = chat(&small, "m", json!({})).await.expect_err("ends early");
    assert_eq!(error.reason(), Some(Reason::Stream));
}

#[tokio::test]
async fn an_unknown_compression_is_named() {
    let provider = FakeProvider::start();
    let llm = llm(&provider);
    provider.reply(Reply::Encoded { encoding: "br", body: vec![1, 2, 3] });
    let error = chat(&llm, "m", json!({})).await.expect_err("cannot be read");
    assert_eq!(error.reason(), Some(Reason::Answer));
    assert!(error.to_string().contains("compressed with `br`"), "{error}");
    provider.reply(Reply::Encoded { encoding: "zstd", body: vec![1, 2, 3] });
    assert!(stream(&llm, "m", json!({})).await.is_err());
    let answer = json!({"choices": []}).to_string().into_bytes();
    provider.reply(Reply::Encoded { encoding: "identity", body: answer });
    chat(&llm, "m", json!({})).await.expect("is not compressed");
}

#[tokio::test]
async fn a_proxy_gets_whole_addresses_and_its_credentials() {
    let proxy = FakeProvider::start();
    let address = proxy.url().replace("http://", "http://me:p%40ss@");
    let env = [("OPENAI_BASE_URL", "http://model.example:8080/v1"), ("OPENAI_API_KEY", KEY)];
    let llm = llm_in(&[], &[env[0], env[1], ("HTTP_PROXY", &address)]);
    for _ in 0..2 {
        chat(&llm, "m", json!({})).await.expect("the proxy answers");
    }
    let received = proxy.received();
    assert_eq!((received.len(), proxy.connections()), (2, 1));
    assert_eq!(received[1].path, "/v1/chat/completions");
    assert_eq!(received[1].header("host"), Some("model.example:8080"));
    assert_eq!(received[1].header("proxy-authorization"), Some("Basic bWU6cEBzcw=="));
    assert!(received[1].is_for_proxy, "it tells where it goes");

    let local =
        llm_in(&[], &[("OPENAI_BASE_URL", &proxy.base_url()), env[1], ("ALL_PROXY", "http://127.0.0.1:1")]);
    chat(&local, "m", json!({})).await.expect("this machine is called directly");
    let direct = &proxy.received()[2];
    assert!(!direct.is_for_proxy && direct.header("proxy-authorization").is_none());
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_told_without_its_password() {
    let gone = FakeProvider::start();
    let address = gone.address().to_string();
    drop(gone);
    for (proxy, told) in [
        (format!("http://me:secret@{address}"), "cannot connect to `openai`"),
        (format!("socks5://me:secret@{address}"), "unsupported proxy scheme `socks5`"),
        ("ftp://me:secret@host".to_owned(), "invalid proxy address in `https_proxy`"),
    ] {
        let env = [("OPENAI_BASE_URL", "https://model.example/v1"), ("https_proxy", proxy.as_str())];
        let llm = llm_in(&["llm.retries="], &env);
        let error = chat(&llm, "m", json!({})).await.expect_err("has no connection");
        assert_eq!(error.reason(), Some(Reason::Connect));
        let shown = format!("{error} {error:?} {llm:?}");
        assert!(shown.contains(told) && !shown.contains("secret"), "{shown}");
    }
}
