//! What packing gives.

use serde::{Deserialize, Serialize};

use crate::report::Report;

/// The packed context.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackedContext {
    /// The files, in order.
    pub files: Vec<PackedFile>,
    /// Bytes of all contents, those of resources too.
    pub total_bytes: u64,
    /// The text for a model.
    pub text: String,
    /// The resources, as they are configured.
    pub resources: Vec<PackedResource>,
    /// What became of every file.
    pub report: Report,
}

/// A file in the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// The path, from the base directory.
    pub path: String,
    /// The size of its text.
    pub bytes: u64,
    /// Its text, as it is.
    pub content: String,
}

/// A resource in the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedResource {
    /// The id.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: PackedKind,
    /// The name that is shown in the place of the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its text, without the lines around it.
    pub text: String,
    /// The files of a bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<PackedFile>>,
    /// What else is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// The kind of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PackedKind {
    /// Files.
    Bundle,
    /// A rendered template.
    Template,
}

/// What else is configured about a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// What the paths of its files start with, as it is written.
    #[serde(rename = "virtualPath")]
    pub virtual_path: String,
}

/// What a context would hold, counted without reading files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Files, without those of resources.
    pub file_count: usize,
    /// Bytes on disk, those of resources too.
    pub total_bytes: u64,
}
