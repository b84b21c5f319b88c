//! The source map of a module: where the texts of its entries come from.
//!
//! While a module is evaluated, each of its texts is noted with its origin: a string of a file, a template, a variable.
//! `hinagata-module` shares texts until it writes them and records their addresses, so that each piece of a message
//! is found by address. What is found nowhere is the frame: headings, tags and joins.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
};

use hinagata_module::{CompiledPrompt, Text, TextRecord, driver::recorded_messages, escape_headings};
use hinagata_template::{DataOrigin, VariablePath, find_origins, find_pieces};
use hinagata_value::Variables;
use serde_json::Value;

use super::{
    COMPUTED, DERIVED, FRAME, MASKED, MapFile, MapSpan, MapStep, MappedText, TEXT,
    build::{AbsentAt, Builder, SpanPiece, text_parts},
    hook::cut_spans,
    places::{FilePlace, FileText, line_starts, utf16_column},
};
use crate::{
    LineColumn, Place,
    definition::{
        ModuleBody,
        module::{Absence, FixedText, PathUse, preset},
    },
    engine::{chat::body_with_addresses, rendered::RenderedBody, run::RenderOutput},
};

/// The most absent entries of one module.
const MOST_ABSENT: usize = 1 << 16;

/// The texts of a module while it is evaluated.
#[derive(Default)]
pub(in crate::engine) struct ModuleNotes<'p> {
    notes: Vec<Note<'p>>,
    steps: Vec<ModuleStep>,
    /// The turn of the loop in progress.
    step: Option<u32>,
    /// The map of the last run of each template of the module.
    last_runs: HashMap<usize, usize>,
    absent: Vec<AbsentNote<'p>>,
}

/// An entry that has no content, or a template that wrote nothing.
struct AbsentNote<'p> {
    what: AbsentContent<'p>,
    /// The heading that it is under, if it is an entry.
    section: Option<Text>,
    /// The number of notes before it.
    after: usize,
    step: Option<u32>,
}

enum AbsentContent<'p> {
    Entry {
        absence: Absence,
        value: Option<&'p Value>,
        path: String,
        place: Place,
    },
    /// The map of a template that wrote nothing.
    Template(usize),
}

struct Note<'p> {
    kept: Kept,
    origin: NoteOrigin<'p>,
    step: Option<u32>,
    /// Where pieces of the text are in what it was made of; all of it, if it is empty.
    runs: Vec<Run>,
}

enum NoteOrigin<'p> {
    Fixed(usize),
    Template(usize),
    Value { value: &'p Value, place: Place },
    Data { values: Vec<&'p Value>, templates: Vec<usize>, place: Option<Place> },
}

/// What was noted; it stays in memory, so that its address means nothing else.
#[derive(Clone)]
enum Kept {
    Text(Text),
    Data(Arc<Value>),
}

/// A piece of a text that starts at `at`, and where it starts in the original; `None` for what was inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    at: usize,
    from: Option<usize>,
}

/// A turn of a loop in a module file.
pub(in crate::engine) struct ModuleStep {
    place: Place,
    turn: usize,
}

/// Where the texts of a compiled module come from.
pub(in crate::engine) struct ModuleMap {
    sources: Vec<ModuleSource>,
    steps: Vec<ModuleStep>,
    texts: Vec<ModuleText>,
    absent: Vec<AbsentEntry>,
}

/// Something absent from a module.
struct AbsentEntry {
    what: AbsentSource,
    section: Option<Text>,
    after: usize,
    step: Option<u32>,
}

