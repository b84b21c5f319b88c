//! Builds the source map of a result.

use std::{collections::HashMap, ops::Range, sync::Arc};

use hinagata_template::{
    AbsentPiece, AbsentReason, Content, DataOrigin, PathPart, Span, SpanKind, SpanPlace, StepKind,
    VariablePath, Work,
};
use hinagata_tokens::TokenCounter;
use serde_json::Value;

use super::{
    COMPUTED, DERIVED, ExplainMap, HOOK, MASKED, MapAbsent, MapFile, MapPlace, MapSpan, MapStep, MapText,
    MapValue, MappedPrompt, MappedText, TEXT, TOOL, VALUE,
    hook::cut_spans,
    places::{FilePlace, FileText, line_starts, utf16_column},
};
use crate::{
    LineColumn,
    definition::module::LOOP,
    engine::{
        explain::{path_name, trace_variable},
        layers::{Layer, Layers},
        pipeline::Call,
        plan::PlannedBody,
        rendered::RenderedBody,
        run::RenderOutput,
        trace::TracedCall,
        validate::RESERVED,
    },
    secrets::{HIDDEN, Secrets},
};

impl Call<'_> {
    /// The source map of a result; `calls` are the calls of the trace.
    pub(in crate::engine) fn explain_map(
        &self,
        layers: &Layers<'_>,
        output: &RenderOutput,
        calls: &[TracedCall],
    ) -> ExplainMap {
        let titles = match &self.plan.body {
            PlannedBody::Module(planned) => planned
                .body
                .module
                .sections()
                .map(|(name, _)| (name.title(), name.name().to_owned()))
                .collect(),
            _ => HashMap::new(),
        };
        let prompt = Some(Arc::new(MappedPrompt::new(output, titles, self.secrets())));
        let (counter, tokens_of) = self.token_counter();
        let builder = Builder {
            call: self,
            layers,
            calls,
            secret_names: self.plan.secrets().collect(),
            known_secrets: self.secrets(),
            counter,
            map: ExplainMap { is_complete: true, prompt, tokens_of, ..ExplainMap::default() },
            hook_place: None,
            known: Known::default(),
            work: Work::default(),
        };
        builder.build(output)
    }

    /// Masks secrets in the texts of a result.
    pub(in crate::engine) fn mask_body(&self, output: &mut RenderOutput, map: Option<&ExplainMap>) {
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

/// Builds the map of a result.
pub(super) struct Builder<'b, 'c> {
    pub(super) call: &'b Call<'c>,
    layers: &'b Layers<'b>,
    calls: &'b [TracedCall],
    secret_names: Vec<&'b str>,
    known_secrets: Arc<Secrets>,
    counter: TokenCounter,
    pub(super) map: ExplainMap,
    /// The place of `post_render`, once it was needed.
    hook_place: Option<Option<u32>>,
    pub(super) known: Known,
    /// What is left of the work to find values of a module in its texts.
    pub(super) work: Work,
}

/// The numbers of what is in the tables of the map already.
#[derive(Default)]
pub(super) struct Known {
    files: HashMap<MapFile, u32>,
    places: HashMap<MapPlace, u32>,
    sections: HashMap<String, u32>,
    inputs: HashMap<Vec<String>, u32>,
    /// Values by path; those of one path have several texts.
    values: HashMap<String, Vec<u32>>,
    /// Secrets by path.
    secrets: HashMap<String, u32>,
    /// The layer and the origin of each traced variable.
    variables: HashMap<String, (Option<Layer>, Option<String>)>,
    /// Values by text and value of its map.
    map_values: HashMap<(usize, u32), u32>,
    /// Sets of inputs by text and set of its map.
    map_inputs: HashMap<(usize, u32), u32>,
    /// Places by text and place of its map.
    map_places: HashMap<(usize, SpanPlace), Option<u32>>,
    /// The file of each template by text and template of its map.
    templates: HashMap<(usize, u32), TemplateFile>,
    /// The files of the fixed texts of a module by their numbers.
    pub(super) fixed: HashMap<usize, TemplateFile>,
    /// The places of the paths of a module.
    pub(super) path_places: HashMap<(String, u32, u32), Option<u32>>,
    /// The filters of each template by text and template of its map, with their bytes.
    filters: HashMap<(usize, u32), FilterPlaces>,
    /// The pointers to strings, with their lengths, by file, line and column.
    pointers: HashMap<(String, u32, u32), Option<(String, usize)>>,
}

/// The filters of a template, with the bytes where each starts and ends.
type FilterPlaces = Vec<(u32, u32, String)>;

/// The text of a template or of a module file, and the file that it is in.
#[derive(Clone)]
pub(super) struct TemplateFile {
    pub(super) file: u32,
    pub(super) text: Arc<FileText>,
}

/// A span with its text before secrets are masked, and the byte after it in the whole text.
pub(super) struct SpanPiece<'t> {
    pub(super) span: MapSpan,
    pub(super) text: &'t str,
    pub(super) end: usize,
}

