//! Trying tools, and previews that reach nothing.

use std::net::SocketAddr;

use hinagata::store::StoreKind;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::support::{Setup, send};

/// A server that answers one request with this JSON, and returns the request.
async fn answering(answer: Value) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("has an address");
    let serve = async move {
        let (mut stream, _) = listener.accept().await.expect("is called");
        let (mut request, mut piece) = (Vec::new(), [0; 4096]);
        // The arguments are an object, which ends the request.
        while !request.ends_with(b"}") {
            let length = stream.read(&mut piece).await.expect("reads");
            assert_ne!(length, 0, "the request ended early");
            request.extend_from_slice(&piece[..length]);
        }
        let body = answer.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.expect("answers");
        String::from_utf8(request).expect("is text")
    };
    (address, tokio::spawn(serve))
}

fn weather(address: SocketAddr) -> Value {
    json!({
        "type": "restful", "method": "POST", "url": format!("http://{address}/weather"),
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    })
}

fn setup() -> Setup {
    Setup::new().set("tools.allowed_hosts=127.0.0.1")
}

#[tokio::test]
async fn a_tool_is_called_to_try_it() {
    let (address, served) = answering(json!({"sky": "clear"})).await;
    let daemon = setup().start().await;
    daemon.put(StoreKind::Tool, "town.weather", weather(address)).await;
    let path = "/api/tools/town.weather/call";
    let called =
        daemon.as_owner("POST", path, &json!({"arguments": {"city": "Oslo"}})).await.expect_status(200);
    assert_eq!((&called["tool"], &called["result"]), (&json!("town.weather"), &json!({"sky": "clear"})));
    assert!(called["milliseconds"].is_u64(), "{called}");
    let request = served.await.expect("ends");
    assert!(request.starts_with("POST /weather") && request.contains("Oslo"), "{request}");

    // Arguments are checked before anything is sent: nobody listens any more.
    let wrong = daemon.as_owner("POST", path, &json!({"arguments": {}})).await;
    assert!(wrong.is_problem() && wrong.text.contains("city"), "{wrong:?}");
    assert_eq!(daemon.as_owner("POST", path, &json!({"arguments": 1})).await.status, 400);
    assert_eq!(daemon.as_owner("POST", path, &json!({"argument": {}})).await.status, 400);
    let unknown = daemon.as_owner("POST", "/api/tools/town.wether/call", &json!({})).await.expect_status(404);
    assert_eq!(unknown["near"], json!(["town.weather"]));
}

#[tokio::test]
async fn a_tool_is_tried_only_with_a_key_that_may_chat_and_is_for_all_prompts() {
    let daemon = setup()
        .keys(&[
            ("reader", &["read", "render"], None),
            ("bound", &["read", "render", "chat"], Some(&["mine"])),
        ])
        .start()
        .await;
    daemon.put(StoreKind::Tool, "town.weather", weather(([127, 0, 0, 1], 1).into())).await;
    let request = || daemon.request("POST", "/api/tools/town.weather/call").body("{}");
    for key in ["key-reader", "key-bound"] {
        assert_eq!(send(request().bearer_auth(key)).await.status, 403, "{key}");
    }
    assert_eq!(send(request()).await.status, 401);
}

#[tokio::test]
async fn a_prompt_that_calls_a_tool_is_not_rendered_while_somebody_types() {
    let (address, served) = answering(json!("clear")).await;
    let daemon = setup()
        .file("user_data/shared/prompts/outlook/template.md", "The sky is {{ tools.town.weather(city) }}.\n")
        .file("user_data/shared/prompts/plain/template.md", "Hello {{ city }}.\n")
        .file(
            "user_data/shared/prompts/named/prompt.yaml",
            "parameters: {tools: {type: list, default: []}}\ntemplate: template.md\n",
        )
        .file("user_data/shared/prompts/named/template.md", "{% for one in tools %}{{ one }}{% endfor %}\n")
        .start()
        .await;
    daemon.put(StoreKind::Tool, "town.weather", weather(address)).await;
    let definition = daemon.get("/api/prompts/outlook/definition").await.expect_status(200);
    assert_eq!((&definition["effects"], &definition["reads"]), (&json!(["tools"]), &json!(["city"])));
    // In a prompt that declares `tools`, the name is that variable.
    for without in ["plain", "named"] {
        let definition = daemon.get(&format!("/api/prompts/{without}/definition")).await.expect_status(200);
        assert_eq!(definition["effects"], json!([]), "{without}");
    }

    let body = json!({"variables": {"city": "Oslo"}, "effects": false});
    let explain = "/api/prompts/outlook/explain";
    let refused = daemon.post(explain, &body).await.expect_status(409);
    assert_eq!((&refused["code"], &refused["effects"]), (&json!("effects"), &json!(["tools"])));
    daemon.post("/api/prompts/plain/explain", &body).await.expect_status(200);
    // What is typed counts, not what was saved.
    let typed = json!({
        "prompt_id": "plain", "effects": false, "variables": {"city": "Oslo"},
        "files": {"user_data/shared/prompts/plain/template.md": "{{ tools.town.weather(city) }}"},
    });
    let refused = daemon.as_owner("POST", "/api/draft", &typed).await.expect_status(409);
    assert_eq!(refused["code"], "effects");
    assert!(!served.is_finished());

    let rendered = daemon.post(explain, &json!({"variables": {"city": "Oslo"}})).await.expect_status(200);
    assert_eq!(rendered["body"], "The sky is clear.");
    served.await.expect("ends");
}

#[tokio::test]
async fn the_effects_of_a_prompt_are_the_permissions_of_its_hooks() {
    let hooks = "PERMISSIONS = {\"http_request\": True, \"read_file\": True, \"subprocess\": False}\n\n\
                 def pre_render(variables, context):\n    return variables\n";
    let daemon = Setup::new()
        .file("user_data/shared/prompts/fetches/prompt.py", hooks)
        .file("user_data/shared/prompts/fetches/template.md", "Hello\n")
        .start()
        .await;
    let definition = daemon.get("/api/prompts/fetches/definition").await.expect_status(200);
    assert_eq!(definition["effects"], json!(["http_request"]), "{definition}");
}
