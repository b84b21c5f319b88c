//! The Model Context Protocol: what keys allow there, whose sessions are whose, and answers to what is no message.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{
    daemon::Daemon,
    protocol::{asked, hello, message, spoken},
    support::Home,
};

struct Place {
    home: Home,
    daemon: Daemon,
    /// With `read` alone.
    reader: String,
    /// With `read` and `render`.
    renderer: String,
    /// With `read` and `render`, for one prompt.
    bound: String,
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        let (reader, first) = home.new_key("reader", &["--scope", "read"]);
        let (renderer, second) = home.new_key("renderer", &[]);
        let (bound, third) = home.new_key("bound", &["--prompt", "mine"]);
        home.write_outside("config/hinagata/config.toml", format!("{first}{second}{third}"));
        home.write("user_data/shared/prompts/report/template.md", "report for {{ team }}");
        home.write("user_data/shared/prompts/broken/prompt.json", "{");
        home.write("user_data/shared/prompts/mine/template.md", "{% include 'report/template.md' %}");
        home.write("hinagata.toml", "[[resources]]\nuri = \"reports://{team}\"\nprompt = \"report\"\n");
        let daemon = Daemon::start(&home, &[]);
        Self { home, daemon, reader, renderer, bound }
    }

    fn call(&self, key: &str, method: &str, params: &Value) -> Value {
        self.daemon.mcp_call(key, method, params)
    }
}

#[test]
fn a_key_that_may_only_read_renders_by_no_name() {
    let place = Place::new();
    let blue = json!({"uri": "reports://blue"});
    let got = place.call(&place.renderer, "resources/read", &blue);
    assert!(got.to_string().contains("report for blue"), "{got}");
    for (method, params) in [
        ("resources/read", blue.clone()),
        ("prompts/get", json!({"name": "report", "arguments": {"team": "blue"}})),
    ] {
        let refused = place.call(&place.reader, method, &params);
        assert!(
            refused["error"]["message"].as_str().is_some_and(|told| told.contains("`render`")),
            "{refused}"
        );
        assert!(!refused.to_string().contains("report for"), "{refused}");
    }
    // Subscribing renders nothing, so that it is no way around.
    let subscribed = place.call(&place.reader, "resources/subscribe", &blue);
    assert!(!subscribed.to_string().contains("report for"), "{subscribed}");
    place.daemon.stop();
    let audit = std::fs::read_to_string(place.home.outside("state/daemon/audit.jsonl")).expect("is written");
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let written = |who: &str, status: u16| {
        lines.iter().any(|line| {
            line.to_string().contains("resources/read")
                && line.to_string().contains(who)
                && line["status"] == json!(status)
        })
    };
    assert!(written("renderer", 200) && written("reader", 403), "{audit}");
}

#[test]
fn a_bound_key_reaches_no_other_prompt() {
    let place = Place::new();
    for (method, params) in [
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/get", json!({"name": "report"})),
        ("prompts/get", json!({"name": "mine", "arguments": {"team": "blue"}})),
        ("resources/read", json!({"uri": "prompt://report"})),
        ("resources/read", json!({"uri": "reports://blue"})),
        ("resources/subscribe", json!({"uri": "prompt://report"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "report"}, "argument": {"name": "team", "value": ""}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "reports://{team}"}, "argument": {"name": "team", "value": ""}}),
        ),
    ] {
        let got = place.call(&place.bound, method, &params).to_string();
        assert!(!got.contains("report for"), "{method} {params}: {got}");
        let asked = params.to_string().contains("report");
        assert!(asked || !got.contains("report"), "{method} {params}: {got}");
    }
    let answer = |name: &str| {
        let got = place.call(&place.bound, "prompts/get", &json!({"name": name}));
        got["error"].to_string().replace(name, "NAME")
    };
    for name in ["report", "broken", "general_system"] {
        assert_eq!(answer(name), answer("nothing_such"), "whether there is `{name}` is not theirs to know");
    }
    let got = place.call(&place.bound, "prompts/get", &json!({"name": "mine"}));
    assert!(got.get("error").is_some(), "it does not render as if nothing was missing: {got}");
}

#[test]
fn a_session_is_whose_it_is() {
    let place = Place::new();
    let session = place.daemon.mcp_session(Some(&place.renderer));
    let ping = r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#;
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for key in [&place.reader, &place.bound] {
        for (method, message) in [("GET", ""), ("POST", ping), ("POST", notice), ("DELETE", "")] {
            let answer = place.daemon.mcp(key, Some(&session), method, message);
            assert_eq!(answer.status, 404, "{method} {message}: {answer:?}");
        }
    }
    let unknown = place.daemon.mcp(&place.reader, Some("00000000-0000-0000-0000-000000000000"), "POST", ping);
    assert_eq!(unknown.status, 404, "as one that there is not");
    let answer = place.daemon.mcp(&place.renderer, Some(&session), "POST", ping);
    assert_eq!(answer.message()["id"], 5, "its owner goes on: {answer:?}");
    assert_eq!(place.daemon.mcp(&place.renderer, Some(&session), "GET", "").status, 200);
    assert_eq!(place.daemon.mcp(&place.renderer, Some(&session), "DELETE", "").status, 204);
}

#[test]
fn what_was_told_to_a_key_is_for_nobody_else() {
    let place = Place::new();
    for (method, params) in [
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "prompt://report"})),
    ] {
        let answer = place.daemon.mcp_stateless(Some(&place.renderer), method, params).answer();
        assert_eq!(answer.message()["result"]["cacheScope"], "private", "{method}: {answer:?}");
    }
}

