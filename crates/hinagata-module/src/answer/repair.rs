//! A lenient parser for JSON as models write it.
//!
//! It accepts single and missing quotes, quotes inside of strings, comments, missing, doubled and trailing commas, missing
//! colons, Python's `True` and `None`, line breaks in strings, escaped quotes around strings, function calls around values,
//! joined strings, ellipses, and text that ends early.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

/// Deeper values are rejected.
const DEEPEST: u32 = 128;

/// The value of `text`; `None` if it cannot be repaired.
pub(super) fn repair_json(text: &str) -> Option<Value> {
    repair_json_with_notes(text).map(|(value, _)| value)
}

/// The value of `text`, and what had to be repaired.
pub(super) fn repair_json_with_notes(text: &str) -> Option<(Value, BTreeSet<&'static str>)> {
    let unescaped = unescape_quotes(text);
    let text = unescaped.as_deref().unwrap_or(text);
    let mut reader = Reader { text, place: 0, notes: BTreeSet::new() };
    if unescaped.is_some() {
        reader.note("removed backslashes before all quotes");
    }
    let value = reader.value(0)?;
    reader.blank();
    while reader.take('}') || reader.take(']') || reader.take(';') {
        reader.note("removed brackets that close nothing");
        reader.blank();
    }
    (reader.place == reader.text.len()).then_some((value, reader.notes))
}

/// The text of an object or list in which every quote is escaped, as if it were the content of a string.
fn unescape_quotes(text: &str) -> Option<String> {
    let inner = text.trim_start_matches(['{', '[', ' ', '\n', '\r', '\t']);
    (inner.len() < text.len() && inner.starts_with("\\\"")).then(|| text.replace("\\\"", "\""))
}