enum AbsentSource {
    Entry { reason: &'static str, inputs: Vec<DataOrigin>, place: Place },
    Template(usize),
}

struct ModuleSource {
    kept: Kept,
    origin: SourceOrigin,
    step: Option<u32>,
    runs: Vec<Run>,
}

enum SourceOrigin {
    Fixed(usize),
    Template(usize),
    /// A value as it is printed.
    Value {
        origin: DataOrigin,
        printed: Arc<str>,
        place: Place,
    },
    /// Data as JSON, made of these values; strings of them may stand in it unchanged.
    Data {
        inputs: Vec<DataOrigin>,
        strings: Vec<(DataOrigin, Arc<str>)>,
        place: Option<Place>,
    },
    Computed(Place),
}

/// A text of a message.
struct ModuleText {
    text: String,
    pieces: Vec<ModulePiece>,
}

/// A piece of a text of a message.
pub(super) struct ModulePiece {
    pub(super) range: Range<usize>,
    /// The text it was written from, and the byte of it at which it starts; `None` for the frame.
    source: Option<(u32, usize)>,
    /// The title of the section around it.
    section: Option<Text>,
    /// The address of the text that it was written from.
    pub(super) address: usize,
}

impl<'p> ModuleNotes<'p> {
    pub(in crate::engine) fn start(body: &ModuleBody) -> Self {
        let mut notes = Self::default();
        for (number, fixed) in body.fixed.iter().enumerate() {
            notes.add(Kept::Text(fixed.text.clone()), NoteOrigin::Fixed(number), Vec::new());
        }
        notes
    }

    fn add(&mut self, kept: Kept, origin: NoteOrigin<'p>, runs: Vec<Run>) {
        self.notes.push(Note { kept, origin, step: self.step, runs });
    }

    /// Notes the result of a template, whose map is `map`; `original` is what the template wrote.
    pub(in crate::engine) fn add_template(&mut self, number: usize, text: &Text, map: usize, original: &str) {
        self.last_runs.insert(number, map);
        if text.is_empty() {
            self.add_absence(AbsentContent::Template(map), None);
        }
        self.add(Kept::Text(text.clone()), NoteOrigin::Template(map), inserted_runs(original, text));
    }

    /// Notes texts that were read from a value, in the order of the value: each is the next string that equals it.
    pub(in crate::engine) fn add_texts(&mut self, texts: &[Text], value: &'p Value, path: &PathUse) {
        let mut leaves = Vec::new();
        collect_leaves(value, &mut leaves);
        let mut next = 0;
        for text in texts.iter().filter(|text| !text.is_empty()) {
            let is_same = |(_, printed): &&(&Value, String)| {
                printed == text.as_str() || escape_headings(printed, |_| true).as_deref() == Some(text)
            };
            let later = leaves.iter().enumerate().skip(next).find(|(_, leaf)| is_same(leaf));
            let found = later.or_else(|| leaves.iter().enumerate().find(|(_, leaf)| is_same(leaf)));
            let Some((index, (leaf, printed))) = found else { continue };
            next = index + 1;
            let origin = NoteOrigin::Value { value: leaf, place: path.place.clone() };
            self.add(Kept::Text(text.clone()), origin, inserted_runs(printed, text));
        }
    }

