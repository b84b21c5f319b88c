//! Places in the text of a string, as places in the file that contains the string.

use std::{
    str::Chars,
    sync::{Arc, OnceLock},
};

use crate::{LineColumn, Place};

/// Where a text is in its file.
///
/// The text of a string is not a part of the file: indentation is removed, lines are folded, escapes are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOrigin(Origin);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// Whole lines, the first of which is this line of the file.
    Lines(u32),
    String(Arc<StringOrigin>),
}

#[derive(Debug, PartialEq, Eq)]
struct StringOrigin {
    content: Arc<str>,
    start: LineColumn,
    text: Arc<str>,
    /// Whether the file is Python, where a string may consist of several literals.
    is_python: bool,
    /// Found when a place is requested. In order; none if only the place of the whole string is known.
    runs: OnceLock<Vec<Run>>,
}

/// Characters that follow each other in the text as in the file, up to the next run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    in_text: LineColumn,
    in_file: LineColumn,
}

impl TextOrigin {
    /// A text of whole lines, the first of which is this line of the file.
    #[must_use]
    pub fn from_line(first_line: u32) -> Self {
        Self(Origin::Lines(first_line.max(1)))
    }

    /// The text of a string that starts at `start` in a file with the content `content`.
    #[must_use]
    pub fn from_string(content: Arc<str>, start: LineColumn, text: Arc<str>) -> Self {
        let runs = OnceLock::new();
        Self(Origin::String(Arc::new(StringOrigin { content, start, text, is_python: false, runs })))
    }

    /// As [`TextOrigin::from_string`], for a string of Python: one literal, or several that follow each other.
    #[must_use]
    pub fn from_python(content: Arc<str>, start: LineColumn, text: Arc<str>) -> Self {
        let runs = OnceLock::new();
        Self(Origin::String(Arc::new(StringOrigin { content, start, text, is_python: true, runs })))
    }

    /// The place in the file of a place in the text. An unknown column, which is 0, stays unknown.
    #[must_use]
    pub fn in_file(&self, at: LineColumn) -> LineColumn {
        match &self.0 {
            Origin::Lines(first) => LineColumn { line: at.line.saturating_add(first - 1), ..at },
            Origin::String(string) => string.in_file(at),
        }
    }

    /// The content of the file and the start of the string in it, if the text is a string.
    #[must_use]
    pub fn string_start(&self) -> Option<(&str, LineColumn)> {
        match &self.0 {
            Origin::Lines(_) => None,
            Origin::String(string) => Some((&string.content, string.start)),
        }
    }

    /// The place in `file` of a place in the text; `text_line` is the line of the text.
    #[must_use]
    pub fn place(&self, file: &str, at: LineColumn, text_line: Option<String>) -> Place {
        let LineColumn { line, column } = self.in_file(at);
        match &self.0 {
            Origin::Lines(_) => Place { file: file.to_owned(), line, column, excerpt: text_line },
            Origin::String(string) => Place::at_line(file, &string.content, line, column),
        }
    }
}

impl StringOrigin {
    fn in_file(&self, at: LineColumn) -> LineColumn {
        let find = || align(&self.content, self.start, &self.text, self.is_python).unwrap_or_default();
        let runs = self.runs.get_or_init(find);
        let key = |at: LineColumn| (at.line, at.column.max(1));
        let after = runs.partition_point(|run| key(run.in_text) <= key(at));
        let Some(run) = after.checked_sub(1).and_then(|index| runs.get(index)) else {
            return self.start;
        };
        // Below the last line of the text, the run is one of that line.
        let same_line = run.in_text.line == at.line;
        let steps = if same_line { at.column.saturating_sub(run.in_text.column) } else { 0 };
        let column = if at.column == 0 { 0 } else { run.in_file.column.saturating_add(steps) };
        LineColumn { line: run.in_file.line, column }
    }
}

/// The byte at which `at` is in `content`.
fn offset_of(content: &str, at: LineColumn) -> Option<usize> {
    let line_start = match (at.line as usize).checked_sub(1)? {
        0 => 0,
        above => content.match_indices('\n').nth(above - 1)?.0 + 1,
    };
    let line = content[line_start..].split('\n').next()?;
    let mut offsets = line.char_indices().map(|(offset, _)| offset).chain([line.len()]);
    Some(line_start + offsets.nth((at.column as usize).checked_sub(1)?)?)
}

