//! Destinations of text.

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

    fn put_all(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.put(text));
    }
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}
