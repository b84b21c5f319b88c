//! The output of a render: text, and marks for parts that are not text.

use std::{fmt, rc::Rc, sync::Arc};

use serde_json::Value as Json;

use crate::{
    Budget, CallId, Error, ErrorKind, Extent, Metered, Provenance, Result, Site, Source, Text, Value,
    document::document_bytes,
    metered::{grow_to, rc_bytes, rc_size},
    provenance::Off,
};

/// A part of the output that is not text, so that no text can forge it.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its byte offset in the text.
    pub offset: usize,
    /// Its kind.
    pub kind: MarkKind,
    /// Whether a value was printed since the previous mark, even an empty one. So the structure of messages does
    /// not depend on the content of data.
    pub after_value: bool,
}

/// The kind of a [`Mark`].
#[derive(Clone, Debug)]
pub enum MarkKind {
    /// The result of a pending call.
    Pending(CallId),
    /// Bytes that are not UTF-8.
    Bytes(Rc<[u8]>),
    /// A part of the structure: the start of a message, media or a resource.
    Part(Arc<Part>),
}

impl MarkKind {
    /// Heap bytes of this mark. Shared bytes count for each mark.
    fn extent(&self) -> usize {
        match self {
            Self::Bytes(bytes) => rc_bytes(bytes.len()),
            Self::Part(part) => rc_size::<Part>() + part.kind.len() + document_bytes(&part.content),
            Self::Pending(_) => 0,
        }
    }

    /// Characters that this mark adds to the output.
    fn characters(&self) -> usize {
        match self {
            Self::Bytes(bytes) => characters(bytes),
            Self::Pending(_) | Self::Part(_) => 0,
        }
    }
}

/// Number of characters in bytes that may not be UTF-8. As in Go, each invalid byte counts as one.
fn characters(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

/// A piece of structure that a host function adds to the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its kind: `role`, `media` or `resource`.
    pub kind: String,
    /// Its content, in the format of the function that created it.
    pub content: Json,
}

/// Captured output with marks. It can be printed as a whole, with its marks.
///
/// Operations that need its text must wait for the calls in it, and fail if it contains a part.
#[derive(Debug)]
pub struct Pieces<'a> {
    text: Text<'a>,
    marks: Vec<Mark>,
    ends_with_value: bool,
}

impl Pieces<'_> {
    /// The text, without the marks.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The marks in the order of their places.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.marks.iter().filter_map(|mark| match &mark.kind {
            MarkKind::Part(part) => Some(&**part),
            MarkKind::Pending(_) | MarkKind::Bytes(_) => None,
        })
    }

    /// Whether a call in it is pending.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.marks.iter().any(|mark| matches!(mark.kind, MarkKind::Pending(_)))
    }
}

/// The text charges itself, so only the list of marks counts.
impl Extent for Pieces<'_> {
    fn extent(&self) -> usize {
        let held: usize = self.marks.iter().map(|mark| mark.kind.extent()).sum();
        self.marks.capacity() * size_of::<Mark>() + held
    }
}

/// The destination of a template: the output of the render, or a capture.
///
/// `P` decides whether the origin of each piece is recorded. With [`Off`], no such code is compiled in.
pub struct Output<'a, P: Provenance = Off> {
    text: Text<'a>,
    marks: Marks<'a>,
    provenance: P,
    /// Whether a value was printed since the last mark.
    value: bool,
    /// Rejects parts that are not allowed in this output.
    check: Option<PartCheck>,
}

/// Checks whether a part is allowed in an output.
pub type PartCheck = fn(&Part) -> Result<()>;

/// The marks of an unfinished output, which are charged until it ends.
struct Marks<'a> {
    budget: &'a Budget,
    list: Vec<Mark>,
    /// Charged bytes of the marks.
    held: usize,
}

