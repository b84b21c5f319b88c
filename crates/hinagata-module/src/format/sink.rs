//! Destinations of text.

use serde_json::Value;

use super::line::split_line_ends;
use crate::{
    Element,
    record::{RecordedText, text_address},
};

/// Receives text: a string unchanged, a JSON string with escapes.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);

    /// Writes a text that needs no escapes: letters, digits, spaces and most signs, but no quotes and no line ends.
    fn put_plain(&mut self, text: &str) {
        self.put(text);
    }

    /// Writes a literal; `escaped` is its form in a JSON string.
    fn put_known(&mut self, text: &'static str, escaped: &'static str) {
        let _ = escaped;
        self.put(text);
    }

    /// Writes a number.
    fn put_number(&mut self, number: u64) {
        self.put_plain(itoa::Buffer::new().format(number));
    }

    /// Writes a text on one line: a space replaces each line end.
    fn put_line(&mut self, text: &str) {
        for (index, piece) in split_line_ends(text).enumerate() {
            if index > 0 {
                self.put_plain(" ");
            }
            self.put(piece);
        }
    }

    /// Writes `text`, the JSON of `value`.
    fn put_value(&mut self, text: &str, value: &Value) {
        let _ = value;
        self.put(text);
    }

    /// Notes that what follows is the text of an element.
    fn enter_element(&mut self, element: &Element) {
        let _ = element;
    }

    /// Notes the end of the element.
    fn leave_element(&mut self) {}

    fn put_all(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.put(text));
    }
}

impl Sink for RecordedText {
    fn put(&mut self, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.record.add_text(start..self.text.len(), text_address(text), false);
    }

    fn put_value(&mut self, text: &str, value: &Value) {
        let start = self.text.len();
        self.text.push_str(text);
        self.record.add_text(start..self.text.len(), std::ptr::from_ref(value).addr(), false);
    }

    fn enter_element(&mut self, element: &Element) {
        self.record.enter_element(self.text.len(), element);
    }

    fn leave_element(&mut self) {
        self.record.leave_element(self.text.len());
    }
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}
