//! The spans of a text that `post_render` changed: what it left keeps its spans.

use std::ops::Range;

use hinagata_template::{AbsentPiece, Piece, SourceMap, Span, SpanKind, SpanPlace, unchanged_pieces};

use super::MappedText;
use crate::engine::{pipeline::Call, rendered::RenderedBody};

impl Call<'_> {
    /// The texts after `post_render`: what it left keeps its spans.
    pub(in crate::engine) fn maps_after_hook(
        &self,
        maps: Vec<MappedText>,
        body: &RenderedBody,
    ) -> Vec<MappedText> {
        let RenderedBody::Text(after) = body else { return maps };
        maps.into_iter()
            .map(|mapped| {
                let pieces = unchanged_pieces(&mapped.text, after);
                let ranges = std::iter::once(0..after.len()).collect();
                let spans = spans_after_hook(&mapped, &pieces, after);
                let absent = absent_after_hook(&mapped.map.absent, &pieces);
                let map = SourceMap { spans, absent, ..mapped.map };
                MappedText { text: after.clone(), map, ranges, ..mapped }
            })
            .collect()
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

/// What is absent, where it would be now: at the place that is left, or at the end of what is left before it.
fn absent_after_hook(absent: &[AbsentPiece], pieces: &[Piece]) -> Vec<AbsentPiece> {
    let moved = |absent: &AbsentPiece| {
        let before = pieces.partition_point(|piece| piece.from <= absent.offset);
        let offset = before.checked_sub(1).map_or(0, |index| {
            let piece = pieces[index];
            piece.start + (absent.offset - piece.from).min(piece.end - piece.start)
        });
        AbsentPiece { offset, ..absent.clone() }
    };
    absent.iter().map(moved).collect()
}

/// The place of a piece that no template wrote.
pub(super) const NO_PLACE: SpanPlace = SpanPlace { template: u32::MAX, start: 0, end: 0 };

/// The spans within a range of the text, cut to it, with the range of each.
pub(super) fn cut_spans(mapped: &MappedText, range: &Range<usize>) -> Vec<(Span, Range<usize>)> {
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