/// Something absent, and the byte of the text before masking at which it would be.
#[derive(Clone, Copy)]
pub(super) struct AbsentAt {
    pub(super) offset: usize,
    pub(super) place: u32,
    pub(super) via: Option<u32>,
    pub(super) reason: &'static str,
    pub(super) inputs: u32,
}

impl Builder<'_, '_> {
    fn build(mut self, output: &RenderOutput) -> ExplainMap {
        if let (Some(module), PlannedBody::Module(planned)) = (&output.module_map, &self.call.plan.body) {
            self.add_module(module, output, &planned.body);
            return self.map;
        }
        let mut ranges = Vec::new();
        // What is absent from outputs that left no text: it is at the start of the next text.
        let mut without_text: Vec<AbsentAt> = Vec::new();
        for (number, mapped) in output.maps.iter().enumerate() {
            self.map.is_complete &= mapped.map.is_complete;
            let first_step = self.add_steps((number, mapped));
            if mapped.ranges.is_empty() {
                without_text.extend(mapped.map.absent.iter().map(|absent| AbsentAt {
                    offset: 0,
                    ..self.absent((number, mapped), absent, first_step)
                }));
            }
            for found in mapped.ranges.iter().zip(absent_by_range(mapped)) {
                ranges.push(((number, mapped), found, first_step, std::mem::take(&mut without_text)));
            }
        }
        let mut ranges = ranges.into_iter();
        for part in text_parts(&output.body) {
            let of_history =
                |message| output.histories.iter().find(|history| history.messages.contains(&message));
            match part.message.and_then(of_history) {
                Some(history) => {
                    let item = part.message.unwrap_or_default() - history.messages.start;
                    self.add_history_text(&history.variable, item, &part);
                }
                None => {
                    let Some((mapped, found, first_step, before)) = ranges.next() else { break };
                    self.add_text(mapped, found, &part, (first_step, before));
                }
            }
        }
        let last = self.map.texts.len().saturating_sub(1);
        for absent in without_text {
            self.push_absent(last, AbsentAt { offset: usize::MAX, ..absent });
        }
        self.map
    }

    pub(super) fn add_steps(&mut self, mapped: (usize, &MappedText)) -> u32 {
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
        (range, absent): (&Range<usize>, Vec<&AbsentPiece>),
        part: &TextPart<'_>,
        (first_step, mut all_absent): (u32, Vec<AbsentAt>),
    ) {
        let mapped = text_map.1;
        let spans = cut_spans(mapped, range).into_iter().map(|(span, cut)| SpanPiece {
            span: self.span(text_map, &span, first_step),
            text: &mapped.text[cut.clone()],
            end: cut.end - range.start,
        });
        let spans = spans.collect();
        all_absent.extend(absent.into_iter().map(|absent| AbsentAt {
            offset: absent.offset.clamp(range.start, range.end) - range.start,
            ..self.absent(text_map, absent, first_step)
        }));
        self.push_text((part.message, part.part), spans, all_absent);
    }

    /// Adds a text of an earlier message, which is the item `item` of a variable.
    fn add_history_text(&mut self, variable: &str, item: usize, part: &TextPart<'_>) {
        let content = self.layers.get(variable).and_then(|list| list.get(item)?.get("content"));
        let mut parts = vec![PathPart::Index(item as i64), PathPart::Key("content".into())];
        if content.is_some_and(Value::is_array) {
            parts.extend([PathPart::Index(part.part as i64), PathPart::Key("text".into())]);
        }
        let origin = DataOrigin::Variable(VariablePath { root: variable.into(), parts: parts.into() });
        let span = self.value_span(&origin, part.text, 0);
        let pieces = vec![SpanPiece { span, text: part.text, end: part.text.len() }];
        self.push_text((part.message, part.part), pieces, Vec::new());
    }

