//! What each host is sent, so that every word of a prompt reaches its model.

use rmcp::model::{ErrorCode, Role};
use serde_json::{Value, json};

use crate::support::{Client, ERAS, Served};

/// A prompt with a required text, and optional arguments of other types.
const COMMIT: &str = "description: Write a commit message
parameters:
  - {name: changes, type: string, required: true}
  - {name: tries, type: integer, default: 3}
  - {name: note, type: string}
messages: [{role: user, content: 'Commit {{ changes }} after {{ tries }} tries{{ note }}.'}]
";

const TWO: &str = "parameters:
  - {name: who, type: string, required: true}
  - {name: what, type: string, required: true}
messages: [{role: user, content: '{{ who }}: {{ what }}'}]
";

const OPTIONAL: &str =
    "parameters: [{name: level, enum: [low, high], default: low}, {name: focus, default: all}]
messages: [{role: user, content: 'Review {{ focus }} at {{ level }}'}]
";

const PLAIN: &str = "messages: [{role: user, content: Review the change.}]\n";

fn served() -> Served {
    Served::with(&[
        ("commit/prompt.yaml", COMMIT),
        ("two/prompt.yaml", TWO),
        ("review/prompt.yaml", OPTIONAL),
        ("plain/prompt.yaml", PLAIN),
    ])
}

/// The listed arguments, each with `!` if it is required.
async fn listed(client: &Client, name: &str) -> Vec<String> {
    let entry = client.entry(name).await;
    let arguments = entry["arguments"].as_array().cloned().unwrap_or_default();
    let show = |argument: &Value| {
        let mark = if argument["required"] == true { "!" } else { "" };
        format!("{}{mark}", argument["name"].as_str().unwrap_or_default())
    };
    arguments.iter().map(show).collect()
}

async fn description(client: &Client, name: &str) -> String {
    client.entry(name).await["description"].as_str().unwrap_or_default().to_owned()
}

/// The arguments that Claude Code passes for a typed line: a word for each listed argument.
fn words(listed: &[String], line: &str) -> Value {
    let names = listed.iter().map(|name| name.trim_end_matches('!').to_owned());
    names.zip(line.split_whitespace().map(Value::from)).collect()
}

#[tokio::test]
async fn the_list_is_as_declared_for_clients_that_follow_the_protocol() {
    let served = served();
    for era in ERAS {
        for host in ["some client", "claude-ai", "Visual Studio Code", "cursor-vscode"] {
            let client = served.host_with_forms(era, host, vec![Value::Null]).await;
            assert_eq!(listed(&client, "commit").await, ["changes!", "tries", "note"], "{era:?} {host}");
            assert_eq!(
                description(&client, "commit").await,
                "Write a commit message\n\nArguments: changes, tries (optional), note (optional)"
            );
        }
    }
}

#[tokio::test]
async fn every_word_of_a_line_in_claude_code_arrives() {
    let served = served();
    for era in ERAS {
        let client = served.host_with_forms(era, "claude-code", vec![Value::Null]).await;
        let places = listed(&client, "commit").await;
        assert_eq!(
            places[..3],
            ["changes", "+2", "+3"],
            "{era:?}: nothing is required, so the form can be shown"
        );
        assert_eq!(places.len(), 20);
        assert_eq!(
            description(&client, "commit").await,
            "Write a commit message\n\nOptions: --tries=… --note=…"
        );
        for (line, text) in [
            ("fixed the lamp", "Commit fixed the lamp after 3 tries."),
            ("fixed the lamp --tries=7", "Commit fixed the lamp after 7 tries."),
            ("--note=\", at last\" \"fixed the lamp\"", "Commit fixed the lamp after 3 tries, at last."),
            ("fixed", "Commit fixed after 3 tries."),
        ] {
            assert_eq!(client.text("commit", words(&places, line)).await, text, "{era:?}");
        }
        let places = listed(&client, "two").await;
        assert_eq!(client.text("two", words(&places, "ann fixed the lamp")).await, "ann: fixed the lamp");
        assert_eq!(
            client.text("two", words(&places, "\"ann lee\" fixed the lamp")).await,
            "ann lee: fixed the lamp"
        );
        let places = listed(&client, "review").await;
        assert_eq!(client.text("review", words(&places, "the new door")).await, "Review the new door at low");
        assert!(listed(&client, "plain").await.is_empty());
    }
}

#[tokio::test]
async fn claude_code_shows_a_form_for_what_was_not_typed() {
    let served = served();
    for era in ERAS {
        let answer = json!({"changes": "fixed the lamp"});
        let mut client = served.host_with_forms(era, "claude-code", vec![answer]).await;
        assert_eq!(client.text("commit", json!({})).await, "Commit fixed the lamp after 3 tries.", "{era:?}");
        let forms = client.forms();
        assert_eq!(forms.len(), 1);
        assert_eq!(forms[0]["requestedSchema"]["required"], json!(["changes"]));
        assert_eq!(forms[0]["requestedSchema"]["properties"]["tries"]["default"], 3);
    }
}