/// The runs of `text`, a string of YAML, JSON, TOML or Python that starts at `start`; `None` if something else is written
/// there, such as the name of a string that YAML repeats.
fn align(content: &str, start: LineColumn, text: &str, is_python: bool) -> Option<Vec<Run>> {
    let offset = offset_of(content, start)?;
    let mut written = match is_python {
        true => Written::in_python(content, offset, start)?,
        false => Written::new(content, offset, start, text),
    };
    let mut runs = Vec::new();
    let mut in_text = LineColumn { line: 1, column: 1 };
    let mut expected = None;
    for character in text.chars() {
        let in_file = written.find(character)?;
        if in_text.column == 1 || expected != Some(in_file) {
            runs.push(Run { in_text, in_file });
        }
        expected = Some(LineColumn { column: in_file.column + 1, ..in_file });
        in_text = match character {
            '\n' => LineColumn { line: in_text.line + 1, column: 1 },
            _ => LineColumn { column: in_text.column + 1, ..in_text },
        };
    }
    Some(runs)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Without quotes or escapes.
    Plain,
    /// `'`, in which YAML writes `''` for a quote.
    Single,
    /// `"`, with escapes.
    Double,
    /// `|` and `>` of YAML, with so many spaces before each line.
    Block(usize),
    /// A literal of Python.
    Python(PythonQuotes),
}

/// The quotes of a literal of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PythonQuotes {
    quote: char,
    is_triple: bool,
    /// Whether a backslash is a character like others.
    is_raw: bool,
}

/// A string as it is written in a file.
struct Written<'s> {
    rest: Chars<'s>,
    at: LineColumn,
    style: Style,
}

impl<'s> Written<'s> {
    fn new(content: &'s str, offset: usize, at: LineColumn, text: &str) -> Self {
        let mut written = Self { rest: content[offset..].chars(), at, style: Style::Plain };
        let margin = |text: &str| {
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            line.len() - line.trim_start_matches(' ').len()
        };
        // Anchors and tags of YAML.
        while matches!(written.peek(), Some('&' | '!')) {
            written.skip_while(|character| !character.is_whitespace());
            written.skip_while(char::is_whitespace);
        }
        let start = written.rest.as_str();
        match written.peek() {
            Some('|' | '>') => {
                written.skip_while(|character| character != '\n');
                let indentation = margin(written.rest.as_str()).saturating_sub(margin(text));
                written.style = Style::Block(indentation);
                written.advance();
            }
            Some(quote @ ('"' | '\'')) => {
                written.style = if quote == '"' { Style::Double } else { Style::Single };
                let triple: String = [quote; 3].iter().collect();
                let is_triple = start.starts_with(&triple) && !text.starts_with(quote) && !text.is_empty();
                for _ in 0..if is_triple { 3 } else { 1 } {
                    written.advance();
                }
            }
            // The first line of a block, whose sign is above.
            _ if content[..offset].ends_with(' ')
                && content[..offset].trim_end_matches(' ').ends_with('\n') =>
            {
                let own = if start.starts_with(' ') { 0 } else { margin(text) };
                written.style = Style::Block((at.column as usize - 1).saturating_sub(own));
            }
            _ => {}
        }
        written
    }

    /// A literal of Python, with its prefix.
    fn in_python(content: &'s str, offset: usize, at: LineColumn) -> Option<Self> {
        let mut written = Written { rest: content[offset..].chars(), at, style: Style::Plain };
        written.open_literal().then_some(written)
    }

    /// Moves behind the prefix and the quotes of a literal of Python; `false` if there is none.
    fn open_literal(&mut self) -> bool {
        let rest = self.rest.as_str();
        let prefix = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let Some(quote @ ('"' | '\'')) = rest[prefix..].chars().next() else { return false };
        let is_raw = rest[..prefix].contains(['r', 'R']);
        let is_triple = rest[prefix..].starts_with(&quote.to_string().repeat(3));
        for _ in 0..prefix + if is_triple { 3 } else { 1 } {
            self.advance();
        }
        self.style = Style::Python(PythonQuotes { quote, is_triple, is_raw });
        true
    }

