//! The source map of a request: its spans point at the spans of the messages.
//!
//! A driver records the addresses of the texts that it writes. Texts of the messages have the same addresses, or are made
//! of texts that have them. Escapes of JSON belong to the text: a span of escaped bytes points at the unescaped ones.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    ops::Range,
    sync::Arc,
};

use hinagata_module::{
    CompiledPrompt, Text, TextOptions, TextRecord, WrittenText,
    driver::{OutputFormat, RequestOptions},
    json::escape_text,
    recorded_prompt_text,
};
use hinagata_template::Content;
use serde_json::{Value, json};

use super::{ExplainMap, MASKED, MapUnits, units::UnitOffsets};
use crate::{
    Result,
    definition::module_error,
    engine::{rendered::RenderedBody, run::RenderOutput},
    secrets::{HIDDEN, Secrets},
};

/// The prompt of an explained result before secrets are masked, and where its texts are in the messages.
#[derive(Clone)]
pub(super) struct MappedPrompt {
    /// The prompt, or why the messages are none.
    prompt: Result<Arc<CompiledPrompt>>,
    is_module: bool,
    /// By the address of a text: its bytes, the text of the map that has it, and where it starts there.
    places: BTreeMap<usize, (usize, usize, usize)>,
    /// The texts of the map that are unlike all others, by their content.
    contents: HashMap<String, usize>,
    /// The names of sections by their titles.
    titles: HashMap<Text, String>,
    secrets: Arc<Secrets>,
}

// It may contain secrets.
impl fmt::Debug for MappedPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedPrompt").finish_non_exhaustive()
    }
}

/// The body of a request with secrets masked, and the spans of the messages that its pieces show.
#[derive(Clone, Debug)]
pub struct RequestMap {
    format: OutputFormat,
    body: String,
    notes: Vec<String>,
    spans: Vec<RequestSpan>,
    /// The sections that frames belong to.
    sections: Vec<String>,
}

/// A piece of a body. It starts at the end of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestSpan {
    /// Its bytes, with the escapes of JSON.
    length: usize,
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A piece of a span, from a byte of the span on.
    Span { text: u32, span: u32, from: usize },
    /// Written by the driver, in a section.
    Frame { section: Option<u32> },
}

/// A span of a request for people.
#[derive(Clone, Debug)]
pub struct RequestRow<'m> {
    /// The piece of the body.
    pub piece: &'m str,
    /// The span that it shows, an index into [`ExplainMap::span_rows`]; `None` for the frame.
    pub row: Option<usize>,
    /// The section of a frame.
    pub section: &'m str,
}

impl MappedPrompt {
    pub(super) fn new(output: &RenderOutput, titles: HashMap<Text, String>, secrets: Arc<Secrets>) -> Self {
        let texts: Vec<&str> = body_texts(&output.body);
        let mut places = BTreeMap::new();
        let prompt = match (&output.module, &output.module_map) {
            (Some(prompt), Some(map)) => {
                for (text, pieces) in map.text_pieces().enumerate() {
                    for piece in pieces.iter().filter(|piece| piece.address != 0) {
                        places.insert(piece.address, (piece.range.len(), text, piece.range.start));
                    }
                }
                Ok(Arc::clone(prompt))
            }
            _ => {
                let prompt = output.body.prompt();
                if let Ok(prompt) = &prompt {
                    place_messages(prompt, &output.body, &mut places);
                }
                prompt.map(Arc::new)
            }
        };
        let mut contents: HashMap<String, Option<usize>> = HashMap::new();
        for (number, text) in texts.iter().enumerate() {
            contents.entry((*text).to_owned()).and_modify(|known| *known = None).or_insert(Some(number));
        }
        let contents = contents.into_iter().filter_map(|(text, number)| Some((text, number?))).collect();
        Self { prompt, is_module: output.module.is_some(), places, contents, titles, secrets }
    }

    /// The name of the section with a title; a heading of the module's own is its name.
    pub(super) fn section_name(&self, title: &Text) -> String {
        self.titles.get(title).cloned().unwrap_or_else(|| title.to_string())
    }

    /// Where a written text is in the messages: the text of the map, and the byte of it.
    fn find(&self, written: &WrittenText, shown: &str) -> Option<(usize, usize)> {
        let before = self.places.range(..=written.address).next_back();
        if let Some((start, (length, text, offset))) = before
            && written.address + shown.len() <= start + length
        {
            return Some((*text, offset + (written.address - start)));
        }
        // A message in the format of the provider is written from the document that it was read from.
        let content = self.contents.get(shown).filter(|_| written.is_from_document)?;
        Some((*content, 0))
    }
}