#[tokio::test]
async fn a_line_that_claude_code_may_have_cut_is_completed_in_a_form() {
    let served = served();
    for era in ERAS {
        let answer = json!({"changes": "all of it"});
        let mut client = served.host_with_forms(era, "claude-code", vec![answer]).await;
        let places = listed(&client, "commit").await;
        let line = vec!["word"; 30].join(" ");
        assert_eq!(client.text("commit", words(&places, &line)).await, "Commit all of it after 3 tries.");
        let form = client.forms().pop().expect("is shown");
        assert!(form["message"].as_str().is_some_and(|message| message.contains("may lack words")), "{form}");
        let typed = form["requestedSchema"]["properties"]["changes"]["default"].as_str().expect("is kept");
        assert_eq!(typed.split(' ').count(), 20);
        let client = served.host(era, "claude-code").await;
        let error = client.get("commit", words(&places, &line)).await.expect_err("cannot be asked");
        assert!(error.message.contains("may lack words"), "{}", error.message);
    }
}

#[tokio::test]
async fn required_arguments_stay_required_without_forms() {
    let served = served();
    for era in ERAS {
        let client = served.host(era, "claude-code").await;
        assert_eq!(listed(&client, "commit").await[..2], ["changes!", "+2"]);
    }
}

#[tokio::test]
async fn gemini_gets_one_required_argument_and_one_text() {
    let served = Served::fixtures_and(&[("commit/prompt.yaml", COMMIT), ("review/prompt.yaml", OPTIONAL)]);
    for era in ERAS {
        let client = served.host(era, "gemini-cli-mcp-client").await;
        assert_eq!(listed(&client, "commit").await, ["changes!", "tries", "note"], "{era:?}");
        assert_eq!(listed(&client, "review").await, ["level", "focus!"], "the line goes to the first text");
        assert_eq!(listed(&client, "test_prompt_with_arguments").await, ["arg1!", "arg2"]);
        assert!(
            description(&client, "commit")
                .await
                .ends_with("Usage: /commit --changes=\"…\" [--tries=\"…\"] [--note=\"…\"]")
        );
        // The host passes a blank text for what was not typed.
        assert_eq!(client.text("review", json!({"focus": ""})).await, "Review all at low");
        let error = client.get("commit", json!({"changes": ""})).await.expect_err("is missing");
        assert_eq!(error.data.expect("has data")["missing"], json!(["changes"]));
        let got = client.get("test_guided_workflow", json!({"error": "no light"})).await.expect("can be got");
        assert_eq!(got.messages.len(), 1);
        assert_eq!(
            got.messages[0].content.as_text().expect("is a text").text,
            "User:\nYou help with errors.\n\nThis is the error: no light\n\nAssistant:\nWhat did you try, 3 times?\n\n\
             User:\nI restarted it, with priority low."
        );
        let got = client.get("test_media", json!({})).await.expect("can be got");
        let text = &got.messages[0].content.as_text().expect("is a text").text;
        for part in
            ["Look and listen.", "[image, image/png,", "[audio, audio/wav,", "# A note", "docs://guide"]
        {
            assert!(text.contains(part), "{text}");
        }
        let warnings = got.meta.expect("has more")["hinagata/warnings"].as_array().expect("warns").len();
        assert_eq!((got.messages.len(), warnings), (1, 2));
    }
}

#[tokio::test]
async fn qwen_gets_the_whole_line() {
    let served = served();
    for era in ERAS {
        let client = served.host(era, "qwen-cli-mcp-client-prompts").await;
        assert!(
            listed(&client, "commit").await.is_empty(),
            "{era:?}: several arguments would split the line"
        );
        assert!(description(&client, "commit").await.contains("Usage: /commit --changes=\"…\""));
        for (given, text) in [
            (json!({"input": "fixed the lamp"}), "Commit fixed the lamp after 3 tries."),
            (json!({"input": "fixed the lamp", "tries": "7"}), "Commit fixed the lamp after 7 tries."),
            (json!({"changes": "fixed the lamp"}), "Commit fixed the lamp after 3 tries."),
        ] {
            assert_eq!(client.text("commit", given).await, text);
        }
        let error =
            client.get("commit", json!({"input": "more", "changes": "x"})).await.expect_err("is surplus");
        assert!(error.message.contains("no argument of `commit` takes `more`"), "{}", error.message);
        let text = client.text("plain", json!({"input": "with care"})).await;
        assert_eq!(text, "Review the change.\n\nwith care");
    }
}