#[test]
fn a_body_that_is_no_message_is_told_as_the_protocol_has_it() {
    let place = Place::new();
    let surrogate = r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"\ud800"}}"#;
    for (body, code, id) in
        [("{nonsense", -32700, Value::Null), ("[]", -32600, Value::Null), (surrogate, -32602, json!(7))]
    {
        let answer = place.daemon.mcp(&place.renderer, None, "POST", body);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (400, Some("application/json")),
            "{answer:?}"
        );
        let told = answer.json();
        assert_eq!((&told["error"]["code"], &told["id"]), (&json!(code), &id), "{told}");
    }
    let told = place.call(&place.renderer, "prompts/get", &json!({"name": 5}));
    assert_eq!(told["error"]["code"], -32602, "{told}");
    let told = place.call(&place.renderer, "no/such", &json!({}));
    assert_eq!(told["error"]["code"], -32601, "{told}");
}

#[test]
fn whatever_is_sent_over_stdio_everything_with_an_id_is_answered() {
    let home = Home::new();
    home.write("user_data/shared/prompts/hello/template.md", "hello {{ name }}");
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"prompts/get","params":{}{}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let lines = [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "nonsense",
        r#"{"jsonrpc":"2.0","id":"bad","method":"initialize","params":{"protocolVersion":5}}"#,
        r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"five","method":"prompts/get","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","id":"list","method":"prompts/get","params":{"name":"hello","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":"none","method":"prompts/get"}"#,
        r#"{"jsonrpc":"2.0","id":"ref","method":"completion/complete","params":{"ref":{"type":"x"},"argument":{"name":"a","value":""}}}"#,
        r#"{"jsonrpc":"2.0","id":"half","method":"prompts/get","params":{"name":"hello","arguments":{"name":"\ud83d"}}}"#,
        &deep,
        r#"{"jsonrpc":"2.0","id":"unknown","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","id":"fine","method":"prompts/get","params":{"name":"hello","arguments":{"name":"you"}}}"#,
    ];
    let (answers, ran) = spoken(&home, &[], &lines);
    assert_eq!(ran.code, 0, "{ran:?}");
    let code = |id: &str| {
        let answer = answers.iter().find(|answer| answer["id"] == id);
        answer.unwrap_or_else(|| panic!("{id} is answered: {ran:?}"))["error"]["code"].clone()
    };
    for id in ["bad", "five", "list", "none", "ref", "half", "deep"] {
        assert_eq!(code(id), -32602, "{id}: {ran:?}");
    }
    assert_eq!((code("unknown"), code("init")), (json!(-32601), Value::Null));
    assert!(ran.stdout.contains("hello you") && ran.stdout.contains("-32700"), "{ran:?}");
    let five = answers.iter().find(|answer| answer["id"] == "five").expect("is answered");
    assert!(five["error"]["message"].as_str().is_some_and(|told| told.contains("string")), "{five}");
    assert!(ran.stderr.contains("rejected a message"), "the log has it: {ran:?}");
}

#[test]
fn renders_over_standard_input_are_in_the_audit_log() {
    let home = Home::new();
    home.write("user_data/shared/prompts/report/template.md", "report for {{ team }}");
    let get = |name: &str| ("prompts/get", json!({"name": name, "arguments": {"team": "blue"}}));
    let (answers, _) = asked(&home, &[], &[get("report"), get("nothing_such"), ("prompts/list", json!({}))]);
    assert!(answers[0].to_string().contains("report for blue"), "{answers:?}");
    let audit = std::fs::read_to_string(home.outside("state/daemon/audit.jsonl")).expect("is written");
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let mut short: Vec<Value> =
        lines.iter().map(|line| json!([line["did"], line["names"]["id"], line["status"]])).collect();
    short.sort_by_key(Value::to_string);
    let expected =
        [json!(["MCP prompts/get", "nothing_such", 400]), json!(["MCP prompts/get", "report", 200])];
    assert_eq!(short, expected, "{audit}");
    assert!(
        lines.iter().all(|line| line["daemon"].as_str().is_some_and(|daemon| daemon.starts_with("mcp ")))
    );
    assert!(!audit.contains("blue"), "no values: {audit}");
    let home = Home::new();
    asked(&home, &["--set", "server.audit=off"], &[("prompts/get", json!({"name": "nothing_such"}))]);
    assert!(!home.outside("state/daemon/audit.jsonl").exists());
}

#[test]
fn settings_that_change_are_served_over_standard_input() {
    let home = Home::new();
    home.write("user_data/shared/prompts/report/template.md", "report");
    let mut command = home.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut input = child.stdin.take().expect("is piped");
    let mut lines = BufReader::new(child.stdout.take().expect("is piped")).lines();
    let mut read_until = |wanted: &str| {
        lines.by_ref().map_while(Result::ok).find(|line| line.contains(wanted)).expect("is said")
    };
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let list = |id| message(id, "resources/list", &json!({}));
    for line in [hello(), ready, list(1)] {
        writeln!(input, "{line}").expect("is read");
    }
    assert!(!read_until("\"id\":1").contains("notes://"));
    let mut number = 1;
    loop {
        // The file is watched from some moment on after the start.
        home.write("hinagata.toml", format!("[[resources]]\nuri = \"notes://{number}\"\ntext = \"x\"\n"));
        number += 1;
        writeln!(input, "{}", list(number)).expect("is read");
        if read_until(&format!("\"id\":{number},")).contains("notes://") {
            break;
        }
    }
    drop(input);
    assert!(child.wait().expect("ends").success());
}