/// Notes where the texts of messages are: those of a compiled message are the texts of the message, in their order.
fn place_messages(
    prompt: &CompiledPrompt,
    body: &RenderedBody,
    places: &mut BTreeMap<usize, (usize, usize, usize)>,
) {
    let messages = match body {
        RenderedBody::Text(text) => vec![vec![text.as_str()]],
        RenderedBody::Messages(messages) => {
            messages.iter().map(|message| message.content.iter().filter_map(as_text).collect()).collect()
        }
    };
    let mut number = 0;
    for (element, texts) in prompt.elements().zip(messages) {
        let hinagata_module::Element::Message(message) = element else { continue };
        let mut left: Vec<(usize, &str)> = texts.iter().copied().enumerate().collect();
        message.visit_texts(&mut |text| {
            if let Some(found) = left.iter().position(|(_, known)| text.as_str() == *known)
                && !text.is_empty()
            {
                let (index, _) = left.remove(found);
                places.insert(text.address(), (text.len(), number + index, 0));
            }
        });
        number += texts.len();
    }
}

fn as_text(content: &Content) -> Option<&str> {
    match content {
        Content::Text(text) => Some(text),
        Content::Part { .. } => None,
    }
}

fn body_texts(body: &RenderedBody) -> Vec<&str> {
    match body {
        RenderedBody::Text(text) => vec![text],
        RenderedBody::Messages(messages) => {
            messages.iter().flat_map(|message| &message.content).filter_map(as_text).collect()
        }
    }
}

impl ExplainMap {
    /// The body of a request, and the spans of this map that its pieces show; `None` for messages, which are the texts of
    /// this map.
    ///
    /// # Errors
    /// If the result contains something that the provider does not accept.
    pub fn map_request(&self, format: OutputFormat, options: &RequestOptions) -> Result<Option<RequestMap>> {
        let Some(mapped) = &self.prompt else { return Ok(None) };
        let is_text = format == OutputFormat::Text;
        let mut builder = RequestBuilder { map: self, mapped, is_text, request: RequestMap::empty(format) };
        match format {
            OutputFormat::Text if !mapped.is_module => builder.join_texts(),
            OutputFormat::Text => {
                let prompt = mapped.prompt.clone()?;
                let (body, record) = recorded_prompt_text(&prompt, &TextOptions::default());
                builder.add_body(&body, &record);
            }
            OutputFormat::Messages => return Ok(None),
            OutputFormat::Request(driver) => {
                let prompt = mapped.prompt.clone()?;
                let (formatted, record) = driver.format_recorded(&prompt, options).map_err(module_error)?;
                builder.request.notes = formatted.notes().to_vec();
                builder.add_body(formatted.body(), &record);
            }
        }
        Ok(Some(builder.request))
    }
}

/// Builds the map of one request.
struct RequestBuilder<'b> {
    map: &'b ExplainMap,
    mapped: &'b MappedPrompt,
    /// Whether the body is a text, and not JSON.
    is_text: bool,
    request: RequestMap,
}