    pub(in crate::engine) fn add_data(
        &mut self,
        data: &Arc<Value>,
        values: &[&'p Value],
        templates: &[usize],
        place: Option<&Place>,
    ) {
        let templates = templates.iter().filter_map(|number| self.last_runs.get(number).copied()).collect();
        let origin = NoteOrigin::Data { values: values.to_vec(), templates, place: place.cloned() };
        self.add(Kept::Data(Arc::clone(data)), origin, Vec::new());
    }

    /// Notes that an entry has no content because of the value at a path.
    pub(in crate::engine) fn add_absent(
        &mut self,
        section: &Text,
        absence: Absence,
        path: &PathUse,
        value: Option<&'p Value>,
    ) {
        let (path, place) = (path.path.to_string(), path.place.clone());
        self.add_absence(AbsentContent::Entry { absence, value, path, place }, Some(section.clone()));
    }

    fn add_absence(&mut self, what: AbsentContent<'p>, section: Option<Text>) {
        if self.absent.len() < MOST_ABSENT {
            self.absent.push(AbsentNote { what, section, after: self.notes.len(), step: self.step });
        }
    }

    pub(in crate::engine) fn set_turn(&mut self, list: &PathUse, turn: Option<usize>) {
        self.step = turn.map(|turn| {
            self.steps.push(ModuleStep { place: list.place.clone(), turn });
            self.steps.len() as u32 - 1
        });
    }

    /// The messages of a compiled module, and where their texts come from.
    pub(in crate::engine) fn finish(
        self,
        prompt: &CompiledPrompt,
        variables: &dyn Variables,
        maps: &[MappedText],
    ) -> (RenderedBody, ModuleMap) {
        let mut shown: Vec<&Value> = Vec::new();
        for note in &self.notes {
            match &note.origin {
                NoteOrigin::Value { value, .. } => shown.push(value),
                NoteOrigin::Data { values, .. } => {
                    for value in values {
                        let mut leaves = Vec::new();
                        collect_leaves(value, &mut leaves);
                        shown.push(value);
                        shown.extend(leaves.iter().map(|(leaf, _)| *leaf));
                    }
                }
                NoteOrigin::Fixed(_) | NoteOrigin::Template(_) => {}
            }
        }
        for absent in &self.absent {
            if let AbsentContent::Entry { value: Some(value), .. } = absent.what {
                shown.push(value);
            }
        }
        let found = find_origins(&shown, variables);
        let address = |value: &Value| std::ptr::from_ref(value).addr();
        let origins: HashMap<usize, DataOrigin> =
            shown.iter().zip(found).filter_map(|(value, found)| Some((address(value), found?))).collect();
        let find = |value: &Value| origins.get(&address(value)).cloned();
        let sources: Vec<ModuleSource> = self
            .notes
            .into_iter()
            .map(|Note { kept, origin, step, runs }| {
                let origin = match origin {
                    NoteOrigin::Fixed(number) => SourceOrigin::Fixed(number),
                    NoteOrigin::Template(map) => SourceOrigin::Template(map),
                    NoteOrigin::Value { value, place } => match find(value) {
                        Some(origin) => {
                            SourceOrigin::Value { origin, printed: print_leaf(value).into(), place }
                        }
                        None => SourceOrigin::Computed(place),
                    },
                    NoteOrigin::Data { values, templates, place } => {
                        let mut inputs: Vec<DataOrigin> =
                            values.iter().filter_map(|value| find(value)).collect();
                        let mut leaves = Vec::new();
                        values.iter().for_each(|value| collect_leaves(value, &mut leaves));
                        let strings = leaves
                            .into_iter()
                            .filter(|(leaf, _)| leaf.is_string())
                            .filter_map(|(leaf, printed)| Some((find(leaf)?, printed.into())))
                            .collect();
                        for map in templates.iter().filter_map(|map| maps.get(*map)) {
                            inputs.extend(map.map.values.iter().map(|value| value.origin.clone()));
                            inputs.extend(map.map.inputs.iter().flatten().cloned());
                        }
                        let mut seen = std::collections::HashSet::new();
                        inputs.retain(|input| seen.insert(input.clone()));
                        SourceOrigin::Data { inputs, strings, place }
                    }
                };
                ModuleSource { kept, origin, step, runs }
            })
            .collect();
        let absent = self.absent.into_iter().map(|AbsentNote { what, section, after, step }| {
            let what = match what {
                AbsentContent::Template(map) => AbsentSource::Template(map),
                AbsentContent::Entry { absence, value, path, place } => {
                    let missing = || DataOrigin::Missing(path.into());
                    let inputs = vec![value.map_or_else(missing, |value| {
                        find(value).unwrap_or_else(|| DataOrigin::Variable(VariablePath::whole_data()))
                    })];
                    AbsentSource::Entry { reason: absence_reason(absence, value), inputs, place }
                }
            };
            AbsentEntry { what, section, after, step }
        });
        let absent = absent.collect();
        let (body, texts) = module_texts(prompt, &sources);
        (body, ModuleMap { sources, steps: self.steps, texts, absent })
    }
}

fn absence_reason(absence: Absence, value: Option<&Value>) -> &'static str {
    match (absence, value) {
        (Absence::Condition, _) => "condition",
        (Absence::EmptyLoop, _) => "empty_loop",
        (Absence::NoValue, None) => "undefined",
        (Absence::NoValue, Some(_)) => "empty_value",
    }
}

/// The texts of a module's messages, and which source each piece of them was written from.
fn module_texts(prompt: &CompiledPrompt, sources: &[ModuleSource]) -> (RenderedBody, Vec<ModuleText>) {
    let table = AddressTable::new(sources);
    let (messages, made) = recorded_messages(prompt);
    let records: HashMap<usize, &TextRecord> =
        made.iter().map(|made| (made.text.address(), &made.record)).collect();
    let (body, texts) = body_with_addresses(&messages);
    let texts = texts.into_iter().map(|(text, address)| {
        let pieces = match records.get(&address) {
            Some(record) => recorded_pieces(&text, record, &table),
            None => {
                let source = table.find(address, text.len());
                vec![ModulePiece { range: 0..text.len(), source, section: None, address }]
            }
        };
        ModuleText { text, pieces }
    });
    let texts = texts.collect();
    (body, texts)
}

fn recorded_pieces(text: &str, record: &TextRecord, table: &AddressTable) -> Vec<ModulePiece> {
    let mut pieces: Vec<ModulePiece> = Vec::new();
    let mut at = 0;
    let frame = |range: Range<usize>| {
        record.cut_sections(range).into_iter().map(|(range, section)| {
            let section = section.cloned();
            ModulePiece { range, source: None, section, address: 0 }
        })
    };
    for written in &record.texts {
        let Some(source) = table.find(written.address, written.range.len()) else { continue };
        if written.range.start > at {
            pieces.extend(frame(at..written.range.start));
        }
        let (range, address) = (written.range.clone(), written.address);
        let section = record.section_at(range.start).cloned();
        pieces.push(ModulePiece { range, source: Some(source), section, address });
        at = written.range.end;
    }
    if at < text.len() {
        pieces.extend(frame(at..text.len()));
    }
    pieces
}

/// The sources by their addresses.
struct AddressTable {
    texts: BTreeMap<usize, (usize, u32)>,
    data: HashMap<usize, u32>,
}

impl AddressTable {
    fn new(sources: &[ModuleSource]) -> Self {
        let (mut texts, mut data) = (BTreeMap::new(), HashMap::new());
        for (number, source) in sources.iter().enumerate() {
            match &source.kept {
                Kept::Text(text) if text.is_empty() => {}
                Kept::Text(text) => {
                    texts.insert(text.address(), (text.len(), number as u32));
                }
                Kept::Data(value) => {
                    data.insert(std::ptr::from_ref(&**value).addr(), number as u32);
                }
            }
        }
        Self { texts, data }
    }

