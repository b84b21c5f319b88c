//! Lines of a text, and the bytes at which they start.

use hinagata_document::LineColumn;

/// The lines of a text.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// The lines of `text`, which end with `\n`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { starts }
    }

    /// How many lines there are; at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The line of a byte, from 0.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The byte at which a line starts, from 0; the end of the text below the last line.
    #[must_use]
    pub fn line_start(&self, line: usize, text: &str) -> usize {
        self.starts.get(line).copied().unwrap_or(text.len())
    }

    /// The bytes of a line without its end.
    #[must_use]
    pub fn line_range(&self, line: usize, text: &str) -> std::ops::Range<usize> {
        let start = self.line_start(line, text);
        let end = self.line_start(line + 1, text);
        let content = text[start..end].trim_end_matches('\n').trim_end_matches('\r');
        start..start + content.len()
    }

    /// The byte at a line and a column in characters, both from 1. A column behind the line is its end, and column 0 is the
    /// start of its text.
    #[must_use]
    pub fn offset_of(&self, at: LineColumn, text: &str) -> usize {
        let line = (at.line as usize).saturating_sub(1);
        let range = self.line_range(line.min(self.count() - 1), text);
        let content = &text[range.clone()];
        match at.column as usize {
            0 => range.start + content.len() - content.trim_start().len(),
            column => {
                range.start + content.char_indices().nth(column - 1).map_or(content.len(), |(at, _)| at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_found() {
        let text = "a灯\r\n\n台b";
        let lines = Lines::new(text);
        assert_eq!(lines.count(), 3);
        assert_eq!(lines.line_range(0, text), 0..4);
        let offset = |line, column| lines.offset_of(LineColumn { line, column }, text);
        assert_eq!([offset(1, 2), offset(1, 9), offset(2, 1), offset(3, 2), offset(9, 1)], [1, 4, 6, 10, 7]);
    }
}
