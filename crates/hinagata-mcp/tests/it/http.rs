//! Sessions of older revisions over HTTP: how their streams begin, how long they live, and what ends with them.

use std::time::Duration;

use hinagata_mcp::{HttpService, Viewer};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use serde_json::{Value, json};

use crate::{endless::Endless, support::Served};

type Answer = Response<BoxBody<bytes::Bytes, std::convert::Infallible>>;

const PRIMED: &str = "2025-11-25";
const UNPRIMED: [&str; 2] = ["2025-06-18", "2025-03-26"];

/// A client of one session.
struct Client {
    service: HttpService,
    revision: &'static str,
    session: String,
    caller: &'static str,
}

/// The header that names the caller of a request in these tests.
const CALLER: &str = "x-caller";

async fn send(
    service: &HttpService,
    method: &str,
    headers: &[(&str, &str)],
    message: Option<&Value>,
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri("/mcp")
        .header("host", "127.0.0.1")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = message.map(Value::to_string).unwrap_or_default();
    let mut request = request.body(Full::new(bytes::Bytes::from(body))).expect("is a request");
    let mut viewer = Viewer::for_owner();
    if let Some((_, caller)) = headers.iter().find(|(name, _)| *name == CALLER) {
        viewer.name = (*caller).into();
    }
    request.extensions_mut().insert(viewer);
    service.handle_request(request).await
}

async fn text(answer: Answer) -> String {
    let body = answer.into_body().collect().await.expect("is read").to_bytes();
    String::from_utf8_lossy(&body).into_owned()
}

/// The next piece of a stream.
async fn piece(stream: &mut Answer) -> String {
    let frame = stream.body_mut().frame().await.expect("goes on").expect("is read");
    String::from_utf8_lossy(&frame.into_data().expect("is data")).into_owned()
}

fn has_empty_data(text: &str) -> bool {
    text.lines().any(|line| line.strip_prefix("data:").is_some_and(|data| data.trim().is_empty()))
}

impl Client {
    async fn connect(service: &HttpService, revision: &'static str) -> (Self, String) {
        Self::connect_as(service, revision, "-").await
    }

