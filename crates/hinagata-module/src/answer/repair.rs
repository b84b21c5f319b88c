//! A lenient parser for JSON as models write it.
//!
//! It accepts single and missing quotes, comments, missing and trailing commas, Python's `True` and `None`, line breaks in
//! strings, and text that ends early.

use serde_json::{Map, Number, Value};

/// Deeper values are rejected.
const DEEPEST: u32 = 128;

/// The value of `text`; `None` if it cannot be repaired.
pub(super) fn repair_json(text: &str) -> Option<Value> {
    let mut reader = Reader { text, place: 0 };
    let value = reader.value(0)?;
    reader.blank();
    (reader.place == text.len()).then_some(value)
}

struct Reader<'t> {
    text: &'t str,
    place: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.place..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, character: char) -> bool {
        let found = self.peek() == Some(character);
        if found {
            self.place += character.len_utf8();
        }
        found
    }

    /// Skips white space and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.place += rest.len() - trimmed.len();
            if let Some(comment) = trimmed.strip_prefix("/*") {
                self.place += 2 + comment.find("*/").map_or(comment.len(), |end| end + 2);
            } else if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.place += trimmed.find('\n').unwrap_or(trimmed.len());
            } else {
                return;
            }
        }
    }

    fn value(&mut self, depth: u32) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        self.blank();
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            '"' | '\'' | '“' | '”' | '‘' | '’' | '`' => Some(Value::String(self.string())),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: u32) -> Option<Value> {
        self.take('{');
        let mut all = Map::new();
        loop {
            self.separator();
            match self.peek() {
                // The text ends early.
                None => break,
                Some('}') => {
                    self.place += 1;
                    break;
                }
                Some(_) => {}
            }
            let key = self.key()?;
            self.blank();
            if !self.take(':') {
                // A key without a value is invalid, unless the text ends there.
                if self.peek().is_none() {
                    break;
                }
                return None;
            }
            self.blank();
            let value = match self.peek() {
                None | Some('}' | ',') => Value::Null,
                Some(_) => self.value(depth + 1)?,
            };
            all.insert(key, value);
        }
        Some(Value::Object(all))
    }

    fn list(&mut self, depth: u32) -> Option<Value> {
        self.take('[');
        let mut all = Vec::new();
        loop {
            self.separator();
            match self.peek() {
                None => break,
                Some(']') => {
                    self.place += 1;
                    break;
                }
                // The closing bracket is missing, and the enclosing object continues.
                Some('}') => break,
                Some(_) => all.push(self.value(depth + 1)?),
            }
        }
        Some(Value::Array(all))
    }

    /// Skips any number of commas, and white space.
    fn separator(&mut self) {
        self.blank();
        while self.take(',') {
            self.blank();
        }
    }

    fn key(&mut self) -> Option<String> {
        match self.peek()? {
            '"' | '\'' | '“' | '”' | '‘' | '’' | '`' => Some(self.string()),
            _ => {
                let rest = self.rest();
                let end =
                    rest.find(|c: char| ":,{}[]\"'".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
                self.place += end;
                (end > 0).then(|| rest[..end].to_owned())
            }
        }
    }

    /// A string in any quotes; without a closing quote it extends to the end.
    fn string(&mut self) -> String {
        let open = self.peek().unwrap_or('"');
        self.place += open.len_utf8();
        let closes = |character: char| match open {
            '“' | '”' => character == '”' || character == '“',
            '‘' | '’' => character == '’' || character == '‘',
            other => character == other,
        };
        let mut all = String::new();
        while let Some(character) = self.peek() {
            self.place += character.len_utf8();
            match character {
                _ if closes(character) => break,
                '\\' => self.escape(&mut all),
                other => all.push(other),
            }
        }
        all
    }

    fn escape(&mut self, all: &mut String) {
        let Some(character) = self.peek() else { return };
        self.place += character.len_utf8();
        match character {
            'n' => all.push('\n'),
            't' => all.push('\t'),
            'r' => all.push('\r'),
            'b' => all.push('\u{8}'),
            'f' => all.push('\u{c}'),
            'u' => all.push(self.unicode()),
            other => all.push(other),
        }
    }

    /// The character of `\uXXXX`, including a second surrogate.
    fn unicode(&mut self) -> char {
        let first = self.hex();
        if let 0xd800..=0xdbff = first
            && self.rest().starts_with("\\u")
        {
            let before = self.place;
            self.place += 2;
            let second = self.hex();
            if let 0xdc00..=0xdfff = second {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.place = before;
        }
        char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> u32 {
        let digits: String = self.rest().chars().take(4).take_while(char::is_ascii_hexdigit).collect();
        self.place += digits.len();
        u32::from_str_radix(&digits, 16).unwrap_or(0xfffd)
    }

    /// A number, `true`, `null`, their names in Python and JavaScript, or a string without quotes.
    fn word(&mut self) -> Option<Value> {
        let rest = self.rest();
        let end = rest.find(|c: char| ",{}[]\"\n".contains(c)).unwrap_or(rest.len());
        // A comment ends a word too.
        let end = [" //", "/*", " #"].iter().filter_map(|mark| rest[..end].find(mark)).min().unwrap_or(end);
        let word = rest[..end].trim_end();
        if word.is_empty() {
            return None;
        }
        self.place += word.len();
        Some(match word {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            "null" | "None" | "undefined" | "NaN" | "Infinity" | "-Infinity" => Value::Null,
            _ => number(word).map_or_else(|| Value::String(word.to_owned()), Value::Number),
        })
    }
}

fn number(word: &str) -> Option<Number> {
    if let Ok(number) = serde_json::from_str::<Number>(word) {
        return Some(number);
    }
    let plain = word.strip_prefix('+').unwrap_or(word);
    let starts = plain.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let float: f64 = if starts { plain.parse().ok()? } else { return None };
    if float.fract() == 0.0 && float.abs() < 9e15 {
        return format!("{float:.0}").parse::<i64>().ok().map(Number::from);
    }
    Number::from_f64(float)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn careless_json_is_read_as_it_was_meant() {
        let cases = [
            ("{a: 1, 'b': \"c\", d: True,}", json!({"a": 1, "b": "c", "d": true})),
            ("[1, 2, 3", json!([1, 2, 3])),
            ("{\"a\": \"unfinished", json!({"a": "unfinished"})),
            ("{\"a\": [1, {\"b\": 2", json!({"a": [1, {"b": 2}]})),
            ("{\"a\": 1 \"b\": 2}", json!({"a": 1, "b": 2})),
            ("{\"a\": None, // note\n \"b\": .5}", json!({"a": null, "b": 0.5})),
            ("{“a”: “b”}", json!({"a": "b"})),
            (
                "{\"a\": \"line\nbreak\", \"u\": \"\\u00e9\\ud83d\\ude00\"}",
                json!({"a": "line\nbreak", "u": "é😀"}),
            ),
            ("{a: plain words, b: 007}", json!({"a": "plain words", "b": 7})),
            ("{\"a\":}", json!({"a": null})),
            ("{\"a\": [1, 2}", json!({"a": [1, 2]})),
        ];
        for (text, expected) in cases {
            assert_eq!(repair_json(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in ["", "{a, b}", "{: 1}", "]", "{\"a\": 1} and more"] {
            assert_eq!(repair_json(text), None, "{text}");
        }
        assert_eq!(repair_json(&"[".repeat(100_000)), None);
    }
}
