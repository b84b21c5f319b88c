//! Resources: declared in settings, embedded in prompts, and sources of prompts.

use rmcp::model::{ErrorCode, ReadResourceRequestParams, ResourceContents};

use crate::support::{Client, ERAS, Era, Served, refused};

async fn read(client: &Client, uri: &str) -> Result<ResourceContents, rmcp::ErrorData> {
    let read = client.client.read_resource(ReadResourceRequestParams::new(uri)).await.map_err(refused)?;
    Ok(read.contents.into_iter().next().expect("has content"))
}

fn text(contents: &ResourceContents) -> &str {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_kind_of_resource_can_be_read() {
    let served = Served::fixtures();
    for era in ERAS {
        let client = served.client(era).await;
        let fixed = read(&client, "test://static-text").await.expect("is there");
        assert_eq!(text(&fixed), "This is the content of the static text resource.");
        let binary = read(&client, "test://static-binary").await.expect("is there");
        let ResourceContents::BlobResourceContents { blob, mime_type, .. } = binary else {
            panic!("{binary:?}")
        };
        assert!(blob.starts_with("iVBOR") && mime_type.as_deref() == Some("image/png"));
        let filled = read(&client, "test://template/a%2Fb/data").await.expect("is there");
        assert!(text(&filled).contains("Data for ID: a/b"), "{}", text(&filled));
        let packed = read(&client, "test://context").await.expect("is there");
        assert!(text(&packed).contains("How to use this workspace."));
        let source = read(&client, "prompt://test_simple_prompt").await.expect("is there");
        assert!(text(&source).contains("This is a simple prompt"));
        let embedded = read(&client, "docs://note").await.expect("is there");
        assert!(text(&embedded).starts_with("# A note"));
        for missing in ["test://nope", "prompt://nope", "test://template//data", "file:///etc/passwd"] {
            let error = read(&client, missing).await.expect_err("is not there");
            let wanted =
                if era == Era::Modern { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
            assert_eq!(error.code, wanted, "{missing}");
        }
    }
}

#[tokio::test]
async fn resources_are_listed_once_and_in_order() {
    let served = Served::fixtures();
    let client = served.client(Era::Modern).await;
    let uris: Vec<String> = client
        .client
        .list_all_resources()
        .await
        .expect("lists")
        .into_iter()
        .map(|resource| resource.uri)
        .collect();
    let mut sorted = uris.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(uris, sorted);
    for wanted in ["test://static-text", "test://watched-resource", "docs://note", "prompt://test_media"] {
        assert!(uris.iter().any(|uri| uri == wanted), "{wanted}");
    }
    let templates = client.client.list_all_resource_templates().await.expect("lists");
    assert_eq!(templates[0].uri_template, "test://template/{id}/data");
}

/// The settings and files of a workspace with every kind of resource that can change.
const WATCHED: &[(&str, &str)] = &[
    (
        "../../../hinagata.toml",
        "[[resources]]\nuri = \"logs://{day}\"\nname = \"log\"\nfile = \"logs/{day}.txt\"\n\
         [[resources]]\nuri = \"context://docs\"\nname = \"docs\"\ncontext = {include = [\"docs/**/*.md\"]}\n\
         [[resources]]\nuri = \"report://{team}\"\nname = \"report\"\nprompt = \"report\"\n\
         [[resources]]\nuri = \"python://x\"\nname = \"python\"\nprompt = \"python\"\n",
    ),
    ("../../../logs/monday.txt", "quiet"),
    ("../../../docs/deep/a.md", "one"),
    ("report/template.md", "Team {{ team }}: {% include 'partials/tone.md' %}"),
    ("partials/tone.md", "kind"),
    ("python/prompt.py", "TEMPLATE = 'x'\ndef pre_render(variables, context):\n    return variables\n"),
    (
        "embeds/prompt.yaml",
        "messages: [{role: user, content: [{type: resource, uri: \"note://a\", file: note.md}]}]\n",
    ),
    ("embeds/note.md", "note one"),
];

/// A client that is subscribed to one resource.
enum Subscribed {
    Old(Client),
    Modern(Client, Box<rmcp::service::Subscription>),
}

impl Subscribed {
    #[expect(deprecated, reason = "clients of older revisions subscribe so")]
    async fn new(served: &Served, era: Era, uri: &str) -> Self {
        let client = served.client(era).await;
        // Changes of prompts are found by comparing lists.
        client.client.list_prompts(None).await.expect("lists");
        match era {
            Era::Legacy => {
                let request = rmcp::model::SubscribeRequestParams::new(uri);
                client.client.subscribe(request).await.expect("subscribes");
                Self::Old(client)
            }
            Era::Modern => {
                let filter = rmcp::model::SubscriptionFilter::builder().resource_subscription(uri).build();
                let listening = client.client.listen(filter).await.expect("listens");
                assert_eq!(
                    listening.acknowledged().resource_subscriptions.as_deref(),
                    Some(&[uri.to_owned()][..])
                );
                Self::Modern(client, Box::new(listening))
            }
        }
    }

    async fn told(&mut self, uri: &str) {
        match self {
            Self::Old(client) => client.told(uri).await,
            Self::Modern(_, listening) => {
                let told =
                    tokio::time::timeout(crate::support::LONG, listening.next()).await.expect("is told");
                let told = told.expect("goes on").expect("is a notice");
                let told = serde_json::to_value(told).expect("is JSON");
                assert_eq!(told["params"]["uri"], uri);
            }
        }
    }

    fn client(&self) -> &Client {
        match self {
            Self::Old(client) | Self::Modern(client, _) => client,
        }
    }
}

/// Subscribers of `uri` in both eras are told when `path` gets the text `written`, and read `wanted` then.
async fn tells_of(uri: &str, path: &str, written: &str, wanted: &str) {
    for era in ERAS {
        let served = Served::with(WATCHED);
        let mut subscribed = Subscribed::new(&served, era, uri).await;
        std::fs::write(served.root.path().join(path), written).expect("is written");
        subscribed.told(uri).await;
        let now = read(subscribed.client(), uri).await.expect("is there");
        assert!(text(&now).contains(wanted), "{era:?}: {}", text(&now));
    }
}

#[tokio::test]
async fn a_file_of_a_template_notifies_its_subscribers() {
    tells_of("logs://monday", "logs/monday.txt", "loud", "loud").await;
}

#[tokio::test]
async fn a_packed_file_notifies_the_subscribers_of_its_context() {
    tells_of("context://docs", "docs/deep/a.md", "two", "two").await;
    tells_of("context://docs", "docs/new.md", "fresh", "fresh").await;
}

#[tokio::test]
async fn an_embedded_file_notifies_its_subscribers() {
    tells_of("note://a", "user_data/shared/prompts/embeds/note.md", "note two", "note two").await;
}

#[tokio::test]
async fn a_part_of_a_prompt_notifies_the_subscribers_of_what_the_prompt_produces() {
    tells_of("report://blue", "user_data/shared/prompts/partials/tone.md", "brave", "Team blue: brave").await;
    tells_of("report://red", "user_data/shared/prompts/report/template.md", "Now {{ team }}", "Now red")
        .await;
}

#[tokio::test]
async fn a_file_beside_the_patterns_notifies_nobody() {
    let served = Served::with(WATCHED);
    let mut subscribed = Subscribed::new(&served, Era::Modern, "context://docs").await;
    std::fs::write(served.root.path().join("docs/picture.png"), "x").expect("is written");
    // The first notice is the one of the second file.
    std::fs::write(served.root.path().join("docs/deep/b.md"), "y").expect("is written");
    subscribed.told("context://docs").await;
    let now = read(subscribed.client(), "context://docs").await.expect("is there");
    assert!(text(&now).contains("deep/b.md"), "{}", text(&now));
}

#[tokio::test]
#[expect(deprecated, reason = "clients of older revisions subscribe so")]
async fn what_cannot_be_watched_is_not_accepted() {
    let served = Served::with(WATCHED);
    let old = served.client(Era::Legacy).await;
    let subscribe = async |uri: &str| {
        refused(
            old.client
                .subscribe(rmcp::model::SubscribeRequestParams::new(uri))
                .await
                .expect_err("is refused"),
        )
    };
    let error = subscribe("python://x").await;
    assert!(error.message.contains("cannot watch") && error.message.contains("Python"), "{}", error.message);
    for unknown in ["logs://../hinagata.toml", "none://x", "prompt://none"] {
        assert_eq!(subscribe(unknown).await.code, ErrorCode::RESOURCE_NOT_FOUND, "{unknown}");
    }
    let modern = served.client(Era::Modern).await;
    let filter = rmcp::model::SubscriptionFilter::builder()
        .resource_subscription("python://x")
        .resource_subscription("none://x")
        .resource_subscription("logs://monday")
        .build();
    let listening = modern.client.listen(filter).await.expect("listens");
    assert_eq!(
        listening.acknowledged().resource_subscriptions.as_deref(),
        Some(&["logs://monday".to_owned()][..])
    );
}

#[tokio::test]
#[expect(deprecated, reason = "clients of older revisions subscribe so")]
async fn a_subscriber_is_notified_of_a_changed_file() {
    let served = Served::fixtures();
    let mut old = served.client(Era::Legacy).await;
    old.client
        .subscribe(rmcp::model::SubscribeRequestParams::new("test://watched-resource"))
        .await
        .expect("subscribes");
    let modern = served.client(Era::Modern).await;
    let filter =
        rmcp::model::SubscriptionFilter::builder().resource_subscription("test://watched-resource").build();
    let mut listening = modern.client.listen(filter).await.expect("listens");
    // The list must be loaded before a change in it can be noticed.
    old.client.list_prompts(None).await.expect("lists");
    std::fs::write(served.root.path().join("docs/watched.txt"), "Another text.\n").expect("is written");
    old.told("test://watched-resource").await;
    let told = tokio::time::timeout(crate::support::LONG, listening.next())
        .await
        .expect("is told")
        .expect("goes on");
    let told = serde_json::to_value(told.expect("is a notice")).expect("is JSON");
    assert_eq!(told["params"]["uri"], "test://watched-resource");
    assert_eq!(text(&read(&old, "test://watched-resource").await.expect("is there")), "Another text.\n");
}
