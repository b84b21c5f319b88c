//! A template source with an index of its lines, which turns byte offsets into lines and columns.

use hinagata_value::{Error, Place};

use crate::ast::Span;

/// The text of one template with an index of its lines.
///
/// Lines end with `\n`, `\r\n` or `\r`, as Jinja2 counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: Box<str>,
    text: Box<str>,
    /// The offset of the first byte of every line; the first is 0.
    starts: Vec<u32>,
    /// The number of characters before each block of bytes; empty for ASCII text.
    blocks: Vec<u32>,
}

/// Bytes between two character counts. Without them, columns of a very long line would take quadratic time.
const BLOCK: usize = 1024;

impl Source {
    /// Indexes the lines of `text`. Takes one pass over it.
    ///
    /// Offsets have 32 bits; lines beyond 4 GiB are not indexed (the limit for sources is far lower).
    #[must_use]
    pub fn new(name: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                starts.extend(u32::try_from(at + 1));
            }
        }
        let mut blocks = Vec::new();
        if !text.is_ascii() {
            let mut before = 0;
            for block in bytes.chunks(BLOCK) {
                blocks.push(before);
                before += starting_characters(block);
            }
        }
        Self { name: name.into(), text, starts, blocks }
    }

    /// The name of the template.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The unchanged text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of the byte at `offset`, from 1.
    #[must_use]
    pub fn line(&self, offset: u32) -> u32 {
        let after = self.starts.partition_point(|&start| start <= offset);
        u32::try_from(after).unwrap_or(u32::MAX)
    }

    /// The line of the byte at `offset` and its column in characters, both from 1.
    ///
    /// An offset after the end or inside a character is moved back to the start of a character.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let offset = self.text.floor_char_boundary(offset as usize);
        let line = self.line(offset as u32);
        let start = self.starts[line as usize - 1] as usize;
        (line, self.characters_before(offset) - self.characters_before(start) + 1)
    }

    fn characters_before(&self, offset: usize) -> u32 {
        let block = offset / BLOCK;
        match self.blocks.get(block) {
            Some(before) => before + starting_characters(&self.text.as_bytes()[block * BLOCK..offset]),
            None if self.blocks.is_empty() => offset as u32,
            // The end of the text, at a block boundary.
            None => char_count(&self.text),
        }
    }

    /// The text of `line` (from 1) without its line end; `None` after the last line.
    #[must_use]
    pub fn line_text(&self, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.starts.get(index)? as usize;
        let end = self.starts.get(index + 1).map_or(self.text.len(), |&next| next as usize);
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }

    /// The place that `span` covers.
    ///
    /// The line is that of the span, which Jinja2 reports. If the span starts on another line, the column
    /// is that of the first text on the reported line.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        let (line, column) = self.line_column(span.start);
        let excerpt = self.line_text(span.line);
        let column = match excerpt {
            _ if line == span.line => column,
            Some(text) if !text.trim().is_empty() => char_count(text) - char_count(text.trim_start()) + 1,
            _ => 0,
        };
        Place {
            template: self.name.to_string(),
            line: span.line,
            column,
            span: Some((span.start, span.end)),
            excerpt: excerpt.map(str::to_owned),
        }
    }
}

/// A source while it is parsed. It builds the index of lines only for an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'s> {
    pub(crate) name: &'s str,
    pub(crate) text: &'s str,
}

impl Origin<'_> {
    #[cold]
    pub(crate) fn place(self, span: Span) -> Place {
        Source::new(self.name, self.text).place(span)
    }

    /// A syntax error at `span`.
    #[cold]
    pub(crate) fn syntax_error(self, span: Span, message: impl Into<String>) -> Error {
        Error::syntax(message).with_place(|| self.place(span))
    }
}

/// The number of characters that start in `bytes`.
fn starting_characters(bytes: &[u8]) -> u32 {
    let starts = bytes.iter().filter(|byte| !matches!(byte, 0x80..0xc0)).count();
    u32::try_from(starts).unwrap_or(u32::MAX)
}

fn char_count(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_counts_once() {
        let source = Source::new("t", "a\nb\r\nc\rd\n");
        let lines: Vec<_> = (1..=6).map(|line| source.line_text(line)).collect();
        assert_eq!(lines, [Some("a"), Some("b"), Some("c"), Some("d"), Some(""), None]);
        assert_eq!([0, 1, 2, 3, 4, 5, 7, 9].map(|at| source.line(at)), [1, 1, 2, 2, 2, 3, 4, 5]);
    }

    #[test]
    fn columns_are_characters() {
        let source = Source::new("t", "日本 {{ x }}\n{{ é }}");
        assert_eq!(source.line_column(7), (1, 4));
        assert_eq!(source.line_column(1), (1, 1), "inside a character");
        assert_eq!(source.line_column(1000), (2, 8), "behind the end");
        for (text, width) in [("é", 2), ("a", 1), ("日", 3)] {
            for times in [1, 511, 512, 1023, 1024, 1025, 5_000] {
                let source = Source::new("t", format!("\n{}", text.repeat(times)));
                assert_eq!(
                    source.line_column(1 + width * (times as u32 - 1)),
                    (2, times as u32),
                    "{text} {times}"
                );
                assert_eq!(
                    source.line_column(1 + width * times as u32),
                    (2, times as u32 + 1),
                    "{text} {times}"
                );
            }
        }
    }

    #[test]
    fn a_place_is_on_the_line_that_is_reported() {
        let source = Source::new("t", "{{ a\n  .b }}");
        let place = source.place(Span { start: 3, end: 9, line: 2 });
        assert_eq!((place.line, place.column, place.span), (2, 3, Some((3, 9))));
        assert_eq!(place.excerpt.as_deref(), Some("  .b }}"));
        let place = source.place(Span { start: 3, end: 4, line: 1 });
        assert_eq!((place.line, place.column), (1, 4));
    }
}
