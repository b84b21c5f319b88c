//! What a render writes: text, and what is not text in between.

use std::{fmt, rc::Rc, sync::Arc};

use serde_json::Value as Json;

use crate::{
    Budget, CallId, Error, ErrorKind, Extent, Metered, Provenance, Result, Site, Text, Value, provenance::Off,
};

/// Something at a place of the output that is not text, so that no text can forge it.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The byte of the text before which it stands.
    pub offset: usize,
    /// What stands there.
    pub kind: MarkKind,
}

/// What a [`Mark`] stands for.
#[derive(Clone, Debug)]
pub enum MarkKind {
    /// The result of a call that is still under way.
    Pending(CallId),
    /// Bytes that are not UTF-8.
    Bytes(Rc<[u8]>),
    /// A part of the structure: the start of a message, a picture, a resource.
    Part(Arc<Part>),
}

impl MarkKind {
    /// Raw bytes that this mark holds.
    fn raw(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Pending(_) | Self::Part(_) => 0,
        }
    }
}

/// A piece of structure that a host function puts into the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is: `role`, `media`, `resource`.
    pub kind: String,
    /// Its content, as the function that made it defines.
    pub content: Json,
}

/// Captured output that holds marks: it can be printed as a whole, with its marks.
///
/// Anything that needs its text must wait for the calls in it, and cannot have text where it has a
/// part.
#[derive(Debug)]
pub struct Pieces<'a> {
    text: Text<'a>,
    marks: Vec<Mark>,
}

impl Pieces<'_> {
    /// The text, without what the marks stand for.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The marks in the order of their places.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Whether a call in it is still under way.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.marks.iter().any(|mark| matches!(mark.kind, MarkKind::Pending(_)))
    }
}

/// The text charges for itself; what is left is the list of marks.
impl Extent for Pieces<'_> {
    fn extent(&self) -> usize {
        let raw = self.marks.iter().map(|mark| mark.kind.raw()).filter(|raw| *raw > 0);
        self.marks.capacity() * size_of::<Mark>() + raw.map(|raw| raw + RAW).sum::<usize>()
    }
}

/// Bytes of a shared byte string beside the bytes themselves: its counters, and their alignment.
const RAW: usize = 3 * size_of::<usize>();

/// Where a template writes to: the whole output, or a capture.
///
/// `P` decides whether it is recorded where each piece came from; with [`Off`] nothing of that is
/// compiled in.
pub struct Output<'a, P: Provenance = Off> {
    text: Text<'a>,
    marks: Marks<'a>,
    provenance: P,
}

/// The marks of an output in progress, charged until it ends.
struct Marks<'a> {
    budget: &'a Budget,
    list: Vec<Mark>,
    /// Bytes that marks of raw bytes hold, as charged.
    raw: usize,
}

