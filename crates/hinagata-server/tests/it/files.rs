//! Reading, writing and deleting the files of prompts.

use serde_json::{Value, json};

use crate::support::{Answered, Daemon, Setup, pack_archive, send};

pub(crate) const PROMPTS: &str = "/api/files/user_data/shared/prompts";

pub(crate) async fn put(
    daemon: &Daemon,
    path: &str,
    condition: (&str, &str),
    body: impl Into<Vec<u8>>,
) -> Answered {
    let request = daemon.request("PUT", path).bearer_auth(&daemon.token).header(condition.0, condition.1);
    send(request.body(body.into())).await
}

fn workspace() -> Setup {
    Setup::new()
        .file("user_data/shared/prompts/hello/template.md", "Hello {{ name }}!\n")
        .file("user_data/shared/prompts/hello/prompt.py", "LIMITS = {}\n")
        .file("user_data/shared/prompts/partials/sign.md", "Yours")
        .file("user_data/shared/prompts/other/template.md", "Other")
        .file("user_data/shared/prompts/hello/.env", "SECRET=1")
        .file("user_data/shared/notes.txt", "mine")
}

#[tokio::test]
async fn files_of_the_catalog_are_listed_and_read_and_no_others() {
    let daemon = workspace().start().await;
    let list = daemon.get("/api/files?under=user_data/shared").await.expect_status(200);
    let paths: Vec<&str> =
        list["files"].as_array().expect("a list").iter().filter_map(|file| file["path"].as_str()).collect();
    let expected = ["hello/prompt.py", "hello/template.md", "other/template.md", "partials/sign.md"];
    assert_eq!(paths, expected.map(|path| format!("user_data/shared/prompts/{path}")));
    assert_eq!(
        (&list["files"][1]["prompt_id"], &list["files"][1]["writable"]),
        (&json!("hello"), &json!(true))
    );
    let read = daemon.get(&format!("{PROMPTS}/hello/template.md")).await;
    assert_eq!((read.status.as_u16(), read.text.as_str()), (200, "Hello {{ name }}!\n"));
    assert_eq!(read.header("content-type"), "text/plain; charset=utf-8");
    let digest = hinagata::Digest::sha256(read.text.as_bytes());
    assert_eq!(read.header("etag"), format!("\"{digest}\""));
    assert_eq!(list["files"][1]["etag"], read.header("etag"));
    let again = daemon.request("GET", &format!("{PROMPTS}/hello/template.md"));
    assert_eq!(send(again.header("if-none-match", read.header("etag"))).await.status, 304);
    let builtin = "/api/files/ecosystem/default/prompts/general_system/template.md";
    assert!(daemon.get(builtin).await.text.contains("agent_name"));
    for hidden in [
        "/api/files/hinagata.toml",
        "/api/files/user_data/shared/notes.txt",
        "/api/files/user_data/shared/prompts/hello/.env",
        "/api/files/user_data/shared/prompts/hello/missing.md",
        "/api/files/user_data/shared/prompts/../notes.txt",
        "/api/files/user_data/shared/prompts/hello/%2e%2e/%2e%2e/notes.txt",
        "/api/files/user_data/shared/prompts/hello/..%2f..%2f..%2fnotes.txt",
        "/api/files//etc/passwd",
        "/api/files/%2fetc/passwd",
        "/api/files/user_data/shared/prompts/.edit.lock",
    ] {
        assert_eq!(daemon.get(hidden).await.status, 404, "{hidden}");
    }
}

#[tokio::test]
async fn a_file_is_written_byte_for_byte_under_a_condition() {
    let daemon = workspace().start().await;
    let path = format!("{PROMPTS}/hello/template.md");
    let place = daemon.root().join("user_data/shared/prompts/hello/template.md");
    let none = send(daemon.request("PUT", &path).bearer_auth(&daemon.token).body("x")).await;
    assert_eq!(none.expect_status(428)["code"], "precondition_required");
    let etag = daemon.get(&path).await.header("etag").to_owned();
    let stale = put(&daemon, &path, ("if-match", "\"00\""), "x").await.expect_status(412);
    assert_eq!((&stale["code"], &stale["etag"]), (&json!("precondition"), &json!(etag)));
    assert_eq!(put(&daemon, &path, ("if-none-match", "*"), "x").await.status, 412);
    // A byte order mark, line ends of Windows, no newline at the end.
    let bytes = "\u{feff}Hi {{ name }}\r\n\r\nbye".as_bytes().to_vec();
    let written = put(&daemon, &path, ("if-match", &etag), bytes.clone()).await;
    let body = written.expect_status(200);
    assert_eq!(body["findings"], json!([]), "{body}");
    assert_eq!(std::fs::read(&place).expect("is there"), bytes);
    let read = daemon.get(&path).await;
    assert_eq!((read.text.as_bytes(), read.header("etag")), (&*bytes, written.header("etag")));
    // What was read is saved unchanged.
    let same = put(&daemon, &path, ("if-match", read.header("etag")), bytes.clone()).await;
    assert_eq!(same.header("etag"), read.header("etag"));
    assert_eq!(std::fs::read(&place).expect("is there"), bytes);
    let rendered = daemon
        .post("/api/render/prompts/hello", &json!({"variables": {"name": "Ann"}}))
        .await
        .expect_status(200);
    assert!(rendered["rendered_prompt"].as_str().is_some_and(|text| text.contains("Hi Ann")), "{rendered}");
    let large = vec![b'x'; (256 << 10) + 1];
    assert_eq!(put(&daemon, &path, ("if-match", "*"), large).await.expect_status(413)["code"], "too_large");
    assert_eq!(put(&daemon, &path, ("if-match", "*"), vec![0xff, 0xfe]).await.status, 400);
    assert_eq!(std::fs::read(&place).expect("is there"), bytes);
    let left: Vec<_> = std::fs::read_dir(place.parent().expect("a directory")).expect("is there").collect();
    assert_eq!(left.len(), 3, "no temporary file stays: {left:?}");
}

