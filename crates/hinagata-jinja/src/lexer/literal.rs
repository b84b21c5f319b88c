//! Number and string literals.
//!
//! Numbers are Python's (`1_000`, `0xff`, `1e-3`), but a literal ends where it stops being one: `1__0` is
//! the integer `1` and the name `__0`. Strings have the escapes of Python's string literals, with one
//! difference that Jinja2 has too: a backslash before a non-ASCII character stays, and the character
//! becomes its escape: `\é` is the text `\xe9`.

use std::{collections::HashMap, iter::Peekable, str::Chars, sync::LazyLock};

use crate::ast::Const;

/// The length of the float that `text` starts with; 0 without one.
pub(super) fn float_len(text: &[u8]) -> usize {
    let whole = digits(text, 0);
    if whole == 0 {
        return 0;
    }
    let fraction = match text.get(whole) {
        Some(b'.') => digits(text, whole + 1),
        _ => 0,
    };
    let mantissa = if fraction > 0 { whole + 1 + fraction } else { whole };
    if let Some(b'e' | b'E') = text.get(mantissa) {
        let sign = usize::from(matches!(text.get(mantissa + 1), Some(b'+' | b'-')));
        let exponent = digits(text, mantissa + 1 + sign);
        if exponent > 0 {
            return mantissa + 1 + sign + exponent;
        }
    }
    if fraction > 0 { mantissa } else { 0 }
}

/// The length of the decimal digits at `from`, with single underscores between them.
fn digits(text: &[u8], from: usize) -> usize {
    match text.get(from) {
        Some(byte) if byte.is_ascii_digit() => 1 + more_digits(text, from + 1, u8::is_ascii_digit),
        _ => 0,
    }
}

/// The length of further digits at `from`, each with an optional underscore before it.
fn more_digits(text: &[u8], from: usize, is_digit: impl Fn(&u8) -> bool) -> usize {
    let mut at = from;
    loop {
        let next = at + usize::from(text.get(at) == Some(&b'_'));
        if !text.get(next).is_some_and(&is_digit) {
            return at - from;
        }
        at = next + 1;
    }
}

/// The length and the base of the integer that `text` starts with; the length is 0 without one.
pub(super) fn integer_len(text: &[u8]) -> (usize, u32) {
    let (base, is_digit): (u32, fn(&u8) -> bool) = match text {
        [b'0', b'b' | b'B', ..] => (2, |byte| matches!(byte, b'0' | b'1')),
        [b'0', b'o' | b'O', ..] => (8, |byte| matches!(byte, b'0'..=b'7')),
        [b'0', b'x' | b'X', ..] => (16, u8::is_ascii_hexdigit),
        [b'1'..=b'9', ..] => return (1 + more_digits(text, 1, u8::is_ascii_digit), 10),
        [b'0', ..] => return (1 + more_digits(text, 1, |&byte| byte == b'0'), 10),
        _ => return (0, 10),
    };
    match more_digits(text, 2, is_digit) {
        // `0b` without digits is a zero and a name.
        0 => (1, 10),
        len => (2 + len, base),
    }
}

/// The value of an integer literal that [`integer_len`] found.
pub(super) fn integer(text: &str, base: u32) -> Const {
    let text = text.replace('_', "");
    let digits = if base == 10 { &text } else { &text[2..] };
    match i128::from_str_radix(digits, base) {
        Ok(value) => Const::Int(value),
        Err(_) => Const::HugeInt(text.into()),
    }
}

/// The value of a float literal that [`float_len`] found.
pub(super) fn float(text: &str) -> f64 {
    text.replace('_', "").parse().unwrap_or(f64::INFINITY)
}

