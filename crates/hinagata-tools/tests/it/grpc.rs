//! Tools of gRPC servers with and without reflection.
#![cfg(feature = "grpc")]

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use crate::support::{Place, Server, allowing};
use hinagata_tools::{ModuleSettings, ToolSettings, Toolbox};
use prost::Message as _;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto,
    field_descriptor_proto::{Label, Type},
};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tonic::{
    Request, Response, Status,
    body::Body,
    codegen::http,
    server::{Grpc, NamedService, UnaryService},
    transport::server::TcpIncoming,
};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct Ask {
    #[prost(string, tag = "1")]
    q: String,
    #[prost(int64, tag = "2")]
    big_number: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(int64, tag = "2")]
    big_number: i64,
    #[prost(string, repeated, tag = "3")]
    list: Vec<String>,
}

fn field(name: &str, number: i32, kind: Type, label: Label) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        r#type: Some(kind.into()),
        label: Some(label.into()),
        ..FieldDescriptorProto::default()
    }
}

/// The description of the service in one file, and of its messages in another that it imports.
fn descriptors() -> FileDescriptorSet {
    let message = |name: &str, field: Vec<FieldDescriptorProto>| DescriptorProto {
        name: Some(name.to_owned()),
        field,
        ..DescriptorProto::default()
    };
    let (text, number) = (Type::String, Type::Int64);
    let ask = vec![field("q", 1, text, Label::Optional), field("big_number", 2, number, Label::Optional)];
    let answer = vec![
        field("text", 1, text, Label::Optional),
        field("big_number", 2, number, Label::Optional),
        field("list", 3, text, Label::Repeated),
    ];
    let method = |name: &str| MethodDescriptorProto {
        name: Some(name.to_owned()),
        input_type: Some(".shop.v1.Ask".to_owned()),
        output_type: Some(".shop.v1.Answer".to_owned()),
        server_streaming: Some(name == "Stream"),
        ..MethodDescriptorProto::default()
    };
    let names = ["Echo", "Fail", "Hang", "Flood", "Ten", "Stream"];
    let service = ServiceDescriptorProto {
        name: Some("Shop".to_owned()),
        method: names.into_iter().map(method).collect(),
        ..ServiceDescriptorProto::default()
    };
    let file = |name: &str| FileDescriptorProto {
        name: Some(name.to_owned()),
        package: Some("shop.v1".to_owned()),
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    };
    let messages = FileDescriptorProto {
        message_type: vec![message("Ask", ask), message("Answer", answer)],
        ..file("messages.proto")
    };
    let shop = FileDescriptorProto {
        dependency: vec!["messages.proto".to_owned()],
        service: vec![service],
        ..file("shop.proto")
    };
    FileDescriptorSet { file: vec![messages, shop] }
}

/// A service whose methods do what their names say.
#[derive(Clone)]
struct Shop {
    ten: Arc<Barrier>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl NamedService for Shop {
    const NAME: &'static str = "shop.v1.Shop";
}

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl tower_service::Service<http::Request<Body>> for Shop {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Later<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let method = Method { shop: self.clone(), name };
        Box::pin(
            async move { Ok(Grpc::new(ProstCodec::<Answer, Ask>::default()).unary(method, request).await) },
        )
    }
}

struct Method {
    shop: Shop,
    name: String,
}

impl UnaryService<Ask> for Method {
    type Response = Answer;
    type Future = Later<Result<Response<Answer>, Status>>;