    /// The source that has these bytes, and the byte of it at which they start.
    fn find(&self, address: usize, length: usize) -> Option<(u32, usize)> {
        if let Some(number) = self.data.get(&address) {
            return Some((*number, 0));
        }
        let (start, (size, number)) = self.texts.range(..=address).next_back()?;
        (address + length <= start + size).then_some((*number, address - start))
    }
}

/// The last pieces of sections and of sources: their texts, and the bytes after them.
struct PieceEnds {
    sections: HashMap<Text, (usize, usize)>,
    sources: BTreeMap<usize, (usize, usize)>,
}

impl PieceEnds {
    fn new(module: &ModuleMap) -> Self {
        let (mut sections, mut sources) = (HashMap::new(), BTreeMap::new());
        for (text, pieces) in module.text_pieces().enumerate() {
            for piece in pieces {
                let end = (text, piece.range.end);
                if let Some(section) = &piece.section {
                    sections.insert(section.clone(), end);
                }
                let source = piece.source.map(|(number, _)| number as usize);
                // Fixed texts are noted before all others, wherever they are.
                let is_fixed =
                    |number: &usize| matches!(module.sources[*number].origin, SourceOrigin::Fixed(_));
                if let Some(source) = source.filter(|number| !is_fixed(number)) {
                    sources.insert(source, end);
                }
            }
        }
        Self { sections, sources }
    }

