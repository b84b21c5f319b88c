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
    failure::{failed, shown, with_causes},
    reach::{Reach, own_error},
    settings::ModuleSettings,
};

/// Connections that are kept, each with what is known of its server.
const MOST_CHANNELS: usize = 64;

/// One connection for each server.
pub(crate) struct Channels {
    reach: Reach,
    channels: std::sync::Mutex<HashMap<(String, bool), Known>>,
}

/// A connection, and the descriptions of services that were used.
#[derive(Clone)]
struct Known {
    channel: Channel,
    services: Arc<tokio::sync::Mutex<HashMap<String, DescriptorPool>>>,
}

/// Where a method is: `host:port/package.Service/Method`.
struct Address<'u> {
    server: &'u str,
    service: &'u str,
    method: &'u str,
}

/// What holds for one call.
pub(crate) struct CallLimits {
    pub(crate) max_answer: usize,
    pub(crate) time: Duration,
}

impl Channels {
    pub(crate) fn new(reach: Reach) -> Self {
        Self { reach, channels: std::sync::Mutex::default() }
    }

    /// Calls the method at `url`.
    ///
    /// # Errors
    /// Code `tool`.
    pub(crate) async fn call(
        &self,
        url: &str,
        module: Option<&ModuleSettings>,
        limits: &CallLimits,
        arguments: Value,
    ) -> Result<Value> {
        let address = Address::parse(url)?;
        let encrypted = module.and_then(|module| module.tls).unwrap_or(true);
        let known = self.channel(address.server, encrypted)?;
        let method = known.method(&address, module).await?;
        let message = message(&method, arguments)?;
        let mut request = Request::new(message);
        if let Some(module) = module {
            *request.metadata_mut() = MetadataMap::from_headers(module.headers.read()?);
        }
        request.set_timeout(limits.time);
        let mut client = Grpc::new(known.channel).max_decoding_message_size(limits.max_answer);
        client.ready().await.map_err(|error| broken(&error))?;
        let path = format!("/{}/{}", address.service, address.method);
        let path =
            path.parse().map_err(|_| failed("definition", format!("`{path}` is no path of a method")))?;
        let codec = DynamicCodec(method.output());
        let answer: DynamicMessage =
            client.unary(request, path, codec).await.map_err(|status| refused(&status))?.into_inner();
        value(&answer)
    }

    fn channel(&self, server: &str, encrypted: bool) -> Result<Known> {
        // Held for a look: a connection is made when it is first used.
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (server.to_owned(), encrypted);
        if let Some(known) = channels.get(&key) {
            return Ok(known.clone());
        }
        if channels.len() >= MOST_CHANNELS {
            channels.clear();
        }
        let known =
            Known { channel: connect::channel(&self.reach, server, encrypted)?, services: Arc::default() };
        channels.insert(key, known.clone());
        Ok(known)
    }
}

impl Known {
    /// The description of a method.
    async fn method(
        &self,
        address: &Address<'_>,
        module: Option<&ModuleSettings>,
    ) -> Result<MethodDescriptor> {
        // Held while the server is asked: everybody else wants to know the same.
        let mut services = self.services.lock().await;
        let pool = match services.get(address.service) {
            Some(pool) => pool.clone(),
            None => {
                let pool = match module.and_then(|module| module.descriptor_set.as_deref()) {
                    Some(file) => descriptors_of(file)?,
                    None => reflection::describe(&self.channel, address.service).await?,
                };
                services.insert(address.service.to_owned(), pool.clone());
                pool
            }
        };
        drop(services);
        let service = pool.get_service_by_name(address.service);
        let service = service.ok_or_else(|| unknown("service", address.service))?;
        let method = service.methods().find(|method| method.name() == address.method);
        let method = method.ok_or_else(|| unknown("method", address.method))?;
        if method.is_client_streaming() || method.is_server_streaming() {
            return Err(failed("definition", format!("`{}` is a stream, and no tool", method.full_name())));
        }
        Ok(method)
    }
}

impl<'u> Address<'u> {
    fn parse(url: &'u str) -> Result<Self> {
        let mut parts = url.split('/').filter(|part| !part.is_empty());
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(server), Some(service), Some(method), None) => Ok(Self { server, service, method }),
            _ => Err(failed("definition", format!("`{url}` is not host:port/package.Service/Method"))),
        }
    }
}

fn descriptors_of(file: &str) -> Result<DescriptorPool> {
    let bytes = std::fs::read(file)
        .map_err(|error| failed("definition", format!("the descriptors `{file}` cannot be read: {error}")))?;
    DescriptorPool::decode(bytes.as_slice())
        .map_err(|error| failed("definition", format!("`{file}` holds no descriptors: {error}")))
}

fn unknown(what: &str, name: &str) -> Error {
    failed("definition", format!("the server has no {what} `{name}`"))
        .with_hint("the url of a gRPC tool is host:port/package.Service/Method")
}

/// The arguments as the message that a method takes.
fn message(method: &MethodDescriptor, arguments: Value) -> Result<DynamicMessage> {
    let arguments = match arguments {
        Value::Array(none) if none.is_empty() => Value::Object(Map::new()),
        Value::Object(_) => arguments,
        _ => {
            return Err(failed("arguments", "arguments of gRPC tools have names")
                .with_hint("declare them as an object in the `parameters` of the tool"));
        }
    };
    let name = method.input().full_name().to_owned();
    DynamicMessage::deserialize(method.input(), arguments).map_err(|error| {
        failed("arguments", format!("its arguments are no `{name}`: {}", shown(&error.to_string())))
    })
}

/// A message as a value: with all fields, and with numbers as numbers.
fn value(message: &DynamicMessage) -> Result<Value> {
    let options = SerializeOptions::new().skip_default_fields(false).stringify_64_bit_integers(false);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| failed("answer", format!("its answer cannot be written as JSON: {error}")))
}

fn broken(error: &tonic::transport::Error) -> Error {
    let told = || failed("connect", format!("it cannot be reached: {}", with_causes(error)));
    own_error(error).unwrap_or_else(told)
}

/// The failure that a status tells.
fn refused(status: &Status) -> Error {
    if let Some(own) = own_error(status) {
        return own;
    }
    let text = shown(status.message());
    match status.code() {
        Code::Unavailable => failed("connect", format!("it cannot be reached: {}", with_causes(status))),
        Code::DeadlineExceeded | Code::Cancelled => failed("timeout", "it did not answer in time")
            .with_hint("raise `tools.timeout`, or see why it is slow"),
        Code::OutOfRange if text.contains("too large") => {
            failed("size", format!("its answer is too long: {text}"))
                .with_hint("raise `tools.max_answer`, or ask it for less")
        }
        code => failed("status", format!("it answers with status {code:?}: {text}"))
            .with("status", format!("{code:?}")),
    }
}
