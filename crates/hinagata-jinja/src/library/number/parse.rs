//! Parses numbers as `int()` and `float()` do.

use crate::library::unicode::{decimal_digit, is_space};

/// Why a text is not a valid integer.
#[derive(Debug)]
pub(crate) enum NotInt {
    /// The syntax is invalid.
    Malformed,
    /// The integer has more than 128 bits.
    TooLarge,
}

/// Removes the whitespace that Python allows around a number: Unicode whitespace, but not the ASCII
/// separators if the text is ASCII only.
fn trim_spaces(text: &str) -> &str {
    if text.is_ascii() {
        text.trim_matches(|character| matches!(character, ' ' | '\t'..='\r'))
    } else {
        text.trim_matches(is_space)
    }
}

/// Parses an integer as `int(text, base)` does: surrounding whitespace, a sign, a prefix, `_` between
/// digits, and digits of any script are allowed. With base 0, the prefix decides the base.
///
/// # Errors
/// When the text is not an integer of that base.
pub(crate) fn parse_int(text: &str, base: u32) -> Result<i128, NotInt> {
    let text = trim_spaces(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (base, digits, prefixed) = without_prefix(digits, base);
    let mut value = Some(0_i128);
    let mut after_digit = prefixed;
    let mut any = false;
    for character in digits.chars() {
        if character == '_' {
            if !after_digit {
                return Err(NotInt::Malformed);
            }
            after_digit = false;
            continue;
        }
        let digit = digit_of(character).filter(|digit| *digit < base).ok_or(NotInt::Malformed)?;
        value = value.and_then(|value| {
            let shifted = value.checked_mul(i128::from(base))?;
            if negative {
                shifted.checked_sub(i128::from(digit))
            } else {
                shifted.checked_add(i128::from(digit))
            }
        });
        after_digit = true;
        any = true;
    }
    if !any || !after_digit {
        return Err(NotInt::Malformed);
    }
    value.ok_or(NotInt::TooLarge)
}

/// Removes the prefix of a base; returns the base, the rest, and whether there was a prefix.
fn without_prefix(digits: &str, base: u32) -> (u32, &str, bool) {
    let prefixes = [(16, "0x", "0X"), (8, "0o", "0O"), (2, "0b", "0B")];
    for (prefix_base, lower, upper) in prefixes {
        if (base == prefix_base || base == 0)
            && let Some(rest) = digits.strip_prefix(lower).or_else(|| digits.strip_prefix(upper))
        {
            return (prefix_base, rest, true);
        }
    }
    if base == 0 {
        // In base 0 a number without prefix may start with a zero only if it is zero, as in Python, where
        // it was octal once.
        let zeros_only = digits.chars().all(|character| matches!(character, '0' | '_'));
        let base = if digits.starts_with('0') && !zeros_only { 1 } else { 10 };
        return (base, digits, false);
    }
    (base, digits, false)
}

fn digit_of(character: char) -> Option<u32> {
    character.to_digit(36).or_else(|| decimal_digit(character))
}

/// Parses a float as `float(text)` does; `None` if the text is not a float.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = trim_spaces(text);
    let mut plain = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        if character == '_' {
            let after = text[at + 1..].chars().next();
            let between =
                decimal_digit(before).is_some() && after.is_some_and(|after| decimal_digit(after).is_some());
            if !between {
                return None;
            }
        } else {
            match decimal_digit(character) {
                Some(digit) => plain.push(char::from_digit(digit, 10)?),
                None if character.is_ascii() => plain.push(character.to_ascii_lowercase()),
                None => return None,
            }
        }
        before = character;
    }
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let is_named_float = matches!(unsigned, "inf" | "infinity" | "nan");
    if !is_named_float && !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    plain.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_python_reads_them() {
        for (text, base, expected) in [
            ("42", 10, Some(42)),
            (" \t-7\n", 10, Some(-7)),
            ("+5", 10, Some(5)),
            ("1_000", 10, Some(1000)),
            ("1__0", 10, None),
            ("_1", 10, None),
            ("1_", 10, None),
            ("", 10, None),
            ("-", 10, None),
            ("１２", 10, Some(12)),
            ("٣", 10, Some(3)),
            ("ff", 16, Some(255)),
            ("0xff", 16, Some(255)),
            ("0x_f", 16, Some(15)),
            ("0xff", 10, None),
            ("0b11", 2, Some(3)),
            ("0o17", 8, Some(15)),
            ("0x1f", 0, Some(31)),
            ("010", 0, None),
            ("0", 0, Some(0)),
            ("00", 0, Some(0)),
            ("12", 0, Some(12)),
            ("z", 36, Some(35)),
            ("3.7", 10, None),
            ("- 5", 10, None),
            ("170141183460469231731687303715884105727", 10, Some(i128::MAX)),
            ("-170141183460469231731687303715884105728", 10, Some(i128::MIN)),
        ] {
            assert_eq!(parse_int(text, base).ok(), expected, "{text} in base {base}");
        }
        assert!(matches!(parse_int(&"9".repeat(40), 10), Err(NotInt::TooLarge)));
    }

    #[test]
    fn floats_are_read_as_python_reads_them() {
        for (text, expected) in [
            ("1.5", Some(1.5)),
            (" 2 ", Some(2.0)),
            ("1e-3", Some(0.001)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("Infinity", Some(f64::INFINITY)),
            ("1_000.5", Some(1000.5)),
            ("1_.5", None),
            ("abc", None),
            ("", None),
            (".", None),
            ("1e", None),
            ("infinit", None),
            ("１.５", Some(1.5)),
        ] {
            assert_eq!(parse_float(text), expected, "{text}");
        }
        assert!(parse_float("nan").is_some_and(f64::is_nan));
    }
}
