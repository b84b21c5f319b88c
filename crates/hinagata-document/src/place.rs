//! Places in source texts: file, line and column of an error.

use std::fmt;

/// Longest line that an excerpt shows, in characters.
const MAX_EXCERPT: usize = 200;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as a path from the workspace root, or the name of the template.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1; 0 when only the line is known.
    pub column: u32,
    /// The source line itself.
    pub excerpt: Option<String>,
}

impl Place {
    /// The place of byte `offset` in `text`, which is the content of `file`.
    #[must_use]
    pub fn in_text(file: &str, text: &str, offset: usize) -> Self {
        let LineColumn { line, column } = LineColumn::at_offset(text, offset);
        Self { file: file.to_owned(), line, column, excerpt: excerpt(text, line) }
    }

    /// The place of a whole file, without a column.
    #[must_use]
    pub fn of_file(file: &str) -> Self {
        Self { file: file.to_owned(), line: 1, column: 0, excerpt: None }
    }

    /// The place at a known line and column of `text`, which is the content of `file`.
    #[must_use]
    pub fn at_line(file: &str, text: &str, line: u32, column: u32) -> Self {
        Self { file: file.to_owned(), line, column, excerpt: excerpt(text, line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineColumn {
    /// The line.
    pub line: u32,
    /// The column in characters; 0 when only the line is known.
    pub column: u32,
}

impl LineColumn {
    /// Line and column of byte `offset` in `text`; an offset inside a character counts as its start.
    pub fn at_offset(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let newlines = before.iter().filter(|&&byte| byte == b'\n').count();
        // UTF-8 continuation bytes do not start a character.
        let characters = before[line_start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
        Self { line: number(newlines), column: number(characters) }
    }
}

/// Finds lines and columns of increasing offsets without counting from the start each time.
#[derive(Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    offset: usize,
    current: LineColumn,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, offset: 0, current: LineColumn { line: 1, column: 1 } }
    }

    /// Line and column of byte `offset`; cheap if it is not before the previous one.
    pub fn line_column_at(&mut self, offset: usize) -> LineColumn {
        let offset = offset.min(self.text.len());
        if offset < self.offset {
            *self = Self::new(self.text);
        }
        for &byte in &self.text.as_bytes()[self.offset..offset] {
            if byte == b'\n' {
                self.current = LineColumn { line: self.current.line.saturating_add(1), column: 1 };
            } else if byte & 0xc0 != 0x80 {
                self.current.column = self.current.column.saturating_add(1);
            }
        }
        self.offset = offset;
        self.current
    }
}

/// A message about a syntax error, and its place if it is known.
pub type SyntaxProblem = (String, Option<Place>);

fn excerpt(text: &str, line: u32) -> Option<String> {
    let line = text.lines().nth(line.checked_sub(1)? as usize)?;
    Some(line.chars().take(MAX_EXCERPT).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let place = Place::in_text("a.md", "x\n灯台 y", "x\n灯台 ".len());
        assert_eq!((place.line, place.column, place.excerpt.as_deref()), (2, 4, Some("灯台 y")));
        assert_eq!(place.to_string(), "a.md:2:4");
    }

    #[test]
    fn a_cursor_finds_the_same_places() {
        let text = "a灯\nb\n\n台c";
        let mut cursor = Cursor::new(text);
        for (offset, _) in text.char_indices().chain([(1, 'x'), (text.len(), 'x')]) {
            assert_eq!(cursor.line_column_at(offset), LineColumn::at_offset(text, offset), "{offset}");
        }
    }

    #[test]
    fn any_offset_has_a_place() {
        for offset in 0..20 {
            let at = LineColumn::at_offset("灯\r\n台", offset);
            assert!(at.line >= 1 && at.column >= 1, "{offset}");
        }
    }
}
