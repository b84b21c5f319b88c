//! Hostile callers: they receive documented codes and learn nothing about the machine.

use rmcp::model::{ErrorCode, PaginatedRequestParams};
use serde_json::{Value, json};

use crate::support::{ERAS, Served, refused};

fn nothing_leaks(served: &Served, error: &rmcp::ErrorData) {
    let told = format!("{} {}", error.message, error.data.clone().unwrap_or_default());
    let root = served.root.path().display().to_string();
    assert!(!told.contains(&root) && !told.contains("/home") && !told.contains("panicked"), "{told}");
    assert!(told.len() < 2_000, "an error is no echo: {} bytes", told.len());
}

#[tokio::test]
async fn invalid_names_are_unknown_prompts() {
    let served = Served::fixtures();
    let long = "x".repeat(100_000);
    for era in ERAS {
        let client = served.client(era).await;
        for name in [
            "",
            "..",
            "../../etc/passwd",
            "/etc/passwd",
            "a\0b",
            "{{ 7*7 }}",
            "p-00000000",
            "@",
            "\u{202e}",
            &long,
        ] {
            let error = client.get(name, json!({})).await.expect_err("is no prompt");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{era:?} {}", &name[..name.len().min(20)]);
            nothing_leaks(&served, &error);
        }
    }
}

#[tokio::test]
async fn invalid_cursors_are_rejected_everywhere() {
    let served = Served::with_tools();
    for era in ERAS {
        let client = &served.client(era).await.client;
        for cursor in ["", "x", "00", "6166746572", &"f".repeat(10_001)] {
            let asked = || Some(PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
            let errors = [
                client.list_prompts(asked()).await.map(|_| ()),
                client.list_resources(asked()).await.map(|_| ()),
                client.list_resource_templates(asked()).await.map(|_| ()),
                client.list_tools(asked()).await.map(|_| ()),
            ];
            for error in errors {
                assert_eq!(error.map_err(refused).expect_err("is refused").code, ErrorCode::INVALID_PARAMS);
            }
        }
    }
}

#[tokio::test]
async fn oversized_and_deeply_nested_values_are_rejected() {
    let served = Served::fixtures();
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    for era in ERAS {
        let client = served.client(era).await;
        let huge = json!({"arg1": "x".repeat(2 << 20), "arg2": "y"});
        let many: Value = (0..2_000).map(|number| (format!("n{number}"), json!("x"))).collect();
        for given in [huge, many, json!({"arg1": deep, "arg2": "y"}), json!({"arg1": {"a": 1}, "arg2": "y"})]
        {
            let error = client.get("test_prompt_with_arguments", given).await.expect_err("is refused");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            assert!(error.message.len() < 300_000);
        }
        assert!(client.text("test_simple_prompt", json!({})).await.starts_with("This"), "it goes on");
    }
}

#[tokio::test]
async fn values_are_not_rendered_as_templates() {
    let served = Served::fixtures();
    let client = served.client(crate::support::Era::Modern).await;
    let given = json!({"arg1": "{{ 7 * 7 }}{% raw %}", "arg2": "{{ system.os }}"});
    let text = client.text("test_prompt_with_arguments", given).await;
    assert_eq!(text, "Prompt with arguments: arg1='{{ 7 * 7 }}{% raw %}', arg2='{{ system.os }}'");
}

#[tokio::test]
async fn a_failing_prompt_reveals_no_internals() {
    let served =
        Served::fixtures_and(&[("lost/prompt.yaml", "messages: [{role: user, content: '{% if %}'}]\n")]);
    for era in ERAS {
        let client = served.client(era).await;
        for name in ["test_error_handling", "lost"] {
            let error = client.get(name, json!({})).await.expect_err("fails");
            assert_eq!(error.code, ErrorCode::INTERNAL_ERROR, "{name}");
            nothing_leaks(&served, &error);
        }
        let list = client.client.list_prompts(None).await.expect("lists");
        assert!(
            !list.prompts.iter().any(|prompt| prompt.name == "lost"),
            "what cannot be rendered is not listed"
        );
    }
}
