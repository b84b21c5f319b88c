//! Describes services through the server's reflection, version v1 or v1alpha.

use std::collections::{BTreeMap, VecDeque};

use hinagata::{Error, Reason, Result};
use prost_reflect::{
    DescriptorPool,
    prost::Message as _,
    prost_types::{FileDescriptorProto, FileDescriptorSet},
};
use tonic::{Code, Status, transport::Channel};

use super::status_error;
use crate::failure::{tool_error, truncate_for_display};

/// Maximum descriptor files of one service.
const MAX_FILES: usize = 512;

/// A reflection query.
enum ReflectionQuery {
    /// The file that defines a service.
    Service(String),
    /// A file by name.
    File(String),
}

/// The descriptors of a service with all dependencies.
pub(super) async fn describe_service(channel: &Channel, service: &str) -> Result<DescriptorPool> {
    let mut files: BTreeMap<String, FileDescriptorProto> = BTreeMap::new();
    let mut open = VecDeque::from([ReflectionQuery::Service(service.to_owned())]);
    while let Some(query) = open.pop_front() {
        if matches!(&query, ReflectionQuery::File(name) if files.contains_key(name)) {
            continue;
        }
        for bytes in query_server(channel, &query).await? {
            let file = FileDescriptorProto::decode(bytes.as_slice()).map_err(|error| {
                tool_error(Reason::Answer, format!("invalid descriptor from server reflection: {error}"))
            })?;
            open.extend(file.dependency.iter().cloned().map(ReflectionQuery::File));
            files.insert(file.name().to_owned(), file);
        }
        if files.len() > MAX_FILES {
            return Err(tool_error(
                Reason::Size,
                format!("server reflection returned more than {MAX_FILES} files"),
            ));
        }
    }
    let set = FileDescriptorSet { file: files.into_values().collect() };
    DescriptorPool::from_file_descriptor_set(set).map_err(|error| {
        tool_error(Reason::Answer, format!("invalid descriptors from server reflection: {error}"))
    })
}

async fn query_server(channel: &Channel, query: &ReflectionQuery) -> Result<Vec<Vec<u8>>> {
    let answer = match v1::send_query(channel, query).await {
        Err(status) if status.code() == Code::Unimplemented => v1alpha::send_query(channel, query).await,
        answer => answer,
    };
    answer.map_err(|status| reflection_error(&status))?.map_err(|message| unknown_error(&message))
}

fn reflection_error(status: &Status) -> Error {
    match status.code() {
        Code::Unimplemented => tool_error(Reason::Definition, "the server does not support reflection")
            .with_hint("set `tools.modules.<module>.descriptor_set` to a descriptor set file"),
        Code::NotFound => unknown_error(status.message()),
        _ => status_error(status),
    }
}

fn unknown_error(message: &str) -> Error {
    tool_error(Reason::Definition, format!("unknown to the server: {}", truncate_for_display(message)))
        .with_hint("the `url` of a gRPC tool is host:port/package.Service/Method")
}

/// One version of reflection. Both have the same shape.
macro_rules! version {
    ($name:ident) => {
        mod $name {
            use tonic::{Status, transport::Channel};
            use tonic_reflection::pb::$name::{
                ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
                server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
            };

            use super::ReflectionQuery;

            /// The descriptor files, or why there are none.
            pub(super) async fn send_query(
                channel: &Channel,
                query: &ReflectionQuery,
            ) -> Result<Result<Vec<Vec<u8>>, String>, Status> {
                let wanted = match query {
                    ReflectionQuery::Service(name) => MessageRequest::FileContainingSymbol(name.clone()),
                    ReflectionQuery::File(name) => MessageRequest::FileByFilename(name.clone()),
                };
                let request = ServerReflectionRequest { host: String::new(), message_request: Some(wanted) };
                let mut client = ServerReflectionClient::new(channel.clone());
                let mut answers =
                    client.server_reflection_info(tokio_stream::once(request)).await?.into_inner();
                let answer = answers.message().await?.and_then(|answer| answer.message_response);
                Ok(match answer {
                    Some(MessageResponse::FileDescriptorResponse(files)) => Ok(files.file_descriptor_proto),
                    Some(MessageResponse::ErrorResponse(error)) => Err(error.error_message),
                    _ => Err("empty response".to_owned()),
                })
            }
        }
    };
}

version!(v1);
version!(v1alpha);
