//! Where text is written to.

/// Takes text piece by piece: a string takes it as it is, a JSON string with escapes.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);

    /// Takes a text of ours that needs no escapes: letters, digits, spaces and most signs, but no quotes and no line ends.
    fn put_plain(&mut self, text: &'static str) {
        self.put(text);
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
