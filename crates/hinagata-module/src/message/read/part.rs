//! Parts with `type`, in all formats: their names differ, so that one reader serves all.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::text_part;
use crate::{
    Attachment, MessageFormat, PartContent, Problem, Reasoning, Text, ToolCall, ToolResult, ToolValue,
    json::Reader,
};

/// The types that every message may contain; for suggestions.
const KINDS: [&str; 12] = [
    "text",
    "image_url",
    "image",
    "audio",
    "file",
    "document",
    "resource",
    "tool_call",
    "tool_use",
    "tool_result",
    "reasoning",
    "refusal",
];

impl Reader<'_> {
    /// A part of a message in `format`.
    pub(super) fn read_part(&mut self, value: &Value, format: MessageFormat) -> Option<PartContent> {
        let fields = self.read_object(value)?;
        let Some(kind) = fields.get("type").and_then(Value::as_str) else {
            return self.read_attachment(value).map(PartContent::Attachment);
        };
        Some(match kind {
            "text" | "input_text" | "output_text" | "summary_text" => {
                text_part(self.read_text(fields, "text")?)
            }
            "refusal" => PartContent::Refusal(self.read_text(fields, "refusal")?),
            "tool_use" | "tool_call" | "mcp_tool_use" => PartContent::ToolCall(self.read_call(value)?),
            "tool_result" => PartContent::ToolResult(self.read_tool_result_part(fields)?),
            "thinking" | "redacted_thinking" | "reasoning" => PartContent::Reasoning(read_reasoning(fields)),
            _ => match attachment_of(kind, fields) {
                Found::Attachment(attachment) => PartContent::Attachment(attachment),
                Found::Reference => PartContent::Other(kind.into()),
                Found::Incomplete(key) => {
                    self.add_missing(key);
                    return None;
                }
                Found::Unknown if has_typed_parts(format) => PartContent::Other(kind.into()),
                Found::Unknown => {
                    self.add_unknown_part(kind);
                    return None;
                }
            },
        })
    }

    /// Reports a missing member, by its path from the part.
    fn add_missing(&mut self, path: &str) {
        match path.split_once('.') {
            Some((step, key)) => {
                self.read_under(step, |reader| reader.add_problem(format!("`{key}` is missing")));
            }
            None => self.add_problem(format!("`{path}` is missing")),
        }
    }

    fn add_unknown_part(&mut self, kind: &str) {
        let path = format!("{}.type", self.path);
        let problem = Problem::new(path, format!("unknown part type `{kind}`")).with_near(kind, KINDS);
        self.problems.push(problem);
    }

    /// An attachment of an element or a message: a typed part, or ours in short: `{image_url: URL}`.
    pub(super) fn read_attachment(&mut self, value: &Value) -> Option<Attachment> {
        let fields = self.read_object(value)?;
        if let Some(kind) = fields.get("type") {
            let Some(kind) = kind.as_str() else {
                self.read_under("type", |reader| reader.add_type_error("a string", kind));
                return None;
            };
            if kind == "text" {
                return Some(Attachment::Text(self.read_text(fields, "text")?));
            }
            return match attachment_of(kind, fields) {
                Found::Attachment(attachment) => Some(attachment),
                Found::Incomplete(key) => {
                    self.add_missing(key);
                    None
                }
                Found::Reference | Found::Unknown => {
                    self.add_unknown_part(kind);
                    None
                }
            };
        }
        if fields.contains_key("text") {
            return Some(Attachment::Text(self.read_text(fields, "text")?));
        }
        let short = ["image_url", "file"].into_iter().find(|key| fields.contains_key(*key));
        match short.map(|kind| attachment_of(kind, fields)) {
            Some(Found::Attachment(attachment)) => Some(attachment),
            Some(Found::Incomplete(key)) => {
                self.add_missing(key);
                None
            }
            _ => {
                self.add_problem("an attachment needs `type`, or one of `text`, `image_url` and `file`");
                None
            }
        }
    }

    /// A tool result beside other parts: Anthropic's, MCP's or ours.
    fn read_tool_result_part(&mut self, fields: &Map<String, Value>) -> Option<ToolResult> {
        let id = ["tool_use_id", "toolUseId", "id"].into_iter().find(|key| fields.contains_key(*key));
        let call_id = match id {
            Some(key) => self.read_text(fields, key)?,
            None => Text::default(),
        };
        let flag = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
        let is_error = flag("is_error") || flag("isError");
        let value = match (fields.get("structuredContent"), fields.get("content")) {
            (Some(data), _) if !data.is_null() && !is_error => ToolValue::Data(Arc::new(data.clone())),
            (_, content) => {
                let content = content.unwrap_or(&Value::Null);
                self.read_under("content", |reader| reader.read_result_value(content, is_error))?
            }
        };
        let name = fields.get("name").and_then(Value::as_str).map(Text::from);
        Some(ToolResult { call_id, name, value })
    }

    /// A call in a part: `{id, name, input}`.
    pub(super) fn read_call_part(&mut self, fields: &Map<String, Value>, id: &str) -> Option<ToolCall> {
        let call_id = self.read_text(fields, id)?;
        let name = self.read_text(fields, "name")?;
        let arguments = ["arguments", "input"].into_iter().find_map(|key| fields.get(key));
        Some(ToolCall::new(call_id, name, arguments.cloned().unwrap_or_default()))
    }
}