    /// Adds a text of the result: masks secrets, and counts tokens.
    pub(super) fn push_text(
        &mut self,
        (message, part): (Option<usize>, usize),
        pieces: Vec<SpanPiece<'_>>,
        absent: Vec<AbsentAt>,
    ) {
        let whole: String = pieces.iter().map(|piece| piece.text).collect();
        let hidden = self.known_secrets.find_in(&whole);
        let (mut text, mut spans) = (String::with_capacity(whole.len()), Vec::with_capacity(pieces.len()));
        let (mut ends, mut masked_ends) =
            (Vec::with_capacity(pieces.len()), Vec::with_capacity(pieces.len()));
        let mut start = 0;
        for SpanPiece { mut span, text: piece, end } in pieces {
            let next = hidden.partition_point(|range| range.end <= start);
            let secret = hidden.get(next).filter(|range| range.start < start + piece.len());
            start += piece.len();
            if let Some(secret) = secret.filter(|_| span.kind != MASKED) {
                let of = self.secret_in(&whole[secret.clone()]);
                span = MapSpan { kind: MASKED, of, from: 0, ..span };
            }
            let joins = spans.last().is_some_and(|last: &MapSpan| {
                last.kind == MASKED && (last.kind, last.place, last.of) == (span.kind, span.place, span.of)
            });
            if joins {
                ends.pop();
                masked_ends.pop();
            } else {
                let shown = if span.kind == MASKED { HIDDEN } else { piece };
                text.push_str(shown);
                spans.push(MapSpan { length: shown.len(), ..span });
            }
            ends.push(end);
            masked_ends.push(text.len());
        }
        let token_starts = self.counter.token_starts(&text);
        self.map.texts.push(MapText { message, part, text, spans, ends, masked_ends, token_starts });
        let number = self.map.texts.len() - 1;
        for absent in absent {
            self.push_absent(number, absent);
        }
    }

    /// Adds something that is absent from a text of the map, or from a result that has no text at all.
    pub(super) fn push_absent(&mut self, number: usize, absent: AbsentAt) {
        let AbsentAt { offset, place, via, reason, inputs } = absent;
        let text = self.map.texts.get(number);
        let offset = text.map_or(0, |text| text.span_start(text.ends.partition_point(|end| *end <= offset)));
        self.map.absent.push(MapAbsent { text: number, offset, place, via, reason, inputs });
    }

    /// The secret variable that contains a text, if it is known which one does.
    fn secret_in(&mut self, text: &str) -> Option<u32> {
        let holds = |name: &&str| {
            self.layers.get(name).is_some_and(|value| {
                let mut one = Secrets::default();
                one.add_value(value);
                !one.find_in(text).is_empty()
            })
        };
        let found = self.secret_names.iter().copied().find(|name| holds(name));
        let only = match self.secret_names.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let name = found.or(only)?;
        Some(self.secret(&DataOrigin::Variable(VariablePath::new(name))))
    }

    pub(super) fn absent(
        &mut self,
        text_map: (usize, &MappedText),
        absent: &AbsentPiece,
        first_step: u32,
    ) -> AbsentAt {
        AbsentAt {
            offset: absent.offset,
            place: self.place(text_map, absent.place).unwrap_or_default(),
            via: absent.step.map(|step| step + first_step),
            reason: absent_reason(absent.reason),
            inputs: self.map_inputs(text_map, absent.inputs),
        }
    }

    /// The number of a section in the map.
    pub(super) fn section(&mut self, name: String) -> u32 {
        let next = self.map.sections.len() as u32;
        *self.known.sections.entry(name).or_insert_with_key(|name| {
            self.map.sections.push(name.clone());
            next
        })
    }

    /// The number of a file, or of a string in one, in the map.
    pub(super) fn file_number(&mut self, file: MapFile) -> u32 {
        let next = self.map.files.len() as u32;
        *self.known.files.entry(file).or_insert_with_key(|file| {
            self.map.files.push(file.clone());
            self.map.file_texts.push(None);
            next
        })
    }

    /// A file, or a string in one, with its text.
    pub(super) fn file_with_text(&mut self, file: MapFile, text: FileText) -> TemplateFile {
        // Strings whose pointers are unknown have no lines of their own.
        let is_one = !file.in_string || file.pointer.is_some();
        let (file, text) = (self.file_number(file), Arc::new(text));
        if is_one {
            self.map.file_texts[file as usize].get_or_insert_with(|| Arc::clone(&text));
        }
        TemplateFile { file, text }
    }

