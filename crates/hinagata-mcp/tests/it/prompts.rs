//! Lists of prompts, and rendered prompts.

use std::sync::Arc;

use hinagata::Reach;
use hinagata_mcp::Viewer;
use rmcp::model::{CacheScope, ErrorCode, ResourceContents, Role};
use serde_json::json;

use crate::support::{ERAS, Era, Served, arguments, refused};

#[tokio::test]
async fn the_list_is_sorted_and_shows_the_usage() {
    let served = Served::fixtures();
    for era in ERAS {
        let client = served.client(era).await;
        let list = client.client.list_prompts(None).await.expect("lists");
        let names: Vec<&str> = list.prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted, "{era:?}");
        let named = |name: &str| list.prompts.iter().find(|prompt| prompt.name == name).expect("is listed");
        let prompt = named("test_guided_workflow");
        let description = prompt.description.as_deref().expect("is described");
        assert!(
            description.ends_with("Arguments: error, tries (optional), level (optional)"),
            "{description}"
        );
        let told: Vec<_> = prompt
            .arguments
            .iter()
            .flatten()
            .map(|argument| (argument.name.as_str(), argument.required, argument.description.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("error", Some(true), None),
                ("tries", Some(false), Some("How often it was tried (integer; default: 3)")),
                ("level", Some(false), Some("one of low, high; default: low")),
            ]
        );
        let meta = prompt.meta.as_ref().expect("has more");
        assert_eq!(meta["hinagata/source"], "user_data/shared/prompts/test_guided_workflow");
        assert_eq!(meta["hinagata/version"], "1.0.0");
        if era == Era::Modern {
            assert!(list.ttl_ms.is_some() && list.cache_scope == Some(CacheScope::Public));
        }
        assert!(list.prompts.iter().all(|prompt| prompt.description.is_some()));
    }
}

#[tokio::test]
async fn a_prompt_is_found_by_every_spelling_of_its_name() {
    let served = Served::fixtures_and(&[(
        "日本語 の プロンプト/prompt.yaml",
        "messages: [{role: user, content: こんにちは}]\n",
    )]);
    let client = served.client(Era::Modern).await;
    let list = client.client.list_prompts(None).await.expect("lists");
    let prompt = list.prompts.iter().find(|prompt| prompt.name.starts_with("p-")).expect("is listed");
    assert!(prompt.title.as_deref().is_some_and(|title| title.contains("日本語")));
    assert_eq!(client.text(&prompt.name, json!({})).await, "こんにちは");
    for spelling in
        ["test_simple_prompt", "Test-Simple-Prompt", "test simple prompt", "test_simple_prompt@1.0.0"]
    {
        assert_eq!(
            client.text(spelling, json!({})).await,
            "This is a simple prompt for testing.",
            "{spelling}"
        );
    }
    let error = client.get("test_simple_prompt@2.0.0", json!({})).await.expect_err("is another version");
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert!(error.message.contains("1.0.0") && error.message.contains("2.0.0"), "{}", error.message);
}

