//! Positions of the protocol: lines, and columns in UTF-8, UTF-16 or UTF-32.

use std::ops;

use crate::protocol::{Position, Range};

/// What columns count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, as all clients can.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl Encoding {
    /// The encoding that a client names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    /// The name in the protocol.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    /// How many columns a character takes.
    #[must_use]
    pub const fn width(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// Where the lines of a text start. They end with `\n`, `\r\n` or `\r`, as the protocol says.
#[derive(Clone, Debug, Default)]
pub struct TextLines {
    starts: Vec<usize>,
}

impl TextLines {
    /// The lines of `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                starts.push(at + 1);
            }
        }
        Self { starts }
    }

    /// The bytes of a line without its end.
    fn line(&self, line: usize, text: &str) -> ops::Range<usize> {
        let start = self.starts.get(line).copied().unwrap_or(text.len());
        let next = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..next].trim_end_matches(['\n', '\r']);
        start..start + content.len()
    }

    /// The byte at a position. A column behind the line is its end, and one inside of a character its start.
    #[must_use]
    pub fn offset_at(&self, position: Position, text: &str, encoding: Encoding) -> usize {
        let line = position.line as usize;
        if line >= self.starts.len() {
            return text.len();
        }
        let range = self.line(line, text);
        let mut column = 0;
        for (at, character) in text[range.clone()].char_indices() {
            column += encoding.width(character);
            if column > position.character as usize {
                return range.start + at;
            }
        }
        range.end
    }

    /// The position of a byte; one inside of a character counts as its start.
    #[must_use]
    pub fn position_at(&self, offset: usize, text: &str, encoding: Encoding) -> Position {
        let offset = floor_boundary(text, offset);
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let range = self.line(line, text);
        let before = &text[range.start..offset.min(range.end)];
        let column: usize = before.chars().map(|character| encoding.width(character)).sum();
        Position { line: line as u32, character: column as u32 }
    }

    /// The range of some bytes.
    #[must_use]
    pub fn range_at(&self, bytes: ops::Range<usize>, text: &str, encoding: Encoding) -> Range {
        Range {
            start: self.position_at(bytes.start, text, encoding),
            end: self.position_at(bytes.end.max(bytes.start), text, encoding),
        }
    }
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_what_the_client_counts() {
        let text = "a😀灯b\r\nc\rd";
        let lines = TextLines::new(text);
        for (encoding, columns) in [
            (Encoding::Utf8, [0, 1, 5, 8, 9]),
            (Encoding::Utf16, [0, 1, 3, 4, 5]),
            (Encoding::Utf32, [0, 1, 2, 3, 4]),
        ] {
            for (offset, column) in [0, 1, 5, 8, 9].into_iter().zip(columns) {
                let position = Position { line: 0, character: column };
                assert_eq!(lines.position_at(offset, text, encoding), position, "{encoding:?}");
                assert_eq!(lines.offset_at(position, text, encoding), offset, "{encoding:?}");
            }
        }
        let at = |line, character| lines.offset_at(Position { line, character }, text, Encoding::Utf16);
        assert_eq!([at(0, 99), at(1, 0), at(1, 9), at(2, 0), at(9, 0)], [9, 11, 12, 13, 14]);
        assert_eq!(at(0, 2), 1, "inside of a surrogate pair");
    }
}