impl Marks<'_> {
    /// Reserves room for `count` more marks with `extent` bytes.
    fn make_room(&mut self, count: usize, extent: usize) -> Result<()> {
        self.budget.charge_steps((count as u64).saturating_add(extent as u64 >> 6))?;
        let (capacity, needed) = (self.list.capacity(), self.list.len() + count);
        if needed > capacity {
            grow_to(&mut self.list, needed.max(capacity * 2).max(4), self.budget)?;
        }
        self.budget.charge_bytes(extent)?;
        self.held += extent;
        Ok(())
    }

    /// Releases reserved but unused room.
    fn release(&mut self, extent: usize) {
        self.budget.release_bytes(extent);
        self.held -= extent;
    }

    /// The marks themselves, no longer charged.
    fn take(&mut self) -> Vec<Mark> {
        if self.list.capacity() > 0 {
            self.budget.release_bytes(self.list.capacity() * size_of::<Mark>() + self.held);
            self.held = 0;
        }
        std::mem::take(&mut self.list)
    }
}

impl Drop for Marks<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

impl<'a, P: Provenance> Output<'a, P> {
    /// Creates the output of a render, bounded by the limit `output`.
    #[must_use]
    pub fn new(budget: &'a Budget) -> Self {
        Self::from_text(Text::new(budget).with_limit(budget.limits().output))
    }

