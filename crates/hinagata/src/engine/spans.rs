//! The source map of a result: where each piece of each text comes from.
//!
//! The templates record it ([`hinagata_template::SourceMap`]). Here, places become places in files, variables get their
//! layers, secrets are masked, and what `post_render` changed is told apart from what it left.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use hinagata_template::{
    AbsentReason, Content, DataOrigin, PathPart, Piece, SourceMap, Span, SpanKind, SpanPlace, StepKind,
    unchanged_pieces,
};
use hinagata_tokens::TokenCounter;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    explain::{path_name, trace_variable},
    layers::{Layer, Layers},
    pipeline::Call,
    rendered::RenderedBody,
    run::RenderOutput,
    validate::RESERVED,
};
use crate::{LineColumn, TextOrigin, secrets::HIDDEN};

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
const HOOK: u8 = 6;
const MASKED: u8 = 7;

/// Where each piece of the texts of a result comes from. Its spans cover every text without gaps.
#[derive(Clone, Debug, Default)]
pub struct ExplainMap {
    files: Vec<MapFile>,
    places: Vec<MapPlace>,
    values: Vec<MapValue>,
    inputs: Vec<Vec<String>>,
    via: Vec<MapStep>,
    texts: Vec<MapText>,
    absent: Vec<MapAbsent>,
    /// The model whose tokens are counted, and whether they are exactly its own.
    model: Option<String>,
    is_exact: bool,
    is_complete: bool,
}

/// The unit in which lengths and offsets of an answer count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapUnits {
    /// Bytes.
    #[default]
    Utf8,
    /// Code units of UTF-16, as JavaScript counts.
    Utf16,
    /// Characters.
    Chars,
}

impl MapUnits {
    /// The unit called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf8" => Some(Self::Utf8),
            "utf16" => Some(Self::Utf16),
            "chars" => Some(Self::Chars),
            _ => None,
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.chars().map(char::len_utf16).sum(),
            Self::Chars => text.chars().count(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf8",
            Self::Utf16 => "utf16",
            Self::Chars => "chars",
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct MapFile {
    file: String,
    /// Whether places are bytes of a string in the file, not of the file itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_string: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MapPlace {
    file: u32,
    start: u32,
    end: u32,
    line: u32,
    column: u32,
}

#[derive(Clone, Debug, Serialize)]
struct MapValue {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The number of the call, from 0, if the value is the result of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
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
    /// The bytes at which its tokens start; `None` if the build cannot tell.
    token_starts: Option<Vec<usize>>,
}

/// A span. `kind` is an index into [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MapSpan {
    /// Bytes of the masked text.
    length: usize,
    kind: u8,
    place: Option<u32>,
    via: Option<u32>,
    /// The value, or the set of inputs.
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

/// The size of what one file, variable or layer adds to a result.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Share {
    bytes: usize,
    characters: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<usize>,
}

impl ExplainMap {
    /// The map as JSON: tables, and spans as rows of numbers `[length, kind, place, via, of, from]`, in which -1 means
    /// none. Lengths and offsets of texts count in `units`; places are bytes.
    #[must_use]
    pub fn to_json(&self, units: MapUnits) -> Value {
        let number = |number: Option<u32>| number.map_or(-1, i64::from);
        let texts = self.texts.iter().map(|text| {
            let mut at = 0;
            let rows = text.spans.iter().map(|span| {
                let piece = &text.text[at..at + span.length];
                at += span.length;
                let printed =
                    span.of.and_then(|of| self.values.get(of as usize)).filter(|_| span.kind == VALUE);
                let before = printed.and_then(|value| value.text.as_deref()?.get(..span.from));
                let from = before.map_or(span.from, |before| units.length(before));
                json!([
                    units.length(piece),
                    span.kind,
                    number(span.place),
                    number(span.via),
                    number(span.of),
                    from
                ])
            });
            let rows: Vec<Value> = rows.collect();
            json!({"message": text.message, "part": text.part, "text": text.text, "spans": rows})
        });
        let texts: Vec<Value> = texts.collect();
        let absent = self.absent.iter().map(|absent| {
            let before = self.texts.get(absent.text).and_then(|text| text.text.get(..absent.offset));
            json!({
                "text": absent.text, "at": before.map_or(absent.offset, |before| units.length(before)),
                "place": absent.place, "via": number(absent.via), "reason": absent.reason, "inputs": absent.inputs,
            })
        });
        let absent: Vec<Value> = absent.collect();
        let places: Vec<_> =
            self.places.iter().map(|at| [at.file, at.start, at.end, at.line, at.column]).collect();
        let via = self.via.iter().map(|step| {
            let mut row = json!({"parent": number(step.parent), "kind": step.kind, "place": step.place});
            match &step.name {
                Some(name) => row["name"] = name.as_str().into(),
                None => row["turn"] = step.turn.into(),
            }
            row
        });
        let via: Vec<Value> = via.collect();
        json!({
            "units": units.name(), "kinds": KINDS, "files": self.files, "places": places, "values": self.values,
            "inputs": self.inputs, "via": via, "texts": texts, "absent": absent, "shares": self.shares(),
            "complete": self.is_complete,
        })
    }

