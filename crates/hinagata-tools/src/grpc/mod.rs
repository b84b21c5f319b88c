//! Tools of gRPC servers, called without code that was made for them: what a method takes and gives is told by the server
//! itself, or by a file of descriptors.

mod codec;
mod connect;
mod reflection;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use hinagata::{Error, Result};
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, SerializeOptions};
use serde_json::{Map, Value};
use tonic::{Code, Request, Status, client::Grpc, metadata::MetadataMap, transport::Channel};

use self::codec::DynamicCodec;
use crate::{
    failure::{tool_error, truncate_for_display, with_causes},
    host_guard::{HostGuard, own_error},
    settings::ModuleSettings,
};

/// Connections that are kept, each with what is known of its server.
const MAX_CHANNELS: usize = 64;

/// One connection for each server.
pub(crate) struct GrpcChannels {
    guard: HostGuard,
    channels: std::sync::Mutex<HashMap<(String, bool), KnownServer>>,
}

/// A connection, and the descriptions of services that were used.
#[derive(Clone)]
struct KnownServer {
    channel: Channel,
    services: Arc<tokio::sync::Mutex<HashMap<String, DescriptorPool>>>,
}

/// Where a method is: `host:port/package.Service/Method`.
struct MethodAddress<'u> {
    server: &'u str,
    service: &'u str,
    method: &'u str,
}

/// What holds for one call.
pub(crate) struct GrpcCallLimits {
    pub(crate) max_answer: usize,
    pub(crate) time: Duration,
}

impl GrpcChannels {
    pub(crate) fn new(guard: HostGuard) -> Self {
        Self { guard, channels: std::sync::Mutex::default() }
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
        let path =
            path.parse().map_err(|_| tool_error("definition", format!("`{path}` is no path of a method")))?;
        let codec = DynamicCodec(method.output());
        let answer: DynamicMessage =
            client.unary(request, path, codec).await.map_err(|status| status_error(&status))?.into_inner();
        message_value(&answer)
    }

    fn channel(&self, server: &str, encrypted: bool) -> Result<KnownServer> {
        // Held for a look: a connection is made when it is first used.
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (server.to_owned(), encrypted);
        if let Some(known) = channels.get(&key) {
            return Ok(known.clone());
        }
        if channels.len() >= MAX_CHANNELS {
            channels.clear();
        }
        let known = KnownServer {
            channel: connect::open_channel(&self.guard, server, encrypted)?,
            services: Arc::default(),
        };
        channels.insert(key, known.clone());
        Ok(known)
    }
}

impl KnownServer {
    /// The description of a method.
    async fn method(
        &self,
        address: &MethodAddress<'_>,
        module: Option<&ModuleSettings>,
    ) -> Result<MethodDescriptor> {
        // Held while the server is asked: everybody else wants to know the same.
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
                "definition",
                format!("`{}` is a stream, and no tool", method.full_name()),
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
            _ => Err(tool_error("definition", format!("`{url}` is not host:port/package.Service/Method"))),
        }
    }
}

fn read_descriptors(file: &str) -> Result<DescriptorPool> {
    let bytes = std::fs::read(file).map_err(|error| {
        tool_error("definition", format!("the descriptors `{file}` cannot be read: {error}"))
    })?;
    DescriptorPool::decode(bytes.as_slice())
        .map_err(|error| tool_error("definition", format!("`{file}` holds no descriptors: {error}")))
}

fn unknown_error(what: &str, name: &str) -> Error {
    tool_error("definition", format!("the server has no {what} `{name}`"))
        .with_hint("the url of a gRPC tool is host:port/package.Service/Method")
}

/// The arguments as the message that a method takes.
fn build_message(method: &MethodDescriptor, arguments: Value) -> Result<DynamicMessage> {
    let arguments = match arguments {
        Value::Array(none) if none.is_empty() => Value::Object(Map::new()),
        Value::Object(_) => arguments,
        _ => {
            return Err(tool_error("arguments", "arguments of gRPC tools have names")
                .with_hint("declare them as an object in the `parameters` of the tool"));
        }
    };
    let name = method.input().full_name().to_owned();
    DynamicMessage::deserialize(method.input(), arguments).map_err(|error| {
        tool_error(
            "arguments",
            format!("its arguments are no `{name}`: {}", truncate_for_display(&error.to_string())),
        )
    })
}

/// A message as a value: with all fields, and with numbers as numbers.
fn message_value(message: &DynamicMessage) -> Result<Value> {
    let options = SerializeOptions::new().skip_default_fields(false).stringify_64_bit_integers(false);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| tool_error("answer", format!("its answer cannot be written as JSON: {error}")))
}

fn connect_error(error: &tonic::transport::Error) -> Error {
    let told = || tool_error("connect", format!("it cannot be reached: {}", with_causes(error)));
    own_error(error).unwrap_or_else(told)
}

/// The failure that a status tells.
fn status_error(status: &Status) -> Error {
    if let Some(own) = own_error(status) {
        return own;
    }
    let text = truncate_for_display(status.message());
    match status.code() {
        Code::Unavailable => tool_error("connect", format!("it cannot be reached: {}", with_causes(status))),
        Code::DeadlineExceeded | Code::Cancelled => tool_error("timeout", "it did not answer in time")
            .with_hint("raise `tools.timeout`, or see why it is slow"),
        Code::OutOfRange if text.contains("too large") => {
            tool_error("size", format!("its answer is too long: {text}"))
                .with_hint("raise `tools.max_answer`, or ask it for less")
        }
        code => tool_error("status", format!("it answers with status {code:?}: {text}"))
            .with("status", format!("{code:?}")),
    }
}
