//! Trims the text of files.

/// `text` without white space at its end.
///
/// The format defines these characters: they include U+FEFF, but not U+0085.
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
