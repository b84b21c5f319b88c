//! Lists: order, filters, pages, ETags.

use hinagata::store::StoreKind;
use serde_json::{Value, json};

use crate::support::{Daemon, Setup, send};

#[tokio::test]
async fn lists_are_sorted_arrays_of_ids() {
    let daemon = Daemon::start().await;
    for kind in ["extensions", "environs", "tools", "templates"] {
        assert_eq!(daemon.get(&format!("/api/{kind}")).await.expect_status(200), json!([]), "{kind}");
    }
    let ids = daemon.get("/api/prompts").await.expect_status(200);
    let ids: Vec<&str> = ids.as_array().expect("is a list").iter().filter_map(Value::as_str).collect();
    assert!(ids.contains(&"general_system") && ids.is_sorted(), "{ids:?}");
    let full = daemon.get("/api/prompts?view=full&q=general").await.expect_status(200);
    assert_eq!((full.as_array().map(Vec::len), &full[0]["origin"]), (Some(1), &json!("builtin")));
}

#[tokio::test]
async fn lists_are_filtered() {
    let daemon = Setup::new()
        .file("user_data/shared/prompts/a/prompt.yaml", "type: task\ntags: [x, y]\nprompt: a\n")
        .file(
            "user_data/shared/prompts/b/prompt.yaml",
            "type: task\ntags: [x]\nsupports: [chat]\nprompt: b\n",
        )
        .start()
        .await;
    let list = async |query: &str| {
        daemon.get_with_problem(&format!("/api/prompts?{query}")).await.expect_status(200)
    };
    assert_eq!(list("tag=x&type=task").await, json!(["a", "b"]));
    assert_eq!(list("tag=x&tag=y").await, json!(["a"]));
    assert_eq!(list("tag=x&supports=chat").await, json!(["a", "b"]), "what says nothing is for everything");
    assert_eq!(list("tag=x&supports=codereview").await, json!(["a"]));
    assert_eq!(list("q=GENERAL").await, json!(["general_system"]));
    for (query, near) in [("tags=x", json!(["tag"])), ("lmit=2", json!(["limit"]))] {
        let wrong = daemon.get_with_problem(&format!("/api/prompts?{query}")).await.expect_status(400);
        assert_eq!(wrong["near"], near);
    }
    for query in ["limit=0", "limit=x", "limit=-1", "cursor=zz", "view=half"] {
        assert_eq!(daemon.get_with_problem(&format!("/api/prompts?{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn pages_follow_the_link() {
    let daemon = Daemon::start().await;
    for number in 0..7 {
        daemon.put(StoreKind::Environ, &format!("e{number}"), json!(number)).await;
    }
    let (mut path, mut seen) = ("/api/environs?limit=3".to_owned(), Vec::new());
    loop {
        let page = daemon.get(&path).await;
        let ids = page.expect_status(200);
        assert!(ids.as_array().is_some_and(|ids| (1..=3).contains(&ids.len())), "{ids}");
        seen.extend(ids.as_array().cloned().unwrap_or_default());
        let Some(next) = page.header("link").strip_prefix('<').and_then(|link| link.split_once('>')) else {
            break;
        };
        assert_eq!(next.1, "; rel=\"next\"");
        path = next.0.to_owned();
    }
    assert_eq!(json!(seen), daemon.get("/api/environs").await.expect_status(200));
}

#[tokio::test]
async fn an_unchanged_document_is_not_sent_again() {
    let daemon = Daemon::start().await;
    daemon.put(StoreKind::Environ, "a", json!(1)).await;
    for path in ["/api/prompts", "/api/environs/a", "/api/prompts/general_system", "/openapi.json"] {
        let first = daemon.get(path).await;
        let tag = first.header("etag").to_owned();
        assert!(tag.starts_with('"') && first.status == 200, "{path}: {first:?}");
        let again = send(daemon.request("GET", path).header("if-none-match", format!("\"x\", {tag}"))).await;
        assert_eq!((again.status.as_u16(), again.text.as_str()), (304, ""), "{path}");
    }
    let before = daemon.get("/api/environs/a").await.header("etag").to_owned();
    daemon.put(StoreKind::Environ, "a", json!(2)).await;
    let now = send(daemon.request("GET", "/api/environs/a").header("if-none-match", before)).await;
    assert_eq!(now.expect_status(200), json!(2));
}

#[tokio::test]
async fn unknown_paths_and_parameters_are_errors() {
    let daemon = Daemon::start().await;
    let lost = daemon.get("/api/promts").await;
    assert!(lost.is_problem() && lost.status == 404, "{lost:?}");
    let wrong = send(daemon.request("PATCH", "/api/prompts")).await;
    assert_eq!((wrong.status.as_u16(), wrong.header("allow")), (405, "GET, POST, HEAD, OPTIONS"));
    let options = send(daemon.request("OPTIONS", "/api/environs/x")).await;
    assert_eq!((options.status.as_u16(), options.header("allow")), (204, "GET, PUT, DELETE, HEAD, OPTIONS"));
    assert_eq!(send(daemon.request("HEAD", "/api/prompts")).await.status, 200);
    for page in ["/", "/docs"] {
        let page = daemon.get(page).await;
        assert!(page.text.starts_with("<!doctype html>"), "{page:?}");
    }
}

#[tokio::test]
async fn a_name_that_only_the_store_can_have_is_unknown_until_the_store_has_it() {
    let daemon = Daemon::start().await;
    for name in ["00", "not%20an%20id!"] {
        for path in [format!("/api/prompts/{name}"), format!("/api/prompts/{name}/candidates")] {
            let lost = daemon.get_with_problem(&path).await;
            assert_eq!(lost.status, 404, "{path}: {lost:?}");
        }
        let lost = send(daemon.request("POST", &format!("/api/render/prompts/{name}")).body("{}")).await;
        assert_eq!(lost.status, 404, "{lost:?}");
    }
    daemon.put(StoreKind::Template, "00", json!({"name": "00", "prompt": "Hello"})).await;
    assert_eq!(daemon.get("/api/prompts/00").await.status, 200);
    let invalid = daemon.get_with_problem("/api/prompts/a%2Fb").await;
    assert_eq!(invalid.status, 400, "no prompt can have this name: {invalid:?}");
}