    /// The place of a range of a text.
    pub(super) fn text_place(&mut self, of: &TemplateFile, range: Range<usize>) -> Option<u32> {
        let (at, shift) = (of.text.place(range.start), of.text.shift());
        self.add_place(of.file, range.start + shift..range.end + shift, at)
    }

    /// The number of a range of a file, which starts at `at`.
    pub(super) fn add_place(&mut self, file: u32, range: Range<usize>, at: FilePlace) -> Option<u32> {
        let (start, end) = (u32::try_from(range.start).ok()?, u32::try_from(range.end).ok()?);
        let FilePlace { line, column, utf16_column } = at;
        let place = MapPlace { file, start, end, line, column, utf16_column };
        let next = self.map.places.len() as u32;
        Some(*self.known.places.entry(place).or_insert_with(|| {
            self.map.places.push(place);
            next
        }))
    }

    pub(super) fn span(&mut self, text_map: (usize, &MappedText), span: &Span, first_step: u32) -> MapSpan {
        let (number, mapped) = text_map;
        let place = self.place(text_map, span.place);
        let via = span.step.map(|step| step + first_step);
        let base = MapSpan { length: 0, kind: COMPUTED, place, via, of: None, from: 0 };
        match span.kind {
            SpanKind::Text => MapSpan { kind: TEXT, ..base },
            SpanKind::Computed if place.is_none() => MapSpan { kind: HOOK, place: self.hook_place(), ..base },
            SpanKind::Computed => base,
            SpanKind::Value { value, from } => {
                let shown = &mapped.map.values[value as usize];
                let known = self.known.map_values.get(&(number, value)).copied();
                let found = match known {
                    Some(of) => MapSpan { kind: self.value_kind(of), of: Some(of), from, ..base },
                    None => self.value_span(&shown.origin, &shown.text, from),
                };
                if let Some(of) = found.of {
                    self.known.map_values.insert((number, value), of);
                }
                MapSpan { place, via, ..found }
            }
            SpanKind::Derived { inputs } => {
                let origins = &mapped.map.inputs[inputs as usize];
                if let Some(secret) = origins.iter().find(|origin| self.is_secret(origin)) {
                    let of = Some(self.secret(secret));
                    return MapSpan { kind: MASKED, of, ..base };
                }
                self.note_filters(text_map, span.place, place);
                let of = Some(self.map_inputs(text_map, inputs));
                MapSpan { kind: DERIVED, of, ..base }
            }
        }
    }

    /// The span of a printed value from the byte `from` on, without its place.
    pub(super) fn value_span(&mut self, origin: &DataOrigin, printed: &str, from: usize) -> MapSpan {
        if self.is_secret(origin) || !self.known_secrets.find_in(printed).is_empty() {
            let of = Some(self.secret(origin));
            return MapSpan { kind: MASKED, of, ..MapSpan::default() };
        }
        if self.is_loop_state(origin) {
            return MapSpan { kind: COMPUTED, ..MapSpan::default() };
        }
        let of = self.value_number(origin, printed);
        MapSpan { kind: self.value_kind(of), of: Some(of), from, ..MapSpan::default() }
    }

    fn value_kind(&self, of: u32) -> u8 {
        match &self.map.values[of as usize] {
            MapValue { text: None, .. } => MASKED,
            MapValue { call: Some(_), .. } => TOOL,
            _ => VALUE,
        }
    }

    /// Whether it is the state of a loop in a module.
    fn is_loop_state(&self, origin: &DataOrigin) -> bool {
        matches!(self.call.plan.body, PlannedBody::Module(_))
            && matches!(origin, DataOrigin::Variable(path) if &*path.root == LOOP)
    }

