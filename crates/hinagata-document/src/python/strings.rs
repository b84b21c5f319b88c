//! The values of Python string literals.

/// Why a string has no value before the file runs.
pub(super) enum NotLiteral {
    /// Python computes it at run time, or it is a `bytes` literal.
    Computed,
    /// The literal is invalid.
    Invalid(&'static str),
}

/// The value of a string literal, which is passed with its prefix and quotes.
pub(super) fn decode_literal(literal: &str) -> Result<String, NotLiteral> {
    let quotes = literal.find(['"', '\'']).ok_or(NotLiteral::Computed)?;
    let (prefix, quoted) = literal.split_at(quotes);
    let prefix = prefix.to_ascii_lowercase();
    if prefix.contains(['b', 'f', 't']) {
        return Err(NotLiteral::Computed);
    }
    let width = if quoted.len() >= 6 && is_triple(quoted) { 3 } else { 1 };
    let inner = quoted.get(width..quoted.len() - width).ok_or(NotLiteral::Computed)?;
    // Python converts all line breaks of a source to `\n`.
    let inner = inner.replace("\r\n", "\n").replace('\r', "\n");
    if prefix.contains('r') { Ok(inner) } else { unescape(&inner) }
}

fn is_triple(quoted: &str) -> bool {
    quoted.starts_with("\"\"\"") || quoted.starts_with("'''")
}

fn unescape(text: &str) -> Result<String, NotLiteral> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        rest = read_escape(&rest[at + 1..], &mut result)?;
    }
    result.push_str(rest);
    Ok(result)
}

/// Reads one escape after its backslash and returns what follows.
fn read_escape<'a>(after: &'a str, result: &mut String) -> Result<&'a str, NotLiteral> {
    let Some(character) = after.chars().next() else {
        result.push('\\');
        return Ok(after);
    };
    let rest = &after[character.len_utf8()..];
    let simple = match character {
        '\n' => return Ok(rest),
        '\\' | '\'' | '"' => character,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '0'..='7' => return read_octal(after, result),
        'x' => return read_hexadecimal(rest, 2, result),
        'u' => return read_hexadecimal(rest, 4, result),
        'U' => return read_hexadecimal(rest, 8, result),
        // `\N{…}` needs the table of Unicode character names.
        'N' => return Err(NotLiteral::Computed),
        // Python keeps the backslash before anything else.
        other => {
            result.push('\\');
            other
        }
    };
    result.push(simple);
    Ok(rest)
}

fn read_octal<'a>(text: &'a str, result: &mut String) -> Result<&'a str, NotLiteral> {
    let length = text.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let (digits, rest) = text.split_at(length);
    push_code(u32::from_str_radix(digits, 8).ok(), result)?;
    Ok(rest)
}

fn read_hexadecimal<'a>(text: &'a str, length: usize, result: &mut String) -> Result<&'a str, NotLiteral> {
    let digits = text.get(..length).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let digits = digits.ok_or(NotLiteral::Invalid("escape sequence has too few digits"))?;
    push_code(u32::from_str_radix(digits, 16).ok(), result)?;
    Ok(&text[length..])
}

fn push_code(code: Option<u32>, result: &mut String) -> Result<(), NotLiteral> {
    let code = code.ok_or(NotLiteral::Invalid("escape sequence is not a valid character"))?;
    // A lone surrogate is valid in Python, but not in UTF-8.
    if (0xd800..0xe000).contains(&code) {
        return Err(NotLiteral::Computed);
    }
    result.push(char::from_u32(code).ok_or(NotLiteral::Invalid("escape sequence is not a valid character"))?);
    Ok(())
}
