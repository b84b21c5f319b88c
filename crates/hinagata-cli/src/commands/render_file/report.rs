//! What a render gave, and how it is printed.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use hinagata_value::{Off, Provenance, Segments, Site, Written};
use serde_json::{Value as Json, json};

use crate::{commands::Format, diagnostic::shortened, failure::Failure, limits::grouped};

/// Characters of a piece that the table of origins shows.
const PIECE_WIDTH: usize = 72;

/// The result of a render.
pub(super) struct Outcome {
    pub(super) text: String,
    /// The pieces of the text, when their origins were asked for.
    pub(super) pieces: Option<Vec<Piece>>,
    pub(super) usage: Usage,
}

/// What a render took.
pub(super) struct Usage {
    pub(super) compile: Duration,
    pub(super) render: Duration,
    pub(super) steps: u64,
    /// The most bytes that were alive at once.
    pub(super) bytes: usize,
}

/// A piece of the text that came from one place.
pub(super) struct Piece {
    /// The byte after its last one; it starts where the one before ends.
    end: usize,
    origin: Option<Origin>,
    /// The turn of each loop around it, from 0, the outermost first.
    turns: Vec<u32>,
}

/// A place in a template.
pub(super) struct Origin {
    pub(super) template: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A record of origins that can be shown; none where nothing was recorded.
pub(super) trait Explained: Provenance {
    fn pieces(written: &Written<Self>, origin: impl Fn(Site) -> Option<Origin>) -> Option<Vec<Piece>>
    where
        Self: Sized;
}

impl Explained for Off {
    fn pieces(_written: &Written<Self>, _origin: impl Fn(Site) -> Option<Origin>) -> Option<Vec<Piece>> {
        None
    }
}

impl Explained for Segments {
    fn pieces(written: &Written<Self>, origin: impl Fn(Site) -> Option<Origin>) -> Option<Vec<Piece>> {
        let record = &written.provenance;
        let piece = |segment| {
            let mut turns: Vec<_> = record.turns_of(segment).map(|turn| turn.index).collect();
            turns.reverse();
            Piece { end: segment.end as usize, origin: origin(segment.site), turns }
        };
        Some(record.segments().iter().map(piece).collect())
    }
}

/// Prints the result, and what the render took when that was asked.
pub(super) fn print(outcome: &Outcome, time: bool, format: Format) -> Result<(), Failure> {
    let text = match (format, &outcome.pieces) {
        (Format::Json, _) => format!("{:#}\n", json(outcome, time)),
        (Format::Text, Some(pieces)) => table(&outcome.text, pieces),
        (Format::Text, None) => outcome.text.clone(),
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).map_err(Failure::Output)?;
    if stdout.is_terminal() && !text.is_empty() && !text.ends_with('\n') {
        stdout.write_all(b"\n").map_err(Failure::Output)?;
    }
    stdout.flush().map_err(Failure::Output)?;
    if time && format == Format::Text {
        let _ = writeln!(anstream::stderr(), "{}", outcome.usage);
    }
    Ok(())
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { compile, render, steps, bytes } = self;
        let (steps, bytes) = (grouped(*steps), grouped(*bytes as u64));
        write!(f, "compiled in {compile:.1?}, rendered in {render:.1?}: {steps} steps, {bytes} bytes at most")
    }
}

fn json(outcome: &Outcome, time: bool) -> Json {
    let mut result = json!({"text": outcome.text, "warnings": []});
    if let Some(pieces) = &outcome.pieces {
        result["segments"] = texts(&outcome.text, pieces).map(|(piece, text)| segment(piece, text)).collect();
    }
    if time {
        let Usage { compile, render, steps, bytes } = outcome.usage;
        let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
        result["usage"] = json!({"compile_us": micros(compile), "render_us": micros(render), "steps": steps, "bytes": bytes});
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

/// One line for each piece: where it came from, in which turns of loops, and what it is.
fn table(text: &str, pieces: &[Piece]) -> String {
    let rows: Vec<_> = texts(text, pieces).map(|(piece, text)| (place(piece), quoted(text))).collect();
    let width = rows.iter().map(|(place, _)| place.chars().count()).max().unwrap_or_default();
    rows.iter().map(|(place, text)| format!("{place:width$}  {text}\n")).collect()
}

fn place(piece: &Piece) -> String {
    let mut text = match &piece.origin {
        Some(Origin { template, line, column }) => format!("{template}:{line}:{column}"),
        None => "?".to_owned(),
    };
    for turn in &piece.turns {
        text.push_str(&format!("[{turn}]"));
    }
    text
}

/// As a JSON string, which shows what cannot be seen.
fn quoted(text: &str) -> String {
    shortened(&Json::from(text).to_string(), PIECE_WIDTH)
}
