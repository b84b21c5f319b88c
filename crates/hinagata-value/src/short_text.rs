//! A text that is too short to reach a limit, so that nothing has to be counted while it is written.

use serde_json::{Number, Value as Json};

use crate::{AbsentReason, InputsId, Limits, Off, Provenance, Site, Source, Written, budget::CHUNK};

/// The smallest byte budget with room for the buffers of a render.
const LEAST_BYTES: usize = 4096;

/// A text that refuses whatever could reach a limit. What it refuses has to be rendered with a [`crate::Budget`], which
/// has the same result or the exact error.
#[derive(Debug)]
pub struct ShortText<P: Provenance = Off> {
    text: String,
    provenance: P,
    /// The most bytes that cannot reach a limit.
    most: usize,
    /// Whether a value was printed.
    value: bool,
}

impl<P: Provenance> ShortText<P> {
    /// An empty text with room for a number of bytes and recorded pieces. Its template takes `steps` steps, besides those
    /// for the bytes. `None` if the limits are too small to be sure.
    #[inline]
    #[must_use]
    pub fn new(limits: &Limits, steps: u64, (bytes, pieces): (usize, usize)) -> Option<Self> {
        // Within the first chunk of steps, no render looks at the clock or whether it is cancelled.
        let left = limits.steps.min(CHUNK.unsigned_abs()).checked_sub(steps)?;
        if limits.bytes < LEAST_BYTES || limits.calls == 0 || limits.templates == 0 {
            return None;
        }
        // A buffer may have twice the bytes that are written to it. A character has at least one byte.
        let most = (left as usize) << 6;
        let most = most.min(limits.bytes / 4).min(limits.output.unwrap_or(usize::MAX));
        let mut provenance = P::default();
        if P::ON {
            provenance.reserve(pieces);
        }
        Some(Self { text: String::with_capacity(bytes.min(most)), provenance, most, value: false })
    }

    /// The length after `text` is appended; `None` if it could reach a limit.
    #[inline(always)]
    fn end_of(&self, text: &str) -> Option<usize> {
        Some(self.text.len() + text.len()).filter(|end| *end <= self.most)
    }

    /// Writes literal `text` of the template at `site`; `None` if it is refused.
    #[inline(always)]
    #[must_use]
    pub fn write_literal(&mut self, text: &str, site: Site) -> Option<()> {
        self.provenance.record_text(self.end_of(text)?, site);
        self.text.push_str(text);
        Some(())
    }

    /// Writes data that the node at `site` prints: a string, or a number for which `integer` returns the number whose
    /// digits are printed. `None` if it is refused.
    #[inline(always)]
    #[must_use]
    pub fn write_data(
        &mut self,
        data: &Json,
        site: Site,
        integer: impl FnOnce(&Number) -> Option<i64>,
    ) -> Option<()> {
        match data {
            Json::String(text) => self.write_value(text, data, site),
            Json::Number(number) => {
                self.write_value(itoa::Buffer::new().format(integer(number)?), data, site)
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn write_value(&mut self, text: &str, data: &Json, site: Site) -> Option<()> {
        let (end, inputs) = (self.end_of(text)?, InputsId::from_data(data));
        self.value = true;
        if P::ON && text.is_empty() {
            self.provenance.record_absent(end, site, AbsentReason::EmptyValue, inputs);
        }
        self.provenance.record_source(end, site, Source::Data(inputs));
        self.text.push_str(text);
        Some(())
    }

    /// The text and its origins.
    #[must_use]
    pub fn finish(self) -> Written<P> {
        let Self { text, provenance, value: ends_with_value, .. } = self;
        Written { text, marks: Vec::new(), ends_with_value, provenance }
    }
}
