//! The web pages, and the OpenAPI document that they are made of.

use std::process::Command;

use fake_provider::FakeProvider;
use serde_json::{Value, json};

use crate::support::{Daemon, Setup, pack_archive, send};

/// The routes that a browser loads before anybody has entered a key.
const PAGES: [&str; 5] = ["/", "/docs", "/docs.js", "/docs.css", "/openapi.json"];

/// Method, path and description of every operation.
fn operations() -> Vec<(String, String, Value)> {
    let paths = hinagata_server::openapi_document()["paths"].as_object().expect("are paths");
    let of_path = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().expect("are operations").iter();
        methods
            .map(|(method, operation)| (method.to_uppercase(), path.clone(), operation.clone()))
            .collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

fn body_of(operation: &Value) -> Option<(&String, &Value)> {
    operation.get("requestBody")?["content"].as_object()?.iter().next()
}

#[tokio::test]
async fn the_pages_load_without_a_key_and_run_only_their_own_script() {
    let daemon = Setup::new().keys(&[("reader", &["read"], None)]).start().await;
    assert_eq!(daemon.get("/api/prompts").await.status, 401);
    for path in PAGES {
        assert_eq!(daemon.get(path).await.status, 200, "{path}");
        // A stale key does not keep the page from loading, where it can be replaced.
        assert_eq!(send(daemon.request("GET", path).bearer_auth("key-nobody")).await.status, 200, "{path}");
    }
    for path in ["/", "/docs"] {
        let page = daemon.get(path).await;
        let policy = page.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(
            (page.header("referrer-policy"), page.header("x-content-type-options")),
            ("no-referrer", "nosniff")
        );
        for inline in ["<style", "<script>", " style=", " onclick=", "javascript:"] {
            assert!(!page.text.contains(inline), "{path} has {inline}");
        }
        for reference in page.text.split(" href=\"").skip(1).chain(page.text.split(" src=\"").skip(1)) {
            assert!(reference.starts_with(['/', '#']) && !reference.starts_with("//"), "{reference:.60}");
        }
    }
    let docs = daemon.get("/docs").await.text;
    assert!(docs.contains("authorization: Bearer KEY"), "the page has a call that works with a key");
    assert!(docs.contains(&format!("curl -s {}/api/", daemon.url)), "the page names its own address");
    assert!(daemon.get("/docs.js").await.header("content-type").starts_with("text/javascript"));
    assert!(daemon.get("/docs.css").await.header("content-type").starts_with("text/css"));
}

#[tokio::test]
async fn every_route_is_shown_with_its_fields_answers_example_and_form() {
    let daemon = Daemon::start().await;
    let page = daemon.get("/docs").await.text;
    let schemas = &hinagata_server::openapi_document()["components"]["schemas"];
    for (method, path, operation) in operations() {
        let id = operation["operationId"].as_str().expect("has an id");
        let shown = page.split("<details id=\"").find(|part| part.starts_with(&format!("{id}\"")));
        let shown = shown.unwrap_or_else(|| panic!("{method} {path} is not on the page"));
        assert!(shown.contains(&format!("data-method=\"{method}\" data-path=\"{path}\"")), "{shown}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().expect("has a name");
            assert!(shown.contains(&format!("<input name=\"{name}\"")), "{id}: {name}");
        }
        for status in operation["responses"].as_object().expect("has answers").keys() {
            assert!(shown.contains(&format!("<tr><td>{status}<td>")), "{id}: {status}");
        }
        let Some((media, body)) = body_of(&operation) else { continue };
        let name =
            body["schema"]["$ref"].as_str().and_then(|name| name.rsplit('/').next()).expect("is named");
        for field in schemas[name]["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            assert!(shown.contains(&format!("<tr><td><code>{field}</code>")), "{id}: {field}");
        }
        assert!(shown.contains(&format!("data-media=\"{media}\"")), "{id}");
        assert!(body.get("example").is_some() || media == "application/octet-stream", "{id} has an example");
    }
    assert!(page.contains("<code>variables</code>"), "the fields of a render are described");
}

#[test]
fn every_field_of_a_body_is_described() {
    let schemas = &hinagata_server::openapi_document()["components"]["schemas"];
    for (method, path, operation) in operations() {
        let Some((_, body)) = body_of(&operation) else { continue };
        let name =
            body["schema"]["$ref"].as_str().and_then(|name| name.rsplit('/').next()).expect("is named");
        // Documents of the store are described by the schemas that other programs use too.
        if ["Extension", "Template", "Tool"].contains(&name) {
            continue;
        }
        for (field, schema) in schemas[name]["properties"].as_object().into_iter().flatten() {
            let target = schema["$ref"].as_str().and_then(|target| target.rsplit('/').next());
            let is_described = schema["description"].is_string()
                || target.is_some_and(|name| schemas[name]["description"].is_string());
            let is_constant = schema.get("const").is_some();
            assert!(is_described || is_constant, "{method} {path}: {field}");
        }
    }
}

/// A pack that proposes to replace `hello`.
fn pack() -> Vec<u8> {
    let manifest =
        json!({"pack_id": "greetings", "version": "1.0.0", "replaces": {"prompts": {"hello": "welcome"}}});
    pack_archive(&[("pack.json", &manifest.to_string()), ("prompts/welcome/template.md", "Welcome")])
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_body_is_accepted() {
    let provider = FakeProvider::start();
    let daemon = Setup::new()
        .variable("OPENAI_BASE_URL", &provider.base_url())
        .variable("OPENAI_API_KEY", "sk-test")
        .set("llm.model=gpt-4o")
        .file("hinagata.toml", "[agents.manager]\nprompt = \"You manage.\"\n")
        .file("user_data/shared/prompts/hello/template.md", "Hello")
        .file("README.md", "# Example\n")
        .start()
        .await;
    let packed = daemon.request("POST", "/api/packs").bearer_auth(&daemon.token).body(pack());
    assert_eq!(send(packed).await.status, 201);
    let mut sent = 0;
    for (method, path, operation) in operations() {
        let mut path = path;
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if let (Some(name), Some(example)) = (parameter["name"].as_str(), parameter["example"].as_str()) {
                path = path.replace(&format!("{{{name}}}"), example);
            }
        }
        assert!(!path.contains('{'), "{path} has examples for its parameters");
        let Some(example) = body_of(&operation).and_then(|(_, body)| body.get("example")) else { continue };
        let request = daemon.request(&method, &path).bearer_auth(&daemon.token);
        let request = request.header("accept", "application/json, text/event-stream");
        // A file is only changed under a condition.
        let request = if path.starts_with("/api/files/") { request.header("if-match", "*") } else { request };
        let answer = send(request.header("content-type", "application/json").body(example.to_string())).await;
        // The host of the example is not allowed here.
        let expects_refusal = path.ends_with("/call");
        let is_answered = answer.status.is_success() || expects_refusal && answer.status == 502;
        assert!(is_answered, "{method} {path}: {answer:?}");
        let is_written = operation["responses"].get(answer.status.as_str()).is_some();
        assert!(is_written, "{method} {path}: {answer:?}");
        sent += 1;
    }
    assert!(sent >= 18, "{sent} examples");
}

/// The script has parts that need no browser. A machine without Node.js checks only that it is served.
#[test]
fn the_script_makes_the_calls_that_the_forms_describe() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/docs/page.js");
    let checks = r##"
        // Names of the checks must not hide the globals that the script looks for.
        (() => {
        const assert = require("node:assert/strict");
        const page = require(process.argv[1]);
        assert.equal(page.tokenInFragment("#token=a%2Bb"), "a+b");
        assert.equal(page.tokenInFragment("#get_metrics"), null);
        const fields = [
          { place: "path", name: "id", value: "a/b ?" },
          { place: "query", name: "q", value: "x&y" },
          { place: "query", name: "tag", value: "one, two", isList: true },
          { place: "query", name: "limit", value: "" },
          { place: "header", name: "If-Match", value: "*" },
        ];
        assert.equal(page.callAddress("/api/p/{id}/x", fields), "/api/p/a%2Fb%20%3F/x?q=x%26y&tag=one&tag=two");
        assert.equal(page.callAddress("/docs", []), "/docs");
        const headers = page.callHeaders(fields, "secret", "application/json", "text/plain");
        assert.deepEqual([...headers], [["accept", "application/json"], ["authorization", "Bearer secret"],
          ["content-type", "text/plain"], ["if-match", "*"]]);
        assert.deepEqual([...page.callHeaders([], "", "", null)], []);
        assert.equal(page.shownBody('{"a":1}', "application/problem+json"), '{\n  "a": 1\n}');
        assert.equal(page.shownBody('{"a":12345678901234567890}', "application/json"), '{"a":12345678901234567890}');
        assert.equal(page.shownBody("a: 1", "text/plain"), "a: 1");

        const listeners = {};
        const part = () => ({ hidden: true, value: "", textContent: "", addEventListener() {} });
        const parts = { token: part(), "token-state": part() };
        const document = { getElementById: (id) => parts[id] ?? null, querySelectorAll: () => [] };
        const window = {
          location: { hash: "#token=secret", pathname: "/docs", search: "" },
          history: { replaceState: (_state, _title, address) => (window.shown = address) },
          addEventListener: (name, listener) => (listeners[name] = listener),
        };
        page.startPage(document, window);
        assert.equal(window.shown, "/docs", "the token leaves the address bar");
        assert.equal(parts.token.value, "secret");
        window.location.hash = "#token=other";
        listeners.hashchange();
        assert.equal(parts.token.value, "other");

        page.readBody(new Response("x".repeat(1_000_100)), () => {}).then((text) => {
          assert.ok(text.length < 1_000_050 && text.endsWith("(the answer is longer)"));
          console.log("checked");
        });
        })();
    "##;
    let output =
        Command::new("node").args(["-e", checks, script]).output().expect("node runs; ./test asks for it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout.starts_with(b"checked"), "{said}");
}
