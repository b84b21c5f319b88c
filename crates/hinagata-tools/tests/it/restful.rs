//! Tools over HTTP, against servers that answer, fail, hang, flood, lie and redirect.

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::support::{Place, Server, allowing};
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
    routing::any,
};
use hinagata::{Code, ports::PortFuture};
use hinagata_tools::{ModuleSettings, NameResolver, ToolSettings, Toolbox};
use serde_json::{Value, json};
use tokio::sync::Barrier;

/// The requests of a server, in order.
type Asked = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Shared {
    asked: Asked,
    /// Ten calls that must be concurrent.
    ten: Arc<Barrier>,
}

/// A server that echoes requests.
struct Rest {
    server: Server,
    asked: Asked,
}

impl Rest {
    fn start() -> Self {
        let shared = Shared { asked: Asked::default(), ten: Arc::new(Barrier::new(10)) };
        let asked = Arc::clone(&shared.asked);
        let routes = Router::new()
            .route("/echo", any(echo))
            .route("/api/{*rest}", any(echo))
            .route("/ten", any(ten))
            .route("/fail", any(|| async { (StatusCode::IM_A_TEAPOT, "no tea") }))
            .route("/hang", any(|| async { std::future::pending::<()>().await }))
            .route("/flood", any(flood))
            .route("/rubbish", any(|| async { ([(header::CONTENT_TYPE, "application/json")], "{\"n\": ") }))
            .route("/text", any(|| async { "plain" }))
            .route("/nothing", any(|| async { StatusCode::NO_CONTENT }))
            .route("/lie", any(|| async { Json(json!({"n": "no number"})) }))
            .route("/here", any(|| async { Redirect::temporary("/echo") }))
            .route("/round", any(|| async { Redirect::temporary("/round") }))
            .with_state(shared);
        let server = Server::start(|listener| async move {
            axum::serve(listener, routes).await.expect("serves");
        });
        Self { server, asked }
    }

    fn settings(&self) -> ToolSettings {
        allowing(&[&self.server.address.to_string()])
    }

    fn place(&self, tools: &[(&str, Value)]) -> Place {
        Place::new(Toolbox::new(self.settings()), tools)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("is not poisoned"))
    }
}

async fn echo(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let secret = headers.get("x-secret").map(|value| value.to_str().unwrap_or_default().to_owned());
    let body = String::from_utf8_lossy(&body).into_owned();
    let secret = secret.map(|secret| format!(" [{secret}]")).unwrap_or_default();
    let asked = format!("{method} {uri} {body}{secret}");
    shared.asked.lock().expect("is not poisoned").push(asked.clone());
    Json(json!({"asked": asked})).into_response()
}

async fn ten(State(shared): State<Shared>, body: String) -> Json<Value> {
    shared.ten.wait().await;
    Json(serde_json::from_str(&body).unwrap_or_default())
}

async fn flood() -> Body {
    let chunks = tokio_stream::iter(std::iter::repeat_with(|| Ok::<_, io::Error>(vec![b'1'; 64 << 10])));
    Body::from_stream(chunks)
}

#[test]
fn ten_independent_calls_run_concurrently() {
    let rest = Rest::start();
    let place = rest.place(&[("wait", json!({"url": rest.server.url("/ten")}))]);
    let text = place.text("{% for n in range(10) %}{{ wait(n) }}{% endfor %}");
    assert_eq!(text, "[0][1][2][3][4][5][6][7][8][9]");
}