/// Whether messages of this format have parts with `type`, of which new ones appear now and then.
const fn has_typed_parts(format: MessageFormat) -> bool {
    match format {
        MessageFormat::OpenAi
        | MessageFormat::OpenAiResponses
        | MessageFormat::Anthropic
        | MessageFormat::Mcp => true,
        MessageFormat::Own | MessageFormat::Gemini | MessageFormat::Ollama => false,
    }
}

fn read_reasoning(fields: &Map<String, Value>) -> Reasoning {
    let text = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key)).and_then(Value::as_str);
    Reasoning {
        text: text(&["thinking", "text"]).unwrap_or_default().into(),
        signature: text(&["signature", "data"]).map(Text::from),
    }
}

/// The attachment that a part contains.
pub(super) enum Found {
    /// An image, a sound, a file or a text.
    Attachment(Attachment),
    /// A reference to a file that only its provider has.
    Reference,
    /// A required member is missing: its path.
    Incomplete(&'static str),
    /// A part of another type.
    Unknown,
}

impl From<Option<Attachment>> for Found {
    fn from(attachment: Option<Attachment>) -> Self {
        attachment.map_or(Self::Reference, Self::Attachment)
    }
}

/// The attachment in a part of this type.
pub(super) fn attachment_of(kind: &str, fields: &Map<String, Value>) -> Found {
    let part = Fields(fields);
    match kind {
        "image_url" => match part.text("/image_url/url").or_else(|| part.text("/image_url")) {
            Some(url) => Found::Attachment(Attachment::image(url)),
            None if fields.contains_key("image_url") => Found::Incomplete("image_url.url"),
            None => Found::Incomplete("image_url"),
        },
        "input_image" => part.text("/image_url").map(Attachment::image).into(),
        "input_audio" => match (part.text("/input_audio/data"), part.text("/input_audio/format")) {
            (Some(data), format) => Found::Attachment(sound(data, format.unwrap_or("wav"))),
            _ => Found::Incomplete("input_audio"),
        },
        "file" => part.file(),
        "input_file" => part.input_file(),
        "image" | "audio" | "document" if fields.contains_key("source") => part.source(),
        "image" | "audio" if fields.contains_key("data") => {
            match (part.text("/data"), part.text("/mimeType").or_else(|| part.text("/mime_type"))) {
                (Some(data), Some(mime)) => Found::Attachment(encoded(data, mime, None)),
                (None, _) => Found::Incomplete("data"),
                (_, None) => Found::Incomplete("mimeType"),
            }
        }
        "resource" => part.resource(),
        "resource_link" => Found::Reference,
        "media" | "image" | "audio" => part.media(),
        _ => Found::Unknown,
    }
}

struct Fields<'v>(&'v Map<String, Value>);