    /// The sizes by file, variable and layer, and of all texts. Each piece counts once in each table; what comes from no
    /// file, variable or layer is not listed. A token counts where its first byte lies, so that tokens add up.
    fn shares(&self) -> Value {
        let mut all = Share::default();
        let mut files: BTreeMap<&str, Share> = BTreeMap::new();
        let mut variables: BTreeMap<&str, Share> = BTreeMap::new();
        let mut layers: BTreeMap<&str, Share> = BTreeMap::new();
        for (text, span, at) in self.pieces() {
            let piece = &text.text[at..at + span.length];
            let tokens = text.tokens_in(at..at + span.length);
            let grow = |share: &mut Share| {
                share.bytes += piece.len();
                share.characters += piece.chars().count();
                share.tokens = tokens.map(|tokens| share.tokens.unwrap_or_default() + tokens);
            };
            let add = |table: &mut BTreeMap<_, Share>, name| grow(table.entry(name).or_default());
            grow(&mut all);
            let value = span.of.filter(|_| matches!(span.kind, VALUE | TOOL | MASKED));
            if let Some(value) = value.and_then(|value| self.values.get(value as usize)) {
                add(&mut variables, &value.path);
                if let Some(layer) = value.layer {
                    add(&mut layers, layer.as_str());
                }
            }
            if let Some(place) = span.place.and_then(|place| self.places.get(place as usize)) {
                add(&mut files, &self.files[place.file as usize].file);
            }
        }
        let tokens = json!({"model": self.model, "exact": self.is_exact});
        json!({"all": all, "files": files, "variables": variables, "layers": layers, "tokens_of": tokens})
    }

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

    /// The spans as lines for people: the piece, its kind, its place, what it is made of, and the steps to it.
    pub fn span_rows(&self) -> impl Iterator<Item = SpanRow<'_>> {
        self.pieces().map(|(text, span, at)| {
            let piece = &text.text[at..at + span.length];
            let place = span.place.and_then(|place| self.places.get(place as usize));
            let of = span.of.map(|of| of as usize);
            let made_of = match span.kind {
                VALUE | TOOL | MASKED => {
                    of.and_then(|of| self.values.get(of)).map(MapValue::describe).unwrap_or_default()
                }
                DERIVED => {
                    of.and_then(|of| self.inputs.get(of)).map(|all| all.join(", ")).unwrap_or_default()
                }
                _ => String::new(),
            };
            let shown = of.filter(|_| matches!(span.kind, VALUE | TOOL)).and_then(|of| self.values.get(of));
            SpanRow {
                message: text.message,
                part: text.part,
                piece,
                variable: shown.map(|value| value.path.as_str()),
                kind: KINDS[span.kind as usize],
                file: place.map(|place| self.files[place.file as usize].file.as_str()),
                line: place.map_or(0, |place| place.line),
                column: place.map_or(0, |place| place.column),
                made_of,
                via: self.via_text(span.via),
            }
        })
    }

    fn via_text(&self, via: Option<u32>) -> String {
        let step = |id: Option<u32>| id.and_then(|id| self.via.get(id as usize));
        let mut steps: Vec<String> = std::iter::successors(step(via), |one| step(one.parent))
            .map(|one| match &one.name {
                Some(name) => format!("{} {name}", one.kind),
                None => format!("turn {}", one.turn + 1),
            })
            .collect();
        steps.reverse();
        steps.join(" > ")
    }

    /// The texts of the result with secrets masked, by message and part.
    fn masked_texts(&self) -> impl Iterator<Item = (Option<usize>, usize, &str)> {
        self.texts.iter().map(|text| (text.message, text.part, text.text.as_str()))
    }
}

