//! The source map of a rendered text: one span for each piece, with its origin.

use std::sync::Arc;

use hinagata_value::{AbsentReason, Place};

use crate::{Template, data_paths::DataOrigin};

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
    /// Whether every piece has its own span and all of its inputs. Renders with a million pieces and more do not, nor
    /// those whose pieces would take too much work to find.
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

    /// Replaces the numbers of calls, which count within one template, by others.
    pub fn number_calls(&mut self, number: impl Fn(u32) -> Option<u32>) {
        let values = self.values.iter_mut().map(|value| &mut value.origin);
        for origin in values.chain(self.inputs.iter_mut().flatten()) {
            if let DataOrigin::Call { call, .. } = origin {
                *call = number(*call).unwrap_or(u32::MAX);
            }
        }
    }

    /// The line and column of a place, without the text of its line.
    #[must_use]
    pub fn place(&self, place: SpanPlace) -> Option<Place> {
        let template = self.templates.get(place.template as usize)?;
        Some(line_and_column(template, place))
    }

    /// The names of the filters and functions in a template, with the bytes where each starts and ends, in the order they
    /// are written.
    #[must_use]
    pub fn filters_of(&self, template: u32) -> Vec<(u32, u32, &str)> {
        let Some(template) = self.templates.get(template as usize) else { return Vec::new() };
        let analysis = template.analysis();
        let names = analysis.filters.iter().chain(&analysis.functions);
        let mut found: Vec<_> =
            names.map(|item| (item.position.start, item.position.end, item.name.as_str())).collect();
        found.sort_unstable();
        found
    }

    /// The names of the filters and functions in the expression at a place, in the order they are written.
    #[must_use]
    pub fn filters_at(&self, place: SpanPlace) -> Vec<String> {
        place.filters_among(&self.filters_of(place.template)).map(str::to_owned).collect()
    }
}

impl SpanPlace {
    /// Those of the filters of its template, from [`SourceMap::filters_of`], that the expression at this place has.
    pub fn filters_among<T: AsRef<str>>(self, all: &[(u32, u32, T)]) -> impl Iterator<Item = &str> {
        let first = all.partition_point(|(start, _, _)| *start < self.start);
        let inside = all[first..].iter().take_while(move |(start, _, _)| *start < self.end);
        inside.filter(move |(_, end, _)| *end <= self.end).map(|(_, _, name)| name.as_ref())
    }
}

fn line_and_column(template: &Template, place: SpanPlace) -> Place {
    let text = template.source().text();
    let start = text.floor_char_boundary(place.start as usize);
    let starts = template.line_starts();
    let line = starts.partition_point(|first| *first <= start) as u32;
    let column = text[starts[line as usize - 1]..start].chars().count() as u32 + 1;
    let template = template.name().to_owned();
    Place { template, line, column, span: Some((place.start, place.end)), excerpt: None }
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
pub(crate) fn literal_length(source: &str, text: &str) -> Option<usize> {
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