    async fn connect_as(
        service: &HttpService,
        revision: &'static str,
        caller: &'static str,
    ) -> (Self, String) {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let answer = send(service, "POST", &[(CALLER, caller)], Some(&hello)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let session = answer.headers()["mcp-session-id"].to_str().expect("is text").to_owned();
        let said = text(answer).await;
        let client = Self { service: service.clone(), revision, session, caller };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(client.send("POST", &[], Some(&ready)).await.status(), StatusCode::ACCEPTED);
        (client, said)
    }

    async fn send(&self, method: &str, more: &[(&str, &str)], message: Option<&Value>) -> Answer {
        let mut headers = vec![
            ("mcp-session-id", self.session.as_str()),
            ("mcp-protocol-version", self.revision),
            (CALLER, self.caller),
        ];
        headers.extend(more);
        send(&self.service, method, &headers, message).await
    }

    async fn ask(&self, method: &str, params: &Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.send("POST", &[], Some(&message)).await
    }

    async fn open_stream(&self) -> Answer {
        let stream = self.send("GET", &[], None).await;
        assert_eq!(stream.status(), StatusCode::OK);
        stream
    }

    /// The status of a request.
    async fn list(&self) -> StatusCode {
        let answer = self.ask("prompts/list", &json!({})).await;
        let status = answer.status();
        let said = text(answer).await;
        assert!(status != StatusCode::OK || said.contains("test_simple_prompt"), "{said}");
        status
    }
}

#[tokio::test]
async fn streams_start_with_an_empty_event_only_in_the_revision_that_has_it() {
    let served = Served::fixtures();
    let service = served.mcp.http_service(1 << 20);
    for revision in UNPRIMED {
        let (client, said) = Client::connect(&service, revision).await;
        assert!(!has_empty_data(&said) && said.contains(revision), "{said}");
        let listed = text(client.ask("prompts/list", &json!({})).await).await;
        assert!(!has_empty_data(&listed) && listed.contains("test_simple_prompt"), "{listed}");
    }
    let (client, _) = Client::connect(&service, PRIMED).await;
    let listed = text(client.ask("prompts/list", &json!({})).await).await;
    assert!(has_empty_data(&listed) && listed.contains("test_simple_prompt"), "{listed}");
    let mut stream = client.open_stream().await;
    let first = piece(&mut stream).await;
    assert!(has_empty_data(&first) && first.contains("retry: 1000"), "{first}");
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_notifications_of_an_older_revision_starts_with_a_notification() {
    let served = Served::fixtures();
    let service = served.mcp.http_service(1 << 20);
    let (client, _) = Client::connect(&service, UNPRIMED[0]).await;
    let mut stream = client.open_stream().await;
    served.mcp.notify_change(None);
    served.write("fresh/template.md", "fresh");
    let mut said = String::new();
    // The clock moves on while nothing else does, so comments that keep the connection open come in between.
    while !said.contains("notifications/prompts/list_changed") {
        said.push_str(&piece(&mut stream).await);
    }
    assert!(!has_empty_data(&said), "{said}");
}

#[tokio::test(start_paused = true)]
async fn clients_that_are_idle_for_ten_minutes_go_on() {
    let served = Served::fixtures();
    let service = served.mcp.http_service(1 << 20);
    for revision in [PRIMED, UNPRIMED[0]] {
        let (client, _) = Client::connect(&service, revision).await;
        for minutes in [10, 10, 180] {
            tokio::time::advance(Duration::from_secs(minutes * 60)).await;
            assert_eq!(client.list().await, StatusCode::OK, "{revision} after {minutes} minutes");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_client_ends_and_one_with_an_open_stream_does_not() {
    let served = Served::fixtures();
    let service = served.mcp.http_service(1 << 20);
    let (gone, _) = Client::connect(&service, PRIMED).await;
    let (alive, _) = Client::connect(&service, PRIMED).await;
    let _stream = alive.open_stream().await;
    let day = tokio::time::Instant::now() + Duration::from_secs(24 * 3_600);
    // Idle sessions are looked for in between.
    tokio::time::sleep_until(day).await;
    assert_eq!((gone.list().await, alive.list().await), (StatusCode::NOT_FOUND, StatusCode::OK));
}

#[tokio::test(start_paused = true)]
async fn a_new_client_takes_the_place_of_the_one_that_was_idle_for_the_longest_time() {
    let served = Served::fixtures();
    let service = served.mcp.http_service(1 << 20);
    let (watching, _) = Client::connect(&service, PRIMED).await;
    let _stream = watching.open_stream().await;
    let (idle, _) = Client::connect(&service, PRIMED).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let mut others = Vec::new();
    for _ in 2..1_024 {
        others.push(Client::connect(&service, PRIMED).await.0);
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(others[0].list().await, StatusCode::OK);
    let (new, _) = Client::connect(&service, PRIMED).await;
    let statuses = [idle.list().await, watching.list().await, others[0].list().await, new.list().await];
    assert_eq!(statuses, [StatusCode::NOT_FOUND, StatusCode::OK, StatusCode::OK, StatusCode::OK]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_takes_no_place_of_one_who_has_fewer_sessions() {
    let served = Served::fixtures();
    let service = served.mcp.http_service(1 << 20);
    let connect = async |caller| {
        let client = Client::connect_as(&service, PRIMED, caller).await.0;
        tokio::time::advance(Duration::from_secs(1)).await;
        client
    };
    // The sessions of `few` have been idle for the longest time.
    let few = [connect("few").await, connect("few").await];
    let mut many = Vec::new();
    for _ in 2..1_024 {
        many.push(connect("many").await);
    }
    let (found, gone) = (StatusCode::OK, StatusCode::NOT_FOUND);
    let more = connect("many").await;
    assert_eq!([few[0].list().await, many[0].list().await, more.list().await], [found, gone, found]);
    let other = connect("other").await;
    assert_eq!([few[1].list().await, many[1].list().await, other.list().await], [found, gone, found]);
    assert_eq!(many[2].list().await, found, "one place is enough");
}

#[tokio::test(start_paused = true)]
async fn a_new_client_is_refused_only_while_every_session_is_in_use() {
    let served = Served::fixtures();
    let service = served.mcp.http_service(1 << 20);
    let mut streams = Vec::new();
    for _ in 0..1_024 {
        let (client, _) = Client::connect(&service, PRIMED).await;
        streams.push(client.open_stream().await);
    }
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let refused = send(&service, "POST", &[], Some(&hello)).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    drop(streams.pop());
    Client::connect(&service, PRIMED).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_client_left_is_cancelled() {
    let (endless, served) = Endless::serve();
    let service = served.mcp.http_service(1 << 20);
    let get = json!({"name": "test_simple_prompt"});
    for revision in [UNPRIMED[0], PRIMED] {
        let (client, _) = Client::connect(&service, revision).await;
        let stream = client.ask("prompts/get", &get).await;
        endless.wait_for(1).await;
        drop(stream);
        endless.wait_for(0).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_goes_on_for_a_client_that_comes_back() {
    let (endless, served) = Endless::serve();
    let service = served.mcp.http_service(1 << 20);
    let (client, _) = Client::connect(&service, PRIMED).await;
    let mut stream = client.ask("prompts/get", &json!({"name": "test_simple_prompt"})).await;
    endless.wait_for(1).await;
    let first = piece(&mut stream).await;
    let last_event = first.lines().find_map(|line| line.strip_prefix("id:")).expect("has an id").trim();
    drop(stream);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let resumed = client.send("GET", &[("last-event-id", last_event)], None).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(endless.count(), 1, "the client came back");
    drop(resumed);
    endless.wait_for(0).await;
}