/// The length of the string that `text` starts with, quotes included; `None` if it is not closed.
pub(super) fn string_len(text: &[u8]) -> Option<usize> {
    let quote = *text.first()?;
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The value of a string literal, passed without its quotes, or an error message.
pub(super) fn string(text: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => escape(&mut chars, &mut out)?,
            '\r' => {
                chars.next_if_eq(&'\n');
                out.push('\n');
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

fn escape(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), &'static str> {
    let Some(c) = chars.next() else { return Err("the string ends inside an escape") };
    match c {
        '\n' => {}
        '\r' => {
            chars.next_if_eq(&'\n');
        }
        '\\' | '\'' | '"' => out.push(c),
        'a' => out.push('\x07'),
        'b' => out.push('\x08'),
        'f' => out.push('\x0c'),
        'n' => out.push('\n'),
        'r' => out.push('\r'),
        't' => out.push('\t'),
        'v' => out.push('\x0b'),
        '0'..='7' => out.push(octal(c, chars)),
        'x' => out.push(hex(chars, 2, "`\\x` requires two hexadecimal digits")?),
        'u' => out.push(hex(chars, 4, "`\\u` requires four hexadecimal digits")?),
        'U' => out.push(hex(chars, 8, "`\\U` requires eight hexadecimal digits")?),
        'N' => out.push(named_character(chars)?),
        c if c.is_ascii() => out.extend(['\\', c]),
        c => {
            let code = u32::from(c);
            out.push_str(&match code {
                ..0x100 => format!("\\x{code:02x}"),
                0x100..0x10000 => format!("\\u{code:04x}"),
                _ => format!("\\U{code:08x}"),
            });
        }
    }
    Ok(())
}

/// Punctuation, currencies, arrows and symbols by name: characters that many keyboards lack. A table of all
/// Unicode names would be larger than the engine.
static CHARACTERS: LazyLock<HashMap<&str, char>> = LazyLock::new(|| {
    let parse_entry = |line: &'static str| {
        let (code, name) = line.split_once(' ')?;
        Some((name, char::from_u32(u32::from_str_radix(code, 16).ok()?)?))
    };
    include_str!("characters.txt").lines().filter_map(parse_entry).collect()
});

/// Reads a character as its name in braces, in upper or lower case.
fn named_character(chars: &mut Peekable<Chars<'_>>) -> Result<char, &'static str> {
    const EXPECTED: &str = "`\\N` requires the name of a character in braces";
    chars.next_if_eq(&'{').ok_or(EXPECTED)?;
    let mut name = String::new();
    loop {
        match chars.next().ok_or(EXPECTED)? {
            '}' => break,
            c => name.push(c),
        }
    }
    const UNKNOWN: &str = "unknown character name; write the character itself or `\\u` and its number";
    CHARACTERS.get(&*name.to_ascii_uppercase()).copied().ok_or(UNKNOWN)
}

/// Reads up to three octal digits, starting with `first`: at most `0o777`.
fn octal(first: char, chars: &mut Peekable<Chars<'_>>) -> char {
    let mut code = first.to_digit(8).unwrap_or_default();
    for _ in 0..2 {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
        code = code * 8 + digit;
        chars.next();
    }
    char::from_u32(code).unwrap_or_default()
}

/// Reads a character as `len` hexadecimal digits; the two halves of a surrogate pair are one character.
fn hex(
    chars: &mut Peekable<Chars<'_>>,
    len: usize,
    syntax_error: &'static str,
) -> Result<char, &'static str> {
    let code = hex_digits(chars, len).ok_or(syntax_error)?;
    if let 0xd800..0xdc00 = code {
        let mut ahead = chars.clone();
        if (ahead.next(), ahead.next()) == (Some('\\'), Some('u'))
            && let Some(low @ 0xdc00..0xe000) = hex_digits(&mut ahead, 4)
        {
            *chars = ahead;
            let code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            return char::from_u32(code).ok_or(syntax_error);
        }
    }
    char::from_u32(code).ok_or("the escape is not a valid character")
}

fn hex_digits(chars: &mut Peekable<Chars<'_>>, len: usize) -> Option<u32> {
    let mut code = 0_u32;
    for _ in 0..len {
        let digit = chars.next()?.to_digit(16)?;
        code = code.checked_mul(16)?.checked_add(digit)?;
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_need_a_fraction_or_an_exponent() {
        let cases = [
            ("1.5", 3),
            ("1_0.0_1e1_0", 11),
            ("1e5", 3),
            ("1E+5x", 4),
            ("1.5e", 3),
            ("1.5e+", 3),
            ("1.5_", 3),
            ("1.", 0),
            ("1", 0),
            ("1e", 0),
            ("1._5", 0),
            ("01.5", 4),
            (".5", 0),
            ("x", 0),
        ];
        for (text, len) in cases {
            assert_eq!(float_len(text.as_bytes()), len, "{text}");
        }
        assert!(float("1e400").is_infinite());
        assert_eq!(float("1_0.5"), 10.5);
    }

    #[test]
    fn integers_end_where_they_stop_being_one() {
        let cases = [
            ("0", 1, Const::Int(0)),
            ("00_0", 4, Const::Int(0)),
            ("012", 1, Const::Int(0)),
            ("1_000", 5, Const::Int(1000)),
            ("1__0", 1, Const::Int(1)),
            ("10_", 2, Const::Int(10)),
            ("0xFf_0g", 6, Const::Int(0xff0)),
            ("0x_f", 4, Const::Int(15)),
            ("0b102", 4, Const::Int(2)),
            ("0o17", 4, Const::Int(15)),
            ("0xg", 1, Const::Int(0)),
            ("170141183460469231731687303715884105727", 39, Const::Int(i128::MAX)),
            (
                "170141183460469231731687303715884105728",
                39,
                Const::HugeInt("170141183460469231731687303715884105728".into()),
            ),
        ];
        for (text, len, value) in cases {
            let (found, base) = integer_len(text.as_bytes());
            assert_eq!((found, integer(&text[..found], base)), (len, value), "{text}");
        }
    }

    #[test]
    fn strings_have_the_escapes_of_python() {
        let cases = [
            (r"a\n\t\\\'\x41\u00e9\U0001f600", Ok("a\n\t\\'A\u{e9}\u{1f600}")),
            (r"\101\8\400\0z", Ok("A\\8\u{100}\0z")),
            ("a\\\nb\\\r\nc\r\nd\re", Ok("abc\nd\ne")),
            (r"\q\.", Ok(r"\q\.")),
            (r"\é\語\😀", Ok(r"\xe9\u8a9e\U0001f600")),
            (r"\ud83d\ude00", Ok("\u{1f600}")),
            (r"\N{BULLET}\N{em dash}", Ok("\u{2022}\u{2014}")),
        ];
        for (text, value) in cases {
            assert_eq!(string(text), value.map(str::to_owned), "{text}");
        }
        for text in [
            r"\x4",
            r"\xé1",
            r"\u12",
            r"\U00110000",
            r"\Uffffffffff",
            r"\ud800",
            r"\N",
            r"\N{",
            r"\N{NOTHING}",
        ] {
            assert!(string(text).is_err(), "{text}");
        }
    }
}
