//! The escapers `html`, `js` and `urlquery`.

use crate::text::{unicode::is_print, utf8, utf8::Rune};

/// Escapes text for HTML, including attribute values.
pub(crate) fn escape_html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    for &byte in text {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
    out
}

/// Escapes text for a JavaScript string.
pub(crate) fn escape_js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        let Some(rune) = utf8::first_rune(rest) else { break };
        match rune {
            Rune::Char('\\', _) => out.extend_from_slice(br"\\"),
            Rune::Char('\'', _) => out.extend_from_slice(br"\'"),
            Rune::Char('"', _) => out.extend_from_slice(br#"\""#),
            Rune::Char(c @ ('<' | '>' | '&' | '='), _) => push_unicode(&mut out, c),
            Rune::Char(c, _) if c < ' ' || !c.is_ascii() && !is_print(c) => push_unicode(&mut out, c),
            _ => out.extend_from_slice(&rest[..rune.len()]),
        }
        rest = &rest[rune.len()..];
    }
    out
}

/// Whether a byte never needs an escape in a JavaScript string.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=0x7f) && !matches!(byte, b'\\' | b'\'' | b'"' | b'<' | b'>' | b'&' | b'=')
}

/// Appends `\u` and at least four digits.
fn push_unicode(out: &mut Vec<u8>, c: char) {
    let code = u32::from(c);
    let digits = (u32::BITS - code.leading_zeros()).div_ceil(4).max(4);
    out.extend_from_slice(br"\u");
    out.extend((0..digits).rev().map(|at| hex_digit((code >> (4 * at)) as u8 & 0xf)));
}

fn hex_digit(nibble: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(nibble)]
}

/// Escapes text for the query of a URL.
pub(crate) fn escape_url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    for &byte in text {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => {
                out.extend([b'%', hex_digit(byte >> 4), hex_digit(byte & 0xf)]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_special_is_escaped_and_nothing_else() {
        assert_eq!(escape_html(b"<a b='c'>\0&\""), "&lt;a b=&#39;c&#39;&gt;\u{fffd}&amp;&#34;".as_bytes());
        assert_eq!(
            escape_js("a<'\"\\=\n\u{2028}é🚀\u{e0001}\x7f".as_bytes()),
            "a\\u003C\\'\\\"\\\\\\u003D\\u000A\\u2028é🚀\\uE0001\x7f".as_bytes()
        );
        assert_eq!(escape_js(b"\xff"), b"\xff");
        assert_eq!(escape_url_query("a b&é~".as_bytes()), b"a+b%26%C3%A9~");
    }
}
