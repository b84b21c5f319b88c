//! What questions about a document are answered from.

use std::{
    collections::HashMap,
    ops,
    path::{Path, PathBuf},
};

use hinagata::Hint;
use hinagata_check::{
    Finding,
    editor::{FileRange, Project},
};
use serde_json::{Value, json};
use url::Url;

use crate::{
    documents::Document,
    position::{Encoding, TextLines},
    protocol::{Position, Range},
    values::PreviewValues,
};

/// What a request is answered from.
pub(crate) struct Snapshot {
    pub(crate) project: Project,
    /// The workspace root; `None` for a document in no workspace.
    pub(crate) root: Option<PathBuf>,
    /// The path of the document in the workspace.
    pub(crate) path: String,
    pub(crate) encoding: Encoding,
    /// The addresses of open documents, by path.
    pub(crate) uris: HashMap<String, String>,
    /// The findings of the document.
    pub(crate) findings: Vec<Finding>,
    /// The variables of previews.
    pub(crate) previews: PreviewValues,
    pub(crate) hint_text: fn(&Hint) -> String,
}

impl Snapshot {
    pub(crate) fn uri_of(&self, path: &str) -> String {
        let known = self.uris.get(path).cloned();
        known.unwrap_or_else(|| match &self.root {
            Some(root) => file_uri(&root.join(path)),
            None => file_uri(path.as_ref()),
        })
    }

    pub(crate) fn location(&self, place: &FileRange, document: &Document) -> Value {
        let uri = self.uri_of(&place.file);
        json!({"uri": uri, "range": self.range_in(&place.file, place.range.clone(), document)})
    }

    /// The range of some bytes of a file.
    pub(crate) fn range_in(&self, file: &str, bytes: ops::Range<usize>, document: &Document) -> Range {
        if file == self.path {
            return document.lines.range_at(bytes, &document.text, self.encoding);
        }
        let text = self.project.file_text(file).unwrap_or_default();
        TextLines::new(&text).range_at(bytes, &text, self.encoding)
    }

    pub(crate) fn range(&self, bytes: ops::Range<usize>, document: &Document) -> Range {
        document.lines.range_at(bytes, &document.text, self.encoding)
    }

    pub(crate) fn offset(&self, position: Position, document: &Document) -> usize {
        document.lines.offset_at(position, &document.text, self.encoding)
    }
}

/// The address of a file.
pub(crate) fn file_uri(path: &Path) -> String {
    Url::from_file_path(path).map_or_else(|()| format!("file://{}", path.display()), |url| url.to_string())
}
