//! Tools of MCP servers: programs on standard input and output, and HTTP servers.
#![cfg(feature = "mcp")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::support::{Place, Server};
use hinagata_tools::{McpServerSettings, ToolSettings, Toolbox};
use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use tokio::sync::Barrier;

/// A directory with the notes of a server.
struct Notes(tempfile::TempDir);

impl Notes {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("notes")
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn starts(&self) -> usize {
        self.lines().iter().filter(|line| line.starts_with("start")).count()
    }

    fn process(&self, what: &str) -> u32 {
        let lines = self.lines();
        let line = lines.iter().rev().find_map(|line| line.strip_prefix(what));
        line.and_then(|id| id.trim().parse().ok()).expect("is noted")
    }

    fn server(&self, arguments: &[&str]) -> McpServerSettings {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp_server.py");
        let python = std::env::var("HINAGATA_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let arguments = [&[script], arguments].concat();
        let environment = json!({"NOTES": self.path(), "TOKEN": "t"});
        let server = json!({"command": python, "args": arguments, "env": environment, "timeout": 30.0});
        serde_json::from_value(server).expect("are settings")
    }
}

fn place(server: McpServerSettings) -> Place {
    place_with(server, |_| ())
}

fn place_with(server: McpServerSettings, change: impl FnOnce(&mut ToolSettings)) -> Place {
    let mut settings = ToolSettings::default();
    settings.servers.insert("s".to_owned(), server);
    settings.allow_addresses().expect("are addresses");
    change(&mut settings);
    let object = json!({"type": "object"});
    let of = |name: &str| {
        let returns = if name == "structured" { object.clone() } else { Value::Null };
        json!({"type": "mcp", "module": "s", "name": name, "default": "none", "returns": returns,
               "parameters": {"type": "object", "properties": {"q": {}}}})
    };
    let names = [
        "echo",
        "structured",
        "environment",
        "error",
        "picture",
        "hang",
        "die",
        "flood",
        "rubbish",
        "other",
        "ten",
        "marked",
        "unmarked",
        "meta",
    ];
    let ids: Vec<String> = names.iter().map(|name| format!("s.{name}")).collect();
    let mut tools: Vec<(&str, Value)> = ids.iter().map(String::as_str).zip(names.map(of)).collect();
    let json = json!({"type": "mcp", "module": "s", "name": "echo", "returns": {"type": "object"}, "parameters": {"type": "object", "properties": {"q": {}}}});
    tools.push(("json", json));
    let plain =
        json!({"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]});
    let mut copied = plain.clone();
    copied["x-fastmcp-wrap-result"] = json!(true);
    for (id, name, returns) in [
        ("number", "unmarked", json!({"type": "integer"})),
        ("object", "marked", plain),
        ("copied", "unmarked", copied),
        ("words", "marked", json!({"type": "string"})),
    ] {
        let tool = json!({"type": "mcp", "module": "s", "name": name, "returns": returns, "default": "none"});
        tools.push((id, tool));
    }
    tools.push(("away.echo", json!({"type": "mcp", "default": "none"})));
    tools.push(("list", json!({"type": "mcp", "module": "s", "name": "echo", "default": "none"})));
    Place::new(Toolbox::new(settings), &tools)
}

/// Whether a process exists and is not a zombie.
fn is_alive(process: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state
        .rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.trim().is_empty())
}

fn wait_until_gone(process: u32) {
    // The system ends it at its own pace. The test runner has a timeout.
    while is_alive(process) {
        std::thread::yield_now();
    }
}

#[test]
fn a_program_answers_calls_over_one_connection() {
    let notes = Notes::new();
    let place = place(notes.server(&[]));
    assert_eq!(
        place.text("{{ s_echo('a') }}|{{ tools.s.structured(q=2).got.q }}|{{ s_echo() }}"),
        "{\"q\": \"a\"}|2|{}"
    );
    assert_eq!(place.text("{{ s_structured('a').got.q }}{{ s_structured().n + 1 }}"), "a6");
    assert_eq!(place.text("{{ json('a').q }}"), "a", "a text that should be JSON is read");
    assert_eq!(place.text("{{ list() }}"), "null");
    assert_eq!(notes.starts(), 1);
}

#[test]
fn a_wrapped_plain_value_is_unwrapped() {
    let notes = Notes::new();
    let place = place(notes.server(&[]));
    let lists = || notes.lines().iter().filter(|line| *line == "list").count();
    assert_eq!(place.text("{{ s_meta() + 1 }}"), "6", "the result says so");
    assert_eq!(place.text("{{ number() + 1 }}"), "6", "the definition declares the value");
    assert_eq!(place.text("{{ copied() + 1 }}"), "6", "the definition has the marked schema of the server");
    assert_eq!(place.text("{{ object().result + 1 }}"), "6", "the definition declares the object");
    assert_eq!(lists(), 0, "the list of tools was not needed");
    assert_eq!(place.text("{{ s_marked() + 1 }}"), "6", "the output schema of the server says so");
    assert_eq!(place.text("{{ s_unmarked().result + 1 }}"), "6", "an object with that name stays");
    assert_eq!(place.render_go("{{s_marked}}").expect("renders").text(), "5");
    assert_eq!(lists(), 1, "one list per connection");
    assert_eq!(place.failed("{{ words() }}"), ("none".to_owned(), "answer".to_owned()));
}

#[test]
fn a_server_states_the_schemas_of_its_tools() {
    let notes = Notes::new();
    let of = |servers: &[(&'static str, &str)]| {
        let mut settings = ToolSettings::default();
        settings.servers.insert("s".to_owned(), notes.server(&[]));
        let tool = |(id, name): &(&'static str, &str)| {
            (*id, json!({"type": "mcp", "module": "s", "name": name, "default": "none"}))
        };
        let mut tools: Vec<(&str, Value)> = servers.iter().map(tool).collect();
        tools.push(("plain", json!({"url": "http://127.0.0.1:1/", "default": "none"})));
        Place::new(Toolbox::new(settings), &tools).engine.server_schemas_blocking()
    };
    let schemas = of(&[("s.marked", "marked"), ("other", "unmarked")]).expect("are listed");
    assert_eq!(schemas.keys().collect::<Vec<_>>(), ["other", "s.marked"], "a REST server states none");
    assert_eq!(schemas["s.marked"]["input"], json!({"type": "object"}));
    assert_eq!(schemas["s.marked"]["output"]["x-fastmcp-wrap-result"], json!(true));
    let error = of(&[("s.markd", "markd")]).expect_err("is not listed");
    assert!(error.message().contains("lists no tool `markd`") && error.near() == ["marked"], "{error:?}");
}

#[test]
fn a_program_inherits_only_necessary_environment_variables() {
    let notes = Notes::new();
    let names = place(notes.server(&[])).text("{{ s_environment() }}");
    let names: Vec<&str> = names.split(',').collect();
    assert!(names.contains(&"PATH") && names.contains(&"TOKEN"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
}

#[test]
fn a_failed_call_returns_the_default_and_reports_why() {
    let notes = Notes::new();
    let mut server = notes.server(&[]);
    let failing = place(server.clone());
    let cases = [
        ("s_error()", "status"),
        ("s_other()", "status"),
        ("s_picture()", "answer"),
        ("list(1)", "arguments"),
        ("away_echo()", "definition"),
    ];
    for (call, reason) in cases {
        assert_eq!(
            failing.failed(&format!("{{{{ {call} }}}}")),
            ("none".to_owned(), reason.to_owned()),
            "{call}"
        );
    }
    assert_eq!(notes.starts(), 1);
    server.timeout = Some(0.3);
    assert_eq!(place(server.clone()).failed("{{ s_rubbish() }}").0, "none");
    let place = place(server);
    // The first call starts the server, which may take its time.
    while place.render("{{ s_echo() }}").expect("renders").text() == "none" {
        std::thread::yield_now();
    }
    assert_eq!(place.failed("{{ s_hang() }}"), ("none".to_owned(), "timeout".to_owned()));
    assert_eq!(place.text("{{ s_echo('b') }}"), "{\"q\": \"b\"}", "the connection goes on");
}

#[test]
fn a_crashed_program_is_restarted() {
    let notes = Notes::new();
    let place = place(notes.server(&[]));
    place.text("{{ s_echo() }}");
    assert_eq!(place.failed("{{ s_die() }}"), ("none".to_owned(), "connect".to_owned()));
    assert_eq!(place.text("{{ s_echo('again') }}"), "{\"q\": \"again\"}");
    assert_eq!(notes.starts(), 2);
}

#[test]
fn a_failing_program_is_retried_with_a_delay() {
    let notes = Notes::new();
    let failing = place(notes.server(&["broken"]));
    let rendered = failing.render("{{ s_echo(1) }}").expect("renders");
    assert_eq!(rendered.warnings[0].error.details()["stderr"], "cannot find my settings");
    // Each failure extends the delay, so some call falls into it.
    while failing.failed("{{ s_echo(2) }}").1 != "down" {}
    let missing = json!({"command": "/no/such/program"});
    let missing = place(serde_json::from_value(missing).expect("are settings"));
    assert_eq!(missing.failed("{{ s_echo() }}"), ("none".to_owned(), "connect".to_owned()));
    let neither = place(McpServerSettings::default());
    assert_eq!(neither.failed("{{ s_echo() }}").1, "definition");
}

#[test]
fn a_program_with_oversized_output_is_ended() {
    let notes = Notes::new();
    let place = place_with(notes.server(&[]), |settings| settings.max_answer = 64 << 10);
    assert_eq!(place.failed("{{ s_flood() }}"), ("none".to_owned(), "size".to_owned()));
    let flooding = notes.process("start");
    assert_eq!(place.text("{{ s_echo() }}"), "{}");
    wait_until_gone(flooding);
}

#[test]
fn no_child_process_is_left() {
    let notes = Notes::new();
    let place = place(notes.server(&["child"]));
    place.text("{{ s_echo() }}");
    let (server, child) = (notes.process("start"), notes.process("child"));
    assert!(is_alive(server) && is_alive(child));
    drop(place);
    wait_until_gone(server);
    wait_until_gone(child);
    assert!(Path::new("/proc/self").exists(), "there is a /proc to look at");
}

/// An HTTP server whose `ten` answers when ten calls have arrived.
#[derive(Clone)]
struct Ten(Arc<Barrier>);

impl ServerHandler for Ten {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<rmcp::RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "ten" {
            self.0.wait().await;
        }
        if request.name == "flood" {
            return Ok(CallToolResult::success(vec![ContentBlock::text("x".repeat(4 << 20))]).into());
        }
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let key = parts.and_then(|parts| parts.headers.get("x-key")).and_then(|key| key.to_str().ok());
        let given = Value::Object(request.arguments.unwrap_or_default());
        let text = format!("{given}{}", key.unwrap_or_default());
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn http_server(json: bool) -> Server {
    let ten = Ten(Arc::new(Barrier::new(10)));
    let config =
        StreamableHttpServerConfig::default().with_json_response(json).with_legacy_session_mode(!json);
    let service: StreamableHttpService<Ten, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(ten.clone()), Arc::default(), config);
    let routes = axum::Router::new().nest_service("/mcp", service);
    Server::start(|listener| async move { axum::serve(listener, routes).await.expect("serves") })
}

fn at(url: &str) -> McpServerSettings {
    let settings = json!({"url": url, "headers": {"X-Key": "sesame"}});
    serde_json::from_value(settings).expect("are settings")
}

#[test]
fn an_http_server_answers_concurrent_calls() {
    for json in [false, true] {
        let server = http_server(json);
        let place = place(at(&server.url("/mcp")));
        assert_eq!(place.text("{{ s_echo('a') }}"), "{\"q\":\"a\"}sesame", "{json}");
        let ten = place.text("{% for n in range(10) %}{{ s_ten(n) }}{% endfor %}");
        assert_eq!(ten.matches("sesame").count(), 10, "{json} {ten}");
    }
}

#[test]
fn an_http_response_has_a_size_limit() {
    for json in [false, true] {
        let server = http_server(json);
        let place = place_with(at(&server.url("/mcp")), |settings| {
            settings.max_answer = 64 << 10;
            // Only a stream that never reaches the limit has to run into the timeout.
            settings.timeout = std::time::Duration::from_secs(if json { 60 } else { 1 });
        });
        let (text, reason) = place.failed("{{ s_flood() }}");
        assert_eq!(text, "none");
        let wanted: &[&str] = if json { &["size"] } else { &["size", "timeout"] };
        assert!(wanted.contains(&reason.as_str()), "{json} {reason}");
    }
}

#[test]
fn an_http_server_must_be_an_allowed_host() {
    let server = http_server(true);
    let place = place_with(at(&server.url("/mcp")), |settings| {
        settings.hosts = hinagata_tools::AllowedHosts::default();
    });
    assert_eq!(place.failed("{{ s_echo() }}"), ("none".to_owned(), "host".to_owned()));
    let elsewhere = server.url("/mcp");
    let leading = axum::Router::new().route(
        "/mcp",
        axum::routing::any(move || async move { axum::response::Redirect::temporary(&elsewhere) }),
    );
    let leading =
        Server::start(|listener| async move { axum::serve(listener, leading).await.expect("serves") });
    let place = self::place(at(&leading.url("/mcp")));
    assert_eq!(place.failed("{{ s_echo() }}"), ("none".to_owned(), "redirect".to_owned()));
}
