//! The source map of a result: where each piece of each text comes from.
//!
//! The templates record it ([`hinagata_template::SourceMap`]). Here, places become places in files, variables get their
//! layers, secrets are masked, and what `post_render` changed is told apart from what it left.

mod build;
mod hook;
mod json;
mod module;
mod places;
mod request;
mod rows;
mod shares;
mod units;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use hinagata_template::SourceMap;
use serde::Serialize;

use super::{layers::Layer, trace::TokensOf};
use crate::TextOrigin;

pub(super) use module::{ModuleMap, ModuleNotes};
use places::FileText;
use request::MappedPrompt;
pub use request::{RequestMap, RequestRow};
pub use rows::{AbsentRow, SpanRow};
pub use shares::{Share, Shares};
pub use units::MapUnits;

/// A text of the result with its source map, before it is explained.
#[derive(Debug)]
pub(super) struct MappedText {
    /// The output of the template.
    pub(super) text: String,
    pub(super) map: SourceMap,
    /// Where each template of the map is in its file.
    pub(super) origins: Vec<TextOrigin>,
    /// The ranges of the output that are texts of the result.
    pub(super) ranges: Vec<Range<usize>>,
}

/// What a span is, in the order of their numbers in rows.
const KINDS: [&str; 8] = ["text", "value", "derived", "tool", "computed", "frame", "hook", "masked"];

const TEXT: u8 = 0;
const VALUE: u8 = 1;
const DERIVED: u8 = 2;
const TOOL: u8 = 3;
const COMPUTED: u8 = 4;
const FRAME: u8 = 5;
const HOOK: u8 = 6;
const MASKED: u8 = 7;

/// Where each piece of the texts of a result comes from. Its spans cover every text without gaps.
#[derive(Clone, Debug, Default)]
pub struct ExplainMap {
    files: Vec<MapFile>,
    /// The texts of the files, to find lines in them; `None` if a file has places of its own only.
    file_texts: Vec<Option<Arc<FileText>>>,
    places: Vec<MapPlace>,
    /// The filters and functions of the expressions at places that derived spans have.
    filters: BTreeMap<u32, Vec<String>>,
    values: Vec<MapValue>,
    inputs: Vec<Vec<String>>,
    /// The sections of a module that frames belong to.
    sections: Vec<String>,
    via: Vec<MapStep>,
    texts: Vec<MapText>,
    absent: Vec<MapAbsent>,
    /// The prompt that requests are written from.
    prompt: Option<Arc<MappedPrompt>>,
    tokens_of: TokensOf,
    is_complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
struct MapFile {
    file: String,
    /// Whether places are bytes of a string in the file, not of the file itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_string: bool,
    /// The JSON Pointer to that string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
}

impl MapFile {
    fn in_string(file: String, pointer: Option<String>) -> Self {
        Self { file, in_string: true, pointer }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MapPlace {
    file: u32,
    start: u32,
    end: u32,
    line: u32,
    column: u32,
    /// The column in code units of UTF-16, from 1.
    utf16_column: u32,
}

#[derive(Clone, Debug, Serialize)]
struct MapValue {
    path: String,
    /// The name of its variable in the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The tool whose result it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The number of its call among those of the trace, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    /// Whether the call failed, and this is what takes the place of its result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    /// What the value prints; absent if it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Clone, Debug)]
struct MapStep {
    parent: Option<u32>,
    kind: &'static str,
    place: u32,
    name: Option<String>,
    turn: u32,
}

#[derive(Clone, Debug)]
struct MapText {
    /// The index of the message; `None` for a text.
    message: Option<usize>,
    /// The index of the part of the message.
    part: usize,
    /// The text, with secrets masked.
    text: String,
    spans: Vec<MapSpan>,
    /// The byte after each span in the text before secrets were masked.
    ends: Vec<usize>,
    /// The byte after each span in the text.
    masked_ends: Vec<usize>,
    /// The bytes at which its tokens start; `None` if the build cannot tell.
    token_starts: Option<Vec<usize>>,
}

/// A span. `kind` is an index into [`KINDS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MapSpan {
    /// Bytes of the masked text.
    length: usize,
    kind: u8,
    place: Option<u32>,
    via: Option<u32>,
    /// The value, the set of inputs, or the section of a frame.
    of: Option<u32>,
    /// The byte of the printed value at which it starts.
    from: usize,
}

#[derive(Clone, Debug)]
struct MapAbsent {
    text: usize,
    offset: usize,
    place: u32,
    via: Option<u32>,
    reason: &'static str,
    inputs: u32,
}

impl ExplainMap {
    /// The spans of all texts, each with the byte of its text at which it starts.
    fn pieces(&self) -> impl Iterator<Item = (&MapText, &MapSpan, usize)> {
        self.texts.iter().flat_map(|text| {
            let mut next = 0;
            text.spans.iter().map(move |span| {
                let at = next;
                next += span.length;
                (text, span, at)
            })
        })
    }

    /// The texts of the result with secrets masked, by message and part.
    fn masked_texts(&self) -> impl Iterator<Item = (Option<usize>, usize, &str)> {
        self.texts.iter().map(|text| (text.message, text.part, text.text.as_str()))
    }
}

impl MapText {
    /// The byte of the text at which a span starts.
    fn span_start(&self, span: usize) -> usize {
        span.checked_sub(1).map_or(0, |before| self.masked_ends[before])
    }
}
