//! Tools of gRPC servers, called without generated code. The server's reflection or a descriptor file describes the
//! methods.

mod codec;
mod connect;
mod reflection;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use hinagata::{Error, Reason, Result};
use hinagata_value::BoundedCache;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor,
    SerializeOptions,
};
use serde_json::{Map, Value, json};
use tonic::{Code, Request, Status, client::Grpc, metadata::MetadataMap, transport::Channel};

use self::codec::DynamicCodec;
use crate::{
    failure::{tool_error, truncate_for_display, with_causes},
    host_guard::{HostGuard, own_error},
    settings::ModuleSettings,
};

/// Maximum cached connections.
const MAX_CHANNELS: usize = 64;

/// One connection per server.
pub(crate) struct GrpcChannels {
    guard: HostGuard,
    channels: BoundedCache<(String, bool), KnownServer>,
}

/// A connection and the descriptors of the used services.
#[derive(Clone)]
struct KnownServer {
    channel: Channel,
    services: Arc<tokio::sync::Mutex<HashMap<String, DescriptorPool>>>,
}

/// The address of a method: `host:port/package.Service/Method`.
struct MethodAddress<'u> {
    server: &'u str,
    service: &'u str,
    method: &'u str,
}

/// The limits of one call.
pub(crate) struct GrpcCallLimits {
    pub(crate) max_answer: usize,
    pub(crate) time: Duration,
}

impl GrpcChannels {
    pub(crate) fn new(guard: HostGuard) -> Self {
        Self { guard, channels: BoundedCache::new(MAX_CHANNELS) }
    }

    /// Calls the method at `url`.
    ///
    /// # Errors
    /// Code `tool`.
    pub(crate) async fn call_method(
        &self,
        url: &str,
        module: Option<&ModuleSettings>,
        limits: &GrpcCallLimits,
        arguments: Value,
    ) -> Result<Value> {
        let address = MethodAddress::parse(url)?;
        let encrypted = module.and_then(|module| module.tls).unwrap_or(true);
        let known = self.channel(address.server, encrypted)?;
        let method = known.method(&address, module).await?;
        let message = build_message(&method, arguments)?;
        let mut request = Request::new(message);
        if let Some(module) = module {
            *request.metadata_mut() = MetadataMap::from_headers(module.headers.to_header_map()?);
        }
        request.set_timeout(limits.time);
        let mut client = Grpc::new(known.channel).max_decoding_message_size(limits.max_answer);
        client.ready().await.map_err(|error| connect_error(&error))?;
        let path = format!("/{}/{}", address.service, address.method);
        let path = path
            .parse()
            .map_err(|_| tool_error(Reason::Definition, format!("invalid method path `{path}`")))?;
        let codec = DynamicCodec(method.output());
        let answer: DynamicMessage =
            client.unary(request, path, codec).await.map_err(|status| status_error(&status))?.into_inner();
        message_value(&answer)
    }

    /// The messages of the method at `url`, as its server or the descriptor set describes them.
    ///
    /// # Errors
    /// Code `tool`.
    pub(crate) async fn describe_method(&self, url: &str, module: Option<&ModuleSettings>) -> Result<Value> {
        let address = MethodAddress::parse(url)?;
        let encrypted = module.and_then(|module| module.tls).unwrap_or(true);
        let method = self.channel(address.server, encrypted)?.method(&address, module).await?;
        let mut types = BTreeMap::new();
        add_message(&method.input(), &mut types);
        add_message(&method.output(), &mut types);
        Ok(
            json!({"input": method.input().full_name(), "output": method.output().full_name(), "types": types}),
        )
    }

    fn channel(&self, server: &str, encrypted: bool) -> Result<KnownServer> {
        let key = (server.to_owned(), encrypted);
        if let Some(known) = self.channels.get(&key) {
            return Ok(known);
        }
        let channel = connect::open_channel(&self.guard, server, encrypted)?;
        // A concurrent call that got here first shares its connection, which is opened on first use.
        let known = || KnownServer { channel, services: Arc::default() };
        Ok(self.channels.get_or_insert_with(&key, known))
    }
}

impl KnownServer {
    /// The descriptor of a method.
    async fn method(
        &self,
        address: &MethodAddress<'_>,
        module: Option<&ModuleSettings>,
    ) -> Result<MethodDescriptor> {
        // Held while the server is queried: other calls need the same answer.
        let mut services = self.services.lock().await;
        let pool = match services.get(address.service) {
            Some(pool) => pool.clone(),
            None => {
                let pool = match module.and_then(|module| module.descriptor_set.as_deref()) {
                    Some(file) => read_descriptors(file)?,
                    None => reflection::describe_service(&self.channel, address.service).await?,
                };
                services.insert(address.service.to_owned(), pool.clone());
                pool
            }
        };
        drop(services);
        let service = pool.get_service_by_name(address.service);
        let service = service.ok_or_else(|| unknown_error("service", address.service))?;
        let method = service.methods().find(|method| method.name() == address.method);
        let method = method.ok_or_else(|| unknown_error("method", address.method))?;
        if method.is_client_streaming() || method.is_server_streaming() {
            return Err(tool_error(
                Reason::Definition,
                format!("`{}` is a streaming method, which tools do not support", method.full_name()),
            ));
        }
        Ok(method)
    }
}

