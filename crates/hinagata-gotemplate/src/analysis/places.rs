//! Lines and columns of many places. The source is not read again for each of them.

use std::{collections::HashMap, sync::Arc};

use hinagata_value::analysis::Position;

use crate::{
    Set,
    tree::{Source, Tree},
};

/// Distance in bytes between two stored points.
const STRIDE: usize = 256;

/// The lines and columns of the sources of a set.
pub(super) struct Places<'s>(HashMap<*const Source, Text<'s>>);

struct Text<'s> {
    text: &'s str,
    /// The line and column at every stride.
    points: Vec<(u32, u32)>,
}

impl<'s> Places<'s> {
    pub(super) fn new(set: &'s Set) -> Self {
        let mut sources = HashMap::new();
        for tree in set.trees() {
            let text = &*tree.source.text;
            let known = sources.entry(Arc::as_ptr(&tree.source));
            known.or_insert_with(|| Text { text, points: points(text) });
        }
        Self(sources)
    }

    /// The position of `length` bytes of a template's source.
    pub(super) fn position(&self, tree: &Tree, start: usize, length: usize) -> Position {
        let (line, column) = match self.0.get(&Arc::as_ptr(&tree.source)) {
            Some(Text { text, points }) => {
                let stride = start / STRIDE;
                let point = points.get(stride).copied().unwrap_or((1, 1));
                let from = (stride * STRIDE).min(text.len());
                advance(point, &text.as_bytes()[from..start.min(text.len())])
            }
            None => (1, 1),
        };
        Position { start: start as u32, end: (start + length) as u32, line, column }
    }
}

fn points(text: &str) -> Vec<(u32, u32)> {
    let mut points = Vec::with_capacity(text.len() / STRIDE + 1);
    let mut point = (1, 1);
    for stride in text.as_bytes().chunks(STRIDE) {
        points.push(point);
        point = advance(point, stride);
    }
    points.push(point);
    points
}

/// The line and column after `bytes`. A character counts at its first byte.
fn advance((mut line, mut column): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for &byte in bytes {
        match byte {
            b'\n' => (line, column) = (line + 1, 1),
            0x80..=0xbf => {}
            _ => column += 1,
        }
    }
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_over_strides() {
        let text = "é\n".repeat(300) + &"x".repeat(600);
        let points = points(&text);
        for (at, point) in points.iter().enumerate() {
            let before = &text.as_bytes()[..(at * STRIDE).min(text.len())];
            assert_eq!(*point, advance((1, 1), before));
        }
        assert_eq!(advance((1, 1), text.as_bytes()), (301, 601));
    }
}
