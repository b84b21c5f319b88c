//! Signs, groups of digits and padding.

use hinagata_value::{Result, Text};

/// The alignment of a text in its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// At the start.
    Left,
    /// At the end.
    Right,
    /// In the middle.
    Center,
    /// At the end, with its sign at the start.
    AfterSign,
}

/// A field: its width in characters, its fill character and the alignment of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) width: usize,
    pub(super) fill: char,
    pub(super) align: Align,
}

/// Appends `sign` and a text, padded to the field.
///
/// # Errors
/// When the field is wider than the limit for one operation, or another limit is reached.
pub(super) fn push_field(text: &mut Text<'_>, field: Field, sign: &str, content: &str) -> Result<()> {
    let len = sign.len() + if field.width == 0 { 0 } else { content.chars().count() };
    let missing = field.width.saturating_sub(len);
    let (before, between, after) = match field.align {
        Align::Left => (0, 0, missing),
        Align::Right => (missing, 0, 0),
        Align::Center => (missing / 2, 0, missing - missing / 2),
        Align::AfterSign => (0, missing, 0),
    };
    let mut buffer = [0; 4];
    let fill = &*field.fill.encode_utf8(&mut buffer);
    push_fill(text, fill, before)?;
    text.push_str(sign)?;
    push_fill(text, fill, between)?;
    text.push_str(content)?;
    push_fill(text, fill, after)
}

fn push_fill(text: &mut Text<'_>, fill: &str, times: usize) -> Result<()> {
    if times == 0 { Ok(()) } else { text.push_repeated(fill, times) }
}

/// Digits with a separator between groups, filled up with leading zeros to `width`.
///
/// The result never starts with a separator, so it may be one character longer.
pub(super) fn group_digits(digits: &str, separator: char, group: usize, width: usize) -> String {
    let mut reversed = String::with_capacity(digits.len() * 4 / 3 + 1);
    let mut rest = digits.bytes().rev();
    let mut count = 0;
    loop {
        let digit = match rest.next() {
            Some(digit) => char::from(digit),
            None if reversed.len() < width => '0',
            None => break,
        };
        if count > 0 && count % group == 0 {
            reversed.push(separator);
        }
        reversed.push(digit);
        count += 1;
    }
    reversed.chars().rev().collect()
}

/// The sign of a number. `sign_option` is the option of the format, if present.
pub(super) fn sign(negative: bool, sign_option: Option<char>) -> &'static str {
    match (negative, sign_option) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        (false, _) => "",
    }
}

/// The digits of an integer in the base of a conversion, without its sign.
pub(super) fn int_digits(int: u128, conversion: char) -> String {
    match conversion {
        'b' => format!("{int:b}"),
        'o' => format!("{int:o}"),
        'x' => format!("{int:x}"),
        'X' => format!("{int:X}"),
        _ => itoa::Buffer::new().format(int).to_owned(),
    }
}
