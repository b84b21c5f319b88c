//! The destination of formatted text: the output, or a string that becomes a value.

use hinagata_value::{Budget, Heap, Output, Provenance, Result, Site, Text, Value};

/// A destination of formatted text.
pub(crate) trait Sink {
    /// Appends text.
    fn write_text(&mut self, text: &str) -> Result<()>;

    /// Appends bytes that need not be UTF-8.
    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.write_text(text),
            Err(_) => self.write_raw(bytes),
        }
    }

    /// Appends bytes that are not UTF-8.
    fn write_raw(&mut self, bytes: &[u8]) -> Result<()>;

    /// The budget that is charged.
    fn budget(&self) -> &Budget;
}

/// The output of the render. All text has the same site.
pub(crate) struct Direct<'o, 'a, P: Provenance> {
    pub(crate) output: &'o mut Output<'a, P>,
    pub(crate) site: Site,
    pub(crate) budget: &'a Budget,
}

impl<P: Provenance> Sink for Direct<'_, '_, P> {
    #[inline]
    fn write_text(&mut self, text: &str) -> Result<()> {
        self.output.write(text, self.site)
    }

    fn write_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.output.write_bytes(bytes, self.site)
    }

    fn budget(&self) -> &Budget {
        self.budget
    }
}

/// A string that is being built. It is text as long as all appended bytes are UTF-8.
pub(crate) struct Building<'a> {
    text: Text<'a>,
    /// All bytes so far, after bytes that are not UTF-8 were appended. Charged by length.
    bytes: Option<Vec<u8>>,
    budget: &'a Budget,
}

impl<'a> Building<'a> {
    pub(crate) fn new(heap: &Heap<'a>) -> Self {
        Self { text: heap.text(), bytes: None, budget: heap.budget() }
    }

    /// The string as a value.
    pub(crate) fn finish(mut self, heap: &Heap<'a>) -> Result<Value<'a>> {
        match &self.bytes {
            None => Ok(Value::Str(std::mem::replace(&mut self.text, heap.text()).into_shared()?)),
            Some(bytes) => heap.bytes(bytes),
        }
    }

    /// The bytes so far.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or(self.text.as_str().as_bytes())
    }

    fn push_bytes(&mut self, more: &[u8]) -> Result<()> {
        self.budget.step_bytes(more.len())?;
        if self.bytes.is_none() {
            let so_far = self.text.as_str().as_bytes();
            self.budget.charge_bytes(so_far.len())?;
            self.bytes = Some(so_far.to_vec());
        }
        self.budget.charge_bytes(more.len())?;
        self.bytes.get_or_insert_default().extend_from_slice(more);
        Ok(())
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.budget.release_bytes(self.bytes.as_ref().map_or(0, Vec::len));
    }
}

impl Sink for Building<'_> {
    #[inline]
    fn write_text(&mut self, text: &str) -> Result<()> {
        if self.bytes.is_some() { self.push_bytes(text.as_bytes()) } else { self.text.push_str(text) }
    }

    fn write_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.push_bytes(bytes)
    }

    fn budget(&self) -> &Budget {
        self.budget
    }
}
