//! Delimiters that content cannot imitate.
//!
//! Content between two delimiters, such as `<material>` and `</material>`, could contain the closing one and end early. In that
//! case the delimiter gets a number that does not occur in the text.

use std::collections::BTreeSet;

use memchr::memmem;

/// The numbers of the marks in some texts.
#[derive(Default)]
pub(crate) struct Marks {
    /// Empty without marks, so that most texts allocate nothing.
    used: BTreeSet<u32>,
}

/// A mark: a start, an optional word, and an optional number.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    /// The starts of the mark, such as `</material`.
    pub(crate) starts: &'static [&'static str],
    /// Whether a word, such as a role, precedes the number.
    pub(crate) word: bool,
}

impl Tag {
    pub(crate) const MATERIAL: Self = Self { starts: &["<material", "</material"], word: false };
    pub(crate) const MATERIAL_END: Self = Self { starts: &["</material"], word: false };
    pub(crate) const CHUNK: Self = Self { starts: &["<chunk", "</chunk"], word: false };
    pub(crate) const CHUNK_END: Self = Self { starts: &["</chunk"], word: false };
    pub(crate) const MESSAGE: Self = Self { starts: &["<!-- begin of ", "<!-- end of "], word: true };
}

impl Marks {
    /// Records the marks in `text` that look like `tag`, in any case.
    pub(crate) fn record_marks(&mut self, tag: Tag, text: &str) {
        let bytes = text.as_bytes();
        for place in memchr::memchr_iter(b'<', bytes) {
            let rest = &bytes[place..];
            let found = tag.starts.iter().find(|start| starts_with(rest, start));
            if let Some(start) = found {
                self.record_numbers(tag, &rest[start.len()..]);
            }
        }
    }

    /// Records every prefix of the number after a mark: a lenient reader may take `-12` for `-1`.
    fn record_numbers(&mut self, tag: Tag, rest: &[u8]) {
        self.used.insert(0);
        let word =
            if tag.word { rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count() } else { 0 };
        let Some((b'-', digits)) = rest[word..].split_first() else { return };
        let mut number: u32 = 0;
        for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()).take(9) {
            number = number * 10 + u32::from(digit - b'0');
            self.used.insert(number);
        }
    }

    /// The first unused number; 0 means no number.
    pub(crate) fn first_free(&self) -> u32 {
        (0..).find(|number| !self.used.contains(number)).unwrap_or_default()
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.used.extend(&other.used);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}

fn starts_with(text: &[u8], start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

/// The longest run of backticks.
pub(super) fn longest_fence(text: &str) -> usize {
    let bytes = text.as_bytes();
    // Fences are rare, and searching for three backticks is fast.
    if memmem::find(bytes, b"```").is_none() {
        return 0;
    }
    bytes.split(|byte| *byte != b'`').map(<[u8]>::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_free(tag: Tag, texts: &[&str]) -> u32 {
        let mut marks = Marks::default();
        texts.iter().for_each(|text| marks.record_marks(tag, text));
        marks.first_free()
    }

    #[test]
    fn the_first_number_that_does_not_occur_is_taken() {
        assert_eq!(first_free(Tag::MATERIAL, &["a < b", "<matter>"]), 0);
        assert_eq!(first_free(Tag::MATERIAL, &["x </material> y"]), 1);
        assert_eq!(first_free(Tag::MATERIAL, &["</material-1>", "</MATERIAL-2 >", "</material-31"]), 4);
        assert_eq!(first_free(Tag::MESSAGE, &["<!-- end of USER -->"]), 1);
        assert_eq!(first_free(Tag::MESSAGE, &["<!-- begin of USER-1 -->"]), 2);
    }

    #[test]
    fn the_longest_row_of_backticks_counts() {
        assert_eq!(longest_fence("a `b` ``c``"), 0);
        assert_eq!(longest_fence("``` and ````"), 4);
    }
}