#[test]
fn a_dependent_call_follows_the_call_it_needs() {
    let rest = Rest::start();
    let tool =
        json!({"url": rest.server.url("/echo"), "parameters": {"type": "object", "properties": {"q": {}}}});
    let place = rest.place(&[("first", tool.clone()), ("second", tool)]);
    place.text("{{ second(first('a').asked) }}");
    assert_eq!(rest.asked(), [r#"POST /echo {"q":"a"}"#, r#"POST /echo {"q":"POST /echo {\"q\":\"a\"}"}"#]);
}

#[test]
fn arguments_are_sent_as_the_definition_declares() {
    let rest = Rest::start();
    let object = json!({"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}});
    let (url, get) = (rest.server.url("/echo"), json!({"url": "/x?a=1", "method": "GET", "module": "m"}));
    let mut settings = rest.settings();
    let module = json!({"base_url": rest.server.url("/api/"), "headers": {"X-Secret": "sesame"}});
    settings
        .modules
        .insert("m".to_owned(), serde_json::from_value::<ModuleSettings>(module).expect("settings"));
    let tools = [
        ("plain", json!({"url": url})),
        ("named", json!({"restful": {"url": url, "method": "PUT"}, "parameters": object})),
        ("list", json!({"url": url, "parameters": {"type": "array"}})),
        (
            "get",
            get.as_object()
                .map(|get| {
                    let mut get = get.clone();
                    get.insert("parameters".to_owned(), object.clone());
                    Value::Object(get)
                })
                .expect("is an object"),
        ),
    ];
    let place = Place::new(Toolbox::new(settings), &tools);
    let ask = |template: &str| {
        place.text(template);
        rest.asked().join(" ")
    };
    assert_eq!(ask("{{ plain('a', 1) }}"), r#"POST /echo ["a",1]"#);
    assert_eq!(ask("{{ named('a', n=1) }}"), r#"PUT /echo {"q":"a","n":1}"#);
    assert_eq!(ask("{{ list([1]) }}"), "POST /echo [[1]]");
    assert_eq!(ask("{{ tools.m.get(q='a b') }}"), "GET /api/x?a=1&q=a+b  [sesame]");
    assert_eq!(place.render_go("{{(named \"x\").asked}}").expect("renders").text(), r#"PUT /echo {"q":"x"}"#);
    let debug = format!("{:?}", hinagata_tools::Secret::Text("sesame".to_owned()));
    assert!(!debug.contains("sesame"));
}

#[test]
fn results_are_values() {
    let rest = Rest::start();
    let place = rest.place(&[
        ("echo", json!({"url": rest.server.url("/echo")})),
        ("text", json!({"url": rest.server.url("/text")})),
        ("nothing", json!({"url": rest.server.url("/nothing")})),
        ("here", json!({"url": rest.server.url("/here")})),
    ]);
    assert_eq!(
        place.text("{{ echo().asked | upper }}|{{ text() }}|{{ nothing() is none }}"),
        "POST /ECHO []|plain|True"
    );
    assert_eq!(place.text("{{ here(1).asked }}"), "POST /echo [1]", "a redirect on one host is followed");
}

#[test]
fn equal_calls_are_made_once_unless_the_tool_is_not_pure() {
    let rest = Rest::start();
    let url = rest.server.url("/echo");
    let place = rest.place(&[("pure", json!({"url": url})), ("count", json!({"url": url, "pure": false}))]);
    place.text("{{ pure(1) }}{{ pure(1) }}{{ Pure is defined }}");
    assert_eq!(rest.asked().len(), 1);
    place.text("{{ count(1) }}{{ count(2) }}{{ count(1) }}");
    assert_eq!(rest.asked(), ["POST /echo [1]", "POST /echo [2]", "POST /echo [1]"]);
}

#[test]
fn a_failed_call_returns_the_default_and_reports_why() {
    let rest = Rest::start();
    let free = Server::start(|_| async {}).address;
    let mut settings = rest.settings();
    settings.hosts.add_entry(&free.to_string()).expect("is a host");
    settings.max_answer = 1 << 20;
    let slow = ModuleSettings { timeout: Some(0.2), ..ModuleSettings::default() };
    settings.modules.insert("slow".to_owned(), slow);
    let returns = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let url = |path: &str| rest.server.url(path);
    let tool = |path: &str| json!({"url": url(path), "default": {"n": 7}, "returns": returns});
    let place = Place::new(
        Toolbox::new(settings),
        &[
            ("fail", tool("/fail")),
            ("slow.hang", tool("/hang")),
            ("flood", tool("/flood")),
            ("rubbish", tool("/rubbish")),
            ("lie", tool("/lie")),
            ("round", tool("/round")),
            ("gone", json!({"url": format!("http://{free}/"), "default": {"n": 7}})),
            ("relative", json!({"url": "/x", "default": {"n": 7}})),
            (
                "strict",
                json!({"url": url("/echo"), "default": {"n": 7}, "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}),
            ),
            ("empty", json!({"url": url("/fail"), "returns": returns})),
            ("must", json!({"url": url("/fail"), "on_error": "fail"})),
        ],
    );
    let cases = [
        ("fail()", "status"),
        ("slow_hang()", "timeout"),
        ("flood()", "size"),
        ("rubbish()", "answer"),
        ("lie()", "answer"),
        ("round()", "redirect"),
        ("gone()", "connect"),
        ("relative()", "definition"),
        ("strict(5)", "arguments"),
    ];
    for (call, reason) in cases {
        let template = format!("<{{{{ {call}.n }}}}>");
        assert_eq!(place.failed(&template), ("<7>".to_owned(), reason.to_owned()), "{call}");
    }
    assert!(rest.asked().is_empty(), "arguments that do not fit are not sent");
    assert_eq!(place.failed("<{{ empty().n }}>"), ("<>".to_owned(), "status".to_owned()));
    let go = place.render_go("<{{(empty).n}}>").expect("renders");
    assert_eq!((go.text().as_str(), go.warnings.len()), ("<>", 1));
    let error = place.render("a\n{{ must() }}").expect_err("must fail");
    assert_eq!((error.code(), error.place().map(|place| place.line)), (Code::Tool, Some(2)));
    assert!(error.message().contains("418: no tea") && error.details()["tool"] == "must", "{error:?}");
    assert_eq!(place.failed("---\non_error: default\n---\n<{{ must() }}>").0, "<>");
    assert_eq!(place.engine.tool_diagnostics().len(), 1, "the relative one is reported without a call");
}

#[test]
fn waiting_for_a_tool_does_not_count_as_render_time() {
    let rest = Rest::start();
    let slow = ModuleSettings { timeout: Some(1.5), ..ModuleSettings::default() };
    let mut settings = rest.settings();
    settings.modules.insert("slow".to_owned(), slow);
    let mut options = hinagata::EngineOptions::default();
    options.limits.deadline = Some(Duration::from_millis(1_200));
    let place = Place::with_options(
        Toolbox::new(settings),
        &[("slow.hang", json!({"url": rest.server.url("/hang")}))],
        options,
    );
    assert_eq!(place.failed("a{{ slow_hang() }}b"), ("ab".to_owned(), "timeout".to_owned()));
}

/// A resolver that returns the addresses of the test, a different one each time.
struct Fake {
    answers: Vec<IpAddr>,
    looked_up: AtomicUsize,
}

impl NameResolver for Fake {
    fn look_up<'a>(&'a self, _: &'a str) -> PortFuture<'a, io::Result<Vec<IpAddr>>> {
        let turn = self.looked_up.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers[turn.min(self.answers.len() - 1)];
        Box::pin(std::future::ready(Ok(vec![answer])))
    }
}

fn fake(answers: &[IpAddr]) -> Arc<Fake> {
    Arc::new(Fake { answers: answers.to_vec(), looked_up: AtomicUsize::new(0) })
}

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn a_tool_cannot_reach_an_unlisted_host() {
    let rest = Rest::start();
    let elsewhere = rest.server.url("/echo");
    let away = Router::new().route("/", any(move || async move { Redirect::temporary(&elsewhere) }));
    let leading = Server::start(|listener| async move { axum::serve(listener, away).await.expect("serves") });
    // Both are loopback addresses. Only one of the TCP ports is listed.
    let settings = allowing(&[&leading.address.to_string(), "listed.example.com"]);
    let port = rest.server.address.port();
    let tools = [
        ("direct", json!({"url": rest.server.url("/echo")})),
        ("redirect", json!({"url": leading.url("/")})),
        ("rebound", json!({"url": format!("http://listed.example.com:{port}/echo")})),
        ("unlisted", json!({"url": format!("http://other.example.com:{port}/echo")})),
    ];
    let place = Place::new(Toolbox::with_resolver(settings, fake(&[HERE])), &tools);
    let cases =
        [("direct()", "host"), ("redirect()", "redirect"), ("rebound()", "host"), ("unlisted()", "host")];
    for (call, reason) in cases {
        let template = format!("<{{{{ {call} }}}}>");
        assert_eq!(place.failed(&template), ("<>".to_owned(), reason.to_owned()), "{call}");
    }
    assert!(rest.asked().is_empty());
}

#[test]
fn a_connection_uses_the_checked_address() {
    let rest = Rest::start();
    let port = rest.server.address.port();
    // The first answer is allowed, every later one is not: resolving twice would be noticed.
    let names = fake(&[HERE, IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))]);
    let settings = allowing(&["listed.example.com", "127.0.0.1"]);
    let url = format!("http://listed.example.com:{port}/echo");
    let place = Place::new(Toolbox::with_resolver(settings, names.clone()), &[("t", json!({"url": url}))]);
    place.text("{{ t(1) }}");
    place.text("{{ t(2) }}");
    assert_eq!(
        (rest.asked().len(), names.looked_up.load(Ordering::SeqCst)),
        (2, 1),
        "one connection, one look"
    );
}
