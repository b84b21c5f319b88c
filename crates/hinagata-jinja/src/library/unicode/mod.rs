//! Character classes and case mappings of Python, where the standard library differs.

mod tables;

use std::cmp::Ordering;

use tables::{DIGITS, FOLDS, LETTERS, NUMBERS, TITLES, UNPRINTABLE, ZEROS};

fn is_in(character: char, ranges: &[(u32, u32)]) -> bool {
    let code = u32::from(character);
    ranges
        .binary_search_by(|&(first, last)| match () {
            () if code < first => Ordering::Greater,
            () if code > last => Ordering::Less,
            () => Ordering::Equal,
        })
        .is_ok()
}

/// Whether `repr` prints the character unescaped.
pub(crate) fn is_printable(character: char) -> bool {
    if character.is_ascii() { !character.is_ascii_control() } else { !is_in(character, UNPRINTABLE) }
}

/// Whether it is a letter.
pub(crate) fn is_alpha(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_alphabetic() } else { is_in(character, LETTERS) }
}

/// The value of a decimal digit of any script.
pub(crate) fn decimal_digit(character: char) -> Option<u32> {
    if character.is_ascii() {
        return character.to_digit(10);
    }
    let code = u32::from(character);
    let at = ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    let digit = code - ZEROS[at];
    (digit < 10).then_some(digit)
}

/// Whether it is a decimal digit of any script.
pub(crate) fn is_decimal(character: char) -> bool {
    decimal_digit(character).is_some()
}

/// Whether it is a digit, superscripts and the like included.
pub(crate) fn is_digit(character: char) -> bool {
    is_decimal(character) || (!character.is_ascii() && is_in(character, DIGITS))
}

/// Whether it has a numeric value.
pub(crate) fn is_numeric(character: char) -> bool {
    is_digit(character) || (!character.is_ascii() && is_in(character, NUMBERS))
}

/// Whether it is a letter or has a numeric value.
pub(crate) fn is_alphanumeric(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric()
    } else {
        is_alpha(character) || is_numeric(character)
    }
}

/// Whether it is part of a word (`\w`).
pub(crate) fn is_word(character: char) -> bool {
    character == '_' || is_alphanumeric(character)
}

/// Whether it is whitespace, including four control characters that Rust excludes.
pub(crate) fn is_space(character: char) -> bool {
    matches!(character, '\u{1c}'..='\u{1f}') || character.is_whitespace()
}

/// Whether it ends a line.
pub(crate) fn is_line_end(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether it is a title-case letter (an upper-case part followed by a lower-case one), such as `ǅ`.
pub(crate) fn is_title(character: char) -> bool {
    matches!(
        u32::from(character),
        0x1c5 | 0x1c8 | 0x1cb | 0x1f2 | 0x1f88..=0x1f8f | 0x1f98..=0x1f9f | 0x1fa8..=0x1faf
            | 0x1fbc | 0x1fcc | 0x1ffc
    )
}

/// Whether it has a case.
pub(crate) fn is_cased(character: char) -> bool {
    character.is_lowercase() || character.is_uppercase() || is_title(character)
}

fn find_mapping(character: char, table: &'static [(char, &'static str)]) -> Option<&'static str> {
    table.binary_search_by_key(&character, |&(from, _)| from).ok().map(|at| table[at].1)
}

/// Appends the title case of the character.
pub(crate) fn push_title(character: char, text: &mut String) {
    if character.is_ascii() {
        return text.push(character.to_ascii_uppercase());
    }
    match find_mapping(character, TITLES) {
        Some(title) => text.push_str(title),
        None => text.extend(character.to_uppercase()),
    }
}

/// Appends the case folding of the character.
pub(crate) fn push_folded(character: char, text: &mut String) {
    if character.is_ascii() {
        return text.push(character.to_ascii_lowercase());
    }
    match find_mapping(character, FOLDS) {
        Some(folded) => text.push_str(folded),
        None => text.extend(character.to_lowercase()),
    }
}

/// Appends the lower case of the character at offset `at` of `text`. That of a sigma depends on the text
/// around it.
pub(crate) fn push_lower_at(text: &str, at: usize, character: char, lower: &mut String) {
    match character {
        _ if character.is_ascii() => lower.push(character.to_ascii_lowercase()),
        'Σ' => lower.push(if is_final_sigma(text, at) { 'ς' } else { 'σ' }),
        _ => lower.extend(character.to_lowercase()),
    }
}

/// Whether the sigma at `at` ends a word: a cased letter is before it and none after it.
fn is_final_sigma(text: &str, at: usize) -> bool {
    // The standard library knows which characters to skip; it gets only the text around the sigma.
    let before = text[..at].chars().rev().take(SIGMA_REACH).collect::<Vec<_>>();
    let around: String = before.into_iter().rev().chain(text[at..].chars().take(SIGMA_REACH)).collect();
    let offset: usize = text[..at].chars().rev().take(SIGMA_REACH).map(char::len_utf8).sum();
    let lowered_before = around[..offset].to_lowercase().len();
    around.to_lowercase()[lowered_before..].starts_with('ς')
}

/// The number of characters around a sigma to examine. Words have no longer runs of accents and
/// apostrophes.
const SIGMA_REACH: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_python() {
        assert!(is_printable('é') && is_printable('🙂') && is_printable('日'));
        for character in
            ['\u{a0}', '\u{ad}', '\u{200b}', '\u{378}', '\u{e000}', '\u{feff}', '\u{3000}', '\u{7f}']
        {
            assert!(!is_printable(character), "{character:?}");
        }
        assert!(is_alpha('ª') && is_alpha('日') && !is_alpha('Ⅷ') && !is_alpha('\u{345}'));
        assert!(is_numeric('Ⅷ') && is_numeric('½') && is_numeric('一') && !is_digit('½'));
        assert!(is_digit('²') && !is_decimal('²'));
        assert_eq!((decimal_digit('７'), decimal_digit('٣'), decimal_digit('x')), (Some(7), Some(3), None));
        assert!(is_space('\u{1c}') && is_space('\u{3000}') && !is_space('\u{200b}'));
    }

    #[test]
    fn title_and_folded_forms_are_those_of_python() {
        let title = |character| {
            let mut text = String::new();
            push_title(character, &mut text);
            text
        };
        let folded = |character| {
            let mut text = String::new();
            push_folded(character, &mut text);
            text
        };
        assert_eq!((title('ǆ').as_str(), title('ß').as_str(), title('ﬁ').as_str()), ("ǅ", "Ss", "Fi"));
        assert_eq!((title('a').as_str(), title('ა').as_str()), ("A", "ა"));
        assert_eq!((folded('ß').as_str(), folded('ς').as_str(), folded('A').as_str()), ("ss", "σ", "a"));
    }

    #[test]
    fn a_sigma_at_the_end_of_a_word_is_the_final_one() {
        let lower = |text: &str| {
            let mut lower = String::new();
            for (at, character) in text.char_indices() {
                push_lower_at(text, at, character, &mut lower);
            }
            lower
        };
        assert_eq!(lower("ΟΔΟΣ ΣΑΣ Σ"), "οδος σας σ");
        assert_eq!(lower("ΑΣ."), "ας.");
    }
}
