//! Fills parts of declared messages that name files or resources with their content, and checks the content against the
//! declared type.

use serde_json::{Map, Value};

use super::file_secrets::FileSecrets;
use crate::{
    Catalog, Code, Error, Reason, Result, media,
    source::{Directory, Entry},
};

/// Maximum size of the file of a part, in bytes.
const LARGEST: u64 = 8 << 20;

/// Where files of a part are searched: in the directory of the prompt that contains it, then in its workspace or library.
pub(super) struct PartFiles<'f> {
    pub(super) home: Option<&'f Entry>,
    pub(super) catalog: &'f Catalog,
    /// Redacts secrets if the user does not trust the workspace or library.
    pub(super) secrets: &'f FileSecrets<'f>,
}

impl PartFiles<'_> {
    fn read(&self, name: &str) -> Result<Vec<u8>> {
        // A file in the prompt's directory that cannot be read is an error; the workspace is not searched.
        if let Some(bytes) = self.home.map_or(Ok(None), |home| home.bytes(name, LARGEST))? {
            return match self.home.filter(|home| home.pack().is_none()) {
                Some(home) => {
                    self.secrets.redact_bytes(&self.catalog.root().join(home.source()), name, bytes)
                }
                None => Ok(bytes),
            };
        }
        let root = self.catalog.home_directory(self.home);
        self.catalog.check_file(self.home, &root.join(name))?;
        let found =
            Directory::open(root)?.map_or(Ok(None), |directory| directory.read_bytes(name, LARGEST))?;
        let bytes = found.ok_or_else(|| {
            let shown: String = name.chars().take(200).collect();
            Error::new(Code::Validation, format!("file `{shown}` not found"))
                .with_reason(Reason::File)
                .with("file", shown)
                .with_hint("use a path beneath the prompt's directory or the workspace")
        })?;
        self.secrets.redact_bytes(root, name, bytes)
    }
}

/// Checks the fields of a part of the type `kind` and adds the content of the file that it names.
pub(super) fn fill_part(kind: &str, content: Value, files: &PartFiles<'_>) -> Result<Value> {
    let Value::Object(fields) = content else { return Ok(content) };
    Ok(Value::Object(match kind {
        "image" | "audio" => medium(kind, fields, files)?,
        "resource" => resource(fields, files)?,
        "resource_link" => link(fields)?,
        _ => fields,
    }))
}

fn text<'f>(fields: &'f Map<String, Value>, key: &str) -> Option<&'f str> {
    fields.get(key).and_then(Value::as_str)
}

/// An image or audio part: replaces `file` by `data` and `mime_type`.
fn medium(kind: &str, mut fields: Map<String, Value>, files: &PartFiles<'_>) -> Result<Map<String, Value>> {
    let Some(name) = text(&fields, "file").map(str::to_owned) else { return Ok(fields) };
    let bytes = files.read(&name)?;
    // SVG has no magic number.
    let drawing = || bytes.windows(4).take(1_024).any(|bytes| bytes == b"<svg").then_some("image/svg+xml");
    let found = media::detect_media_type(&bytes).or_else(drawing).unwrap_or("");
    if !found.starts_with(kind) {
        return Err(Error::definition(Reason::Media, format!("`{name}` is not an {kind} file"))
            .with("file", name)
            .with_hint(format!("use a common {kind} format")));
    }
    fields.remove("file");
    fields.insert("data".to_owned(), media::encode_base64(&bytes).into());
    fields.insert("mime_type".to_owned(), found.into());
    Ok(fields)
}

/// A resource: replaces `file` by `text` or `blob`, and `mime_type`.
fn resource(mut fields: Map<String, Value>, files: &PartFiles<'_>) -> Result<Map<String, Value>> {
    let uri = checked_uri(&fields)?;
    if let Some(name) = text(&fields, "file").map(str::to_owned) {
        let bytes = files.read(&name)?;
        fields.remove("file");
        let kind = media::type_of_file(&name, &bytes);
        fields.entry("mime_type").or_insert_with(|| kind.into());
        match media::into_text(bytes) {
            Ok(text) => fields.insert("text".to_owned(), text.into()),
            Err(bytes) => fields.insert("blob".to_owned(), media::encode_base64(&bytes).into()),
        };
    }
    if let Some(blob) = text(&fields, "blob")
        && !media::is_base64(blob)
    {
        return Err(Error::definition(Reason::Media, format!("invalid base64 in the `blob` of `{uri}`")));
    }
    if let Some(kind) = text(&fields, "mime_type")
        && !media::is_type(kind)
    {
        return Err(Error::definition(
            Reason::Media,
            format!("invalid `mime_type` of `{uri}`; use a type such as text/plain"),
        ));
    }
    Ok(fields)
}

fn link(fields: Map<String, Value>) -> Result<Map<String, Value>> {
    let uri = checked_uri(&fields)?;
    if text(&fields, "name").is_none_or(str::is_empty) {
        return Err(Error::definition(Reason::Media, format!("the link to `{uri}` has no `name`")));
    }
    Ok(fields)
}

fn checked_uri(fields: &Map<String, Value>) -> Result<String> {
    match text(fields, "uri") {
        Some(uri) if media::is_uri(uri) => Ok(uri.to_owned()),
        Some(uri) => {
            let shown: String = uri.chars().filter(|c| !c.is_control()).take(80).collect();
            Err(Error::new(Code::Validation, format!("invalid URI `{shown}`"))
                .with_reason(Reason::Uri)
                .with_hint("write it with its scheme, such as `docs://guide`"))
        }
        None => Err(Error::definition(Reason::Media, "a resource has no `uri`")),
    }
}
