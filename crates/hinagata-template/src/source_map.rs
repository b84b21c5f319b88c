//! The source map of a rendered text: one span for each piece, with its origin.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use hinagata_value::{
    Absent, AbsentReason, Calls, Heap, InputsId, Place, Read, Segment, Segments, Site, Source, Step, StepId,
    Variables, Written,
};
use serde_json::Value as Json;

use crate::{
    Template,
    data_paths::{DataOrigin, DataPaths},
    library::{FIRST_GO, Library},
    refine::find_pieces,
    template::Body,
};

/// Where a rendered text comes from. Its spans cover every byte of the text exactly once.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// The spans, in the order of the text.
    pub spans: Vec<Span>,
    /// The values that spans show.
    pub values: Vec<SpanValue>,
    /// The sets of origins that derived spans and absent pieces refer to.
    pub inputs: Vec<Vec<DataOrigin>>,
    /// What is not in the text.
    pub absent: Vec<AbsentPiece>,
    /// The templates that spans and steps refer to.
    pub templates: Vec<Template>,
    /// The steps on the way to spans: see [`SourceMap::steps_to`].
    pub steps: Vec<SpanStep>,
    /// Whether every piece has its own span. Renders with a million pieces and more do not.
    pub is_complete: bool,
}

/// A piece of the text. It starts at the end of the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The byte after its last one.
    pub end: usize,
    /// What it is.
    pub kind: SpanKind,
    /// The text or the expression in a template.
    pub place: SpanPlace,
    /// The innermost step to it, an index into [`SourceMap::steps`].
    pub step: Option<u32>,
}

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// The text of the template at its place.
    Text,
    /// A value as it is printed, or a piece of it.
    Value {
        /// The value, an index into [`SourceMap::values`].
        value: u32,
        /// The byte of the printed value at which the piece starts.
        from: usize,
    },
    /// Made of several inputs, or changed by a filter, an operator or a function.
    Derived {
        /// Its inputs, an index into [`SourceMap::inputs`].
        inputs: u32,
    },
    /// A literal, the number of a loop turn, the clock.
    Computed,
}

/// A range of bytes in the source of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanPlace {
    /// The template, an index into [`SourceMap::templates`].
    pub template: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

/// A printed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanValue {
    /// Where it comes from.
    pub origin: DataOrigin,
    /// What printing the value writes.
    pub text: Arc<str>,
}

/// A step on the way to a span: an include, a parent, a block, a call, or the turn of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanStep {
    /// The step around it.
    pub parent: Option<u32>,
    /// Its kind.
    pub kind: hinagata_value::StepKind,
    /// The statement that took it.
    pub place: SpanPlace,
    /// The name of the template, block or macro; `None` for a turn of a loop.
    pub name: Option<Arc<str>>,
    /// The number of the turn, from 0.
    pub turn: u32,
}

/// Something that is not in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentPiece {
    /// The byte of the text at which it would be.
    pub offset: usize,
    /// The statement or expression that wrote nothing.
    pub place: SpanPlace,
    /// The innermost step to it.
    pub step: Option<u32>,
    /// Why it is absent.
    pub reason: AbsentReason,
    /// What the reason depends on, an index into [`SourceMap::inputs`].
    pub inputs: u32,
}

impl SourceMap {
    /// The steps to a span, the outermost first.
    #[must_use]
    pub fn steps_to(&self, step: Option<u32>) -> Vec<&SpanStep> {
        let next = |id: Option<u32>| id.and_then(|id| self.steps.get(id as usize));
        let mut steps: Vec<_> = std::iter::successors(next(step), |step| next(step.parent)).collect();
        steps.reverse();
        steps
    }

    /// The line and column of a place, without the text of its line.
    #[must_use]
    pub fn place(&self, place: SpanPlace) -> Option<Place> {
        let template = self.templates.get(place.template as usize)?;
        Some(line_and_column(template, place))
    }

    /// The names of the filters and functions in the expression at a place, in the order they are written.
    #[must_use]
    pub fn filters_at(&self, place: SpanPlace) -> Vec<&str> {
        let Some(template) = self.templates.get(place.template as usize) else { return Vec::new() };
        let analysis = template.analysis();
        let inside = |position: crate::Position| position.start >= place.start && position.end <= place.end;
        let names = analysis.filters.iter().chain(&analysis.functions);
        let mut found: Vec<_> = names.filter(|item| inside(item.position)).collect();
        found.sort_by_key(|item| item.position.start);
        found.into_iter().map(|item| item.name.as_str()).collect()
    }
}

