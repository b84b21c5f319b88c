//! Source maps in the format of ECMA-426, for existing tools.

use hinagata::ExplainMap;
use serde_json::{Value, json};

/// The source map of a result: files as sources, with the paths that `path_of` finds, and variables as names.
///
/// The generated text is the result: parts of a message are joined by a line break, messages by a blank line. Lines and
/// columns count from 0; columns are code units of UTF-16.
pub(crate) fn to_source_map(map: &ExplainMap, path_of: impl Fn(&str) -> String) -> Value {
    let (mut sources, mut names) = (Numbers::default(), Numbers::default());
    let mut mappings = Mappings::default();
    let mut last = None;
    for row in map.span_rows() {
        match last {
            Some((message, _)) if message != row.message => mappings.advance("\n\n"),
            Some(part) if part != (row.message, row.part) => mappings.advance("\n"),
            _ => {}
        }
        last = Some((row.message, row.part));
        let name = row.variable.map(|name| names.number(name));
        let file = row.file.map(|file| sources.number(file));
        let lines = map.line_places(&row);
        // A text goes on over several lines, and tools look up each line by itself.
        for (number, line) in row.piece.split_inclusive('\n').enumerate() {
            let place = lines.get(number).or(lines.last()).filter(|_| file.is_some());
            mappings.add(place.map(|(line, column)| Source {
                file: file.unwrap_or_default(),
                line: i64::from(*line),
                column: i64::from(*column),
                name,
            }));
            mappings.advance(line);
        }
    }
    let sources: Vec<String> = sources.0.iter().map(|file| path_of(file)).collect();
    json!({"version": 3, "sources": sources, "names": names.0, "mappings": mappings.text})
}

#[derive(Default)]
struct Numbers(Vec<String>);

impl Numbers {
    fn number(&mut self, name: &str) -> i64 {
        let place = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        place as i64
    }
}

#[derive(Clone, Copy)]
struct Source {
    file: i64,
    line: i64,
    column: i64,
    name: Option<i64>,
}

/// The field `mappings`: segments of relative numbers.
#[derive(Default)]
struct Mappings {
    text: String,
    column: i64,
    last_column: i64,
    last: [i64; 4],
    is_open: bool,
}

impl Mappings {
    fn add(&mut self, source: Option<Source>) {
        if self.is_open {
            self.text.push(',');
        }
        self.is_open = true;
        write_number(&mut self.text, self.column - self.last_column);
        self.last_column = self.column;
        let Some(source) = source else { return };
        let values = [source.file, source.line, source.column];
        for (value, last) in values.into_iter().zip(&mut self.last) {
            write_number(&mut self.text, value - *last);
            *last = value;
        }
        if let Some(name) = source.name {
            write_number(&mut self.text, name - self.last[3]);
            self.last[3] = name;
        }
    }

    /// Moves behind `text`.
    fn advance(&mut self, text: &str) {
        for character in text.chars() {
            if character == '\n' {
                self.text.push(';');
                (self.column, self.last_column, self.is_open) = (0, 0, false);
            } else {
                self.column += character.len_utf16() as i64;
            }
        }
    }
}

/// Appends a number in base 64, five bits at a time, with the sign in the lowest bit.
fn write_number(text: &mut String, number: i64) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut rest = (number.unsigned_abs() << 1) | u64::from(number < 0);
    loop {
        let more = if rest > 31 { 32 } else { 0 };
        text.push(char::from(DIGITS[(rest & 31) as usize | more]));
        rest >>= 5;
        if rest == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_says() {
        let written = |number| {
            let mut text = String::new();
            write_number(&mut text, number);
            text
        };
        let expected = [(0, "A"), (1, "C"), (-1, "D"), (15, "e"), (16, "gB"), (-16, "hB"), (1000, "w+B")];
        for (number, text) in expected {
            assert_eq!(written(number), text, "{number}");
        }
    }
}
