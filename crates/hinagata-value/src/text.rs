//! A growing text that is charged to the budget.

use std::{fmt, rc::Rc};

use crate::{Budget, Error, LimitKind, Metered, Result};

/// A growing text whose capacity is charged before it is allocated.
///
/// Pushing costs as much as `String::push_str` plus one subtraction: it compares once, with a ceiling that is
/// the smaller of the capacity and the size limit.
pub struct Text<'a> {
    budget: &'a Budget,
    string: String,
    /// The length up to which pushing needs no further check. Never above the capacity.
    ceiling: usize,
    limit: Option<CharacterLimit>,
}

/// A limit in characters. It is checked by bytes as long as the number of bytes is sufficient proof.
#[derive(Clone, Copy)]
struct CharacterLimit {
    limit: usize,
    /// Characters outside of the text, such as bytes that are not UTF-8.
    raw: usize,
    /// Bytes that contain [`Self::characters`] characters.
    counted: usize,
    characters: usize,
}

impl CharacterLimit {
    /// The length in bytes up to which the text cannot exceed the limit, since every character has at least one
    /// byte.
    fn proved_bytes(self) -> usize {
        let left = self.limit.saturating_sub(self.characters.saturating_add(self.raw));
        self.counted.saturating_add(left)
    }
}

impl<'a> Text<'a> {
    /// Creates an empty text without allocating.
    #[must_use]
    pub fn new(budget: &'a Budget) -> Self {
        Self { budget, string: String::new(), ceiling: 0, limit: None }
    }

