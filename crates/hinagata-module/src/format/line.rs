//! Text that must not start a new line.

use std::borrow::Cow;

/// Characters that some reader of text takes for the end of a line.
pub(super) const fn ends_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// `text` with spaces in the place of line ends: titles, ids and names stand on one line, and what they say
/// must not look like the lines after it.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(ends_line) { text.replace(ends_line, " ").into() } else { text.into() }
}
