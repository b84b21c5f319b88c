//! Writes JSON directly into a string.
//!
//! Requests are mostly text. They are written without an intermediate tree, and runs of text without escapes are copied
//! at once.

use serde_json::Value;

use super::number;
use crate::{
    Element,
    format::Sink,
    record::{TextRecord, text_address},
};

/// Writes one JSON document.
pub(crate) struct Writer {
    out: String,
    /// What was written where, if it is recorded.
    record: Option<Box<TextRecord>>,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self::from_buffer(String::new())
    }

    /// Writes into the memory of an empty string.
    pub(crate) fn from_buffer(out: String) -> Self {
        Self { out, record: None }
    }

    /// Records what is written.
    pub(crate) fn with_record(self) -> Self {
        Self { record: Some(Box::default()), ..self }
    }

    pub(crate) fn into_recorded(self) -> (String, TextRecord) {
        (self.out, self.record.map(|record| *record).unwrap_or_default())
    }

    pub(crate) fn into_string(self) -> String {
        self.out
    }

    /// Writes a comma, unless this is the first item or the value of a key. Text with such a last character ends with a
    /// quote.
    fn write_comma(&mut self) {
        match self.out.as_bytes().last() {
            None | Some(b'{' | b'[' | b':') => {}
            Some(_) => self.out.push(','),
        }
    }

    /// Writes a literal key, which needs no escapes.
    pub(crate) fn write_key(&mut self, key: &'static str) {
        self.write_comma();
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
    }

    /// Writes a key from data.
    pub(crate) fn write_data_key(&mut self, key: &str) {
        self.write_comma();
        self.out.push('"');
        push_escaped(key, &mut self.out);
        self.out.push_str("\":");
    }

    pub(crate) fn write_object<T>(&mut self, fill: impl FnOnce(&mut Self) -> T) -> T {
        self.write_comma();
        self.out.push('{');
        let result = fill(self);
        self.out.push('}');
        result
    }

    pub(crate) fn write_list<T>(&mut self, fill: impl FnOnce(&mut Self) -> T) -> T {
        self.write_comma();
        self.out.push('[');
        let result = fill(self);
        self.out.push(']');
        result
    }

    pub(crate) fn write_string(&mut self, text: &str) {
        self.write_text(|sink| sink.put(text));
    }

    /// Writes a string whose text is written in pieces.
    pub(crate) fn write_text<T>(&mut self, fill: impl FnOnce(&mut Escaped<'_>) -> T) -> T {
        self.write_comma();
        self.out.push('"');
        let result = fill(&mut Escaped { out: &mut self.out, record: self.record.as_deref_mut() });
        self.out.push('"');
        result
    }

    /// Writes literal members that are already JSON, followed by the key of the next value.
    pub(crate) fn write_raw_fields(&mut self, json: &'static str) {
        self.write_comma();
        self.out.push_str(json);
    }

    pub(crate) fn write_field(&mut self, key: &'static str, text: &str) {
        self.write_key(key);
        self.write_string(text);
    }

    pub(crate) fn write_value_field(&mut self, key: &'static str, value: &Value) {
        self.write_key(key);
        self.write_value(value);
    }

    /// Writes a value as JavaScript does.
    ///
    /// Values come from documents, whose readers limit the depth.
    pub(crate) fn write_value(&mut self, value: &Value) {
        match value {
            Value::Null => self.write_raw("null"),
            Value::Bool(true) => self.write_raw("true"),
            Value::Bool(false) => self.write_raw("false"),
            Value::Number(number) => {
                self.write_comma();
                number::write_number(number, &mut self.out);
            }
            Value::String(text) => self.write_string(text),
            Value::Array(items) => {
                self.write_list(|writer| items.iter().for_each(|item| writer.write_value(item)));
            }
            Value::Object(entries) => self.write_object(|writer| {
                for (key, value) in entries {
                    writer.write_data_key(key);
                    writer.write_value(value);
                }
            }),
        }
    }

    /// Writes a value as it was read, with numbers in the same notation.
    pub(crate) fn write_source(&mut self, value: &Value) {
        match self.record {
            None => self.write_raw(&value.to_string()),
            Some(_) => self.write_recorded_source(value, false),
        }
    }

    /// Writes a value as it was read, and records its strings. Those of `role` and `type` are words of the format.
    fn write_recorded_source(&mut self, value: &Value, is_word: bool) {
        match value {
            Value::String(text) => {
                self.write_comma();
                self.out.push('"');
                let start = self.out.len();
                push_escaped(text, &mut self.out);
                let range = start..self.out.len();
                if let Some(record) = self.record.as_mut().filter(|_| !is_word) {
                    record.add_text(range, text_address(text), true);
                }
                self.out.push('"');
            }
            Value::Array(items) => {
                self.write_list(|writer| {
                    items.iter().for_each(|item| writer.write_recorded_source(item, is_word));
                });
            }
            Value::Object(entries) => self.write_object(|writer| {
                for (key, value) in entries {
                    writer.write_data_key(key);
                    writer.write_recorded_source(value, key == "role" || key == "type");
                }
            }),
            other => self.write_raw(&other.to_string()),
        }
    }

    fn write_raw(&mut self, text: &str) {
        self.write_comma();
        self.out.push_str(text);
    }
}

/// Text inside the quotes of a string.
pub(crate) struct Escaped<'w> {
    out: &'w mut String,
    record: Option<&'w mut TextRecord>,
}

