//! Lines and columns of bytes in the files of a map.

use std::{ops::Range, sync::Arc};

use crate::{LineColumn, TextOrigin};

/// A template or a string of a module, and where it is in its file.
#[derive(Debug)]
pub(super) struct FileText {
    text: Arc<str>,
    /// The bytes at which its lines start.
    starts: Vec<usize>,
    origin: TextOrigin,
    /// The bytes of the file before it, if it is a part of the file.
    shift: usize,
    /// The bytes at which the lines of the file start, if it is a string in the file.
    file_starts: Vec<usize>,
}

/// A place in a file: its line, and its column in characters and in code units of UTF-16, all from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilePlace {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) utf16_column: u32,
}

impl FileText {
    /// A text whose lines start at `starts`. `shift` is the byte of the file at which it starts, if it is a part of the
    /// file.
    pub(super) fn new(text: Arc<str>, starts: Vec<usize>, origin: TextOrigin, shift: usize) -> Self {
        let file_starts = origin.string_start().map(|(content, _)| line_starts(content)).unwrap_or_default();
        Self { text, starts, origin, shift, file_starts }
    }

    /// A string in a file.
    pub(super) fn from_string(text: Arc<str>, origin: TextOrigin) -> Self {
        let starts = line_starts(&text);
        Self::new(text, starts, origin, 0)
    }

    /// The bytes of the file before it.
    pub(super) fn shift(&self) -> usize {
        self.shift
    }

    /// The place of a byte of the text.
    pub(super) fn place(&self, byte: usize) -> FilePlace {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.starts.partition_point(|start| *start <= byte);
        let before = &self.text[self.starts[line - 1]..byte];
        let column = before.chars().count() as u32 + 1;
        let LineColumn { line, column } = self.origin.in_file(LineColumn { line: line as u32, column });
        let utf16_column = match self.origin.string_start() {
            None => before.chars().map(char::len_utf16).sum::<usize>() as u32 + 1,
            Some((content, _)) => utf16_column(content, &self.file_starts, LineColumn { line, column }),
        };
        FilePlace { line, column, utf16_column }
    }

    /// The places of a range of the file, or of the string: that of its start, and of the start of each further line.
    pub(super) fn line_places(&self, range: Range<usize>) -> Vec<FilePlace> {
        let range = range.start.saturating_sub(self.shift)..range.end.saturating_sub(self.shift);
        let first = self.starts.partition_point(|start| *start <= range.start);
        let inside = self.starts[first..].iter().copied().take_while(|start| *start < range.end);
        std::iter::once(range.start).chain(inside).map(|byte| self.place(byte)).collect()
    }
}

/// The bytes at which the lines of a text start.
pub(super) fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// The column of a place in code units of UTF-16.
pub(super) fn utf16_column(content: &str, starts: &[usize], at: LineColumn) -> u32 {
    let line = (at.line as usize).checked_sub(1).and_then(|line| starts.get(line));
    let before = line.and_then(|start| content.get(*start..)).unwrap_or_default();
    let characters = before.chars().take((at.column as usize).saturating_sub(1));
    characters.map(char::len_utf16).sum::<usize>() as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_code_units() {
        let text = FileText::new("😀雛x\r\nb\n".into(), vec![0, 10, 12], TextOrigin::from_line(3), 7);
        let place = |line, column, utf16_column| FilePlace { line, column, utf16_column };
        assert_eq!(text.place(7), place(3, 3, 4));
        assert_eq!(text.line_places(11..18), [place(3, 2, 3), place(4, 1, 1)]);
        let content: Arc<str> = "t: |\n  😀ab\n  c\n".into();
        let origin = TextOrigin::from_string(content, LineColumn { line: 1, column: 4 }, "😀ab\nc\n".into());
        let string = FileText::from_string("😀ab\nc\n".into(), origin);
        assert_eq!(string.line_places(4..8), [place(2, 4, 5), place(3, 3, 3)]);
        let content: Arc<str> = "t: |\n  a\n  two\n    three\n".into();
        let at = LineColumn { line: 1, column: 4 };
        let origin = TextOrigin::from_string(content, at, "a\ntwo\n  three\n".into());
        let string = FileText::from_string("a\ntwo\n  three\n".into(), origin);
        assert_eq!(string.line_places(1..13), [place(2, 4, 4), place(3, 3, 3), place(4, 3, 3)]);
    }
}