    /// Moves from the end of a literal of Python into the next one, past space, comments and joined lines.
    fn next_literal(&mut self, quotes: PythonQuotes) -> bool {
        for _ in 0..if quotes.is_triple { 3 } else { 1 } {
            self.advance();
        }
        loop {
            match self.peek() {
                Some('#') => self.skip_while(|c| c != '\n'),
                Some(c) if c.is_whitespace() || c == '\\' => drop(self.advance()),
                _ => return self.open_literal(),
            }
        }
    }

    /// Whether the literal of Python ends here.
    fn is_at_end(&self, quotes: PythonQuotes) -> bool {
        let end = quotes.quote.to_string().repeat(if quotes.is_triple { 3 } else { 1 });
        self.rest.as_str().starts_with(&end)
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn advance(&mut self) -> Option<char> {
        let character = self.rest.next()?;
        if character != '\n' {
            self.at.column += 1;
            return Some(character);
        }
        self.at = LineColumn { line: self.at.line + 1, column: 1 };
        if let Style::Block(indentation) = self.style {
            for _ in 0..indentation {
                if self.peek() == Some(' ') {
                    self.advance();
                }
            }
        }
        Some(character)
    }

    fn skip_while(&mut self, skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.advance();
        }
    }

    /// Moves behind the next character of the text, and returns where it is; `None` if another one is written there.
    fn find(&mut self, wanted: char) -> Option<LineColumn> {
        loop {
            if let Style::Python(quotes) = self.style
                && self.is_at_end(quotes)
            {
                if !self.next_literal(quotes) {
                    return None;
                }
                continue;
            }
            let at = self.at;
            match self.peek() {
                Some('\\')
                    if self.style == Style::Double
                        || matches!(self.style, Style::Python(quotes) if !quotes.is_raw) =>
                {
                    if self.skip_escape(wanted) {
                        return Some(at);
                    }
                }
                Some(found) if found == wanted => {
                    self.advance();
                    if wanted == '\'' && self.style == Style::Single && self.peek() == Some('\'') {
                        self.advance();
                    }
                    return Some(at);
                }
                // A line that is joined to the next one.
                Some('\n') if wanted == ' ' => {
                    self.advance();
                    return Some(at);
                }
                Some(found) if found.is_whitespace() => {
                    self.advance();
                }
                // White space of the text that is not written, as at its end.
                _ if wanted.is_whitespace() => return Some(at),
                _ => return None,
            }
        }
    }