#[tokio::test]
async fn zed_gets_one_argument_and_only_the_user_speaks() {
    let served = Served::fixtures_and(&[("commit/prompt.yaml", COMMIT), ("two/prompt.yaml", TWO)]);
    for era in ERAS {
        let client = served.host(era, "Zed").await;
        assert_eq!(listed(&client, "commit").await, ["changes!"], "{era:?}");
        assert_eq!(listed(&client, "two").await, ["who!"]);
        let line = json!({"changes": "fixed the lamp --tries=7"});
        assert_eq!(client.text("commit", line).await, "Commit fixed the lamp after 7 tries.");
        assert_eq!(client.text("two", json!({"who": "ann fixed the lamp"})).await, "ann: fixed the lamp");
        let got = client.get("test_guided_workflow", json!({"error": "no light"})).await.expect("can be got");
        assert!(got.messages.iter().all(|message| message.role == Role::User));
    }
}

#[tokio::test]
async fn placeholders_of_opencode_reach_the_text_unchanged() {
    let typed = "parameters:
  - {name: who, type: string, required: true}
  - {name: count, type: integer, required: true, schema: {minimum: 5}}
  - {name: level, enum: [low, high], required: true}
  - {name: note, default: none}
messages: [{role: user, content: '{{ who }} {{ count }} {{ level }} {{ note }}, costs $5, !`date`'}]
";
    let linked = "parameters: [{name: uri, type: string, required: true}]
messages: [{role: user, content: [Read it., {type: resource, uri: '{{ uri }}', text: A note}]}]
";
    let served = Served::with(&[("typed/prompt.yaml", typed), ("linked/prompt.yaml", linked)]);
    for era in ERAS {
        let client = served.host(era, "opencode").await;
        assert_eq!(listed(&client, "typed").await, ["count!", "level!", "who!"], "{era:?}: the text is last");
        let given = json!({"count": "$1", "level": "$2", "who": "$3"});
        assert_eq!(
            client.text("typed", given).await,
            "$3 $1 $2 none, costs $\u{2060}5, !\u{2060}`date`",
            "{era:?}"
        );
        assert_eq!(client.text("linked", json!({"uri": "$1"})).await, "Read it.\n\n[resource $1]\nA note");
        // A real value is checked as everywhere.
        let error = client
            .get("typed", json!({"count": "x", "level": "$2", "who": "$3"}))
            .await
            .expect_err("is wrong");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        let other = served.host(era, "some client").await;
        let error = other.get("typed", json!({"count": "$1", "level": "low", "who": "x"})).await;
        assert_eq!(error.expect_err("is no number").code, ErrorCode::INVALID_PARAMS);
    }
}

#[tokio::test]
async fn the_setting_decides_before_the_name_of_the_client() {
    let linked = "messages: [{role: user, content: [A, {type: resource_link, uri: 'a://b', name: b}]},
  {role: assistant, content: B}]\n";
    for (host, roles) in
        [("gemini-cli", vec![Role::User]), ("langchain", vec![Role::User, Role::User, Role::Assistant])]
    {
        let served = Served::for_host(&[("linked/prompt.yaml", linked)], host);
        for era in ERAS {
            let client = served.host(era, "claude-code").await;
            let got = client.get("linked", json!({})).await.expect("can be got");
            let found: Vec<Role> = got.messages.iter().map(|message| message.role.clone()).collect();
            assert_eq!(found, roles, "{era:?} {host}");
            assert!(got.messages.iter().all(|message| message.content.as_text().is_some()));
        }
    }
}

#[tokio::test]
async fn a_prompt_in_another_script_has_a_readable_name_where_the_host_shows_it() {
    let served = Served::with(&[(
        "日本語 の プロンプト/prompt.yaml",
        "messages: [{role: user, content: こんにちは}]\n",
    )]);
    for era in ERAS {
        for host in ["claude-code", "gemini-cli-mcp-client", "qwen-cli-mcp-client-x", "Zed"] {
            let client = served.host(era, host).await;
            let entry = client.entry("日本語_の_プロンプト").await;
            assert_eq!(
                client.text(entry["name"].as_str().expect("is a text"), json!({})).await,
                "こんにちは"
            );
        }
        let client = served.host(era, "some client").await;
        let list = client.client.list_all_prompts().await.expect("lists");
        assert!(list.iter().any(|prompt| prompt.name.starts_with("p-")));
    }
}

#[tokio::test]
async fn older_revisions_get_only_contents_that_they_have() {
    let served = Served::fixtures();
    let client = served.old_client().await;
    let got = client.get("test_media", json!({})).await.expect("can be got");
    let content: Vec<_> = got.messages.iter().map(|message| &message.content).collect();
    assert!(content[1].as_image().is_some());
    assert!(content[2].as_resource().is_some(), "the sound is embedded");
    assert_eq!(content[4].as_text().expect("is a text").text, "[link The guide: docs://guide]");
    let meta = got.meta.expect("has more");
    assert_eq!(meta["hinagata/warnings"].as_array().expect("warns").len(), 2);
}
