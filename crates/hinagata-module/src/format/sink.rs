//! Where text is written to.

/// Takes text piece by piece: a string takes it as it is, a JSON string with escapes.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);

    fn put_all(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.put(text));
    }
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}
