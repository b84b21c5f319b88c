//! Texts of files: decoding, and white space at their ends.

/// The text of `bytes`, and whether something in it was no UTF-8 and became U+FFFD.
pub(crate) fn decode_lossy(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    }
}

/// `text` without white space at its end.
///
/// Which characters that are is part of the format: U+FEFF is one, U+0085 is none.
pub(crate) fn trim_end_of_text(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

fn is_space(character: char) -> bool {
    matches!(
        character,
        '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}'
            | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

/// `text` without white space at its start and end.
#[must_use]
pub fn trim_both_ends(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_white_space_of_the_format_is_cut() {
        assert_eq!(trim_end_of_text("a \u{3000}\u{feff}\r\n\x0b"), "a");
        for kept in ["a\u{85}", "a\u{200b}", "a\u{180e}"] {
            assert_eq!(trim_end_of_text(kept), kept);
        }
    }
}