impl MapText {
    /// The tokens that start in a range of the text.
    fn tokens_in(&self, range: Range<usize>) -> Option<usize> {
        let starts = self.token_starts.as_ref()?;
        let before = |byte: usize| starts.partition_point(|start| *start < byte);
        Some(before(range.end) - before(range.start))
    }
}

impl MapValue {
    fn describe(&self) -> String {
        match self.layer {
            Some(layer) => format!("{} ({})", self.path, layer.as_str()),
            None => self.path.clone(),
        }
    }
}

/// A span for people.
#[derive(Clone, Debug)]
pub struct SpanRow<'m> {
    /// The index of the message; `None` for a text.
    pub message: Option<usize>,
    /// The index of the part of the message.
    pub part: usize,
    /// The piece of the text.
    pub piece: &'m str,
    /// What it is: `text`, `value`, `derived`, `tool`, `computed`, `frame`, `hook` or `masked`.
    pub kind: &'static str,
    /// The file of the text or of the expression.
    pub file: Option<&'m str>,
    /// The line in the file, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The variable that it shows, if it is one.
    pub variable: Option<&'m str>,
    /// The variables that it is made of, with their layers.
    pub made_of: String,
    /// The steps to it, the outermost first.
    pub via: String,
}

impl Call<'_> {
    /// The texts after `post_render`: what it left keeps its spans.
    pub(super) fn maps_after_hook(&self, maps: Vec<MappedText>, body: &RenderedBody) -> Vec<MappedText> {
        let RenderedBody::Text(after) = body else { return maps };
        maps.into_iter()
            .map(|mapped| {
                let pieces = unchanged_pieces(&mapped.text, after);
                let ranges = std::iter::once(0..after.len()).collect();
                let map = SourceMap { spans: spans_after_hook(&mapped, &pieces, after), ..mapped.map };
                MappedText { text: after.clone(), map, ranges, ..mapped }
            })
            .collect()
    }

    /// The source map of a result.
    pub(super) fn explain_map(&self, layers: &Layers<'_>, output: &RenderOutput) -> ExplainMap {
        let secret_names: Vec<&str> = self.plan.secrets().collect();
        let of_prompt = self.plan.about.settings.request_options().model;
        let model = self.request.context.named_model().map(str::to_owned).or(of_prompt);
        let counter = model.as_deref().map_or_else(TokenCounter::without_model, TokenCounter::for_model);
        let is_exact = counter.is_exact();
        let builder = Builder {
            call: self,
            layers,
            secret_names,
            counter,
            map: ExplainMap { is_complete: true, model, is_exact, ..ExplainMap::default() },
            files: HashMap::new(),
            places: HashMap::new(),
            variables: HashMap::new(),
            values: HashMap::new(),
            secrets: HashMap::new(),
            input_numbers: HashMap::new(),
            known_places: HashMap::new(),
            line_starts: HashMap::new(),
        };
        builder.build(output)
    }

    /// Masks secrets in the texts of a result.
    pub(super) fn mask_body(&self, output: &mut RenderOutput, map: Option<&ExplainMap>) {
        let secrets = self.secrets();
        let masked: HashMap<(Option<usize>, usize), &str> = map
            .into_iter()
            .flat_map(ExplainMap::masked_texts)
            .map(|(message, part, text)| ((message, part), text))
            .collect();
        let mask = |text: &mut String, key: (Option<usize>, usize)| {
            *text = secrets.mask_text(masked.get(&key).copied().unwrap_or(text));
        };
        match &mut output.body {
            RenderedBody::Text(text) => mask(text, (None, 0)),
            RenderedBody::Messages(messages) => {
                for (index, message) in messages.iter_mut().enumerate() {
                    for (part, content) in message.content.iter_mut().enumerate() {
                        match content {
                            Content::Text(text) => mask(text, (Some(index), part)),
                            Content::Part { content, .. } => *content = secrets.mask_value(content.take()),
                        }
                    }
                }
            }
        }
        if self.plan.secrets().next().is_some() {
            // The compiled prompt holds the secrets too; the messages are what is shown.
            output.module = None;
        }
    }
}