struct Reader<'t> {
    text: &'t str,
    place: usize,
    notes: BTreeSet<&'static str>,
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

    fn note(&mut self, what: &'static str) {
        self.notes.insert(what);
    }

    /// Records that the text ends before the value does.
    fn note_end(&mut self) {
        self.note("the text ends early: what was open is closed");
    }

    /// Skips white space and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(is_blank);
            self.place += rest.len() - trimmed.len();
            if let Some(comment) = trimmed.strip_prefix("/*") {
                self.place += 2 + comment.find("*/").map_or(comment.len(), |end| end + 2);
            } else if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.place += trimmed.find('\n').unwrap_or(trimmed.len());
            } else {
                return;
            }
            self.note("removed comments");
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
            quote if is_quote(quote) => Some(Value::String(self.joined_strings())),
            _ => self.word(depth),
        }
    }

    fn object(&mut self, depth: u32) -> Option<Value> {
        self.take('{');
        let mut all = Map::new();
        let mut is_first = true;
        loop {
            self.separator(is_first);
            is_first = false;
            match self.peek() {
                None => {
                    self.note_end();
                    break;
                }
                Some('}') => {
                    self.place += 1;
                    break;
                }
                // The closing bracket is missing, and the enclosing list continues.
                Some(']') if !all.is_empty() => {
                    self.note("added missing brackets");
                    break;
                }
                Some(_) => {}
            }
            let key = self.key()?;
            self.blank();
            if !self.take(':') {
                match self.peek() {
                    // A key that the end cuts off has no value.
                    None => {
                        self.note_end();
                        break;
                    }
                    Some(next) if starts_value(next) => self.note("added missing colons"),
                    Some(_) => return None,
                }
            }
            self.blank();
            let value = match self.peek() {
                None | Some('}' | ',') => {
                    self.note("a missing value became null");
                    Value::Null
                }
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
            self.separator(all.is_empty());
            match self.peek() {
                None => {
                    self.note_end();
                    break;
                }
                Some(']') => {
                    self.place += 1;
                    break;
                }
                // The closing bracket is missing, and the enclosing object continues.
                Some('}') => {
                    self.note("added missing brackets");
                    break;
                }
                Some(_) => all.push(self.value(depth + 1)?),
            }
        }
        Some(Value::Array(all))
    }

    /// Skips the comma between two items, and whatever stands in its place.
    fn separator(&mut self, is_first: bool) {
        self.blank();
        let mut commas = 0;
        loop {
            if self.take(',') {
                commas += 1;
            } else if self.rest().starts_with("...") || self.rest().starts_with('…') {
                self.place += self.rest().len() - self.rest().trim_start_matches(['.', '…']).len();
                self.note("removed ellipses");
            } else {
                break;
            }
            self.blank();
        }
        let ends = matches!(self.peek(), None | Some('}' | ']'));
        match commas {
            0 if !is_first && !ends => self.note("added missing commas"),
            0 => {}
            1 if !is_first && !ends => {}
            _ => self.note("removed superfluous commas"),
        }
    }

    fn key(&mut self) -> Option<String> {
        if is_quote(self.peek()?) {
            return Some(self.string());
        }
        let rest = self.rest();
        let end = rest.find(|c: char| ":,{}[]\"'".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
        self.place += end;
        self.note("added missing quotes");
        (end > 0).then(|| rest[..end].to_owned())
    }

    /// A string, and those that `+` joins to it.
    fn joined_strings(&mut self) -> String {
        let mut all = self.string();
        loop {
            let before = self.place;
            self.blank();
            let is_joined = self.take('+') && {
                self.blank();
                self.peek().is_some_and(is_quote)
            };
            if !is_joined {
                self.place = before;
                return all;
            }
            self.note("joined strings");
            all.push_str(&self.string());
        }
    }

    /// A string in any quotes; without a closing quote it extends to the end.
    fn string(&mut self) -> String {
        let open = self.peek().unwrap_or('"');
        if open != '"' {
            self.note("replaced other quotes by double quotes");
        }
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
                _ if closes(character) && self.is_end_of_string() => return all,
                _ if closes(character) => {
                    self.note("escaped quotes inside of strings");
                    all.push(character);
                }
                '\\' => self.escape(&mut all),
                '\n' | '\r' | '\t' => {
                    self.note("escaped line breaks in strings");
                    all.push(character);
                }
                other => all.push(other),
            }
        }
        self.give_back_brackets(&mut all);
        all
    }

    /// Whether a quote ends its string: what follows belongs to the structure around it.
    fn is_end_of_string(&self) -> bool {
        let rest = self.rest();
        let next = rest.trim_start_matches(is_blank);
        match next.chars().next() {
            None => true,
            Some(',' | ':' | '}' | ']' | '+' | ')' | ';' | '#') => true,
            Some('/') => next.starts_with("//") || next.starts_with("/*"),
            // The comma or the colon between two values is missing.
            Some(next) => {
                is_quote(next)
                    || next == '{'
                    || next == '['
                    || rest.starts_with('\n')
                    || next.is_ascii_digit()
            }
        }
    }

    /// Ends a string that the end of the text cuts off before the brackets at its end, which are those around it.
    fn give_back_brackets(&mut self, all: &mut String) {
        self.note_end();
        let kept = all.trim_end_matches(|c: char| is_blank(c) || c == '}' || c == ']');
        let given = &all[kept.len()..];
        if given.contains(['}', ']']) {
            self.place -= given.len();
            all.truncate(kept.len());
        }
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
            'u' => all.extend(self.unicode()),
            '"' | '\\' | '/' | '\'' | '`' | '\n' => all.push(character),
            // A path of Windows or a formula: the backslash is meant.
            other => {
                self.note("escaped backslashes");
                all.push('\\');
                all.push(other);
            }
        }
    }

    /// The character of `\uXXXX`, including a second surrogate; `None` if the end cuts it off.
    fn unicode(&mut self) -> Option<char> {
        if self.rest().len() < 4 && self.rest().chars().all(|c| c.is_ascii_hexdigit()) {
            self.place = self.text.len();
            return None;
        }
        let first = self.hex();
        if let 0xd800..=0xdbff = first
            && self.rest().starts_with("\\u")
        {
            let before = self.place;
            self.place += 2;
            let second = self.hex();
            if let 0xdc00..=0xdfff = second {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.place = before;
        }
        Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> u32 {
        let digits: String = self.rest().chars().take(4).take_while(char::is_ascii_hexdigit).collect();
        self.place += digits.len();
        u32::from_str_radix(&digits, 16).unwrap_or(0xfffd)
    }

    /// A number, `true`, `null`, their names in Python and JavaScript, a function call around a value, or a string without
    /// quotes.
    fn word(&mut self, depth: u32) -> Option<Value> {
        let rest = self.rest();
        let name =
            rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || "_.$".contains(c)).len();
        if name > 0 && rest[name..].starts_with('(') {
            return self.function(name, depth);
        }
        let end = rest.find(|c: char| ",{}[]\"\n".contains(c)).unwrap_or(rest.len());
        // A comment ends a word too.
        let end = [" //", "/*", " #"].iter().filter_map(|mark| rest[..end].find(mark)).min().unwrap_or(end);
        let word = rest[..end].trim_end();
        if word.is_empty() {
            return None;
        }
        // Numbers without commas between them.
        let first = word.split_ascii_whitespace().next().unwrap_or(word);
        if serde_json::from_str::<Number>(first).is_ok() {
            let number = serde_json::from_str(first).ok()?;
            let others = word[first.len()..].trim_start();
            if others.is_empty() || others.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                self.place += first.len();
                return Some(Value::Number(number));
            }
        }
        self.place += word.len();
        let value = match word {
            "true" => return Some(Value::Bool(true)),
            "false" => return Some(Value::Bool(false)),
            "null" => return Some(Value::Null),
            "True" | "TRUE" => Value::Bool(true),
            "False" | "FALSE" => Value::Bool(false),
            "None" | "undefined" | "NaN" | "Infinity" | "-Infinity" => Value::Null,
            _ => match number(word) {
                Some(number) => {
                    self.note("replaced numbers of other notations");
                    return Some(Value::Number(number));
                }
                None => {
                    self.note("added missing quotes");
                    return Some(Value::String(word.to_owned()));
                }
            },
        };
        self.note("replaced constants of other languages");
        Some(value)
    }

    /// The value in a function call, such as `callback({…})` or `ObjectId("…")`; `name` is the length of its name.
    fn function(&mut self, name: usize, depth: u32) -> Option<Value> {
        self.place += name + 1;
        let value = self.value(depth + 1)?;
        self.blank();
        if !self.take(')') {
            if self.peek().is_some() {
                return None;
            }
            self.note_end();
        }
        self.take(';');
        self.note("removed function calls around values");
        Some(value)
    }
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

const fn is_quote(character: char) -> bool {
    matches!(character, '"' | '\'' | '“' | '”' | '‘' | '’' | '`')
}

/// Whether a value can start with this character where a colon is missing.
fn starts_value(character: char) -> bool {
    is_quote(character) || matches!(character, '{' | '[' | '-') || character.is_alphanumeric()
}

/// A number in a notation that JSON does not have: `+5`, `.5`, `2.`, `2e`. Leading zeros may be meant as text.
fn number(word: &str) -> Option<Number> {
    let plain = word.strip_prefix('+').unwrap_or(word);
    let digits = plain.strip_prefix('-').unwrap_or(plain);
    let is_padded = digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit());
    if is_padded || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let float: f64 = plain.trim_end_matches(['e', 'E', '.', '-', '+']).parse().ok()?;
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
            ("{a: plain words, b: 007}", json!({"a": "plain words", "b": "007"})),
            ("{\"a\":}", json!({"a": null})),
            ("{\"a\": [1, 2}", json!({"a": [1, 2]})),
            ("{\"path\": \"C:\\dir\"}", json!({"path": "C:\\dir"})),
            ("{\"a\": \"say \"yes\" now\"}", json!({"a": "say \"yes\" now"})),
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