    /// Where something absent would be: its text, and the byte of it.
    fn find(&self, absent: &AbsentEntry) -> (usize, usize) {
        let of_section = absent.section.as_ref().and_then(|section| self.sections.get(section));
        let before = || self.sources.range(..absent.after).next_back().map(|(_, end)| end);
        of_section.or_else(before).copied().unwrap_or_default()
    }
}

impl ModuleMap {
    /// The pieces of each text of the result.
    pub(super) fn text_pieces(&self) -> impl Iterator<Item = &[ModulePiece]> {
        self.texts.iter().map(|text| text.pieces.as_slice())
    }
}

impl Builder<'_, '_> {
    /// Adds the texts of a module.
    pub(super) fn add_module(&mut self, module: &ModuleMap, output: &RenderOutput, body: &ModuleBody) {
        let first_steps: Vec<u32> =
            output.maps.iter().enumerate().map(|mapped| self.add_steps(mapped)).collect();
        for mapped in &output.maps {
            self.map.is_complete &= mapped.map.is_complete;
        }
        let turns: Vec<u32> = module.steps.iter().map(|step| self.add_turn(step)).collect();
        let prompt = self.map.prompt.clone();
        let parts = text_parts(&output.body);
        for (text, part) in module.texts.iter().zip(parts) {
            let mut spans = Vec::new();
            let mut absent = Vec::new();
            for piece in &text.pieces {
                let shown = &text.text[piece.range.clone()];
                let Some((number, from)) = piece.source else {
                    let section = piece.section.as_ref().zip(prompt.as_ref());
                    let section = section.map(|(title, prompt)| prompt.section_name(title));
                    let of = section.map(|section| self.section(section));
                    let span = MapSpan { kind: FRAME, of, ..MapSpan::default() };
                    spans.push(SpanPiece { span, text: shown, end: piece.range.end });
                    continue;
                };
                let source = &module.sources[number as usize];
                let turn = source.step.and_then(|step| turns.get(step as usize)).copied();
                let context = SourceContext { body, output, first_steps: &first_steps, turn };
                self.add_source(source, (from, shown, piece.range.start), &context, &mut spans, &mut absent);
            }
            self.push_text((part.message, part.part), spans, absent);
        }
        self.map.is_complete &= !self.work.is_used_up();
        self.add_absent_entries(module, output, &first_steps, &turns);
    }

    /// Adds what no text of a module has: at the end of its section, or behind what was written before it.
    fn add_absent_entries(
        &mut self,
        module: &ModuleMap,
        output: &RenderOutput,
        first_steps: &[u32],
        turns: &[u32],
    ) {
        if self.map.texts.is_empty() {
            return;
        }
        let ends = PieceEnds::new(module);
        for absent in &module.absent {
            let (text, offset) = ends.find(absent);
            let turn = absent.step.and_then(|step| turns.get(step as usize)).copied();
            match &absent.what {
                AbsentSource::Entry { reason, inputs, place } => {
                    let place = self.path_place(place).unwrap_or_default();
                    let inputs = self.inputs(inputs);
                    let absent = AbsentAt { offset, place, via: turn, reason, inputs };
                    self.push_absent(text, absent);
                }
                AbsentSource::Template(map) => {
                    let Some(mapped) = output.maps.get(*map) else { continue };
                    let first = first_steps.get(*map).copied().unwrap_or_default();
                    for one in &mapped.map.absent {
                        let found = self.absent((*map, mapped), one, first);
                        self.push_absent(text, AbsentAt { offset, via: found.via.or(turn), ..found });
                    }
                }
            }
        }
        self.map.absent.sort_by_key(|absent| (absent.text, absent.offset));
    }

