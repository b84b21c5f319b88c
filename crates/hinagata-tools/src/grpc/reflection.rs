//! Asking a server what its services look like: by the first version of its reflection, or the one before.

use std::collections::{BTreeMap, VecDeque};

use hinagata::{Error, Result};
use prost_reflect::{
    DescriptorPool,
    prost::Message as _,
    prost_types::{FileDescriptorProto, FileDescriptorSet},
};
use tonic::{Code, Status, transport::Channel};

use super::refused;
use crate::failure::{failed, shown};

/// Files that the description of one service may consist of.
const MOST_FILES: usize = 512;

/// What is asked for.
enum Ask {
    /// The file that a service stands in.
    Service(String),
    /// A file by its name.
    File(String),
}

/// Everything that is needed to call the methods of a service.
pub(super) async fn describe(channel: &Channel, service: &str) -> Result<DescriptorPool> {
    let mut files: BTreeMap<String, FileDescriptorProto> = BTreeMap::new();
    let mut open = VecDeque::from([Ask::Service(service.to_owned())]);
    while let Some(ask) = open.pop_front() {
        if matches!(&ask, Ask::File(name) if files.contains_key(name)) {
            continue;
        }
        for bytes in ask_server(channel, &ask).await? {
            let file = FileDescriptorProto::decode(bytes.as_slice())
                .map_err(|error| failed("answer", format!("it describes itself wrongly: {error}")))?;
            open.extend(file.dependency.iter().cloned().map(Ask::File));
            files.insert(file.name().to_owned(), file);
        }
        if files.len() > MOST_FILES {
            return Err(failed("size", format!("it describes itself by more than {MOST_FILES} files")));
        }
    }
    let set = FileDescriptorSet { file: files.into_values().collect() };
    DescriptorPool::from_file_descriptor_set(set)
        .map_err(|error| failed("answer", format!("it describes itself wrongly: {error}")))
}

async fn ask_server(channel: &Channel, ask: &Ask) -> Result<Vec<Vec<u8>>> {
    let answer = match v1::ask(channel, ask).await {
        Err(status) if status.code() == Code::Unimplemented => v1alpha::ask(channel, ask).await,
        answer => answer,
    };
    answer.map_err(|status| unavailable(&status))?.map_err(|message| unknown(&message))
}

fn unavailable(status: &Status) -> Error {
    match status.code() {
        Code::Unimplemented => failed("definition", "the server does not describe itself")
            .with_hint("set `tools.modules.<module>.descriptor_set` to a file of descriptors"),
        Code::NotFound => unknown(status.message()),
        _ => refused(status),
    }
}

fn unknown(message: &str) -> Error {
    failed("definition", format!("the server does not know it: {}", shown(message)))
        .with_hint("the url of a gRPC tool is host:port/package.Service/Method")
}

/// One version of reflection; both have the same shape under other names.
macro_rules! version {
    ($name:ident) => {
        mod $name {
            use tonic::{Status, transport::Channel};
            use tonic_reflection::pb::$name::{
                ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
                server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
            };

            use super::Ask;

            /// The files that answer, or why there are none.
            pub(super) async fn ask(
                channel: &Channel,
                ask: &Ask,
            ) -> Result<Result<Vec<Vec<u8>>, String>, Status> {
                let wanted = match ask {
                    Ask::Service(name) => MessageRequest::FileContainingSymbol(name.clone()),
                    Ask::File(name) => MessageRequest::FileByFilename(name.clone()),
                };
                let request = ServerReflectionRequest { host: String::new(), message_request: Some(wanted) };
                let mut client = ServerReflectionClient::new(channel.clone());
                let mut answers =
                    client.server_reflection_info(tokio_stream::once(request)).await?.into_inner();
                let answer = answers.message().await?.and_then(|answer| answer.message_response);
                Ok(match answer {
                    Some(MessageResponse::FileDescriptorResponse(files)) => Ok(files.file_descriptor_proto),
                    Some(MessageResponse::ErrorResponse(error)) => Err(error.error_message),
                    _ => Err("it gives no answer".to_owned()),
                })
            }
        }
    };
}

version!(v1);
version!(v1alpha);