    pub(super) fn is_secret(&self, origin: &DataOrigin) -> bool {
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
    pub(super) fn secret(&mut self, origin: &DataOrigin) -> u32 {
        let path = self.origin_text(origin);
        if let Some(number) = self.known.secrets.get(&path) {
            return *number;
        }
        let number = self.add_value(origin, None);
        self.known.secrets.insert(path, number);
        number
    }

    /// The number of a value with what it prints.
    fn value_number(&mut self, origin: &DataOrigin, printed: &str) -> u32 {
        let path = match origin {
            // Several calls may have results of the same path.
            DataOrigin::Call { call, .. } => format!("{call} {}", self.origin_text(origin)),
            origin => self.origin_text(origin),
        };
        let same = |number: &&u32| self.map.values[**number as usize].text.as_deref() == Some(printed);
        if let Some(number) = self.known.values.get(&path).and_then(|all| all.iter().find(same)) {
            return *number;
        }
        let number = self.add_value(origin, Some(printed));
        self.known.values.entry(path).or_default().push(number);
        number
    }

    fn add_value(&mut self, origin: &DataOrigin, text: Option<&str>) -> u32 {
        let mut value = MapValue {
            path: self.origin_text(origin),
            variable: None,
            layer: None,
            origin: None,
            tool: None,
            call: None,
            failed: false,
            text: text.map(str::to_owned),
        };
        match origin {
            DataOrigin::Variable(path) => {
                let name = path_name(path);
                let (call, layers) = (self.call, self.layers);
                let known = self.known.variables.entry(name.clone()).or_insert_with(|| {
                    let traced = trace_variable(call, layers, &name);
                    (traced.layer, traced.origin)
                });
                (value.layer, value.origin) = known.clone();
                value.variable = Some(name);
            }
            DataOrigin::Call { call, .. } => {
                let traced = self.calls.get(*call as usize);
                value.call = Some(*call);
                value.tool = traced.map(|traced| traced.name.clone());
                value.failed = traced.is_some_and(|traced| traced.error.is_some());
            }
            DataOrigin::Missing(_) | DataOrigin::Many => {}
        }
        self.map.values.push(value);
        self.map.values.len() as u32 - 1
    }

    /// The name of an origin: the path of a variable, or the call of a tool.
    fn origin_text(&self, origin: &DataOrigin) -> String {
        match origin {
            DataOrigin::Variable(path) => path.to_string(),
            DataOrigin::Call { call, path } => {
                let tool = self.calls.get(*call as usize).map_or("tool", |traced| &traced.name);
                format!("{tool}(){path}")
            }
            DataOrigin::Missing(name) => format!("{name} (undefined)"),
            DataOrigin::Many => "many values".to_owned(),
        }
    }

    fn map_inputs(&mut self, (number, mapped): (usize, &MappedText), inputs: u32) -> u32 {
        if let Some(known) = self.known.map_inputs.get(&(number, inputs)) {
            return *known;
        }
        let found = self.inputs(&mapped.map.inputs[inputs as usize]);
        self.known.map_inputs.insert((number, inputs), found);
        found
    }

    pub(super) fn inputs(&mut self, origins: &[DataOrigin]) -> u32 {
        let mut names: Vec<String> = origins.iter().map(|origin| self.origin_text(origin)).collect();
        // Several calls of a tool have one name.
        if origins.iter().any(|origin| matches!(origin, DataOrigin::Call { .. })) {
            let mut seen = std::collections::HashSet::new();
            names.retain(|name| seen.insert(name.clone()));
        }
        let next = self.map.inputs.len() as u32;
        *self.known.inputs.entry(names).or_insert_with_key(|names| {
            self.map.inputs.push(names.clone());
            next
        })
    }

    /// Notes the filters of the expression at a place.
    fn note_filters(&mut self, (number, mapped): (usize, &MappedText), at: SpanPlace, place: Option<u32>) {
        let Some(place) = place.filter(|place| !self.map.filters.contains_key(place)) else { return };
        let all = self.known.filters.entry((number, at.template)).or_insert_with(|| {
            let all = mapped.map.filters_of(at.template);
            all.into_iter().map(|(start, end, name)| (start, end, name.to_owned())).collect()
        });
        let names = at.filters_among(all).map(str::to_owned).collect();
        self.map.filters.insert(place, names);
    }

    fn place(&mut self, text_map: (usize, &MappedText), place: SpanPlace) -> Option<u32> {
        if let Some(known) = self.known.map_places.get(&(text_map.0, place)) {
            return *known;
        }
        let file = self.template_file(text_map, place.template);
        let found = file.and_then(|file| self.text_place(&file, place.start as usize..place.end as usize));
        self.known.map_places.insert((text_map.0, place), found);
        found
    }

    /// The file of a template.
    fn template_file(
        &mut self,
        (number, mapped): (usize, &MappedText),
        template: u32,
    ) -> Option<TemplateFile> {
        if let Some(known) = self.known.templates.get(&(number, template)) {
            return Some(known.clone());
        }
        let origin = mapped.origins.get(template as usize)?;
        let template_of_map = mapped.map.templates.get(template as usize)?;
        let name = template_of_map.name();
        let text = template_of_map.source().shared_text();
        let shift = self.call.file_shift(name, text);
        let (file, starts) = match shift {
            Some(_) => {
                let file = MapFile { file: name.to_owned(), in_string: false, pointer: None };
                (file, template_of_map.line_starts())
            }
            None => {
                let start = origin.string_start();
                let pointer = start.and_then(|(content, start)| self.pointer(name, content, start));
                let pointer = pointer.map(|(pointer, _)| pointer);
                (MapFile::in_string(name.to_owned(), pointer), line_starts(text))
            }
        };
        let text = FileText::new(Arc::clone(text), starts, origin.clone(), shift.unwrap_or_default());
        let found = self.file_with_text(file, text);
        self.known.templates.insert((number, template), found.clone());
        Some(found)
    }

    /// The place where `post_render` is defined.
    fn hook_place(&mut self) -> Option<u32> {
        if let Some(known) = self.hook_place {
            return known;
        }
        let hooks = &self.call.plan.inherited.definition.hooks;
        let found = hooks.post_render_at.zip(hooks.source.clone()).and_then(|(at, source)| {
            let starts = line_starts(&source);
            let start = *starts.get((at.line as usize).checked_sub(1)?)?;
            let line = source.get(start..)?.lines().next()?;
            let (file, length) = (self.call.plan.hook_file(), line.len());
            let in_line: usize =
                line.chars().take((at.column as usize).saturating_sub(1)).map(char::len_utf8).sum();
            let utf16_column = utf16_column(&source, &starts, at);
            let file = self.file_number(MapFile { file, in_string: false, pointer: None });
            let at = FilePlace { line: at.line, column: at.column, utf16_column };
            self.add_place(file, start + in_line..start + length, at)
        });
        self.hook_place = Some(found);
        found
    }

    /// The pointer to the string at a place of a file, and the bytes of the string.
    pub(super) fn pointer(&mut self, file: &str, content: &str, at: LineColumn) -> Option<(String, usize)> {
        let key = (file.to_owned(), at.line, at.column);
        let find = || {
            hinagata_document::find_string(file, content, at).map(|found| (found.pointer, found.text.len()))
        };
        self.known.pointers.entry(key).or_insert_with(find).clone()
    }
}

/// What is absent, by the range of the text that it belongs to: the first one that ends behind it. So what is absent
/// between two messages, such as a message whose condition is false, is at the start of the next one.
fn absent_by_range(mapped: &MappedText) -> Vec<Vec<&AbsentPiece>> {
    let mut found = vec![Vec::new(); mapped.ranges.len()];
    for absent in &mapped.map.absent {
        let after = mapped.ranges.partition_point(|range| range.end < absent.offset);
        if let Some(texts) = found.len().checked_sub(1).and_then(|last| found.get_mut(after.min(last))) {
            texts.push(absent);
        }
    }
    found
}

impl Call<'_> {
    /// The byte of the file `name` at which the template with this text starts; `None` if the template is a string in it.
    fn file_shift(&self, name: &str, text: &str) -> Option<usize> {
        let files = &self.plan.about.files;
        let Some(file) = files.iter().find(|file| file.file == name) else { return Some(0) };
        let shift = file.text.len().checked_sub(text.len())?;
        file.text.ends_with(text).then_some(shift)
    }
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

/// A text of a result.
pub(super) struct TextPart<'t> {
    /// The index of the message; `None` for a text.
    pub(super) message: Option<usize>,
    /// The index of the part of the message.
    pub(super) part: usize,
    text: &'t str,
}

/// Every text of a result, in their order.
pub(super) fn text_parts(body: &RenderedBody) -> Vec<TextPart<'_>> {
    match body {
        RenderedBody::Text(text) => vec![TextPart { message: None, part: 0, text }],
        RenderedBody::Messages(messages) => messages
            .iter()
            .enumerate()
            .flat_map(|(index, message)| {
                let texts = message.content.iter().enumerate();
                texts.filter_map(move |(part, content)| match content {
                    Content::Text(text) => Some(TextPart { message: Some(index), part, text }),
                    Content::Part { .. } => None,
                })
            })
            .collect(),
    }
}
