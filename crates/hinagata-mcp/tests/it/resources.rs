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
