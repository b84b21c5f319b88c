//! Quotes strings as `%q` does, and reads quoted literals.
//!
//! Go strings are bytes: a literal may contain bytes that are not UTF-8, which are quoted as `\x..`.

use super::{unicode::is_print, utf8, utf8::Rune};

/// The characters that are not escaped inside quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Every printable character.
    Printable,
    /// Printable ASCII only.
    Ascii,
}

/// Appends `text` in double quotes.
pub(crate) fn quote_into(out: &mut Vec<u8>, text: &[u8], keep: Keep) {
    out.push(b'"');
    for (_, rune) in utf8::runes(text) {
        match rune {
            Rune::Char(c, _) => escape_into(out, c, '"', keep),
            Rune::Bad(byte) => push_hex(out, 'x', u32::from(byte), 2),
        }
    }
    out.push(b'"');
}

/// Appends `c` in single quotes.
pub(crate) fn quote_char_into(out: &mut Vec<u8>, c: char, keep: Keep) {
    out.push(b'\'');
    escape_into(out, c, '\'', keep);
    out.push(b'\'');
}

/// `text` in double quotes, as `%q` prints it.
#[must_use]
pub(crate) fn quote_text(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    quote_into(&mut out, text.as_bytes(), Keep::Printable);
    String::from_utf8(out).expect("quoting UTF-8 gives UTF-8")
}

fn escape_into(out: &mut Vec<u8>, c: char, quote: char, keep: Keep) {
    if c == quote || c == '\\' {
        out.push(b'\\');
        push_char(out, c);
    } else if is_print(c) && (c.is_ascii() || keep == Keep::Printable) {
        push_char(out, c);
    } else if let Some(letter) = short_escape(c) {
        out.extend([b'\\', letter]);
    } else {
        match u32::from(c) {
            code if code < 0x20 || code == 0x7f => push_hex(out, 'x', code, 2),
            code if code < 0x10000 => push_hex(out, 'u', code, 4),
            code => push_hex(out, 'U', code, 8),
        }
    }
}

fn short_escape(c: char) -> Option<u8> {
    Some(match c {
        '\x07' => b'a',
        '\x08' => b'b',
        '\x0c' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\x0b' => b'v',
        _ => return None,
    })
}

pub(crate) fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn push_hex(out: &mut Vec<u8>, letter: char, code: u32, digits: u32) {
    out.push(b'\\');
    push_char(out, letter);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(code >> (4 * place)) as usize & 0xf]);
    }
}

/// Whether `text` can be in backquotes unchanged (`%#q`).
#[must_use]
pub(crate) fn can_backquote(text: &[u8]) -> bool {
    utf8::runes(text).all(|(_, rune)| match rune {
        Rune::Bad(_) => false,
        Rune::Char(c, _) => c == '\t' || !(c < ' ' || matches!(c, '`' | '\x7f' | '\u{feff}')),
    })
}

/// Reads the string literal `literal` with its quotes. `None` if an escape in it is invalid.
#[must_use]
pub(crate) fn unquote_literal(literal: &str) -> Option<Vec<u8>> {
    if let Some(raw) = literal.strip_prefix('`') {
        let raw = raw.strip_suffix('`')?;
        return Some(raw.bytes().filter(|&byte| byte != b'\r').collect());
    }
    let mut rest = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (unit, tail) = unquote_unit(rest, '"')?;
        match unit {
            Unit::Char(c) => push_char(&mut text, c),
            Unit::Byte(byte) => text.push(byte),
        }
        rest = tail;
    }
    Some(text)
}

/// Reads the character at the start of a character literal's body: its code and the rest.
pub(crate) fn unquote_char(body: &str) -> Option<(u32, &str)> {
    let (unit, tail) = unquote_unit(body, '\'')?;
    Some(match unit {
        Unit::Char(c) => (u32::from(c), tail),
        Unit::Byte(byte) => (u32::from(byte), tail),
    })
}

/// The value of one character or escape of a literal.
enum Unit {
    Char(char),
    Byte(u8),
}

fn unquote_unit(body: &str, quote: char) -> Option<(Unit, &str)> {
    let mut chars = body.chars();
    let first = chars.next()?;
    if first == quote || first == '\n' {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Char(first), chars.as_str()));
    }
    let escape = chars.next()?;
    let rest = chars.as_str();
    let simple = match escape {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '\\' => '\\',
        '\'' | '"' if escape == quote => escape,
        'x' => return hex_digits(rest, 2).map(|(code, tail)| (Unit::Byte(code as u8), tail)),
        'u' | 'U' => {
            let (code, tail) = hex_digits(rest, if escape == 'u' { 4 } else { 8 })?;
            return Some((Unit::Char(char::from_u32(code)?), tail));
        }
        '0'..='7' => return octal_byte(&body[1..]).map(|(byte, tail)| (Unit::Byte(byte), tail)),
        _ => return None,
    };
    Some((Unit::Char(simple), rest))
}

fn hex_digits(text: &str, digits: usize) -> Option<(u32, &str)> {
    let (head, tail) = text.split_at_checked(digits)?;
    if !head.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some((u32::from_str_radix(head, 16).ok()?, tail))
}

fn octal_byte(text: &str) -> Option<(u8, &str)> {
    let (head, tail) = text.split_at_checked(3)?;
    if !head.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return None;
    }
    Some((u8::from_str_radix(head, 8).ok()?, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &[u8], keep: Keep) -> String {
        let mut out = Vec::new();
        quote_into(&mut out, text, keep);
        String::from_utf8(out).expect("is UTF-8")
    }

    #[test]
    fn quoting_shows_what_cannot_be_printed() {
        assert_eq!(quote_text("a\"b\\\x07\x7f\0é\u{ad}\u{e000}"), r#""a\"b\\\a\x7f\x00é\u00ad\ue000""#);
        assert_eq!(quoted("é語🚀".as_bytes(), Keep::Ascii), r#""\u00e9\u8a9e\U0001f680""#);
        assert_eq!(quoted(b"a\xffb", Keep::Printable), r#""a\xffb""#);
        let mut out = Vec::new();
        quote_char_into(&mut out, '\'', Keep::Printable);
        assert_eq!(out, b"'\\''");
    }

    #[test]
    fn literals_are_read_as_go_reads_them() {
        assert_eq!(
            unquote_literal(r#""\x48\151\u00e9\U0001F680\n\"""#).as_deref(),
            Some("Hié🚀\n\"".as_bytes())
        );
        assert_eq!(unquote_literal("`a\r\nb\\n`").as_deref(), Some(&b"a\nb\\n"[..]));
        assert_eq!(unquote_literal(r#""\xff""#).as_deref(), Some(&b"\xff"[..]));
        for wrong in
            [r#""\q""#, r#""\'""#, r#""\x4""#, r#""\ud800""#, r#""\U00110000""#, r#""\400""#, r#""\18a""#]
        {
            assert_eq!(unquote_literal(wrong), None, "{wrong}");
        }
        assert_eq!(unquote_char("ab'"), Some((97, "b'")));
        assert_eq!(unquote_char("'"), None);
        assert_eq!(unquote_char(r"\xff'"), Some((255, "'")));
    }

    #[test]
    fn backquotes_hold_plain_text_only() {
        assert!(can_backquote("a\tb 語".as_bytes()));
        for text in ["a`b", "a\nb", "\u{feff}", "\x7f"] {
            assert!(!can_backquote(text.as_bytes()), "{text:?}");
        }
        assert!(!can_backquote(b"\xff"));
    }
}