/// The spans of a text after `post_render`. Changed pieces have no place in a template: their kind is that of a hook,
/// which is a computed span without a place here.
fn spans_after_hook(mapped: &MappedText, pieces: &[Piece], after: &str) -> Vec<Span> {
    let hook = |end| Span { end, kind: SpanKind::Computed, place: NO_PLACE, step: None };
    let mut spans = Vec::new();
    let mut at = 0;
    for piece in pieces {
        if piece.start > at {
            spans.push(hook(piece.start));
        }
        let range = piece.from..piece.from + (piece.end - piece.start);
        for (kept, cut) in cut_spans(mapped, &range) {
            spans.push(Span { end: piece.start + (cut.end - piece.from), ..kept });
        }
        at = piece.end;
    }
    if at < after.len() {
        spans.push(hook(after.len()));
    }
    spans
}

/// The place of a piece that no template wrote.
const NO_PLACE: SpanPlace = SpanPlace { template: u32::MAX, start: 0, end: 0 };

/// The spans within a range of the text, cut to it, with the range of each.
fn cut_spans(mapped: &MappedText, range: &Range<usize>) -> Vec<(Span, Range<usize>)> {
    let first = mapped.map.spans.partition_point(|span| span.end <= range.start);
    let mut found = Vec::new();
    let mut start = if first == 0 { 0 } else { mapped.map.spans[first - 1].end };
    for span in &mapped.map.spans[first..] {
        if start >= range.end {
            break;
        }
        let cut = start.max(range.start)..span.end.min(range.end);
        let mut kept = span.clone();
        if span.kind == SpanKind::Text && span.place != NO_PLACE {
            kept.place = span.place_after(&mapped.map, &mapped.text[start..cut.start]);
            let left = Span { place: kept.place, ..kept.clone() };
            kept.place = left.place_of_start(&mapped.map, &mapped.text[cut.clone()]);
        }
        if let SpanKind::Value { value, from } = span.kind {
            kept.kind = SpanKind::Value { value, from: from + (cut.start - start) };
        }
        start = span.end;
        if cut.end > cut.start {
            found.push((kept, cut));
        }
    }
    found
}

/// Builds the map of a result.
struct Builder<'b, 'c> {
    call: &'b Call<'c>,
    layers: &'b Layers<'b>,
    secret_names: Vec<&'b str>,
    counter: TokenCounter,
    map: ExplainMap,
    files: HashMap<String, u32>,
    places: HashMap<MapPlace, u32>,
    /// The layer and the origin of each traced variable.
    variables: HashMap<String, (Option<Layer>, Option<String>)>,
    /// The numbers of values by text and value of its map, of secrets by path, and of sets of inputs.
    values: HashMap<(usize, u32), u32>,
    secrets: HashMap<String, u32>,
    input_numbers: HashMap<Vec<String>, u32>,
    /// The numbers of places by text and place of its map, and the starts of lines by template.
    known_places: HashMap<(usize, SpanPlace), Option<u32>>,
    line_starts: HashMap<(usize, u32), Vec<usize>>,
}

impl Builder<'_, '_> {
    fn build(mut self, output: &RenderOutput) -> ExplainMap {
        let parts = text_parts(&output.body);
        let mut parts = parts.into_iter();
        for (number, mapped) in output.maps.iter().enumerate() {
            let mapped = (number, mapped);
            self.map.is_complete &= mapped.1.map.is_complete;
            let first_step = self.add_steps(mapped);
            for range in &mapped.1.ranges {
                let Some((message, part)) = parts.next() else { break };
                self.add_text(mapped, range, (message, part), first_step);
            }
        }
        self.map
    }

    fn add_steps(&mut self, mapped: (usize, &MappedText)) -> u32 {
        let first = self.map.via.len() as u32;
        for step in &mapped.1.map.steps {
            let place = self.place(mapped, step.place).unwrap_or_default();
            let kind = match step.kind {
                StepKind::Turn => "turn",
                StepKind::Include => "include",
                StepKind::Parent => "parent",
                StepKind::Block => "block",
                StepKind::Call => "call",
            };
            let name = step.name.as_deref().map(str::to_owned);
            let parent = step.parent.map(|parent| parent + first);
            self.map.via.push(MapStep { parent, kind, place, name, turn: step.turn });
        }
        first
    }