    fn call(&mut self, request: Request<Ask>) -> Self::Future {
        let (shop, name) = (self.shop.clone(), self.name.clone());
        let key = request.metadata().get("x-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
        let deadline = request.metadata().contains_key("grpc-timeout");
        shop.seen.lock().expect("is not poisoned").push(format!("{name} {key} {deadline}"));
        let Ask { q, big_number } = request.into_inner();
        Box::pin(async move {
            match name.as_str() {
                "Fail" => return Err(Status::not_found("no such thing")),
                "Hang" => std::future::pending().await,
                "Ten" => {
                    shop.ten.wait().await;
                }
                _ => {}
            }
            let list = if name == "Flood" { vec!["x".repeat(4 << 20)] } else { Vec::new() };
            Ok(Response::new(Answer { text: q, big_number, list }))
        })
    }
}

/// How a server describes itself.
#[derive(Clone, Copy, PartialEq)]
enum Reflection {
    V1,
    V1Alpha,
    None,
}

fn serve(reflection: Reflection) -> (Server, Shop) {
    let shop = Shop { ten: Arc::new(Barrier::new(10)), seen: Arc::default() };
    let own = shop.clone();
    let describe =
        || tonic_reflection::server::Builder::configure().register_file_descriptor_set(descriptors());
    let server = Server::start(move |listener| async move {
        let server = tonic::transport::Server::builder().add_service(own);
        let server = match reflection {
            Reflection::V1 => server.add_service(describe().build_v1().expect("describes")),
            Reflection::V1Alpha => server.add_service(describe().build_v1alpha().expect("describes")),
            Reflection::None => server,
        };
        server.serve_with_incoming(TcpIncoming::from(listener)).await.expect("serves");
    });
    (server, shop)
}

fn settings(server: &Server) -> ToolSettings {
    let mut settings = allowing(&[&server.address.to_string()]);
    let module = json!({"tls": false, "headers": {"X-Key": "sesame"}});
    settings.modules.insert("shop".to_owned(), serde_json::from_value(module).expect("are settings"));
    settings
}

fn place(server: &Server, settings: ToolSettings) -> Place {
    let address = server.address;
    let parameters = json!({"type": "object", "properties": {"q": {}, "bigNumber": {}}});
    let of = |method: &str| {
        json!({"type": "grpc", "url": format!("{address}/shop.v1.Shop/{method}"), "parameters": parameters,
               "default": {"text": "none"}})
    };
    let mut tools: Vec<(String, Value)> = ["Echo", "Fail", "Hang", "Flood", "Ten", "Stream", "Other"]
        .into_iter()
        .map(|name| (format!("shop.{}", name.to_lowercase()), of(name)))
        .collect();
    let nobody =
        json!({"grpc": {"url": format!("{address}/shop.v1.Nobody/Echo")}, "default": {"text": "none"}});
    tools.push(("shop.nobody".to_owned(), nobody));
    let away =
        json!({"grpc": {"url": "other.example.com:443/shop.v1.Shop/Echo"}, "default": {"text": "none"}});
    tools.push(("shop.away".to_owned(), away));
    let tools: Vec<(&str, Value)> = tools.iter().map(|(id, tool)| (id.as_str(), tool.clone())).collect();
    Place::new(Toolbox::new(settings), &tools)
}

#[test]
fn a_server_with_reflection_is_called() {
    for reflection in [Reflection::V1, Reflection::V1Alpha] {
        let (server, shop) = serve(reflection);
        let place = place(&server, settings(&server));
        let text = place.text(
            "{% set a = shop_echo('hi', 9007199254740993) %}{{ a.text }} {{ a.bigNumber }} {{ a.list }}",
        );
        assert_eq!(text, "hi 9007199254740993 []");
        assert_eq!(place.text("{{ shop_echo(q='x').text }}"), "x");
        let seen = shop.seen.lock().expect("is not poisoned").clone();
        assert_eq!(seen, ["Echo sesame true", "Echo sesame true"]);
        assert_eq!(place.render_go("{{(shop_echo \"go\").text}}").expect("renders").text(), "go");
    }
}

#[test]
fn a_server_states_the_messages_of_its_methods() {
    for reflection in [Reflection::V1, Reflection::V1Alpha] {
        let (server, _) = serve(reflection);
        let url = format!("{}/shop.v1.Shop/Echo", server.address);
        let tool = json!({"type": "grpc", "url": url, "default": "none"});
        let place = Place::new(Toolbox::new(settings(&server)), &[("shop.echo", tool)]);
        let schemas = place.engine.server_schemas_blocking().expect("are stated");
        let schema = &schemas["shop.echo"];
        assert_eq!((&schema["input"], &schema["output"]), (&json!("shop.v1.Ask"), &json!("shop.v1.Answer")));
        assert_eq!(
            schema["types"]["shop.v1.Answer"][2],
            json!([3, "list", "Repeated", "string"]),
            "{schema}"
        );
    }
}

#[test]
fn ten_calls_run_concurrently() {
    let (server, _) = serve(Reflection::V1);
    let place = place(&server, settings(&server));
    let text = place.text("{% for n in range(10) %}{{ shop_ten(n | string) }}{% endfor %}");
    assert_eq!(text.matches("'text'").count(), 10, "{text}");
}

#[test]
fn a_server_without_reflection_is_called_with_a_descriptor_set() {
    let (server, _) = serve(Reflection::None);
    let untold = place(&server, settings(&server));
    assert_eq!(untold.failed("{{ shop_echo('a').text }}"), ("none".to_owned(), "definition".to_owned()));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("shop.binpb");
    std::fs::write(&file, descriptors().encode_to_vec()).expect("written");
    let mut settings = settings(&server);
    let module: &mut ModuleSettings = settings.modules.get_mut("shop").expect("is there");
    module.descriptor_set = Some(file.display().to_string());
    assert_eq!(place(&server, settings).text("{{ shop_echo('a').text }}"), "a");
}

#[test]
fn a_failed_call_returns_the_default_and_reports_why() {
    let (server, _) = serve(Reflection::V1);
    let mut settings = settings(&server);
    settings.max_answer = 64 << 10;
    let calm = place(&server, settings.clone());
    let cases = [
        ("shop_fail()", "status"),
        ("shop_flood()", "size"),
        ("shop_stream()", "definition"),
        ("shop_other()", "definition"),
        ("shop_nobody()", "definition"),
        ("shop_echo(5)", "arguments"),
        ("shop_away()", "host"),
    ];
    for (call, reason) in cases {
        let found = calm.failed(&format!("{{{{ {call}.text }}}}"));
        assert_eq!(found, ("none".to_owned(), reason.to_owned()), "{call}");
    }
    let module = settings.modules.get_mut("shop").expect("is there");
    module.timeout = Some(0.2);
    let hasty = place(&server, settings.clone());
    assert_eq!(hasty.failed("{{ shop_hang().text }}"), ("none".to_owned(), "timeout".to_owned()));
    // The server does not support TLS.
    settings.modules.get_mut("shop").expect("is there").tls = None;
    assert_eq!(place(&server, settings).failed("{{ shop_echo().text }}").0, "none");
}

#[test]
fn a_stopped_server_is_a_connection_error() {
    let gone = Server::start(|_| async {});
    let place = place(&gone, settings(&gone));
    assert_eq!(place.failed("{{ shop_echo().text }}"), ("none".to_owned(), "connect".to_owned()));
}