#[tokio::test]
async fn string_arguments_are_parsed_by_declared_type() {
    let served = Served::fixtures();
    for era in ERAS {
        let client = served.client(era).await;
        let given = json!({"error": "<b>日本</b>", "tries": "7", "level": "high"});
        let got = client.get("test_guided_workflow", given).await.expect("can be got");
        let said: Vec<(Role, String)> = got
            .messages
            .iter()
            .map(|message| (message.role.clone(), message.content.as_text().expect("is a text").text.clone()))
            .collect();
        assert_eq!(
            said,
            [
                (Role::User, "You help with errors.\n\nThis is the error: <b>日本</b>".to_owned()),
                (Role::Assistant, "What did you try, 7 times?".to_owned()),
                (Role::User, "I restarted it, with priority high.".to_owned()),
            ],
            "{era:?}"
        );
        assert_eq!(got.meta.expect("has more")["hinagata/system"], "You help with errors.");
        for (wrong, name, expected) in [
            (json!({"error": "x", "tries": "seven"}), "`tries`", "an integer"),
            (json!({"error": "x", "tries": 7.5}), "`tries`", "an integer"),
            (json!({"error": 5}), "`error`", "a string"),
            (json!({"error": "x", "level": "middle"}), "`level", ""),
            (json!({"error": "x", "trise": "1"}), "`trise`", "did you mean `tries`?"),
        ] {
            let error = client.get("test_guided_workflow", wrong.clone()).await.expect_err("is refused");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{wrong}");
            assert!(error.message.contains(name) && error.message.contains(expected), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn every_missing_argument_is_named() {
    let served = Served::fixtures();
    for era in ERAS {
        let client = served.client(era).await;
        let error = client.get("test_prompt_with_arguments", json!({})).await.expect_err("is refused");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert_eq!(error.data.expect("has data")["missing"], json!(["arg1", "arg2"]));
        assert!(error.message.contains("`arg1`, `arg2`"), "{}", error.message);
    }
}

#[tokio::test]
async fn messages_contain_images_audio_resources_and_links() {
    let served = Served::fixtures();
    let client = served.client(Era::Modern).await;
    let got = client.get("test_media", json!({})).await.expect("can be got");
    let content: Vec<_> = got.messages.iter().map(|message| &message.content).collect();
    assert_eq!(content.len(), 5);
    assert!(
        content[1]
            .as_image()
            .is_some_and(|image| image.mime_type == "image/png" && image.data.starts_with("iVBOR"))
    );
    assert!(content[2].as_audio().is_some_and(|audio| audio.mime_type == "audio/wav"));
    let embedded = &content[3].as_resource().expect("is embedded").resource;
    let ResourceContents::TextResourceContents { uri, mime_type, text, .. } = embedded else {
        panic!("{embedded:?}")
    };
    assert_eq!((uri.as_str(), mime_type.as_deref()), ("docs://note", Some("text/markdown")));
    assert!(text.starts_with("# A note"));
    assert!(
        content[4].as_resource_link().is_some_and(|link| link.uri == "docs://guide" && link.name == "guide")
    );
    let given = arguments(&[("resourceUri", "test://x y")]);
    let error = client.get("test_prompt_with_embedded_resource", given).await.expect_err("is no URI");
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
}

#[tokio::test]
async fn a_file_of_the_wrong_type_is_not_sent() {
    let outside = "messages: [{role: user, content: [{type: resource, uri: 'a://b', file: '{{ f }}'}]}]\n\
                   variables: {f: string}\n";
    let served = Served::fixtures_and(&[
        ("liar/prompt.yaml", "messages: [{role: user, content: [{type: image, file: text.png}]}]\n"),
        ("liar/text.png", "no picture \u{1}"),
        ("outside/prompt.yaml", outside),
    ]);
    let client = served.client(Era::Modern).await;
    let error = client.get("liar", json!({})).await.expect_err("is no picture");
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
    for file in ["../../../../../etc/passwd", "/etc/passwd", "nothing.txt"] {
        let error = client.get("outside", json!({"f": file})).await.expect_err("is refused");
        assert!(!error.message.contains("root:"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_message_that_names_a_resource_without_its_file_says_so() {
    let linking =
        "messages: [{role: user, content: [See, {type: resource, uri: 'test://watched-resource'}]}]\n";
    let served = Served::fixtures_and(&[("linking/prompt.yaml", linking)]);
    for era in ERAS {
        let client = served.client(era).await;
        let file = served.root.path().join("docs/watched.txt");
        std::fs::write(&file, "here").expect("is written");
        let got = client.get("linking", json!({})).await.expect("can be got");
        assert!(got.messages[1].content.as_resource().is_some(), "{era:?}");
        std::fs::remove_file(&file).expect("is removed");
        let got = client.get("linking", json!({})).await.expect("can be got");
        let text = &got.messages[1].content.as_text().expect("is a text").text;
        assert_eq!(text, "[resource test://watched-resource: cannot be read, its file is missing]");
        let warnings = &got.meta.expect("has more")["hinagata/warnings"];
        assert_eq!(warnings[0]["about"], "test://watched-resource", "{warnings}");
    }
}

#[tokio::test]
async fn a_prompt_is_listed_only_while_its_picture_is_there() {
    let picture = "messages: [{role: user, content: [{type: image, file: dot.gif}]}]\n";
    let served = Served::fixtures_and(&[("pictured/prompt.yaml", picture)]);
    let mut client = served.client(Era::Legacy).await;
    let names = async |client: &crate::support::Client| -> Vec<String> {
        let list = client.client.list_all_prompts().await.expect("lists");
        list.into_iter().map(|prompt| prompt.name).collect()
    };
    assert!(!names(&client).await.contains(&"pictured".to_owned()));
    served.write("pictured/dot.gif", "GIF89a...");
    client.told("prompts").await;
    assert!(names(&client).await.contains(&"pictured".to_owned()));
    assert!(
        client.get("pictured", json!({})).await.expect("can be got").messages[0].content.as_image().is_some()
    );
    std::fs::remove_file(served.prompt_file("pictured/dot.gif")).expect("is removed");
    client.told("prompts").await;
    assert!(!names(&client).await.contains(&"pictured".to_owned()));
}

#[tokio::test]
async fn a_file_with_nul_bytes_is_binary() {
    let embedding = "messages: [{role: user, content: [{type: resource, uri: 'a://b', file: data.bin}]}]\n";
    let served = Served::with(&[("embedding/prompt.yaml", embedding), ("embedding/data.bin", "ab\0c")]);
    for era in ERAS {
        let client = served.client(era).await;
        let got = client.get("embedding", json!({})).await.expect("can be got");
        let embedded = &got.messages[0].content.as_resource().expect("is embedded").resource;
        let ResourceContents::BlobResourceContents { blob, mime_type, .. } = embedded else {
            panic!("{era:?} {embedded:?}")
        };
        assert_eq!((blob.as_str(), mime_type.as_deref()), ("YWIAYw==", Some("application/octet-stream")));
    }
}

#[tokio::test]
async fn values_are_proposed_from_lists_files_and_other_arguments() {
    let declared = "messages: [{role: user, content: '{{ a }}{{ b }}{{ c }}{{ d }}'}]
parameters:
  - {name: a, enum: [low, high]}
  - {name: b, complete: {glob: 'docs/*.md'}}
  - {name: c, complete: {by: a, values: {low: [l1, l2], high: [h1]}}}
  - {name: d, type: boolean}
";
    let served = Served::fixtures_and(&[("proposing/prompt.yaml", declared)]);
    for era in ERAS {
        let client = served.client(era).await;
        let propose = async |name: &str, typed: &str, given: Option<(&str, &str)>| {
            let context = given.map(|(name, value)| {
                rmcp::model::CompletionContext::with_arguments([(name.to_owned(), value.to_owned())].into())
            });
            let found = client.client.complete_prompt_argument("proposing", name, typed, context).await;
            found.map(|found| found.values).map_err(refused)
        };
        assert_eq!(propose("a", "h", None).await.expect("proposes"), ["high"]);
        assert_eq!(propose("b", "gui", None).await.expect("proposes"), ["docs/guide.md"]);
        assert_eq!(propose("c", "", Some(("a", "low"))).await.expect("proposes"), ["l1", "l2"]);
        assert_eq!(propose("c", "", None).await.expect("proposes"), ["l1", "l2", "h1"]);
        assert_eq!(propose("d", "t", None).await.expect("proposes"), ["true"]);
        let error = propose("nothing", "", None).await.expect_err("is no argument");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        let error =
            client.client.complete_prompt_argument("no_such_prompt", "a", "", None).await.map_err(refused);
        assert_eq!(error.expect_err("is no prompt").code, ErrorCode::INVALID_PARAMS);
        let found =
            client.client.complete_resource_argument("test://template/{id}/data", "id", "12", None).await;
        assert_eq!(found.expect("proposes").values, ["12", "123"]);
    }
}

#[tokio::test]
async fn prompts_outside_the_reach_of_a_key_do_not_exist() {
    let served = Served::seen_by(
        Viewer::for_owner().with_reach(Arc::new(Reach::new(|id| id == "test_simple_prompt", |_| false))),
    );
    for era in ERAS {
        let client = served.client(era).await;
        let list = client.client.list_prompts(None).await.expect("lists");
        assert_eq!(list.prompts.len(), 1);
        let error = client.get("test_media", json!({})).await.expect_err("is not there");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert!(error.data.is_none_or(|data| data.get("near").is_none()));
        let resources = client.client.list_all_resources().await.expect("lists");
        let uris: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
        assert_eq!(uris, ["prompt://test_simple_prompt"]);
        assert_eq!(client.client.list_all_tools().await.expect("lists").len(), 3);
    }
}
