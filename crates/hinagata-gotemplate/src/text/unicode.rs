//! The character classes that Go's lexer and quoting depend on.

use super::tables::{DIGITS, LETTERS, PRINTABLE};

fn in_ranges(table: &[(u32, u32)], c: char) -> bool {
    let c = u32::from(c);
    let after = table.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= table[after - 1].1
}

/// Whether `c` is a letter (general category L).
#[must_use]
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { in_ranges(LETTERS, c) }
}

/// Whether `c` may be part of an identifier: a letter, a decimal digit or the underscore.
#[must_use]
pub(crate) fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || c == '_'
    } else {
        in_ranges(LETTERS, c) || in_ranges(DIGITS, c)
    }
}

/// Whether Go prints `c` as itself inside quotes.
#[must_use]
pub(crate) fn is_print(c: char) -> bool {
    if c.is_ascii() { (' '..='~').contains(&c) } else { in_ranges(PRINTABLE, c) }
}

/// Whether a function may be registered under `name`: a letter or underscore, then letters, digits
/// and underscores.
#[must_use]
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first == '_' || is_letter(first)) && chars.all(is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_general_categories() {
        assert!(is_letter('é') && is_letter('語') && is_letter('ª') && !is_letter('٣'));
        assert!(
            is_alphanumeric('٣') && is_alphanumeric('_') && !is_alphanumeric('½') && !is_alphanumeric('-')
        );
        // Rust's standard library counts some combining marks as alphabetic. Go never counts them as letters.
        assert!(!is_letter('\u{345}') && '\u{345}'.is_alphabetic());
        assert!(is_print('é') && is_print('🚀') && is_print('\u{301}') && is_print('½'));
        assert!(!is_print('\u{a0}') && !is_print('\u{2028}') && !is_print('\u{ad}') && !is_print('\u{e000}'));
        assert!(is_identifier("_a1") && is_identifier("é") && !is_identifier("1a") && !is_identifier("a-b"));
    }
}