    fn add_text(
        &mut self,
        text_map: (usize, &MappedText),
        range: &Range<usize>,
        (message, part): (Option<usize>, usize),
        first_step: u32,
    ) {
        let mapped = text_map.1;
        let secrets = self.call.secrets();
        let (mut text, mut spans) = (String::new(), Vec::<MapSpan>::new());
        // Where each span ends in the text, and in the masked text.
        let mut ends = Vec::new();
        for (span, cut) in cut_spans(mapped, range) {
            let piece = &mapped.text[cut.clone()];
            let mut one = self.span(text_map, &span, first_step);
            if one.kind != MASKED && secrets.mask_text(piece) != piece {
                one = MapSpan { kind: MASKED, of: None, from: 0, ..one };
            }
            let shown = if one.kind == MASKED { HIDDEN } else { piece };
            let joins = spans.last().is_some_and(|last| {
                last.kind == MASKED && (last.kind, last.place, last.of) == (one.kind, one.place, one.of)
            });
            if !joins {
                text.push_str(shown);
                spans.push(MapSpan { length: shown.len(), ..one });
            }
            ends.push((cut.end, text.len()));
        }
        let number = self.map.texts.len();
        for absent in
            mapped.map.absent.iter().filter(|absent| (range.start..=range.end).contains(&absent.offset))
        {
            let passed = ends.partition_point(|(end, _)| *end <= absent.offset);
            let offset = if passed == 0 { 0 } else { ends[passed - 1].1 };
            let inputs = self.inputs(&mapped.map.inputs[absent.inputs as usize]);
            let place = self.place(text_map, absent.place).unwrap_or_default();
            let via = absent.step.map(|step| step + first_step);
            let reason = absent_reason(absent.reason);
            self.map.absent.push(MapAbsent { text: number, offset, place, via, reason, inputs });
        }
        let token_starts = self.counter.token_starts(&text);
        self.map.texts.push(MapText { message, part, text, spans, token_starts });
    }

    fn span(&mut self, text_map: (usize, &MappedText), span: &Span, first_step: u32) -> MapSpan {
        let (number, mapped) = text_map;
        let place = self.place(text_map, span.place);
        let via = span.step.map(|step| step + first_step);
        let base = MapSpan { length: 0, kind: COMPUTED, place, via, of: None, from: 0 };
        match span.kind {
            SpanKind::Text => MapSpan { kind: TEXT, ..base },
            SpanKind::Computed if place.is_none() => MapSpan { kind: HOOK, ..base },
            SpanKind::Computed => base,
            SpanKind::Value { value, from } => {
                let shown = &mapped.map.values[value as usize];
                if self.is_secret(&shown.origin) {
                    let of = Some(self.secret(&shown.origin));
                    return MapSpan { kind: MASKED, of, ..base };
                }
                let kind = if matches!(shown.origin, DataOrigin::Call { .. }) { TOOL } else { VALUE };
                let known = self.values.get(&(number, value)).copied();
                let of = known.unwrap_or_else(|| self.add_value(&shown.origin, Some(&shown.text)));
                self.values.insert((number, value), of);
                MapSpan { kind, of: Some(of), from, ..base }
            }
            SpanKind::Derived { inputs } => {
                let origins = &mapped.map.inputs[inputs as usize];
                if let Some(secret) = origins.iter().find(|origin| self.is_secret(origin)) {
                    let of = Some(self.secret(secret));
                    return MapSpan { kind: MASKED, of, ..base };
                }
                let of = Some(self.inputs(origins));
                MapSpan { kind: DERIVED, of, ..base }
            }
        }
    }

    fn is_secret(&self, origin: &DataOrigin) -> bool {
        let DataOrigin::Variable(path) = origin else { return false };
        if self.secret_names.is_empty() || self.secret_names.contains(&&*path.root) {
            return !self.secret_names.is_empty();
        }
        // Variables are also reachable through what holds all of them.
        let holds_all = path.is_whole() || RESERVED.contains(&&*path.root);
        match path.parts.first() {
            Some(PathPart::Key(key)) => holds_all && self.secret_names.contains(&&**key),
            _ => holds_all,
        }
    }

    /// The number of a secret value, which has no text.
    fn secret(&mut self, origin: &DataOrigin) -> u32 {
        let path = origin_text(origin);
        if let Some(number) = self.secrets.get(&path) {
            return *number;
        }
        let number = self.add_value(origin, None);
        self.secrets.insert(path, number);
        number
    }