fn line_and_column(template: &Template, place: SpanPlace) -> Place {
    let text = template.source().text();
    let start = text.floor_char_boundary(place.start as usize);
    let before = &text[..start];
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
    let template = template.name().to_owned();
    Place { template, line, column, span: Some((place.start, place.end)), excerpt: None }
}

/// A template with its numbers in the render.
struct Mapped {
    template: Template,
    first: u32,
    count: u32,
}

/// The templates of one render. It converts sites to places.
struct Sites(Vec<Mapped>);

impl Sites {
    fn from_library(library: &Library<'_>) -> Self {
        let root = library.root();
        let mapped = |template: &Template, first| Mapped {
            template: template.clone(),
            first,
            count: match template.body() {
                Body::Jinja(_) => 1,
                Body::Go(go) => go.set.len() as u32,
            },
        };
        let first = if matches!(root.body(), Body::Go(_)) { FIRST_GO } else { 0 };
        let loaded = library.loaded_templates().map(|(template, first)| mapped(template, first));
        let mut all: Vec<_> = [mapped(root, first)].into_iter().chain(loaded).collect();
        all.sort_by_key(|mapped| mapped.first);
        Self(all)
    }

    /// The template of a site, and the byte where its node starts.
    fn find(&self, site: Site) -> Option<(u32, u32)> {
        let after = self.0.partition_point(|mapped| mapped.first <= site.template);
        let number = after.checked_sub(1)?;
        let mapped = self.0.get(number)?;
        if site.template - mapped.first >= mapped.count {
            return None;
        }
        let start = match mapped.template.body() {
            Body::Jinja(_) => site.node,
            Body::Go(go) => go.set.offset(site, mapped.first)?,
        };
        Some((number as u32, start))
    }

    /// The place of a node: of the expression that it prints, if it prints one.
    fn place(&self, site: Site) -> SpanPlace {
        let (template, start) = self.find(site).unwrap_or_default();
        let prints = self.0.get(template as usize).map(|mapped| &mapped.template.analysis().prints);
        let end = prints.and_then(|prints| prints.get(&start)).copied().unwrap_or(start);
        SpanPlace { template, start, end }
    }

    /// The place of a literal text, if the source holds it there. Line ends may differ.
    fn text_place(&self, site: Site, text: &str) -> Option<SpanPlace> {
        let (template, start) = self.find(site)?;
        let source = self.0.get(template as usize)?.template.source().text();
        let end = start as usize + literal_length(source.get(start as usize..)?, text)?;
        Some(SpanPlace { template, start, end: end as u32 })
    }
}

impl Span {
    /// The place of the rest of a text, without its first `skipped` bytes.
    #[must_use]
    pub fn place_after(&self, map: &SourceMap, skipped: &str) -> SpanPlace {
        let template = map.templates.get(self.place.template as usize);
        let source = template.and_then(|template| template.source().text().get(self.place.start as usize..));
        let bytes = source.and_then(|source| literal_length(source, skipped)).unwrap_or_default();
        SpanPlace { start: self.place.start + bytes as u32, ..self.place }
    }

    /// The place of the start of a text, of which only `kept` is left.
    #[must_use]
    pub fn place_of_start(&self, map: &SourceMap, kept: &str) -> SpanPlace {
        let end = self.place_after(map, kept).start;
        SpanPlace { end, ..self.place }
    }
}

/// The bytes of `source` that the literal `text` takes, if it starts with it. A line end of the source may be
/// `\r\n` or `\r` where the text has `\n`.
fn literal_length(source: &str, text: &str) -> Option<usize> {
    if source.starts_with(text) {
        return Some(text.len());
    }
    let mut rest = source.as_bytes();
    for byte in text.bytes() {
        rest = match (rest, byte) {
            ([b'\r', b'\n', after @ ..], b'\n') | ([b'\r', after @ ..], b'\n') => after,
            ([first, after @ ..], byte) if *first == byte => after,
            _ => return None,
        };
    }
    Some(source.len() - rest.len())
}

/// The most bytes of inputs that are searched for unchanged pieces in one render.
const MOST_SEARCHED: usize = 32 << 20;