    /// Adds the spans of a piece of a source, which starts at the byte `from` of it and at `at` of the text.
    fn add_source<'t>(
        &mut self,
        source: &ModuleSource,
        (from, shown, at): (usize, &'t str, usize),
        context: &SourceContext<'_>,
        spans: &mut Vec<SpanPiece<'t>>,
        absent: &mut Vec<AbsentAt>,
    ) {
        let mut push = |span: MapSpan, range: Range<usize>| {
            let (text, end) = (&shown[range.clone()], at + range.end);
            spans.push(SpanPiece { span, text, end });
        };
        let base = MapSpan { via: context.turn, ..MapSpan::default() };
        for (range, original) in source.cut_runs(from, shown.len()) {
            let Some(original) = original else {
                // A backslash that keeps data from opening a heading.
                push(MapSpan { kind: FRAME, ..base }, range);
                continue;
            };
            match &source.origin {
                SourceOrigin::Fixed(number) => {
                    let fixed = &context.body.fixed[*number];
                    let start = fixed.start + original.start;
                    let place = self.fixed_place(*number, fixed, start..start + range.len());
                    push(MapSpan { kind: TEXT, place, ..base }, range);
                }
                SourceOrigin::Template(map) => {
                    let Some(mapped) = context.output.maps.get(*map) else { continue };
                    let first = context.first_steps.get(*map).copied().unwrap_or_default();
                    for (span, cut) in cut_spans(mapped, &original) {
                        let mut one = self.span((*map, mapped), &span, first);
                        one.via = one.via.or(context.turn);
                        let start = range.start + (cut.start - original.start);
                        push(one, start..start + cut.len());
                    }
                    for one in &mapped.map.absent {
                        if (original.start..=original.end).contains(&one.offset) {
                            let offset = at + range.start + (one.offset - original.start);
                            let found = self.absent((*map, mapped), one, first);
                            absent.push(AbsentAt { offset, ..found });
                        }
                    }
                }
                SourceOrigin::Value { origin, printed, place } => {
                    let place = self.path_place(place);
                    let span = self.value_span(origin, printed, original.start);
                    push(MapSpan { place, via: base.via, ..span }, range);
                }
                SourceOrigin::Data { inputs, strings, place } => {
                    let place = place.as_ref().and_then(|place| self.path_place(place));
                    let base = MapSpan { place, ..base };
                    let whole = self.inputs_span(inputs);
                    let refined = if whole.kind == DERIVED {
                        let texts: Vec<&str> = strings.iter().map(|(_, text)| &**text).collect();
                        find_pieces(&shown[range.clone()], &texts, &mut self.work)
                    } else {
                        Vec::new()
                    };
                    let mut next = range.start;
                    for piece in refined {
                        let (start, end) = (range.start + piece.start, range.start + piece.end);
                        if start > next {
                            push(MapSpan { place, via: base.via, ..whole }, next..start);
                        }
                        let (origin, text) = &strings[piece.input];
                        let span = self.value_span(origin, text, piece.from);
                        push(MapSpan { place, via: base.via, ..span }, start..end);
                        next = end;
                    }
                    if next < range.end {
                        push(MapSpan { place, via: base.via, ..whole }, next..range.end);
                    }
                }
                SourceOrigin::Computed(place) => {
                    let place = self.path_place(place);
                    push(MapSpan { kind: COMPUTED, place, ..base }, range);
                }
            }
        }
    }

    fn inputs_span(&mut self, inputs: &[DataOrigin]) -> MapSpan {
        if let Some(secret) = inputs.iter().find(|origin| self.is_secret(origin)) {
            let of = Some(self.secret(secret));
            return MapSpan { kind: MASKED, of, ..MapSpan::default() };
        }
        if inputs.is_empty() {
            // Data that a module file writes out.
            return MapSpan { kind: FRAME, ..MapSpan::default() };
        }
        let of = Some(self.inputs(inputs));
        MapSpan { kind: DERIVED, of, ..MapSpan::default() }
    }

    fn add_turn(&mut self, step: &ModuleStep) -> u32 {
        let place = self.path_place(&step.place).unwrap_or_default();
        let turn = u32::try_from(step.turn).unwrap_or(u32::MAX);
        self.map.via.push(MapStep { parent: None, kind: "turn", place, name: None, turn });
        self.map.via.len() as u32 - 1
    }

    /// The place of a range of the string of a fixed text, which has this number.
    fn fixed_place(&mut self, number: usize, fixed: &FixedText, range: Range<usize>) -> Option<u32> {
        let known = self.known.fixed.get(&number).cloned();
        let file = known.unwrap_or_else(|| {
            let start = fixed.origin.string_start();
            let pointer = start.and_then(|(content, start)| self.pointer(&fixed.file, content, start));
            let file = MapFile::in_string(fixed.file.clone(), pointer.map(|(pointer, _)| pointer));
            let text = FileText::from_string(Arc::clone(&fixed.string), fixed.origin.clone());
            self.file_with_text(file, text)
        });
        let place = self.text_place(&file, range);
        self.known.fixed.insert(number, file);
        place
    }