    fn add_value(&mut self, origin: &DataOrigin, text: Option<&str>) -> u32 {
        let path = origin_text(origin);
        let (layer, from) = match origin {
            DataOrigin::Variable(path) => {
                let name = path_name(path);
                let (call, layers) = (self.call, self.layers);
                let known = self.variables.entry(name.clone()).or_insert_with(|| {
                    let traced = trace_variable(call, layers, &name);
                    (traced.layer, traced.origin)
                });
                known.clone()
            }
            _ => (None, None),
        };
        let call = match origin {
            DataOrigin::Call { call, .. } => Some(*call),
            _ => None,
        };
        let number = self.map.values.len() as u32;
        let text = text.map(str::to_owned);
        self.map.values.push(MapValue { path, layer, origin: from, call, text });
        number
    }

    fn inputs(&mut self, origins: &[DataOrigin]) -> u32 {
        let names: Vec<String> = origins.iter().map(origin_text).collect();
        let next = self.map.inputs.len() as u32;
        *self.input_numbers.entry(names).or_insert_with_key(|names| {
            self.map.inputs.push(names.clone());
            next
        })
    }

    fn place(&mut self, text_map: (usize, &MappedText), place: SpanPlace) -> Option<u32> {
        if let Some(known) = self.known_places.get(&(text_map.0, place)) {
            return *known;
        }
        let found = self.find_place(text_map, place);
        self.known_places.insert((text_map.0, place), found);
        found
    }

    fn find_place(&mut self, (number, mapped): (usize, &MappedText), place: SpanPlace) -> Option<u32> {
        let template = mapped.map.templates.get(place.template as usize)?;
        let origin = mapped.origins.get(place.template as usize)?;
        let name = template.name();
        let text = template.source().text();
        let starts = self.line_starts.entry((number, place.template)).or_insert_with(|| line_starts(text));
        let LineColumn { line, column } = origin.in_file(line_column(text, starts, place.start as usize));
        let shift = self.call.file_shift(name, template.source().text());
        let next = self.map.files.len() as u32;
        let file = *self.files.entry(name.to_owned()).or_insert(next);
        if file == next {
            self.map.files.push(MapFile { file: name.to_owned(), in_string: shift.is_none() });
        }
        let shift = shift.unwrap_or_default();
        let found = MapPlace { file, start: place.start + shift, end: place.end + shift, line, column };
        let next = self.map.places.len() as u32;
        let number = *self.places.entry(found).or_insert(next);
        if number == next {
            self.map.places.push(found);
        }
        Some(number)
    }
}

impl Call<'_> {
    /// The byte of the file `name` at which the template with this text starts; `None` if the template is a string in it.
    fn file_shift(&self, name: &str, text: &str) -> Option<u32> {
        let files = &self.plan.about.files;
        let Some(file) = files.iter().find(|file| file.file == name) else { return Some(0) };
        let shift = file.text.len().checked_sub(text.len())?;
        file.text.ends_with(text).then_some(shift as u32)
    }
}

/// The bytes at which the lines of a text start.
fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn line_column(text: &str, starts: &[usize], offset: usize) -> LineColumn {
    let offset = text.floor_char_boundary(offset);
    let line = starts.partition_point(|start| *start <= offset);
    let start = starts[line - 1];
    LineColumn { line: line as u32, column: text[start..offset].chars().count() as u32 + 1 }
}

fn absent_reason(reason: AbsentReason) -> &'static str {
    match reason {
        AbsentReason::Condition => "condition",
        AbsentReason::EmptyLoop => "empty_loop",
        AbsentReason::EmptyValue => "empty_value",
        AbsentReason::Undefined => "undefined",
        AbsentReason::MissingInclude => "missing_include",
    }
}

fn origin_text(origin: &DataOrigin) -> String {
    match origin {
        DataOrigin::Variable(path) => path.to_string(),
        DataOrigin::Call { call, path } => format!("tool call {}{path}", call + 1),
        DataOrigin::Missing(name) => format!("{name} (undefined)"),
        DataOrigin::Many => "many values".to_owned(),
    }
}

/// The message and the part of every text of a result, in their order.
fn text_parts(body: &RenderedBody) -> Vec<(Option<usize>, usize)> {
    match body {
        RenderedBody::Text(_) => vec![(None, 0)],
        RenderedBody::Messages(messages) => messages
            .iter()
            .enumerate()
            .flat_map(|(index, message)| {
                let texts = message.content.iter().enumerate();
                texts.filter_map(move |(part, content)| match content {
                    Content::Text(_) => Some((Some(index), part)),
                    Content::Part { .. } => None,
                })
            })
            .collect(),
    }
}