/// Converts the record of a render while its data is still there.
pub(crate) struct MapBuilder<'b, 'a> {
    sites: Sites,
    heap: &'b Heap<'a>,
    map: SourceMap,
    /// The values that spans show, with what they print. Their paths are found at the end.
    shown: Vec<(&'a Json, Arc<str>)>,
    /// The numbers of shown values by address; those that are no strings by what they print, too.
    shown_numbers: HashMap<(usize, Option<Arc<str>>), u32>,
    /// The sets of inputs that spans refer to.
    sets: Vec<InputsId>,
    set_numbers: HashMap<InputsId, u32>,
    /// The bytes of inputs that may still be searched.
    searched: usize,
}

impl<'b, 'a> MapBuilder<'b, 'a> {
    pub(crate) fn new(library: &Library<'_>, heap: &'b Heap<'a>) -> Self {
        let sites = Sites::from_library(library);
        let templates = sites.0.iter().map(|mapped| mapped.template.clone()).collect();
        Self {
            sites,
            heap,
            map: SourceMap { templates, ..SourceMap::default() },
            shown: Vec::new(),
            shown_numbers: HashMap::new(),
            sets: Vec::new(),
            set_numbers: HashMap::new(),
            searched: MOST_SEARCHED,
        }
    }

    pub(crate) fn build(
        mut self,
        written: &Written<Segments>,
        variables: &dyn Variables,
        calls: &Calls,
    ) -> SourceMap {
        let record = &written.provenance;
        self.map.is_complete = record.is_complete();
        self.map.steps = record.steps().iter().map(|step| self.step(step)).collect();
        let mut start = 0;
        for segment in record.segments() {
            let end = segment.end as usize;
            let text = written.text.get(start..end).unwrap_or_default();
            self.add_segment(segment, start, text);
            start = end;
        }
        self.map.absent = record.absent().iter().map(|absent| self.absent(absent)).collect();
        self.resolve_origins(variables, calls);
        self.map
    }

    /// Finds the paths of shown values and inputs. A span of none of the data is computed.
    fn resolve_origins(&mut self, variables: &dyn Variables, calls: &Calls) {
        let trace = self.heap.read_trace().borrow();
        let sets: Vec<_> = self.sets.iter().map(|id| (*id, trace.inputs(*id))).collect();
        let read = sets.iter().flat_map(|(_, reads)| reads.iter().copied());
        let wanted = self.shown.iter().map(|(json, _)| Read::Data(json)).chain(read);
        let paths = DataPaths::find(wanted, variables, calls);
        self.map.inputs = sets.iter().map(|(id, reads)| origins_of(*id, reads, &paths)).collect();
        let mut kept = Vec::with_capacity(self.shown.len());
        for (json, text) in &self.shown {
            kept.push(paths.origin(Read::Data(json)).map(|origin| {
                self.map.values.push(SpanValue { origin, text: Arc::clone(text) });
                self.map.values.len() as u32 - 1
            }));
        }
        for span in &mut self.map.spans {
            span.kind = match span.kind {
                SpanKind::Value { value, from } => match kept[value as usize] {
                    Some(value) => SpanKind::Value { value, from },
                    None => SpanKind::Computed,
                },
                SpanKind::Derived { inputs } if self.map.inputs[inputs as usize].is_empty() => {
                    SpanKind::Computed
                }
                kind => kind,
            };
        }
    }

    fn step(&self, step: &Step) -> SpanStep {
        let is_turn = step.kind == hinagata_value::StepKind::Turn;
        let trace = self.heap.read_trace().borrow();
        let name = trace.names().get(step.index as usize).filter(|_| !is_turn);
        SpanStep {
            parent: step.parent.map(|StepId(id)| id),
            kind: step.kind,
            place: self.sites.place(step.site),
            name: name.map(|name| Arc::from(&**name)),
            turn: if is_turn { step.index } else { 0 },
        }
    }

    fn absent(&mut self, absent: &Absent) -> AbsentPiece {
        AbsentPiece {
            offset: absent.offset as usize,
            place: self.sites.place(absent.site),
            step: absent.step.map(|StepId(id)| id),
            reason: absent.reason,
            inputs: self.inputs(absent.inputs),
        }
    }