    /// Like [`Output::new`], with a buffer from a pool.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn with_buffer(budget: &'a Budget, buffer: String) -> Result<Self> {
        Ok(Self::from_text(Text::with_buffer(budget, buffer)?.with_limit(budget.limits().output)))
    }

    /// Like [`Output::new`], with room for `capacity` bytes.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn with_capacity(budget: &'a Budget, capacity: usize) -> Result<Self> {
        Ok(Self::from_text(Text::with_capacity(budget, capacity)?.with_limit(budget.limits().output)))
    }

    /// Creates a capture, which only the byte budget bounds.
    #[must_use]
    pub fn new_capture(budget: &'a Budget) -> Self {
        Self::from_text(Text::new(budget))
    }

    fn from_text(text: Text<'a>) -> Self {
        let marks = Marks { budget: text.budget(), list: Vec::new(), held: 0 };
        Self { text, marks, provenance: P::default(), value: false, check: None }
    }

    /// Rejects parts for which `check` fails.
    #[must_use]
    pub fn with_part_check(mut self, check: PartCheck) -> Self {
        self.check = Some(check);
        self
    }

    /// Subtracts the `characters` of earlier outputs that share the limit.
    ///
    /// # Errors
    /// The earlier outputs alone exceed the limit.
    pub fn with_spent(mut self, characters: usize) -> Result<Self> {
        self.text.count_raw(characters)?;
        Ok(self)
    }

    /// Writes `text`, the value of the expression at `site`.
    ///
    /// # Errors
    /// A limit is reached. Nothing is written.
    #[inline]
    pub fn write(&mut self, text: &str, site: Site) -> Result<()> {
        self.value = true;
        if !P::ON {
            return self.text.push_str(text);
        }
        self.provenance.record_value(self.text.len() + text.len(), site);
        self.push_recorded(text)
    }

    /// Like [`Output::write`], for a text that is made of `source`.
    ///
    /// # Errors
    /// Those of [`Output::write`].
    #[inline(always)]
    pub fn write_from(&mut self, text: &str, site: Site, source: Source) -> Result<()> {
        self.value = true;
        if !P::ON {
            return self.text.push_str(text);
        }
        self.provenance.record_source(self.text.len() + text.len(), site, source);
        self.push_recorded(text)
    }

    /// Writes a text that is recorded already.
    #[inline(always)]
    fn push_recorded(&mut self, text: &str) -> Result<()> {
        match self.text.push_str(text) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.drop_unwritten(error)),
        }
    }

    /// Drops the origins of a text that was not written, also those that were adopted for it.
    #[cold]
    #[inline(never)]
    fn drop_unwritten(&mut self, error: Error) -> Error {
        self.provenance.record_value(self.text.len(), Site::default());
        error
    }

    /// Writes literal `text` of the template at `site`.
    ///
    /// # Errors
    /// Those of [`Output::write`].
    #[inline(always)]
    pub fn write_literal(&mut self, text: &str, site: Site) -> Result<()> {
        if !P::ON {
            return self.text.push_str(text);
        }
        self.provenance.record_text(self.text.len() + text.len(), site);
        self.push_recorded(text)
    }

    /// Writes an integer.
    ///
    /// # Errors
    /// Those of [`Output::write`].
    #[inline]
    pub fn write_int(&mut self, int: impl itoa::Integer, site: Site) -> Result<()> {
        self.write(itoa::Buffer::new().format(int), site)
    }

    /// Lets `write` append to the text directly. All of it has the origin `site`.
    ///
    /// # Errors
    /// Those of `write`. Text appended before the error stays.
    #[inline]
    pub fn write_with(&mut self, site: Site, write: impl FnOnce(&mut Text<'a>) -> Result<()>) -> Result<()> {
        self.value = true;
        let result = write(&mut self.text);
        if P::ON {
            self.provenance.record_value(self.text.len(), site);
        }
        result
    }

    /// Writes bytes that may not be UTF-8. Each invalid byte counts as a character.
    ///
    /// # Errors
    /// Those of [`Output::write`].
    pub fn write_bytes(&mut self, bytes: &[u8], site: Site) -> Result<()> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.write(text, site),
            Err(_) => {
                self.value_mark(rc_bytes(bytes.len()), characters(bytes), || MarkKind::Bytes(bytes.into()))
            }
        }
    }

    /// Adds a mark for the result of a pending call.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn write_pending(&mut self, call: CallId) -> Result<()> {
        self.value_mark(0, 0, || MarkKind::Pending(call))
    }

    /// Adds a piece of structure.
    ///
    /// # Errors
    /// A limit is reached, or the part is not allowed in this output.
    pub fn write_part(&mut self, part: Arc<Part>) -> Result<()> {
        if let Some(check) = self.check {
            check(&part)?;
        }
        let kind = MarkKind::Part(part);
        self.mark(kind.extent(), 0, || kind)
    }

    /// Adds the mark that `kind` returns, after charging `extent` bytes and `characters` characters.
    fn mark(&mut self, extent: usize, characters: usize, kind: impl FnOnce() -> MarkKind) -> Result<()> {
        self.marks.make_room(1, extent)?;
        self.text.count_raw(characters).inspect_err(|_| self.marks.release(extent))?;
        let after_value = std::mem::take(&mut self.value);
        self.marks.list.push(Mark { offset: self.text.len(), kind: kind(), after_value });
        Ok(())
    }

    /// Like [`Output::mark`], for a mark that is the value of an expression.
    fn value_mark(
        &mut self,
        extent: usize,
        characters: usize,
        kind: impl FnOnce() -> MarkKind,
    ) -> Result<()> {
        self.mark(extent, characters, kind)?;
        self.value = true;
        Ok(())
    }

    /// Writes a capture with its marks.
    ///
    /// # Errors
    /// A limit is reached, or a part in it is not allowed in this output. Nothing is written.
    pub fn write_pieces(&mut self, pieces: &Pieces<'_>, site: Site) -> Result<()> {
        if let Some(check) = self.check {
            pieces.parts().try_for_each(check)?;
        }
        let offset = self.text.len();
        let extent = pieces.marks.iter().map(|mark| mark.kind.extent()).sum();
        let characters = pieces.marks.iter().map(|mark| mark.kind.characters()).sum();
        self.marks.make_room(pieces.marks.len(), extent)?;
        let written = self.text.push_str(pieces.text()).and_then(|()| self.text.count_raw(characters));
        if let Err(error) = written {
            self.text.truncate(offset);
            self.marks.release(extent);
            if P::ON {
                self.provenance.record_value(self.text.len(), site);
            }
            return Err(error);
        }
        for mark in &pieces.marks {
            let after_value = std::mem::take(&mut self.value) || mark.after_value;
            let (offset, kind) = (offset + mark.offset, mark.kind.clone());
            self.marks.list.push(Mark { offset, kind, after_value });
        }
        self.value |= pieces.ends_with_value;
        if P::ON {
            self.provenance.record_value(self.text.len(), site);
        }
        Ok(())
    }

    /// The text written so far.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The marks so far.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks.list
    }

    /// Whether a value was printed since the last mark, even an empty one.
    #[must_use]
    pub fn ends_with_value(&self) -> bool {
        self.value
    }

    /// The recorded origins.
    pub fn provenance(&mut self) -> &mut P {
        &mut self.provenance
    }

    /// The capture as a value: plain text where it has no marks; `safe` as autoescaping wants it.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn into_value(self, safe: bool) -> Result<Value<'a>> {
        let Self { text, mut marks, value: ends_with_value, .. } = self;
        if marks.list.is_empty() {
            let shared = text.into_shared()?;
            return Ok(if safe { Value::Safe(shared) } else { Value::Str(shared) });
        }
        Ok(Value::Pieces(Metered::new(marks.budget, Pieces { text, marks: marks.take(), ends_with_value })?))
    }

    /// Ends the output and returns it.
    #[must_use]
    pub fn finish(mut self) -> Written<P> {
        if P::ON {
            // Drops origins that were adopted for a text that was not written.
            self.provenance.record_value(self.text.len(), Site::default());
        }
        let (text, marks) = (self.text.take_string(), self.marks.take());
        let (provenance, ends_with_value) = (std::mem::take(&mut self.provenance), self.value);
        // Everything was taken, so there is nothing to drop.
        std::mem::forget(self);
        Written { text, marks, ends_with_value, provenance }
    }
}