    /// The place of a path in a module file: the whole string that holds it.
    fn path_place(&mut self, place: &Place) -> Option<u32> {
        let key = (place.file.clone(), place.line, place.column);
        if let Some(known) = self.known.path_places.get(&key) {
            return *known;
        }
        let files = &self.call.plan.about.files;
        let read = files.iter().find(|file| file.file == place.file).map(|file| Arc::clone(&file.text));
        let content = read.or_else(|| {
            let name = place.file.strip_prefix("presets/")?.strip_suffix(".yaml")?;
            preset(name).map(Arc::from)
        });
        let at = LineColumn { line: place.line, column: place.column };
        let found = content.as_ref().and_then(|content| self.pointer(&place.file, content, at));
        let (pointer, length) = found.unzip();
        let utf16_column = content.map_or(at.column, |text| utf16_column(&text, &line_starts(&text), at));
        let file = self.file_number(MapFile::in_string(place.file.clone(), pointer));
        let at = FilePlace { line: at.line, column: at.column, utf16_column };
        let found = self.add_place(file, 0..length.unwrap_or_default(), at);
        self.known.path_places.insert(key, found);
        found
    }
}

/// What the spans of a source refer to.
struct SourceContext<'s> {
    body: &'s ModuleBody,
    output: &'s RenderOutput,
    first_steps: &'s [u32],
    turn: Option<u32>,
}

impl ModuleSource {
    /// The runs of a piece of it: their ranges in the piece, and in the original.
    fn cut_runs(&self, from: usize, length: usize) -> Vec<(Range<usize>, Option<Range<usize>>)> {
        let whole = [Run { at: 0, from: Some(0) }];
        let runs = if self.runs.is_empty() { &whole } else { self.runs.as_slice() };
        let mut found = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            let end = runs.get(index + 1).map_or(usize::MAX, |next| next.at);
            let (start, end) = (run.at.max(from), end.min(from + length));
            if start < end {
                let original = run.from.map(|first| first + (start - run.at)..first + (end - run.at));
                found.push((start - from..end - from, original));
            }
        }
        found
    }
}

/// The strings, numbers and booleans of a value with what they print, in their order.
fn collect_leaves<'p>(value: &'p Value, leaves: &mut Vec<(&'p Value, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_leaves(item, leaves)),
        Value::Object(entries) => entries.values().for_each(|value| collect_leaves(value, leaves)),
        Value::Null => {}
        leaf => leaves.push((leaf, print_leaf(leaf))),
    }
}

fn print_leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => hinagata_module::json::to_compact_string(other),
    }
}

/// The runs of a text that is `original` with backslashes in it; none if nothing was inserted.
fn inserted_runs(original: &str, text: &str) -> Vec<Run> {
    if original.len() == text.len() {
        return Vec::new();
    }
    let (mut runs, mut from) = (vec![Run { at: 0, from: Some(0) }], 0);
    let (original, text) = (original.as_bytes(), text.as_bytes());
    let mut at = 0;
    while at < text.len() {
        if original.get(from) == Some(&text[at]) {
            (at, from) = (at + 1, from + 1);
        } else {
            // What starts here was nothing yet.
            runs.pop_if(|last| last.at == at);
            runs.extend([Run { at, from: None }, Run { at: at + 1, from: Some(from) }]);
            at += 1;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_backslashes_are_told_from_the_text() {
        assert_eq!(inserted_runs("# a", "# a"), []);
        let run = |at, from| Run { at, from };
        assert_eq!(inserted_runs("a\n# b", "a\n\\# b"), [run(0, Some(0)), run(2, None), run(3, Some(2))]);
        assert_eq!(inserted_runs("# b", "\\# b"), [run(0, None), run(1, Some(0))]);
        let source = ModuleSource {
            kept: Kept::Text("a\n\\# b".into()),
            origin: SourceOrigin::Fixed(0),
            step: None,
            runs: inserted_runs("a\n# b", "a\n\\# b"),
        };
        assert_eq!(source.cut_runs(1, 4), [(0..1, Some(1..2)), (1..2, None), (2..4, Some(2..4))]);
    }
}