    fn add_segment(&mut self, segment: &Segment, start: usize, text: &str) {
        let step = segment.step.map(|StepId(id)| id);
        let place = self.sites.place(segment.site);
        let end = segment.end as usize;
        match segment.source {
            Source::Text => {
                let found = self.sites.text_place(segment.site, text);
                let kind = if found.is_some() { SpanKind::Text } else { SpanKind::Computed };
                self.map.spans.push(Span { end, kind, place: found.unwrap_or(place), step });
            }
            Source::Data(data) => {
                let json = self.heap.read_trace().borrow().data().get(data.0 as usize).copied();
                let kind = match json {
                    Some(json) => self.value_kind(json, 0, text),
                    None => SpanKind::Computed,
                };
                self.map.spans.push(Span { end, kind, place, step });
            }
            Source::Made(inputs) => self.add_made(inputs, (start, text), place, step),
        }
    }

    /// The kind of a span that shows `json` from the byte `from` of what it prints.
    fn value_kind(&mut self, json: &'a Json, from: usize, text: &str) -> SpanKind {
        let (key, whole) = match json {
            Json::String(whole) if whole.get(from..from + text.len()) == Some(text) => (None, whole.as_str()),
            _ => (Some(Arc::from(text)), text),
        };
        let key = (std::ptr::from_ref(json).addr(), key);
        let next = self.shown.len() as u32;
        let value = *self.shown_numbers.entry(key).or_insert(next);
        if value == next {
            self.shown.push((json, Arc::from(whole)));
        }
        SpanKind::Value { value, from }
    }

    /// Adds a text that was made of inputs, with the unchanged pieces of its inputs as spans of their own.
    fn add_made(
        &mut self,
        inputs: InputsId,
        (start, text): (usize, &str),
        place: SpanPlace,
        step: Option<u32>,
    ) {
        let texts = self.input_texts(inputs);
        let strings: Vec<&str> = texts.iter().map(|json| json.as_str().unwrap_or_default()).collect();
        let kind = SpanKind::Derived { inputs: self.inputs(inputs) };
        let mut at = 0;
        for piece in find_pieces(text, &strings) {
            if piece.start > at {
                self.map.spans.push(Span { end: start + piece.start, kind, place, step });
            }
            let value = self.value_kind(texts[piece.input], piece.from, &text[piece.start..piece.end]);
            self.map.spans.push(Span { end: start + piece.end, kind: value, place, step });
            at = piece.end;
        }
        if at < text.len() {
            self.map.spans.push(Span { end: start + text.len(), kind, place, step });
        }
    }

    /// The strings in a set of inputs, as far as they may still be searched.
    fn input_texts(&mut self, inputs: InputsId) -> Vec<&'a Json> {
        let mut texts = Texts { found: Vec::new(), seen: HashSet::new(), left: self.searched };
        for read in self.heap.read_trace().borrow().inputs(inputs).iter() {
            if let Read::Data(json) = read {
                texts.collect(json);
            }
        }
        self.searched = texts.left;
        texts.found
    }

    /// The number of a set of inputs in the map.
    fn inputs(&mut self, id: InputsId) -> u32 {
        let next = self.sets.len() as u32;
        let number = *self.set_numbers.entry(id).or_insert(next);
        if number == next {
            self.sets.push(id);
        }
        number
    }
}

/// The origins of a set of inputs, each once.
fn origins_of(id: InputsId, reads: &[Read<'_>], paths: &DataPaths) -> Vec<DataOrigin> {
    if id == InputsId::MANY {
        return vec![DataOrigin::Many];
    }
    let mut origins: Vec<DataOrigin> = Vec::new();
    for origin in reads.iter().filter_map(|read| paths.origin(*read)) {
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    origins
}

/// The strings of documents, each once.
struct Texts<'a> {
    found: Vec<&'a Json>,
    seen: HashSet<usize>,
    /// The bytes that may still be collected.
    left: usize,
}

impl<'a> Texts<'a> {
    fn collect(&mut self, json: &'a Json) {
        // Containers cost something too.
        let cost = 16 + json.as_str().map_or(0, str::len);
        let Some(left) = self.left.checked_sub(cost) else { return self.left = 0 };
        self.left = left;
        match json {
            Json::String(_) if self.seen.insert(std::ptr::from_ref(json).addr()) => self.found.push(json),
            Json::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Json::Object(map) => map.values().for_each(|value| self.collect(value)),
            _ => {}
        }
    }
}