#[tokio::test]
async fn broken_text_is_saved_and_reported() {
    let daemon = workspace().start().await;
    let path = format!("{PROMPTS}/hello/template.md");
    let body = put(&daemon, &path, ("if-match", "*"), "a\n{% if x %}").await.expect_status(200);
    assert_eq!(body["findings"][0]["severity"], "error", "{body}");
    assert_eq!(body["findings"][0]["place"]["line"], 2, "{body}");
    assert_eq!(daemon.get(&path).await.text, "a\n{% if x %}");
    let new =
        put(&daemon, &format!("{PROMPTS}/fresh/prompt.yaml"), ("if-none-match", "*"), "prompt: [").await;
    let body = new.expect_status(201);
    assert_eq!(
        (&body["prompt_id"], body["findings"].as_array().map(Vec::is_empty)),
        (&json!("fresh"), Some(false))
    );
}

#[tokio::test]
async fn only_own_files_change_and_python_needs_more() {
    let daemon = workspace()
        .keys(&[("writer", &["read", "write"], None), ("bound", &["read", "write"], Some(&["hello"]))])
        .start()
        .await;
    let builtin = "/api/files/ecosystem/default/prompts/general_system/template.md";
    let refused = put(&daemon, builtin, ("if-match", "*"), "x").await.expect_status(403);
    assert_eq!(
        (&refused["code"], &refused["copy_route"]),
        (&json!("read_only"), &json!("/api/prompts/general_system/copy"))
    );
    let as_key = |key: &str, method: &str, path: &str| {
        daemon.request(method, path).bearer_auth(format!("key-{key}")).header("if-match", "*").body("x")
    };
    let python = format!("{PROMPTS}/hello/prompt.py");
    let refused = send(as_key("writer", "PUT", &python)).await.expect_status(403);
    assert_eq!((&refused["code"], &refused["scope"]), (&json!("scope"), &json!("admin")));
    assert_eq!(send(as_key("writer", "DELETE", &python)).await.status, 403);
    assert_eq!(put(&daemon, &python, ("if-match", "*"), "LIMITS = {}\n").await.status, 200);
    // A key that is bound to prompts reaches files of those only.
    let template = format!("{PROMPTS}/hello/template.md");
    assert_eq!(send(as_key("bound", "GET", &template)).await.status, 200);
    assert_eq!(send(as_key("bound", "PUT", &template)).await.status, 200);
    for other in ["other/template.md", "partials/sign.md"] {
        assert_eq!(send(as_key("bound", "GET", &format!("{PROMPTS}/{other}"))).await.status, 404, "{other}");
        assert_eq!(send(as_key("bound", "PUT", &format!("{PROMPTS}/{other}"))).await.status, 404, "{other}");
    }
    let list = send(as_key("bound", "GET", "/api/files")).await.expect_status(200);
    let is_own = |file: &Value| file["prompt_id"] == "hello";
    assert!(
        list["files"].as_array().is_some_and(|files| files.len() == 2 && files.iter().all(is_own)),
        "{list}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_neither_written_through_nor_out_of_the_workspace() {
    let daemon = workspace().start().await;
    let prompts = daemon.root().join("user_data/shared/prompts");
    let victim = daemon.directory.path().join("victim.md");
    std::fs::write(&victim, "mine").expect("written");
    std::os::unix::fs::symlink(&victim, prompts.join("hello/out.md")).expect("linked");
    std::os::unix::fs::symlink(daemon.directory.path(), prompts.join("hello/dir")).expect("linked");
    std::os::unix::fs::symlink("template.md", prompts.join("hello/in.md")).expect("linked");
    for name in ["out.md", "dir/victim.md", "dir/new.md"] {
        let path = format!("{PROMPTS}/hello/{name}");
        assert!(daemon.get(&path).await.status.as_u16() >= 400, "{name}");
        for condition in [("if-match", "*"), ("if-none-match", "*")] {
            let answer = put(&daemon, &path, condition, "theirs").await;
            assert!(answer.status.is_client_error() || answer.status.is_server_error(), "{name}: {answer:?}");
        }
    }
    assert_eq!(put(&daemon, &format!("{PROMPTS}/hello/in.md"), ("if-match", "*"), "x").await.status, 403);
    assert_eq!(std::fs::read_to_string(&victim).expect("is there"), "mine");
    assert!(!daemon.directory.path().join("new.md").exists());
}

#[tokio::test]
async fn a_deleted_file_comes_back_unless_its_place_is_taken() {
    let daemon = workspace().start().await;
    let path = format!("{PROMPTS}/hello/template.md");
    let owner = |method: &str, path: &str| daemon.request(method, path).bearer_auth(&daemon.token);
    assert_eq!(send(owner("DELETE", &path)).await.status, 428);
    let deleted = send(owner("DELETE", &path).header("if-match", "*")).await.expect_status(200);
    assert_eq!(daemon.get(&path).await.status, 404);
    let trash = send(owner("GET", "/api/trash")).await.expect_status(200);
    assert_eq!(
        (&trash["entries"][0]["entry"], &trash["entries"][0]["kind"]),
        (&deleted["trash"], &json!("file"))
    );
    assert_eq!(daemon.get("/api/trash").await.status, 401);
    assert_eq!(put(&daemon, &path, ("if-none-match", "*"), "new").await.status, 201);
    let restore = format!("/api/trash/{}/restore", deleted["trash"].as_str().expect("an entry"));
    assert_eq!(send(owner("POST", &restore)).await.expect_status(409)["code"], "exists");
    assert_eq!(daemon.get(&path).await.text, "new");
    send(owner("DELETE", &path).header("if-match", "*")).await.expect_status(200);
    assert_eq!(send(owner("POST", &restore)).await.status, 200);
    assert_eq!(daemon.get(&path).await.text, "Hello {{ name }}!\n");
    assert_eq!(send(owner("POST", &restore)).await.status, 404);
    assert_eq!(send(owner("POST", "/api/trash/..%2f..%2fx/restore")).await.status, 404);
}

#[tokio::test]
async fn the_approved_copy_of_a_file_is_read_beside_the_present_one() {
    let daemon = Daemon::start().await;
    let archive = pack_archive(&[
        ("kit/pack.json", r#"{"pack_id": "kit", "version": "1.0.0"}"#),
        ("kit/prompts/greet/template.md", "Hi"),
    ]);
    let install = daemon.request("POST", "/api/packs").bearer_auth(&daemon.token).body(archive);
    send(install).await.expect_status(201);
    let path = "/api/files/user_data/packs/kit/prompts/greet/template.md";
    assert_eq!(daemon.get(path).await.text, "Hi");
    assert_eq!(daemon.get(&format!("{path}?approved=true")).await.status, 404);
    daemon.as_owner("POST", "/api/packs/kit/approve", &json!({})).await.expect_status(200);
    let place = daemon.root().join("user_data/packs/kit/prompts/greet/template.md");
    std::fs::write(place, "Changed").expect("written");
    assert_eq!(daemon.get(path).await.text, "Changed");
    assert_eq!(daemon.get(&format!("{path}?approved=true")).await.text, "Hi");
    assert_eq!(put(&daemon, path, ("if-match", "*"), "x").await.status, 403);
}

#[tokio::test]
async fn callers_learn_who_they_are() {
    let daemon = workspace().keys(&[("reader", &["read"], Some(&["hello"]))]).start().await;
    let who = |key: &str| send(daemon.request("GET", "/api/whoami").bearer_auth(key));
    let reader = who("key-reader").await.expect_status(200);
    assert_eq!(
        (&reader["caller"], &reader["scopes"], &reader["bound"]),
        (&json!("reader"), &json!(["read"]), &json!(true))
    );
    assert_eq!((&reader["workspace"], &reader["trust"]), (&json!("root"), &json!("trusted")));
    let owner = who(&daemon.token).await.expect_status(200);
    assert_eq!(owner["scopes"], json!(["read", "render", "chat", "write", "admin"]));
    assert_eq!(who("unknown").await.expect_status(401)["code"], "key");
    let anonymous = daemon.get("/api/whoami").await.expect_status(200);
    assert_eq!((&anonymous["scopes"], anonymous.get("workspace")), (&json!([]), None));
    let foreign = send(daemon.request("GET", "/api/whoami").header("origin", "http://evil.example")).await;
    assert_eq!(foreign.status, 403);
}