impl RequestBuilder<'_> {
    fn add_body(&mut self, body: &str, record: &TextRecord) {
        let mut at = 0;
        for written in &record.texts {
            let piece = &body[written.range.clone()];
            let shown = if self.is_text { piece.to_owned() } else { unescape_text(piece) };
            let Some((text, start)) = self.mapped.find(written, &shown) else { continue };
            self.add_frames(body, at..written.range.start, record);
            self.add_piece(text, start..start + shown.len(), &shown);
            at = written.range.end;
        }
        self.add_frames(body, at..body.len(), record);
    }

    /// Adds what a driver wrote; secrets in it are masked.
    fn add_frames(&mut self, body: &str, range: Range<usize>, record: &TextRecord) {
        for (range, title) in record.cut_sections(range) {
            let name = title.map(|title| self.mapped.section_name(title));
            let section = name.map(|name| {
                let sections = &mut self.request.sections;
                sections.iter().position(|known| *known == name).unwrap_or_else(|| {
                    sections.push(name);
                    sections.len() - 1
                }) as u32
            });
            self.push(&self.mapped.secrets.mask_text(&body[range]), Target::Frame { section });
        }
    }

    /// Adds a range of a text before masking, with `shown` as its bytes, cut at the spans of the text.
    fn add_piece(&mut self, text: usize, range: Range<usize>, shown: &str) {
        let Some(mapped) = self.map.texts.get(text) else { return };
        let first = mapped.ends.partition_point(|end| *end <= range.start);
        let mut start = if first == 0 { 0 } else { mapped.ends[first - 1] };
        for (number, end) in mapped.ends.iter().enumerate().skip(first) {
            if start >= range.end {
                break;
            }
            let (from, to) = (start.max(range.start), (*end).min(range.end));
            let (text, span) = (text as u32, number as u32);
            if mapped.spans[number].kind == MASKED {
                let target = Target::Span { text, span, from: 0 };
                if self.request.spans.last().is_none_or(|last| last.target != target) {
                    self.push(HIDDEN, target);
                }
            } else {
                let piece = &shown[from - range.start..to - range.start];
                let target = Target::Span { text, span, from: from - start };
                if self.is_text { self.push(piece, target) } else { self.push(&escape_text(piece), target) }
            }
            start = *end;
        }
    }

    fn push(&mut self, bytes: &str, target: Target) {
        if bytes.is_empty() {
            return;
        }
        self.request.body.push_str(bytes);
        match self.request.spans.last_mut() {
            Some(last) if last.target == target => last.length += bytes.len(),
            _ => self.request.spans.push(RequestSpan { length: bytes.len(), target }),
        }
    }

    /// All texts: parts of a message are joined by a line break, messages by a blank line.
    fn join_texts(&mut self) {
        let mut last = None;
        for (number, text) in self.map.texts.iter().enumerate() {
            match last {
                Some(message) if message == text.message => self.push("\n", Target::Frame { section: None }),
                Some(_) => self.push("\n\n", Target::Frame { section: None }),
                None => {}
            }
            last = Some(text.message);
            self.add_whole(number);
        }
    }

    /// Adds a text of the map, in which secrets are masked already.
    fn add_whole(&mut self, number: usize) {
        let text = &self.map.texts[number];
        let mut at = 0;
        for (span, row) in text.spans.iter().enumerate() {
            let piece = &text.text[at..at + row.length];
            let target = Target::Span { text: number as u32, span: span as u32, from: 0 };
            if self.is_text {
                self.push(piece, target);
            } else {
                self.push(&escape_text(piece), target);
            }
            at += row.length;
        }
    }
}

/// The text of a piece of a JSON string, which lies between whole escapes.
fn unescape_text(piece: &str) -> String {
    serde_json::from_str(&format!("\"{piece}\"")).unwrap_or_default()
}

impl RequestMap {
    fn empty(format: OutputFormat) -> Self {
        Self { format, body: String::new(), notes: Vec::new(), spans: Vec::new(), sections: Vec::new() }
    }

    /// The body, with secrets masked.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Parts of the prompt or options that the provider does not support; they are left out.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The map as JSON: spans are rows `[length, text, span, from]`, in which `text` is -1 for the frame, whose section
    /// is then in the place of `span`. `map` is the map that it points at.
    #[must_use]
    pub fn to_json(&self, map: &ExplainMap, units: MapUnits) -> Value {
        let mut at = 0;
        let texts: Vec<_> = map.texts.iter().map(|text| UnitOffsets::new(&text.text, units)).collect();
        let rows = self.spans.iter().map(|row| {
            let piece = &self.body[at..at + row.length];
            at += row.length;
            let length = units.length(piece);
            match row.target {
                Target::Frame { section } => json!([length, -1, section.map_or(-1, i64::from), 0]),
                Target::Span { text, span, from } => {
                    let start = map.texts[text as usize].span_start(span as usize);
                    let text_units = &texts[text as usize];
                    let before = text_units.units_before(start + from) - text_units.units_before(start);
                    json!([length, text, span, before])
                }
            }
        });
        let spans: Vec<Value> = rows.collect();
        json!({
            "format": self.format.name(), "body": self.body, "notes": self.notes, "sections": self.sections,
            "spans": spans,
        })
    }

    /// The spans as lines for people.
    pub fn rows(&self, map: &ExplainMap) -> impl Iterator<Item = RequestRow<'_>> {
        let firsts: Vec<usize> = map
            .texts
            .iter()
            .scan(0, |next, text| {
                let first = *next;
                *next += text.spans.len();
                Some(first)
            })
            .collect();
        let mut at = 0;
        self.spans.iter().map(move |row| {
            let piece = &self.body[at..at + row.length];
            at += row.length;
            let section = match row.target {
                Target::Frame { section: Some(number) } => &*self.sections[number as usize],
                _ => "",
            };
            let row = match row.target {
                Target::Span { text, span, .. } => Some(firsts[text as usize] + span as usize),
                Target::Frame { .. } => None,
            };
            RequestRow { piece, row, section }
        })
    }
}
