//! The result of a render, and how it is printed.

use std::{fmt, io::Write as _, time::Duration};

use hinagata_template::{DataOrigin, SourceMap, Span, SpanKind};
use hinagata_value::{Error, MarkKind, Segment, Segments, StepKind, Written};
use serde_json::{Value as Json, json};

use crate::{
    diagnostic::truncate_for_display,
    failure::Failure,
    output::{self, Format},
};

/// Characters of a piece that the table of origins shows.
const PIECE_WIDTH: usize = 72;

/// The result of a render.
pub(super) struct Outcome {
    text: String,
    warnings: Vec<String>,
    /// The pieces of the text, if their origins were requested.
    pieces: Option<Vec<Piece>>,
    usage: Usage,
}

/// The time that a render took.
pub(super) struct Usage {
    pub(super) compile: Duration,
    pub(super) render: Duration,
}

/// A piece of the text that came from one place.
pub(super) struct Piece {
    /// The byte after its last one. It starts at the end of the previous piece.
    end: usize,
    origin: Option<Origin>,
    /// The turn of each loop around it, from 0, the outermost first.
    turns: Vec<u32>,
}

/// The origin of a piece.
pub(super) struct Origin {
    pub(super) template: String,
    pub(super) line: u32,
    pub(super) column: u32,
    /// The printed variable, if it is only one.
    pub(super) variable: Option<String>,
}

impl Outcome {
    /// The text, and its warnings.
    pub(super) fn new(written: Written, pieces: Option<Vec<Piece>>, usage: Usage) -> Result<Self, Error> {
        let parts = written.marks.iter().any(|mark| matches!(mark.kind, MarkKind::Part(_)));
        let warning = "the template creates messages or parts: the text omits roles, media and resources";
        let warnings = parts.then(|| warning.to_owned()).into_iter().collect();
        Ok(Self { text: written.into_text()?, warnings, pieces, usage })
    }

    /// Adds warnings about the variables.
    pub(super) fn with_variables(mut self, variables: &Json) -> Self {
        let all = variables.as_object().into_iter().flatten();
        let lost = all.filter_map(|(name, value)| hinagata::warn_of_long_number(name, value));
        self.warnings.extend(lost.map(|error| error.message().to_owned()));
        self
    }
}

/// The pieces of a text. `origin` returns the origin of each.
pub(super) fn collect_pieces(
    record: &Segments,
    origin: impl Fn(&Segments, &Segment) -> Option<Origin>,
) -> Vec<Piece> {
    let piece = |segment: &Segment| {
        let steps = record.steps_to(segment.step).filter(|step| step.kind == StepKind::Turn);
        let mut turns: Vec<_> = steps.map(|step| step.index).collect();
        turns.reverse();
        Piece { end: segment.end as usize, origin: origin(record, segment), turns }
    };
    record.segments().iter().map(piece).collect()
}

/// The pieces of a text with a source map. `path` returns the path of a template.
pub(super) fn map_pieces(map: &SourceMap, path: impl Fn(&str) -> String) -> Vec<Piece> {
    let piece = |span: &Span| {
        let variable = match span.kind {
            SpanKind::Value { value, .. } => map.values.get(value as usize).map(|value| &value.origin),
            SpanKind::Derived { inputs } => match map.inputs.get(inputs as usize).map(Vec::as_slice) {
                Some([only]) => Some(only),
                _ => None,
            },
            SpanKind::Text | SpanKind::Computed => None,
        };
        let variable = variable.and_then(|origin| match origin {
            DataOrigin::Variable(path) => Some(path.to_string()),
            DataOrigin::Missing(name) => Some(name.to_string()),
            _ => None,
        });
        let origin = map.place(span.place).map(|place| Origin {
            template: path(&place.template),
            line: place.line,
            column: place.column,
            variable,
        });
        let steps = map.steps_to(span.step);
        let turns = steps.into_iter().filter(|step| step.kind == StepKind::Turn).map(|step| step.turn);
        Piece { end: span.end, origin, turns: turns.collect() }
    };
    map.spans.iter().map(piece).collect()
}

/// Prints the result, and the render time if requested.
pub(super) fn print_outcome(outcome: &Outcome, time: bool, format: Format) -> Result<(), Failure> {
    let text = match (format, &outcome.pieces) {
        (Format::Json, _) => format!("{:#}\n", json(outcome, time)),
        (Format::Text, Some(pieces)) => table(&outcome.text, pieces),
        (Format::Text, None) => outcome.text.clone(),
    };
    output::print_exactly(&text)?;
    if format == Format::Text {
        print_notes(outcome, time);
    }
    Ok(())
}

/// Prints warnings to standard error. Write errors are ignored.
fn print_notes(outcome: &Outcome, time: bool) {
    let mut stderr = anstream::stderr().lock();
    for warning in &outcome.warnings {
        let _ = writeln!(stderr, "warning: {warning}");
    }
    if time {
        let _ = writeln!(stderr, "{}", outcome.usage);
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compiled in {:.1?}, rendered in {:.1?}", self.compile, self.render)
    }
}

fn json(outcome: &Outcome, time: bool) -> Json {
    let mut result = json!({"text": outcome.text, "warnings": outcome.warnings});
    if let Some(pieces) = &outcome.pieces {
        result["segments"] = texts(&outcome.text, pieces).map(|(piece, text)| segment(piece, text)).collect();
    }
    if time {
        let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
        let Usage { compile, render } = outcome.usage;
        result["time"] = json!({"compile_us": micros(compile), "render_us": micros(render)});
    }
    result
}

fn segment(piece: &Piece, text: &str) -> Json {
    let origin = piece.origin.as_ref();
    json!({
        "text": text,
        "template": origin.map(|origin| &origin.template),
        "line": origin.map(|origin| origin.line),
        "column": origin.map(|origin| origin.column),
        "variable": origin.and_then(|origin| origin.variable.as_ref()),
        "turns": piece.turns,
    })
}

/// The pieces with their texts.
fn texts<'o>(text: &'o str, pieces: &'o [Piece]) -> impl Iterator<Item = (&'o Piece, &'o str)> {
    let mut start = 0;
    pieces.iter().map(move |piece| {
        let from = std::mem::replace(&mut start, piece.end);
        (piece, text.get(from..piece.end).unwrap_or_default())
    })
}

/// One line for each piece: its origin with loop indexes, and its text.
fn table(text: &str, pieces: &[Piece]) -> String {
    let variable = |piece: &Piece| piece.origin.as_ref().and_then(|origin| origin.variable.clone());
    let rows: Vec<_> = texts(text, pieces)
        .map(|(piece, text)| (place(piece), variable(piece).unwrap_or_default(), quoted(text)))
        .collect();
    let widest = |column: fn(&(String, String, String)) -> &str| {
        rows.iter().map(|row| column(row).chars().count()).max().unwrap_or_default()
    };
    let (places, variables) = (widest(|row| &row.0), widest(|row| &row.1));
    let gap = if variables > 0 { "  " } else { "" };
    rows.iter()
        .map(|(place, variable, text)| format!("{place:places$}{gap}{variable:variables$}  {text}\n"))
        .collect()
}

fn place(piece: &Piece) -> String {
    let mut text = match &piece.origin {
        Some(Origin { template, line, column, .. }) => format!("{template}:{line}:{column}"),
        None => "?".to_owned(),
    };
    text.extend(piece.turns.iter().map(|turn| format!("[{turn}]")));
    text
}

/// The text as a JSON string, which shows control characters.
fn quoted(text: &str) -> String {
    truncate_for_display(&Json::from(text).to_string(), PIECE_WIDTH)
}