impl<P: Provenance> fmt::Debug for Output<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("text", &self.text)
            .field("marks", &self.marks.list)
            .finish_non_exhaustive()
    }
}

/// The result of a render: text, marks, and optionally the origin of each piece.
#[derive(Clone, Debug, Default)]
pub struct Written<P = Off> {
    /// The text.
    pub text: String,
    /// The marks, in the order of their offsets.
    pub marks: Vec<Mark>,
    /// Whether a value was printed since the last mark, even an empty one.
    pub ends_with_value: bool,
    /// The origins of the pieces.
    pub provenance: P,
}

impl<P> Written<P> {
    /// The characters that count against the limit `output`: those of the text, and each byte that is
    /// not UTF-8.
    #[must_use]
    pub fn characters(&self) -> usize {
        let beside: usize = self.marks.iter().map(|mark| mark.kind.characters()).sum();
        self.text.chars().count() + beside
    }

    /// The text without marks.
    ///
    /// # Errors
    /// The output contains bytes that are not UTF-8, or a pending call. Parts are left out.
    pub fn into_text(self) -> Result<String> {
        for mark in &self.marks {
            match mark.kind {
                MarkKind::Pending(_) => return Err(Error::suspended()),
                MarkKind::Bytes(_) => {
                    return Err(Error::new(ErrorKind::Runtime, "the output is not valid UTF-8")
                        .with_hint("a string was cut inside a character"));
                }
                MarkKind::Part(_) => {}
            }
        }
        Ok(self.text)
    }

    /// The bytes, including those that are not UTF-8. Pending calls and parts are left out.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.text.len());
        let mut from = 0;
        for mark in &self.marks {
            if let MarkKind::Bytes(raw) = &mark.kind {
                bytes.extend_from_slice(&self.text.as_bytes()[from..mark.offset]);
                bytes.extend_from_slice(raw);
                from = mark.offset;
            }
        }
        bytes.extend_from_slice(&self.text.as_bytes()[from..]);
        bytes
    }
}