impl<'u> MethodAddress<'u> {
    fn parse(url: &'u str) -> Result<Self> {
        let mut parts = url.split('/').filter(|part| !part.is_empty());
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(server), Some(service), Some(method), None) => Ok(Self { server, service, method }),
            _ => Err(tool_error(
                Reason::Definition,
                format!("invalid URL `{url}`; expected host:port/package.Service/Method"),
            )),
        }
    }
}

/// Adds a message with its fields, and the messages and enums in it, by full name.
fn add_message(message: &MessageDescriptor, types: &mut BTreeMap<String, Value>) {
    if types.contains_key(message.full_name()) {
        return;
    }
    let field = |field: FieldDescriptor| {
        let kind = match field.kind() {
            Kind::Message(inner) => inner.full_name().to_owned(),
            Kind::Enum(inner) => inner.full_name().to_owned(),
            scalar => format!("{scalar:?}"),
        };
        json!([field.number(), field.name(), format!("{:?}", field.cardinality()), kind])
    };
    let fields: Vec<Value> = message.fields().map(field).collect();
    types.insert(message.full_name().to_owned(), fields.into());
    for field in message.fields() {
        match field.kind() {
            Kind::Message(inner) => add_message(&inner, types),
            Kind::Enum(inner) => {
                let values = inner.values().map(|value| json!([value.number(), value.name()])).collect();
                types.insert(inner.full_name().to_owned(), Value::Array(values));
            }
            _ => {}
        }
    }
}

fn read_descriptors(file: &str) -> Result<DescriptorPool> {
    let bytes = std::fs::read(file).map_err(|error| {
        tool_error(Reason::Definition, format!("cannot read the descriptor set `{file}`: {error}"))
    })?;
    DescriptorPool::decode(bytes.as_slice())
        .map_err(|error| tool_error(Reason::Definition, format!("invalid descriptor set `{file}`: {error}")))
}

fn unknown_error(what: &str, name: &str) -> Error {
    tool_error(Reason::Definition, format!("the server has no {what} `{name}`"))
        .with_hint("the `url` of a gRPC tool is host:port/package.Service/Method")
}

/// Converts arguments to the request message of a method.
fn build_message(method: &MethodDescriptor, arguments: Value) -> Result<DynamicMessage> {
    let arguments = match arguments {
        Value::Array(none) if none.is_empty() => Value::Object(Map::new()),
        Value::Object(_) => arguments,
        _ => {
            return Err(tool_error(Reason::Arguments, "gRPC tools require named arguments")
                .with_hint("declare them as an object in the `parameters` of the tool"));
        }
    };
    let name = method.input().full_name().to_owned();
    DynamicMessage::deserialize(method.input(), arguments).map_err(|error| {
        tool_error(
            Reason::Arguments,
            format!("the arguments do not match `{name}`: {}", truncate_for_display(&error.to_string())),
        )
    })
}

/// Converts a message to JSON, with all fields and with numbers as numbers.
fn message_value(message: &DynamicMessage) -> Result<Value> {
    let options = SerializeOptions::new().skip_default_fields(false).stringify_64_bit_integers(false);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| tool_error(Reason::Answer, format!("cannot convert the response to JSON: {error}")))
}

fn connect_error(error: &tonic::transport::Error) -> Error {
    let unreachable = || tool_error(Reason::Connect, format!("cannot connect: {}", with_causes(error)));
    own_error(error).unwrap_or_else(unreachable)
}

/// The error for a gRPC status.
fn status_error(status: &Status) -> Error {
    if let Some(own) = own_error(status) {
        return own;
    }
    let text = truncate_for_display(status.message());
    match status.code() {
        Code::Unavailable => tool_error(Reason::Connect, format!("cannot connect: {}", with_causes(status))),
        Code::DeadlineExceeded | Code::Cancelled => tool_error(Reason::Timeout, "no response in time")
            .with_hint("raise `tools.timeout`, or find out why the tool is slow"),
        Code::OutOfRange if text.contains("too large") => {
            tool_error(Reason::Size, format!("the response is too large: {text}"))
                .with_hint("raise `tools.max_answer`, or request less")
        }
        code => tool_error(Reason::Status, format!("response status {code:?}: {text}"))
            .with("status", format!("{code:?}")),
    }
}