    /// Moves behind an escape; returns whether it stands for a character, and not for a line that goes on.
    fn skip_escape(&mut self, wanted: char) -> bool {
        self.advance();
        let digits = match self.advance() {
            // Python keeps the space at the start of the next line.
            Some('\n') if matches!(self.style, Style::Python(_)) => return false,
            Some('\n' | '\r') => {
                self.skip_while(char::is_whitespace);
                return false;
            }
            Some('N') if matches!(self.style, Style::Python(_)) => {
                self.skip_while(|c| c != '}');
                1
            }
            Some('0'..='7') if matches!(self.style, Style::Python(_)) => {
                let more = self.rest.as_str().chars().take(2);
                more.take_while(|c| matches!(c, '0'..='7')).count()
            }
            Some(' ') if wanted != ' ' => return false,
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        for _ in 0..digits {
            self.advance();
        }
        // JSON writes characters beyond U+FFFF as two escapes.
        if digits == 4 && u32::from(wanted) > 0xffff && self.rest.as_str().starts_with("\\u") {
            for _ in 0..6 {
                self.advance();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, json, toml, yaml};

    /// Where the file has the `X` that the text of the string `t` contains.
    fn found(file: &str, content: &str) -> String {
        let node = match file {
            "a.json" => json::parse(file, content).expect("is JSON"),
            "a.toml" => toml::parse(file, content).expect("is TOML"),
            _ => yaml::parse(file, content, content, 1).expect("is YAML"),
        };
        let string = node.get("t").expect("has `t`");
        let text = string.as_str().expect("a string");
        let at = LineColumn::at_offset(text, text.find('X').expect("is in the text"));
        let LineColumn { line, column } = origin(content, string).in_file(at);
        format!("{line}:{column}")
    }

    fn origin(content: &str, node: &Node) -> TextOrigin {
        TextOrigin::from_string(content.into(), node.at, node.as_str().unwrap_or_default().into())
    }

    #[test]
    fn places_in_strings_are_places_in_the_file() {
        for (file, content, place) in [
            ("a.yaml", "t: ab X", "1:7"),
            ("a.yaml", "t: ab\n   cd\n   X\n", "3:4"),
            ("a.yaml", r#"t: "灯\t\u00e9 \"X""#, "1:17"),
            ("a.yaml", "t: \"ab\n\n   cd \\\n   X\"", "4:4"),
            ("a.yaml", "t: 'it''s ''X'''", "1:13"),
            ("a.yaml", "t: |\n    ab\n\n      cd X\n", "4:10"),
            ("a.yaml", "t: |2-  # two\n     ab\n    X\n", "3:5"),
            ("a.yaml", "t: >\n  ab\n  cd\n\n  ef X\n", "5:6"),
            ("a.yaml", "t: !!str &a\n  \"ab X\"\n", "2:7"),
            ("a.yaml", "t: &a |\n  ab X\n", "2:6"),
            ("a.yaml", "s: &a \"ab X\"\nt: *a\n", "2:4"),
            ("a.yaml", "t: |\r\n  ab\r\n  X\r\n", "3:3"),
            ("a.json", "{\n  \"t\": \"a\\nb \\ud83d\\ude00 \\\\ X\"\n}", "2:30"),
            ("a.toml", "t = \"\"\"\nab \\\n   cd\n  X\"\"\"\n", "4:3"),
            ("a.toml", "t = 'a\\b X'\n", "1:10"),
            ("a.toml", "t = '''\nab\nX'''\n", "3:1"),
        ] {
            assert_eq!(found(file, content), place, "{content}");
        }
    }

    #[test]
    fn places_in_literals_of_python_are_places_in_the_file() {
        for (content, text, place) in [
            ("'a X'", "a X", "1:4"),
            (r#"r"a\b X""#, r"a\b X", "1:7"),
            (r#"'it\'s \x41 \101 X'"#, "it's A A X", "1:18"),
            ("(\"a \"  # one\n   u'b X')", "a b X", "2:8"),
            ("\"\"\"a \"b\"\n  X\"\"\"", "a \"b\"\n  X", "2:3"),
            ("'a' \\\n  \"\\N{BULLET}X\"", "a\u{2022}X", "2:14"),
        ] {
            let start = LineColumn { line: 1, column: if content.starts_with('(') { 2 } else { 1 } };
            let at = LineColumn::at_offset(text, text.find('X').expect("is in the text"));
            let origin = TextOrigin::from_python(content.into(), start, text.into());
            let LineColumn { line, column } = origin.in_file(at);
            assert_eq!(format!("{line}:{column}"), place, "{content}");
        }
    }

    #[test]
    fn every_place_of_a_text_has_one_in_the_file() {
        let content = "t: |\n  灯台\n\n  b\n";
        let node = yaml::parse("a.yaml", content, content, 1).expect("is YAML");
        let origin = origin(content, node.get("t").expect("has `t`"));
        let place = |line, column| origin.place("a.yaml", LineColumn { line, column }, None);
        assert_eq!((place(1, 0).line, place(1, 0).column), (2, 0), "the column is unknown");
        assert_eq!((place(1, 3).to_string(), place(9, 9).line), ("a.yaml:2:5".to_owned(), 4));
        assert_eq!(place(3, 1).excerpt.as_deref(), Some("  b"));
        assert!((0..12).all(|at| origin.in_file(LineColumn { line: at, column: at }).line >= 1));
    }

    #[test]
    fn a_line_of_a_block_starts_behind_the_indentation_of_the_block() {
        for (text, columns) in [("a\n  b\n", [5, 5]), ("  a\nb\n", [5, 5]), ("a\nb\n", [5, 5])] {
            let lines: Vec<String> = text.lines().map(|line| format!("    {line}\n")).collect();
            let sign = if text.starts_with(' ') { "|4" } else { "|" };
            let content = format!("t: {sign}\n{}", lines.concat());
            let node = yaml::parse("a.yaml", &content, &content, 1).expect("is YAML");
            let origin = origin(&content, node.get("t").expect("has `t`"));
            let column = |line| origin.in_file(LineColumn { line, column: 1 }).column;
            assert_eq!([column(1), column(2)], columns, "{content}");
        }
    }

    #[test]
    fn a_text_of_whole_lines_is_moved_down() {
        let place = TextOrigin::from_line(4).place("a.md", LineColumn { line: 2, column: 7 }, None);
        assert_eq!(place.to_string(), "a.md:5:7");
    }
}
