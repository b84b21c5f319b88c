//! Which prompts are served: by their definitions, by settings, and whether they are built in.

use rmcp::model::{CallToolRequestParams, ErrorCode, ReadResourceRequestParams};
use serde_json::json;

use crate::support::{Client, ERAS, Era, Served, refused};

/// The file of the settings, from the directory of prompts.
const SETTINGS: &str = "../../../hinagata.toml";

const OPEN: (&str, &str) = ("open/template.md", "open");
const HIDDEN: (&str, &str) = (
    "hidden/prompt.yaml",
    "expose: false\ntags: [review]\ninputs: {a: {type: string, enum: [x, y]}}\nprompt: 'for {{ a }}'\n",
);
const TAGGED: (&str, &str) = ("tagged/prompt.yaml", "tags: [review]\nprompt: tagged\n");

async fn names(client: &Client) -> Vec<String> {
    let prompts = client.client.list_all_prompts().await.expect("lists");
    prompts.into_iter().map(|prompt| prompt.name).collect()
}

async fn reason(client: &Client, name: &str) -> String {
    let error = client.get(name, json!({})).await.expect_err("is not served");
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    error.message.to_string()
}

#[tokio::test]
async fn a_prompt_that_is_not_exposed_is_nowhere_and_a_get_says_why() {
    let served = Served::with_tools_and(&[OPEN, HIDDEN]);
    for era in ERAS {
        let client = served.client(era).await;
        assert_eq!(names(&client).await, ["open"]);
        let told = reason(&client, "hidden").await;
        assert!(told.contains("not served over MCP") && told.contains("`expose: false`"), "{told}");
        let resources = client.client.list_all_resources().await.expect("lists");
        assert!(resources.iter().all(|resource| !resource.uri.contains("hidden")), "{resources:?}");
        let read = client.client.read_resource(ReadResourceRequestParams::new("prompt://hidden")).await;
        let told = read.map_err(refused).expect_err("is not served").message;
        assert!(told.contains("`expose: false`"), "{told}");
        let completed = client.client.complete_prompt_argument("hidden", "a", "", None).await;
        assert!(refused(completed.expect_err("is not served")).message.contains("`expose: false`"));
        let tools = client.client.list_all_tools().await.expect("lists");
        assert!(tools.iter().all(|tool| tool.name != "hidden"), "{tools:?}");
        let called = client.client.call_tool(CallToolRequestParams::new("hidden")).await;
        assert_eq!(refused(called.expect_err("is no tool")).code, ErrorCode::INVALID_PARAMS);
        let given = json!({"name": "hidden"}).as_object().cloned().unwrap_or_default();
        let called =
            client.client.call_tool(CallToolRequestParams::new("get_prompt").with_arguments(given)).await;
        assert_eq!(called.expect("answers").is_error, Some(true));
    }
}

#[tokio::test]
async fn a_get_is_refused_before_the_list_is_loaded_too() {
    let served = Served::with(&[OPEN, HIDDEN]);
    let client = served.client(Era::Modern).await;
    assert!(reason(&client, "hidden").await.contains("`expose: false`"));
    assert!(reason(&client, "general_system").await.contains("built in"));
}

#[tokio::test]
async fn a_setting_chooses_prompts_by_id_and_by_tag() {
    let settings = "[mcp]\nexpose = [\"op*\", \"tag:rev*\"]\n";
    let other = ("other/template.md", "other");
    let served = Served::with(&[OPEN, HIDDEN, TAGGED, other, (SETTINGS, settings)]);
    let client = served.client(Era::Modern).await;
    assert_eq!(names(&client).await, ["open", "tagged"], "`expose: false` is stronger");
    assert!(reason(&client, "other").await.contains("`mcp.expose`"));
}

#[tokio::test]
async fn built_in_prompts_are_served_until_there_are_others_or_as_a_setting_says() {
    let served = Served::with(&[]);
    let mut client = served.client(Era::Legacy).await;
    assert!(names(&client).await.contains(&"general_system".to_owned()));
    served.write("open/template.md", "open");
    client.told("prompts").await;
    assert_eq!(names(&client).await, ["open"]);
    assert!(reason(&client, "general_system").await.contains("`mcp.builtin_prompts = true`"));
    let served = Served::with(&[OPEN, (SETTINGS, "[mcp]\nbuiltin_prompts = true\n")]);
    let both = names(&served.client(Era::Modern).await).await;
    assert!(both.contains(&"general_system".to_owned()) && both.contains(&"open".to_owned()), "{both:?}");
    let served = Served::with(&[(SETTINGS, "[mcp]\nbuiltin_prompts = false\n")]);
    let client = served.client(Era::Modern).await;
    assert!(names(&client).await.is_empty());
    assert!(reason(&client, "general_system").await.contains("`mcp.builtin_prompts` is false"));
}

#[tokio::test]
async fn a_declared_resource_may_have_a_hidden_prompt_as_its_content() {
    let settings = "[[resources]]\nuri = \"reports://{a}\"\nprompt = \"hidden\"\n";
    let served = Served::with(&[OPEN, HIDDEN, (SETTINGS, settings)]);
    let client = served.client(Era::Modern).await;
    let read = client.client.read_resource(ReadResourceRequestParams::new("reports://x")).await;
    let text = serde_json::to_string(&read.expect("is read")).expect("is JSON");
    assert!(text.contains("for x"), "{text}");
}

#[tokio::test]
async fn an_invalid_resource_is_left_out_and_the_others_are_served() {
    let settings = "[[resources]]\nuri = \"a://good\"\ntext = \"good\"\n\
                    [[resources]]\nuri = \"a://bad\"\n\
                    [[resources]]\nuri = \"a://good\"\ntext = \"again\"\n";
    let served = Served::with(&[OPEN, (SETTINGS, settings)]);
    let client = served.client(Era::Modern).await;
    let resources = client.client.list_all_resources().await.expect("lists");
    let uris: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["a://good", "prompt://open"]);
    let problems = served.resource_problems();
    assert!(problems[0].contains("resource 2") && problems[1].contains("duplicate"), "{problems:?}");
}

#[tokio::test]
async fn changed_settings_are_served_and_clients_are_told() {
    let served = Served::with(&[OPEN, TAGGED]);
    let mut client = served.client(Era::Legacy).await;
    assert_eq!(names(&client).await, ["open", "tagged"]);
    served.write(SETTINGS, "[mcp]\nexpose = [\"open\"]\n[[resources]]\nuri = \"a://b\"\ntext = \"c\"\n");
    served.reload_settings();
    client.told("prompts").await;
    while names(&client).await != ["open"] {
        client.told("prompts").await;
    }
    let read = client.client.read_resource(ReadResourceRequestParams::new("a://b")).await;
    assert!(read.is_ok(), "{read:?}");
}
