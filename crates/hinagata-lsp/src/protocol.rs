//! The parts of the Language Server Protocol that the server reads and writes.

use hinagata_value::near_names;
use lsp_server::{ErrorCode, ResponseError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A place in a text: line and column from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, in the units that client and server agreed on.
    pub character: u32,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range {
    /// Its start.
    pub start: Position,
    /// The position behind its end.
    pub end: Position,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TextDocument {
    pub(crate) uri: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentParams {
    pub(crate) text_document: TextDocument,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PositionParams {
    pub(crate) position: Position,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RangeParams {
    pub(crate) range: Range,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenameParams {
    pub(crate) position: Position,
    pub(crate) new_name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReferenceParams {
    pub(crate) position: Position,
    pub(crate) context: ReferenceContext,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReferenceContext {
    pub(crate) include_declaration: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenParams {
    pub(crate) text_document: OpenedDocument,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenedDocument {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) language_id: String,
    pub(crate) version: i64,
    pub(crate) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeParams {
    pub(crate) text_document: ChangedDocument,
    pub(crate) content_changes: Vec<ContentChange>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ChangedDocument {
    pub(crate) uri: String,
    pub(crate) version: i64,
}

/// A change of a document: of a part of it, or of all.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ContentChange {
    pub(crate) range: Option<Range>,
    pub(crate) text: String,
}

/// Reads the parameters of a message.
pub(crate) fn read_params<P: DeserializeOwned>(params: Value) -> Result<P, ResponseError> {
    serde_json::from_value(params).map_err(|error| invalid_params(error.to_string()))
}

pub(crate) fn invalid_params(message: impl Into<String>) -> ResponseError {
    ResponseError { code: ErrorCode::InvalidParams as i32, message: message.into(), data: None }
}

/// The request was understood and cannot be carried out.
pub(crate) fn request_failed(message: impl Into<String>) -> ResponseError {
    ResponseError { code: ErrorCode::RequestFailed as i32, message: message.into(), data: None }
}

pub(crate) fn unknown_method(method: &str, known: &[&str]) -> ResponseError {
    let near = near_names(method, known.iter().copied());
    let hint = near.first().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let message = format!("unknown method `{method}`{hint}");
    ResponseError { code: ErrorCode::MethodNotFound as i32, message, data: None }
}
