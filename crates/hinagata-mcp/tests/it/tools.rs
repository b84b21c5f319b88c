//! Prompts as tools.

use rmcp::model::{CallToolRequestParams, ErrorCode};
use serde_json::{Value, json};

use crate::support::{ERAS, Served, refused};

fn asked(name: &str, arguments: &Value) -> CallToolRequestParams {
    let request = CallToolRequestParams::new(name.to_owned());
    request.with_arguments(arguments.as_object().cloned().unwrap_or_default())
}

#[tokio::test]
async fn every_prompt_is_a_tool_with_a_schema() {
    let served = Served::with_tools();
    for era in ERAS {
        let client = served.client(era).await;
        let tools = client.client.list_all_tools().await.expect("lists");
        let tool = tools.iter().find(|tool| tool.name == "test_guided_workflow").expect("is a tool");
        assert_eq!(tool.input_schema["required"], json!(["error"]));
        assert_eq!(
            tool.input_schema["properties"]["tries"],
            json!({"type": "integer", "description": "How often it was tried", "default": 3})
        );
        let called =
            client.client.call_tool(asked("test_guided_workflow", &json!({"error": "e", "tries": 2}))).await;
        let called = called.expect("answers");
        assert_eq!(called.is_error, Some(false));
        let texts: Vec<&str> =
            called.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect();
        assert_eq!(texts[1], "Assistant:\nWhat did you try, 2 times?");
    }
}

#[tokio::test]
async fn two_tools_list_and_get_prompts() {
    let served = Served::with_tools();
    let client = served.client(crate::support::Era::Modern).await;
    let called =
        client.client.call_tool(asked("list_prompts", &json!({"query": "workflow"}))).await.expect("answers");
    let listed: Value =
        serde_json::from_str(&called.content[0].as_text().expect("is a text").text).expect("is JSON");
    assert_eq!(listed["prompts"][0]["name"], "test_guided_workflow");
    assert_eq!(listed["prompts"].as_array().map(Vec::len), Some(1));
    let given = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}});
    let called = client.client.call_tool(asked("get_prompt", &given)).await.expect("answers");
    assert!(called.content[0].as_text().expect("is a text").text.contains("arg1='a'"));
}

#[tokio::test]
async fn a_tool_failure_is_reported_to_the_model() {
    let served = Served::with_tools();
    for era in ERAS {
        let client = served.client(era).await;
        for (name, given) in [("test_error_handling", json!({})), ("get_prompt", json!({"name": "nope"}))] {
            let called = client.client.call_tool(asked(name, &given)).await.expect("answers");
            assert_eq!(called.is_error, Some(true), "{name}");
        }
        let error = client.client.call_tool(asked("no_such_tool", &json!({}))).await.map_err(refused);
        assert_eq!(error.expect_err("is refused").code, ErrorCode::INVALID_PARAMS);
    }
}

#[tokio::test]
async fn without_the_setting_there_are_no_tools() {
    let served = Served::fixtures();
    for era in ERAS {
        let client = served.client(era).await;
        assert!(client.client.peer_info().is_none_or(|info| info.capabilities.tools.is_none()));
        let error = client.client.call_tool(asked("test_simple_prompt", &json!({}))).await.map_err(refused);
        assert_eq!(error.expect_err("is refused").code, ErrorCode::METHOD_NOT_FOUND);
    }
}

#[tokio::test]
async fn a_tool_packs_files_of_the_workspace_alone() {
    let served = Served::with_tools();
    served.write("notes/lamp.md", "The lamp is lit.\n");
    served.write("notes/.env", "TOKEN=very-secret\n");
    for era in ERAS {
        let client = served.client(era).await;
        let tools = client.client.list_all_tools().await.expect("lists");
        assert!(tools.iter().any(|tool| tool.name == "pack_context"));
        let given =
            json!({"include": ["user_data/shared/prompts/notes"], "format": "xml", "line_numbers": true});
        let called = client.client.call_tool(asked("pack_context", &given)).await.expect("answers");
        assert_eq!(called.is_error, Some(false));
        let texts: Vec<&str> =
            called.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect();
        assert!(texts[0].contains("1: The lamp is lit.") && !texts[0].contains("very-secret"), "{texts:?}");
        assert!(texts[1].starts_with("files: 1 taken, 1 secret"), "{texts:?}");
        for wrong in [json!({"include": ["../*"]}), json!({"include": ["/etc/*"]}), json!({"incldue": []})] {
            let error = client.client.call_tool(asked("pack_context", &wrong)).await.map_err(refused);
            assert_eq!(error.expect_err("is refused").code, ErrorCode::INVALID_PARAMS, "{wrong}");
        }
        let none = json!({"include": ["none/**"]});
        let called = client.client.call_tool(asked("pack_context", &none)).await.expect("answers");
        assert_eq!(called.is_error, Some(true), "{called:?}");
    }
}

#[tokio::test]
async fn a_caller_who_may_not_pack_has_no_such_tool() {
    let mut viewer = hinagata_mcp::Viewer::for_owner();
    viewer.can_pack = false;
    let served = Served::seen_by(viewer);
    let client = served.client(crate::support::Era::Modern).await;
    let tools = client.client.list_all_tools().await.expect("lists");
    assert!(tools.iter().all(|tool| tool.name != "pack_context"));
    let error = client.client.call_tool(asked("pack_context", &json!({}))).await.map_err(refused);
    assert_eq!(error.expect_err("is refused").code, ErrorCode::INVALID_PARAMS);
}