impl Sink for Escaped<'_> {
    fn put(&mut self, text: &str) {
        let start = self.out.len();
        push_escaped(text, self.out);
        if let Some(record) = &mut self.record {
            record.add_text(start..self.out.len(), text_address(text), false);
        }
    }

    fn put_plain(&mut self, text: &str) {
        let start = self.out.len();
        self.out.push_str(text);
        if let Some(record) = &mut self.record {
            record.add_text(start..self.out.len(), text_address(text), false);
        }
    }

    fn put_value(&mut self, text: &str, value: &Value) {
        let start = self.out.len();
        push_escaped(text, self.out);
        if let Some(record) = &mut self.record {
            record.add_text(start..self.out.len(), std::ptr::from_ref(value).addr(), false);
        }
    }

    fn enter_element(&mut self, element: &Element) {
        if let Some(record) = &mut self.record {
            record.enter_element(self.out.len(), element);
        }
    }

    fn leave_element(&mut self) {
        if let Some(record) = &mut self.record {
            record.leave_element(self.out.len());
        }
    }

    fn put_known(&mut self, text: &'static str, escaped: &'static str) {
        debug_assert_eq!(escape_text(text), escaped, "the escapes of a text of ours");
        self.out.push_str(escaped);
    }
}

/// Bytes per word.
const LANES: usize = 8;
const ONES: u64 = u64::from_ne_bytes([1; LANES]);
const HIGH: u64 = ONES << 7;

/// Sets the high bit of the first byte that needs an escape; higher bytes may be set wrongly.
const fn special_bits(word: u64) -> u64 {
    const fn zeros(word: u64) -> u64 {
        word.wrapping_sub(ONES) & !word & HIGH
    }
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    control | zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64))
}

/// Bytes that are compared without an early exit, which takes few instructions: most runs are longer.
const BLOCK: usize = 32;

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The index of the first byte that needs an escape.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let is_clean = |block: &&[u8; BLOCK]| !block.iter().fold(false, |any, byte| any | is_special(*byte));
    let clean = blocks.iter().take_while(is_clean).count() * BLOCK;
    Some(clean + first_special_word(&bytes[clean..])?)
}

fn first_special_word(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<LANES>();
    for (index, word) in words.iter().enumerate() {
        let found = special_bits(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(index * LANES + found.trailing_zeros() as usize / 8);
        }
    }
    Some(words.len() * LANES + rest.iter().position(|byte| is_special(*byte))?)
}

/// Appends `text` with the escapes of a JSON string.
pub(super) fn push_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(place) = first_special(rest.as_bytes()) {
        out.push_str(&rest[..place]);
        push_escape(rest.as_bytes()[place], out);
        // Bytes that need an escape are single characters.
        rest = &rest[place + 1..];
    }
    out.push_str(rest);
}

/// `text` with the escapes of a JSON string, as requests contain it.
#[must_use]
pub fn escape_text(text: &str) -> String {
    let mut escaped = String::new();
    push_escaped(text, &mut escaped);
    escaped
}

fn push_escape(byte: u8, out: &mut String) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

pub(super) fn write_pretty(value: &Value, depth: usize, out: &mut String) {
    let indent = |depth: usize, out: &mut String| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                indent(depth + 1, out);
                write_pretty(item, depth + 1, out);
            }
            indent(depth, out);
            out.push(']');
        }
        Value::Object(entries) if !entries.is_empty() => {
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                indent(depth + 1, out);
                out.push('"');
                push_escaped(key, out);
                out.push_str("\": ");
                write_pretty(value, depth + 1, out);
            }
            indent(depth, out);
            out.push('}');
        }
        other => {
            let mut writer = Writer::new();
            writer.write_value(other);
            out.push_str(&writer.into_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::{to_compact_string, to_pretty_string};

    #[test]
    fn every_character_comes_back() {
        let text: String =
            (0..0x300).filter_map(char::from_u32).chain("日本😀\u{2028}\u{feff}".chars()).collect();
        for start in 0..40 {
            let text: String = text.chars().skip(start).collect();
            let value = json!({"a\"b": text, "empty": [], "none": null, "n": [1.0, -2, true]});
            let read: Value = serde_json::from_str(&to_compact_string(&value)).expect("is JSON");
            assert_eq!(read["a\"b"], value["a\"b"]);
            assert_eq!(serde_json::from_str::<Value>(&to_pretty_string(&value)).expect("is JSON"), read);
        }
    }

    #[test]
    fn every_byte_is_looked_at_wherever_it_stands() {
        for byte in 0..=255_u8 {
            for place in 0..80 {
                let mut bytes = [b'a'; 80];
                bytes[place] = byte;
                bytes[79] = b'"';
                let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                let wanted = if special && place < 79 { place } else { 79 };
                assert_eq!(first_special(&bytes), Some(wanted), "{byte} at {place}");
            }
        }
        assert_eq!(first_special("日本のテキスト".as_bytes()), None);
    }

    #[test]
    fn a_control_character_is_escaped_in_small_letters() {
        assert_eq!(
            to_compact_string(&json!("\u{1}\u{1f}\u{7f}\u{8}\u{c}")),
            "\"\\u0001\\u001f\u{7f}\\b\\f\""
        );
    }

    #[test]
    fn empty_lists_and_maps_stay_on_their_line() {
        assert_eq!(
            to_pretty_string(&json!({"a": [], "b": {}, "c": [1]})),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1\n  ]\n}"
        );
    }
}
