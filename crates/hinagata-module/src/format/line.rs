//! Text on a single line.

/// Whether some readers treat a character as a line end.
pub(super) const fn ends_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether `text` contains a line end other than a line feed.
pub(super) fn has_odd_line_ends(text: &str) -> bool {
    let bytes = text.as_bytes();
    if memchr::memchr3(b'\r', 0x0b, 0x0c, bytes).is_some() {
        return true;
    }
    // These are the first bytes of U+0085, U+2028 and U+2029. Decoding all characters would cost more than everything
    // else.
    memchr::memchr2_iter(0xc2, 0xe2, bytes).any(|place| {
        let rest = &bytes[place..];
        rest.starts_with(b"\xc2\x85")
            || rest.starts_with(b"\xe2\x80\xa8")
            || rest.starts_with(b"\xe2\x80\xa9")
    })
}

/// The pieces of a text between its line ends. Titles, ids and names are written on one line, and must not imitate the
/// lines after it.
pub(crate) fn split_line_ends(text: &str) -> impl Iterator<Item = &str> {
    // Most texts are short ASCII: checking each byte once is faster than decoding characters.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let (one, rest) = if is_plain { (Some(text), None) } else { (None, Some(text.split(ends_line))) };
    one.into_iter().chain(rest.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_for_by_bytes_is_what_ends_a_line() {
        for character in (0..0x3000).filter_map(char::from_u32) {
            let text = format!("a {character} b");
            assert_eq!(has_odd_line_ends(&text), ends_line(character) && character != '\n', "{character:?}");
            assert_eq!(split_line_ends(&text).count() == 2, ends_line(character), "{character:?}");
        }
    }
}
