//! Converts the record of a render to its source map.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use hinagata_value::{
    Absent, Input, InputsId, Reads, Segment, Segments, Site, Source, Step, StepId, StepKind,
};
use serde_json::Value as Json;

use crate::{
    AbsentPiece, SourceMap, Span, SpanKind, SpanPlace, SpanStep, SpanValue, Template,
    data_paths::{DataOrigin, DataPaths, DataRoots},
    refine::{Work, find_pieces},
    source_map::literal_length,
    template::{Body, FIRST_GO},
};

/// A template with its numbers in the render.
struct Mapped {
    template: Template,
    first: u32,
    count: u32,
}

/// The templates of one render. It converts sites to places.
struct Sites(Vec<Mapped>);

impl Sites {
    fn new(root: &Template, loaded: &[(Template, u32)]) -> Self {
        let mapped = |template: &Template, first| Mapped {
            template: template.clone(),
            first,
            count: match template.body() {
                Body::Jinja(_) => 1,
                Body::Go(go) => go.set.len() as u32,
            },
        };
        let first = if matches!(root.body(), Body::Go(_)) { FIRST_GO } else { 0 };
        let loaded = loaded.iter().map(|(template, first)| mapped(template, *first));
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

/// The most work to find the members of sets in one render.
const MOST_SET_WORK: usize = 4 << 20;

/// The most members of all sets of one map.
const MOST_MEMBERS: usize = 1 << 20;

/// Converts the record of a render. Its data is borrowed, so addresses still identify it.
pub(crate) struct MapBuilder<'b, 'v> {
    sites: Sites,
    reads: &'b Reads,
    data: DataRoots<'v>,
    paths: DataPaths<'v>,
    map: SourceMap,
    /// The values that spans show, with what they print.
    shown: Vec<(&'v Json, Arc<str>)>,
    /// The numbers of shown values by address; those that are no strings by what they print, too.
    shown_numbers: HashMap<(usize, Option<Arc<str>>), u32>,
    /// The sets that spans refer to, with their members; `None` where there are more than are recorded.
    sets: Vec<Option<Vec<InputsId>>>,
    set_numbers: HashMap<InputsId, u32>,
    work: Work,
    set_work: usize,
    members: usize,
}

impl<'b, 'v> MapBuilder<'b, 'v> {
    pub(crate) fn new(
        root: &Template,
        loaded: &[(Template, u32)],
        reads: &'b Reads,
        data: DataRoots<'v>,
    ) -> Self {
        let sites = Sites::new(root, loaded);
        let templates = sites.0.iter().map(|mapped| mapped.template.clone()).collect();
        Self {
            sites,
            reads,
            data,
            paths: DataPaths::default(),
            map: SourceMap { templates, is_complete: true, ..SourceMap::default() },
            shown: Vec::new(),
            shown_numbers: HashMap::new(),
            sets: Vec::new(),
            set_numbers: HashMap::new(),
            work: Work::default(),
            set_work: MOST_SET_WORK,
            members: MOST_MEMBERS,
        }
    }

    pub(crate) fn build(mut self, text: &str, record: &Segments) -> SourceMap {
        self.find_paths(record);
        self.map.spans.reserve(record.segments().len());
        self.map.steps = record.steps().iter().map(|step| self.step(step)).collect();
        let mut start = 0;
        for segment in record.segments() {
            let end = segment.end as usize;
            self.add_segment(segment, start, text.get(start..end).unwrap_or_default());
            start = end;
        }
        self.map.absent = record.absent().iter().map(|absent| self.absent(absent)).collect();
        self.resolve_origins();
        self.map.is_complete &= record.is_complete() && !self.work.is_used_up();
        self.map
    }

    /// Finds the documents that the record refers to, by one walk over the data.
    fn find_paths(&mut self, record: &Segments) {
        let mut wanted = HashSet::new();
        for segment in record.segments() {
            match segment.source {
                Source::Text => {}
                Source::Data(data) => self.want(data, &mut wanted),
                Source::Made(inputs) => {
                    self.inputs(inputs);
                }
            }
        }
        for absent in record.absent() {
            self.inputs(absent.inputs);
        }
        for set in std::mem::take(&mut self.sets) {
            for member in set.iter().flatten() {
                self.want(*member, &mut wanted);
            }
            self.sets.push(set);
        }
        self.paths.find(&wanted, &self.data);
    }

    fn want(&self, input: InputsId, wanted: &mut HashSet<usize>) {
        if let Input::Data(address) | Input::Key(address) = input.input() {
            wanted.insert(address);
        }
    }

    /// The number of a set of inputs.
    fn inputs(&mut self, id: InputsId) -> u32 {
        if let Some(number) = self.set_numbers.get(&id) {
            return *number;
        }
        let number = self.sets.len() as u32;
        let members = self.reads.members_of(id, &mut self.set_work);
        let members = members.filter(|members| {
            self.members = self.members.saturating_sub(members.len());
            self.members > 0
        });
        self.map.is_complete &= self.set_work > 0 && self.members > 0;
        self.sets.push(members);
        self.set_numbers.insert(id, number);
        number
    }

    /// Finds the paths of shown values that were found inside of others, and those of the inputs. A span of none of the
    /// data is computed.
    fn resolve_origins(&mut self) {
        let address = |json: &Json| std::ptr::from_ref(json).addr();
        let shown = self.shown.iter().map(|(json, _)| address(json));
        let unknown: HashSet<usize> = shown.filter(|address| !self.paths.contains(*address)).collect();
        self.paths.find(&unknown, &self.data);
        let mut numbers: HashMap<Vec<DataOrigin>, u32> = HashMap::new();
        let mut set_numbers = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            let origins = self.origins_of(set.as_deref());
            let next = self.map.inputs.len() as u32;
            let number = *numbers.entry(origins.clone()).or_insert(next);
            if number == next {
                self.map.inputs.push(origins);
            }
            set_numbers.push(number);
        }
        let mut kept = Vec::with_capacity(self.shown.len());
        for (json, text) in &self.shown {
            kept.push(self.paths.origin(address(json)).map(|origin| {
                self.map.values.push(SpanValue { origin: origin.clone(), text: Arc::clone(text) });
                self.map.values.len() as u32 - 1
            }));
        }
        for span in &mut self.map.spans {
            span.kind = match span.kind {
                SpanKind::Value { value, from } => match kept[value as usize] {
                    Some(value) => SpanKind::Value { value, from },
                    None => SpanKind::Computed,
                },
                SpanKind::Derived { inputs } => {
                    let inputs = set_numbers[inputs as usize];
                    match self.map.inputs[inputs as usize].is_empty() {
                        true => SpanKind::Computed,
                        false => SpanKind::Derived { inputs },
                    }
                }
                kind => kind,
            };
        }
        for absent in &mut self.map.absent {
            absent.inputs = set_numbers[absent.inputs as usize];
        }
    }

    /// The origins of a set of inputs, each once.
    fn origins_of(&self, members: Option<&[InputsId]>) -> Vec<DataOrigin> {
        let Some(members) = members else { return vec![DataOrigin::Many] };
        let mut seen = HashSet::with_capacity(members.len());
        let mut origins = Vec::with_capacity(members.len());
        for member in members {
            match member.input() {
                Input::Data(address) | Input::Key(address) => {
                    // A value and its key have one origin.
                    if let Some((number, origin)) = self.paths.numbered_origin(address)
                        && seen.insert(number)
                    {
                        origins.push(origin.clone());
                    }
                }
                Input::Missing(address) => {
                    if let Some(name) = self.reads.missing(address) {
                        let origin = DataOrigin::Missing(Arc::clone(name));
                        if !origins.contains(&origin) {
                            origins.push(origin);
                        }
                    }
                }
                Input::None | Input::Many | Input::Set(_) => {}
            }
        }
        origins
    }

    fn step(&self, step: &Step) -> SpanStep {
        let is_turn = step.kind == StepKind::Turn;
        let name = self.reads.names().get(step.index as usize).filter(|_| !is_turn);
        SpanStep {
            parent: step.parent.map(StepId::index),
            kind: step.kind,
            place: self.sites.place(step.site),
            name: name.cloned(),
            turn: if is_turn { step.index } else { 0 },
        }
    }

    fn absent(&mut self, absent: &Absent) -> AbsentPiece {
        AbsentPiece {
            offset: absent.offset as usize,
            place: self.sites.place(absent.site),
            step: absent.step.map(StepId::index),
            reason: absent.reason,
            inputs: self.inputs(absent.inputs),
        }
    }

    fn add_segment(&mut self, segment: &Segment, start: usize, text: &str) {
        let step = segment.step.map(StepId::index);
        let end = segment.end as usize;
        match segment.source {
            Source::Text => {
                let found = self.sites.text_place(segment.site, text);
                let kind = if found.is_some() { SpanKind::Text } else { SpanKind::Computed };
                let place = found.unwrap_or_else(|| self.sites.place(segment.site));
                self.map.spans.push(Span { end, kind, place, step });
            }
            Source::Data(data) => {
                let json = match data.input() {
                    Input::Data(address) => self.paths.json(address),
                    _ => None,
                };
                let kind = match json {
                    Some(json) => self.value_kind(json, 0, text),
                    None => SpanKind::Computed,
                };
                let place = self.sites.place(segment.site);
                self.map.spans.push(Span { end, kind, place, step });
            }
            Source::Made(inputs) => {
                let place = self.sites.place(segment.site);
                self.add_made(inputs, (start, text), place, step);
            }
        }
    }

    /// The kind of a span that shows `json` from the byte `from` of what it prints.
    fn value_kind(&mut self, json: &'v Json, from: usize, text: &str) -> SpanKind {
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
        let inputs = self.inputs(inputs);
        let texts = self.input_texts(inputs);
        let strings: Vec<&str> = texts.iter().map(|json| json.as_str().unwrap_or_default()).collect();
        let kind = SpanKind::Derived { inputs };
        let mut at = 0;
        for piece in find_pieces(text, &strings, &mut self.work) {
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
    fn input_texts(&mut self, inputs: u32) -> Vec<&'v Json> {
        let mut texts = Texts { found: Vec::new(), seen: HashSet::new(), work: &mut self.work };
        for member in self.sets[inputs as usize].iter().flatten() {
            if let Input::Data(address) = member.input()
                && let Some(json) = self.paths.json(address)
            {
                texts.collect(json);
            }
        }
        texts.found
    }
}

/// The strings of documents, each once.
struct Texts<'w, 'v> {
    found: Vec<&'v Json>,
    seen: HashSet<usize>,
    work: &'w mut Work,
}

impl<'v> Texts<'_, 'v> {
    fn collect(&mut self, json: &'v Json) {
        // Containers cost something too.
        if !self.work.spend(16 + json.as_str().map_or(0, str::len)) {
            return;
        }
        match json {
            Json::String(_) if self.seen.insert(std::ptr::from_ref(json).addr()) => self.found.push(json),
            Json::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Json::Object(map) => map.values().for_each(|value| self.collect(value)),
            _ => {}
        }
    }
}