impl Marks<'_> {
    /// Adds a mark that `kind` makes once it is paid for, `raw` bytes included.
    fn add(&mut self, offset: usize, raw: usize, kind: impl FnOnce() -> MarkKind) -> Result<()> {
        self.charge(raw)?;
        self.list.push(Mark { offset, kind: kind() });
        Ok(())
    }

    /// Charges for one more mark that holds `raw` bytes.
    fn charge(&mut self, raw: usize) -> Result<()> {
        self.budget.step_bytes(raw)?;
        if self.list.len() == self.list.capacity() {
            let more = self.list.capacity().max(4);
            self.budget.charge(more * size_of::<Mark>())?;
            self.list.reserve_exact(more);
        }
        if raw > 0 {
            let raw = raw + RAW;
            self.budget.charge(raw)?;
            self.raw += raw;
        }
        Ok(())
    }

    /// The marks themselves, no longer charged.
    fn take(&mut self) -> Vec<Mark> {
        if self.list.capacity() > 0 {
            self.budget.release(self.list.capacity() * size_of::<Mark>() + self.raw);
            self.raw = 0;
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
    /// The output of a whole render, under the limit `output`.
    #[must_use]
    pub fn new(budget: &'a Budget) -> Self {
        Self::of(Text::new(budget).limited(budget.limits().output))
    }

    /// As [`Output::new`], writing into a buffer from a pool.
    ///
    /// # Errors
    /// When the byte budget is used up.
    pub fn with_buffer(budget: &'a Budget, buffer: String) -> Result<Self> {
        Ok(Self::of(Text::with_buffer(budget, buffer)?.limited(budget.limits().output)))
    }

    /// As [`Output::new`], with room for `capacity` bytes.
    ///
    /// # Errors
    /// When the byte budget is used up.
    pub fn with_capacity(budget: &'a Budget, capacity: usize) -> Result<Self> {
        Ok(Self::of(Text::with_capacity(budget, capacity)?.limited(budget.limits().output)))
    }

    /// A capture: bounded by the byte budget alone.
    #[must_use]
    pub fn capture(budget: &'a Budget) -> Self {
        Self::of(Text::new(budget))
    }

    fn of(text: Text<'a>) -> Self {
        let marks = Marks { budget: text.budget(), list: Vec::new(), raw: 0 };
        Self { text, marks, provenance: P::default() }
    }

    /// Writes `text`, which came from `site`.
    ///
    /// # Errors
    /// When a limit is reached; nothing is written then.
    #[inline]
    pub fn write(&mut self, text: &str, site: Site) -> Result<()> {
        self.text.push_str(text)?;
        if P::ON {
            self.provenance.wrote(self.text.len(), site);
        }
        Ok(())
    }

    /// Writes an integer.
    ///
    /// # Errors
    /// As [`Output::write`].
    #[inline]
    pub fn write_int(&mut self, int: impl itoa::Integer, site: Site) -> Result<()> {
        self.write(itoa::Buffer::new().format(int), site)
    }

    /// Lets `write` append to the text directly; all of it came from `site`.
    ///
    /// # Errors
    /// Those of `write`. What was appended before the failure stays.
    #[inline]
    pub fn write_with(&mut self, site: Site, write: impl FnOnce(&mut Text<'a>) -> Result<()>) -> Result<()> {
        let result = write(&mut self.text);
        if P::ON {
            self.provenance.wrote(self.text.len(), site);
        }
        result
    }

    /// Writes bytes that need not be UTF-8.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn write_bytes(&mut self, bytes: &[u8], site: Site) -> Result<()> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.write(text, site),
            Err(_) => self.marks.add(self.text.len(), bytes.len(), || MarkKind::Bytes(bytes.into())),
        }
    }

    /// Leaves a hole for the result of a call.
    ///
    /// # Errors
    /// When a limit is reached.
    pub fn write_pending(&mut self, call: CallId) -> Result<()> {
        self.marks.add(self.text.len(), 0, || MarkKind::Pending(call))
    }

    /// Puts a piece of structure here.
    ///
    /// # Errors
    /// When a limit is reached.
    pub fn write_part(&mut self, part: Arc<Part>) -> Result<()> {
        self.marks.add(self.text.len(), 0, || MarkKind::Part(part))
    }

    /// Writes a capture with its marks.
    ///
    /// # Errors
    /// When a limit is reached.
    pub fn write_pieces(&mut self, pieces: &Pieces<'_>, site: Site) -> Result<()> {
        let offset = self.text.len();
        self.write(pieces.text(), site)?;
        for mark in &pieces.marks {
            self.marks.add(offset + mark.offset, mark.kind.raw(), || mark.kind.clone())?;
        }
        Ok(())
    }

    /// The text written so far.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The marks left so far.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks.list
    }

    /// The record of origins.
    pub fn provenance(&mut self) -> &mut P {
        &mut self.provenance
    }

    /// The capture as a value: plain text where it has no marks; `safe` as autoescaping wants it.
    ///
    /// # Errors
    /// When the byte budget is used up.
    pub fn into_value(self, safe: bool) -> Result<Value<'a>> {
        let Self { text, mut marks, .. } = self;
        if marks.list.is_empty() {
            let shared = text.into_shared()?;
            return Ok(if safe { Value::Safe(shared) } else { Value::Str(shared) });
        }
        Ok(Value::Pieces(Metered::new(marks.budget, Pieces { text, marks: marks.take() })?))
    }

    /// What the render wrote.
    #[must_use]
    pub fn finish(self) -> Written<P> {
        let Self { text, mut marks, provenance } = self;
        Written { text: text.into_string(), marks: marks.take(), provenance }
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

/// The result of a render: text, marks, and where each piece came from when that was asked.
#[derive(Clone, Debug, Default)]
pub struct Written<P = Off> {
    /// The text.
    pub text: String,
    /// What is not text, in the order of its places.
    pub marks: Vec<Mark>,
    /// The origins of the pieces.
    pub provenance: P,
}

impl<P> Written<P> {
    /// The text alone.
    ///
    /// # Errors
    /// When it holds bytes that are not UTF-8, or a call that is still under way. Parts are left out.
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

    /// The bytes, those included that are not UTF-8; holes and parts are left out.
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
