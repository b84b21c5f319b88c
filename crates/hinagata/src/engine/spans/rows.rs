//! The spans as lines for people.

use super::{DERIVED, ExplainMap, FRAME, KINDS, MASKED, MapValue, TEXT, TOOL, VALUE};

impl ExplainMap {
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
                FRAME => of.and_then(|of| self.sections.get(of)).cloned().unwrap_or_default(),
                _ => String::new(),
            };
            let filters = span.place.filter(|_| span.kind == DERIVED);
            let filters = filters.and_then(|place| self.filters.get(&place)).map_or(&[][..], Vec::as_slice);
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
                filters,
                via: self.via_text(span.via),
                place: span.place,
            }
        })
    }

    /// What is not in the texts, in their order.
    pub fn absent_rows(&self) -> impl Iterator<Item = AbsentRow<'_>> {
        let mut spans_before = Vec::with_capacity(self.texts.len());
        let mut count = 0;
        for text in &self.texts {
            spans_before.push(count);
            count += text.spans.len();
        }
        self.absent.iter().filter_map(move |absent| {
            let text = self.texts.get(absent.text);
            let inside = text.map_or(0, |text| text.masked_ends.partition_point(|end| *end <= absent.offset));
            let place = self.places.get(absent.place as usize)?;
            Some(AbsentRow {
                next: spans_before.get(absent.text).map_or(0, |before| before + inside),
                message: text.and_then(|text| text.message),
                part: text.map_or(0, |text| text.part),
                reason: absent.reason,
                file: self.files[place.file as usize].file.as_str(),
                line: place.line,
                column: place.column,
                inputs: self.inputs.get(absent.inputs as usize).map_or(&[][..], Vec::as_slice),
                via: self.via_text(absent.via),
            })
        })
    }

    /// Where the lines of a piece start in its file, as tools count: lines and columns from 0, columns in code units of
    /// UTF-16. A text of a template goes on over several lines; everything else is at one place.
    #[must_use]
    pub fn line_places(&self, row: &SpanRow<'_>) -> Vec<(u32, u32)> {
        let Some(place) = row.place.and_then(|place| self.places.get(place as usize)) else {
            return Vec::new();
        };
        let text = self.file_texts.get(place.file as usize).and_then(Option::as_ref);
        match text.filter(|_| row.kind == KINDS[TEXT as usize] && row.piece.contains('\n')) {
            Some(text) => {
                let places = text.line_places(place.start as usize..place.end as usize);
                places.iter().map(|at| (at.line.max(1) - 1, at.utf16_column.max(1) - 1)).collect()
            }
            None => vec![(place.line.max(1) - 1, place.utf16_column.max(1) - 1)],
        }
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
}

impl MapValue {
    fn describe(&self) -> String {
        match (self.layer, self.failed) {
            (Some(layer), _) => format!("{} ({})", self.path, layer.as_str()),
            (None, true) => format!("{} (failed)", self.path),
            (None, false) => self.path.clone(),
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
    /// The filters and functions of the expression that changed it.
    pub filters: &'m [String],
    /// The steps to it, the outermost first.
    pub via: String,
    /// The number of its place, for [`ExplainMap::line_places`].
    pub place: Option<u32>,
}

/// Something that is not in the texts, for people.
#[derive(Clone, Debug)]
pub struct AbsentRow<'m> {
    /// The number of the span that follows, among [`ExplainMap::span_rows`].
    pub next: usize,
    /// The index of the message; `None` for a text.
    pub message: Option<usize>,
    /// The index of the part of the message.
    pub part: usize,
    /// Why: `condition`, `empty_loop`, `empty_value`, `undefined` or `missing_include`.
    pub reason: &'static str,
    /// The file of the statement or expression.
    pub file: &'m str,
    /// The line in the file, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The variables that the reason depends on.
    pub inputs: &'m [String],
    /// The steps to it, the outermost first.
    pub via: String,
}
