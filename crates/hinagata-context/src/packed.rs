//! The result of packing.

use serde::{Deserialize, Serialize};

use crate::{
    frame::{Frame, Group},
    report::{PackedForm, Report},
};

/// The packed context.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackedContext {
    /// The files, in order.
    pub files: Vec<PackedFile>,
    /// Bytes of all file contents, including resources.
    pub total_bytes: u64,
    /// The text for a model.
    pub text: String,
    /// The resources, in the configured order.
    pub resources: Vec<PackedResource>,
    /// The outcome for every file.
    pub report: Report,
}

/// A file in the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// The path, from the base directory.
    pub path: String,
    /// The size of its text; a caller need not state it.
    #[serde(default)]
    pub bytes: u64,
    /// Its text, as far as it is in the context.
    pub content: String,
    /// How it is in the context.
    #[serde(rename = "state", default, skip_serializing_if = "PackedForm::is_whole")]
    pub form: PackedForm,
}

/// A resource in the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedResource {
    /// The id.
    pub id: String,
    /// The kind.
    #[serde(rename = "type")]
    pub kind: PackedKind,
    /// The name that is shown instead of the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its text, without the enclosing lines.
    pub text: String,
    /// The files of a bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<PackedFile>>,
    /// More configuration.
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

/// More configuration of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The prefix of the paths of its files, as configured.
    #[serde(rename = "virtualPath")]
    pub virtual_path: String,
}

/// The estimated content of a context, counted without reading files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Files, without those of resources.
    pub file_count: usize,
    /// Bytes on disk, including resources.
    pub total_bytes: u64,
}

/// The text of these files.
#[must_use]
pub fn frame_files(frame: Frame, files: &[PackedFile]) -> String {
    let framed = files.iter().map(|file| {
        let lines = frame.enclose_file(&file.path, None, &file.content);
        format!("{}{}{}", lines.open, frame.escape_content(&file.content), lines.close)
    });
    let ((open, close), (begin, end)) = (frame.enclosing_lines(), frame.enclose_group(Group::Files));
    match files.is_empty() {
        true => String::new(),
        false => format!("{open}{begin}{}{end}{close}", framed.collect::<Vec<_>>().join(frame.separator())),
    }
}