    /// Creates an empty text in a buffer from a pool. Its capacity is charged.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn with_buffer(budget: &'a Budget, mut buffer: String) -> Result<Self> {
        buffer.clear();
        budget.charge_bytes(buffer.capacity())?;
        Ok(Self { budget, ceiling: buffer.capacity(), string: buffer, limit: None })
    }

    /// Creates an empty text with room for `capacity` bytes.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn with_capacity(budget: &'a Budget, capacity: usize) -> Result<Self> {
        let mut text = Self::new(budget);
        text.reserve(capacity)?;
        Ok(text)
    }

    /// Sets the maximum number of characters.
    #[must_use]
    pub fn with_limit(mut self, limit: Option<usize>) -> Self {
        self.limit = limit.map(|limit| CharacterLimit { limit, raw: 0, counted: 0, characters: 0 });
        self.set_ceiling();
        self
    }

    /// Appends `text` and charges its steps.
    ///
    /// # Errors
    /// A limit is reached. Nothing is appended.
    #[inline]
    pub fn push_str(&mut self, text: &str) -> Result<()> {
        self.budget.step_bytes(text.len())?;
        if text.len() > self.ceiling - self.string.len() {
            self.make_room(text, 1)?;
        }
        self.string.push_str(text);
        Ok(())
    }

    /// Appends one character.
    ///
    /// # Errors
    /// Those of [`Text::push_str`].
    #[inline]
    pub fn push(&mut self, character: char) -> Result<()> {
        self.push_str(character.encode_utf8(&mut [0; 4]))
    }

    /// Appends `times` copies of `text`. It checks the limit for one operation first.
    ///
    /// # Errors
    /// A limit is reached. Nothing is appended.
    pub fn push_repeated(&mut self, text: &str, times: usize) -> Result<()> {
        let bytes = text.len().saturating_mul(times);
        self.budget.check_fill(bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        if bytes > self.ceiling - self.string.len() {
            self.make_room(text, times)?;
        }
        let start = self.string.len();
        self.string.push_str(text);
        while self.string.len() - start < bytes {
            // Doubles the existing copies until the number is reached.
            let more = (bytes - (self.string.len() - start)).min(self.string.len() - start);
            self.string.extend_from_within(start..start + more);
        }
        Ok(())
    }

    /// Appends the output of `write`. Use this for `write!` under the budget.
    ///
    /// # Errors
    /// A limit is reached. A part may have been appended.
    pub fn push_fmt(&mut self, arguments: fmt::Arguments<'_>) -> Result<()> {
        struct Adapter<'t, 'a>(&'t mut Text<'a>, Option<Error>);
        impl fmt::Write for Adapter<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.push_str(text).map_err(|error| {
                    self.1 = Some(error);
                    fmt::Error
                })
            }
        }
        let mut adapter = Adapter(self, None);
        match fmt::write(&mut adapter, arguments) {
            Ok(()) => Ok(()),
            Err(fmt::Error) => {
                Err(adapter.1.unwrap_or_else(|| Error::runtime("a value could not be formatted")))
            }
        }
    }

    /// Reserves room for `additional` more bytes.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        let needed = self.string.len().saturating_add(additional);
        if needed > self.string.capacity() {
            self.set_capacity(needed)?;
            self.set_ceiling();
        }
        Ok(())
    }

    /// Reserves room for `times` copies of `text`, which do not fit below the ceiling.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, text: &str, times: usize) -> Result<()> {
        let needed = self.string.len().saturating_add(text.len().saturating_mul(times));
        if self.limit.is_some_and(|limit| needed > limit.proved_bytes()) {
            self.count_characters(|| text.chars().count().saturating_mul(times))?;
        }
        let capacity = self.string.capacity();
        if needed > capacity {
            self.set_capacity(needed.max(capacity.saturating_mul(2)).max(64))?;
        }
        self.set_ceiling();
        // The characters were counted, so the text fits even if the number of bytes does not prove it.
        self.ceiling = self.ceiling.max(needed);
        Ok(())
    }

    /// Grows the capacity to exactly `capacity` bytes. The memory is charged first.
    fn set_capacity(&mut self, capacity: usize) -> Result<()> {
        let bytes = capacity - self.string.capacity();
        self.budget.charge_bytes(bytes)?;
        if self.string.try_reserve_exact(capacity - self.string.len()).is_err() {
            self.budget.release_bytes(bytes);
            return Err(self.budget.out_of_memory(bytes));
        }
        // The allocator may return more than requested. That is charged too.
        self.budget.charge_allocated(self.string.capacity() - capacity)
    }

    /// Sets the ceiling up to which pushing needs no further check: the capacity, or the bytes that prove the
    /// limit.
    fn set_ceiling(&mut self) {
        let proved = self.limit.map_or(usize::MAX, CharacterLimit::proved_bytes);
        self.ceiling = proved.min(self.string.capacity()).max(self.string.len());
    }

    /// Counts the new characters, and fails if `more` characters do not fit.
    fn count_characters(&mut self, more: impl FnOnce() -> usize) -> Result<()> {
        let Some(limit) = &mut self.limit else { return Ok(()) };
        limit.characters += self.string[limit.counted..].chars().count();
        limit.counted = self.string.len();
        if limit.characters.saturating_add(limit.raw).saturating_add(more()) > limit.limit {
            return Err(Error::limit_reached(
                LimitKind::Output,
                format!("the output has more than {} characters", limit.limit),
            )
            .with_hint("shorten the inserted values, or raise the limit `output`"));
        }
        Ok(())
    }

    /// Adds `characters` outside of this text to its limit.
    ///
    /// # Errors
    /// They do not fit. Nothing is counted.
    pub(crate) fn count_raw(&mut self, characters: usize) -> Result<()> {
        if characters == 0 {
            return Ok(());
        }
        self.count_characters(|| characters)?;
        if let Some(limit) = &mut self.limit {
            limit.raw += characters;
        }
        self.set_ceiling();
        Ok(())
    }

    /// The text so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.string
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.string.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.string.is_empty()
    }

    /// Drops everything from byte `len` on.
    ///
    /// # Panics
    /// If `len` is inside a character.
    pub fn truncate(&mut self, len: usize) {
        if let Some(limit) = &mut self.limit
            && limit.counted > len
        {
            limit.characters -= self.string[len..limit.counted].chars().count();
            limit.counted = len;
        }
        self.string.truncate(len);
        self.set_ceiling();
    }

    /// Its budget.
    #[must_use]
    pub fn budget(&self) -> &'a Budget {
        self.budget
    }

    /// The text as a shared object. Its bytes are charged as long as it lives.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn into_shared(mut self) -> Result<Rc<Metered<'a, String>>> {
        Metered::new_charged(self.budget, std::mem::take(&mut self.string))
    }

    /// The text, no longer charged. For text that leaves the render.
    #[must_use]
    pub fn into_string(mut self) -> String {
        self.take_string()
    }

    /// The text, no longer charged. Nothing is left.
    pub(crate) fn take_string(&mut self) -> String {
        self.budget.release_bytes(self.string.capacity());
        self.ceiling = 0;
        std::mem::take(&mut self.string)
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        self.budget.release_bytes(self.string.capacity());
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.string.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn a_limit_in_characters_is_exact() {
        for character in ["a", "é", "雛", "🎎"] {
            let budget = Budget::new(Limits::default());
            let mut text = Text::new(&budget).with_limit(Some(100));
            for _ in 0..100 {
                text.push_str(character).expect("within the limit");
            }
            let error = text.push_str(character).expect_err("one more");
            assert_eq!(error.limit(), Some(LimitKind::Output));
            assert_eq!(text.as_str().chars().count(), 100);
            assert!(text.push_str("").is_ok());
        }
    }

    #[test]
    fn a_pooled_buffer_larger_than_the_limit_does_not_loosen_it() {
        let budget = Budget::new(Limits::default());
        let mut text =
            Text::with_buffer(&budget, String::with_capacity(1000)).expect("fits").with_limit(Some(3));
        text.push_str("abc").expect("within the limit");
        assert!(text.push_str("d").is_err());
    }

    #[test]
    fn repeats_are_refused_before_they_allocate() {
        let budget = Budget::new(Limits::default());
        let mut text = Text::new(&budget);
        assert_eq!(
            text.push_repeated("ab", usize::MAX).expect_err("too much").limit(),
            Some(LimitKind::Fill)
        );
        assert_eq!(budget.bytes_peak(), 0);
    }

    #[test]
    fn the_capacity_is_charged_and_given_back() {
        let budget = Budget::new(Limits::default());
        let mut text = Text::new(&budget);
        for n in 0..1000 {
            text.push_fmt(format_args!("{n} ")).expect("fits");
            assert_eq!(budget.bytes_alive(), text.string.capacity());
        }
        let string = text.into_string();
        assert_eq!(string.len(), 3890);
        assert_eq!(budget.bytes_alive(), 0);
    }
}