impl Fields<'_> {
    /// The string at a pointer.
    fn text(&self, pointer: &str) -> Option<&str> {
        let mut steps = pointer.trim_start_matches('/').split('/');
        let first = self.0.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step))?.as_str()
    }

    /// OpenAI's and our own files.
    fn file(&self) -> Found {
        let name =
            self.text("/file/filename").or_else(|| self.text("/file/name")).or_else(|| self.text("/name"));
        let mime = self.text("/file/mime_type").or_else(|| self.text("/mime_type"));
        let path = self.text("/file/path").or_else(|| self.text("/file"));
        match (path, mime, self.text("/file/file_data")) {
            (Some(path), Some(mime), _) => Found::Attachment(named_file(path, mime, name)),
            (Some(_), None, _) => Found::Incomplete("mime_type"),
            (None, _, Some(data)) => file_data(data, name).into(),
            (None, _, None) if self.0.get("file").is_some_and(Value::is_object) => Found::Reference,
            (None, _, None) => Found::Incomplete("file"),
        }
    }

    /// A file of OpenAI's responses.
    fn input_file(&self) -> Found {
        match (self.text("/file_data"), self.text("/file_url")) {
            (Some(data), _) => file_data(data, self.text("/filename")).into(),
            (None, Some(url)) => {
                Found::Attachment(named_file(url, "application/pdf", self.text("/filename")))
            }
            (None, None) => Found::Reference,
        }
    }

    /// An image or a document of Anthropic.
    fn source(&self) -> Found {
        let mime = self.text("/source/media_type");
        match (self.text("/source/type"), self.text("/source/data"), self.text("/source/url")) {
            (Some("text"), Some(text), _) => Found::Attachment(Attachment::text(text)),
            (_, Some(data), _) => {
                Found::Attachment(encoded(data, mime.unwrap_or("application/pdf"), self.text("/title")))
            }
            (_, None, Some(url)) if self.text("/type") == Some("image") => {
                Found::Attachment(Attachment::image(url))
            }
            (_, None, Some(url)) => {
                Found::Attachment(named_file(url, "application/pdf", self.text("/title")))
            }
            _ => Found::Reference,
        }
    }

    /// A resource of MCP, or of a template: its text or its bytes.
    fn resource(&self) -> Found {
        let text =
            |key: &str| self.text(&format!("/resource/{key}")).or_else(|| self.text(&format!("/{key}")));
        let mime = text("mimeType").or_else(|| text("mime_type"));
        match (text("text"), text("blob").or_else(|| text("data")), mime) {
            (Some(said), ..) => Found::Attachment(Attachment::text(said)),
            (None, Some(data), Some(mime)) => Found::Attachment(encoded(data, mime, None)),
            _ => Found::Reference,
        }
    }

    /// Media of a template: a URL, or data with its type. `type` is the kind of the part there.
    fn media(&self) -> Found {
        let mime = ["/media_type", "/mime_type", "/mimeType"].iter().find_map(|key| self.text(key));
        let url = ["/url", "/image_url/url", "/image_url"].iter().find_map(|key| self.text(key));
        match (url, self.text("/data"), mime) {
            (Some(url), _, Some(mime)) if !mime.starts_with("image/") => {
                Found::Attachment(named_file(url, mime, None))
            }
            (Some(url), ..) => Found::Attachment(Attachment::image(url)),
            (None, Some(data), Some(mime)) => Found::Attachment(encoded(data, mime, None)),
            (None, Some(_), None) => Found::Incomplete("media_type"),
            (None, None, _) => Found::Incomplete("url"),
        }
    }
}

fn named_file(path: &str, mime: &str, name: Option<&str>) -> Attachment {
    Attachment::File { path: path.into(), mime_type: mime.into(), name: name.map(Text::from) }
}

/// An image or a file from data in base64.
pub(super) fn encoded(data: &str, mime: &str, name: Option<&str>) -> Attachment {
    let url = format!("data:{mime};base64,{data}");
    if mime.starts_with("image/") { Attachment::image(url) } else { named_file(&url, mime, name) }
}

fn sound(data: &str, format: &str) -> Attachment {
    let mime = if format == "mp3" { "audio/mpeg".to_owned() } else { format!("audio/{format}") };
    encoded(data, &mime, None)
}

/// The file of a `data:` URL; plain base64 is a PDF, the type that providers assume.
fn file_data(data: &str, name: Option<&str>) -> Option<Attachment> {
    let Some(rest) = data.strip_prefix("data:") else { return Some(encoded(data, "application/pdf", name)) };
    let (head, data) = rest.split_once(',')?;
    let mime = head.split(';').next().filter(|mime| !mime.is_empty()).unwrap_or("application/pdf");
    head.ends_with(";base64").then(|| encoded(data, mime, name))
}
