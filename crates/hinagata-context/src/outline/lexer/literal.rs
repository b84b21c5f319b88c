//! The ends of literals. A function that finds no end returns `None`.

use memchr::memmem;

use super::{
    super::language::{Apostrophe, Heredoc, Quote, RawString},
    is_word_byte,
};

/// The longest character literal that is looked for, in bytes: `'\u{10ffff}'`.
const MAX_CHARACTER: usize = 12;

/// The longest delimiter of a raw string of C++.
const MAX_DELIMITER: usize = 16;

/// The place behind the next `close`.
pub(super) fn find_after(text: &[u8], from: usize, close: &str) -> Option<usize> {
    let found = memmem::find(text.get(from..)?, close.as_bytes())?;
    Some(from + found + close.len())
}

/// The end of the next line that starts with `word`.
pub(super) fn find_line(text: &[u8], from: usize, word: &str) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr::memchr(b'\n', &text[at..]) {
        at += found + 1;
        if text[at..].starts_with(word.as_bytes()) {
            return Some(memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end));
        }
    }
    None
}

/// The end of a comment that can contain comments.
pub(super) fn find_nested_end(text: &[u8], from: usize, open: &str, close: &str) -> Option<usize> {
    let (first, last) = (open.as_bytes()[0], close.as_bytes()[0]);
    let mut at = from + open.len();
    let mut depth = 1;
    while let Some(found) = memchr::memchr2(first, last, &text[at..]) {
        at += found;
        if text[at..].starts_with(close.as_bytes()) {
            at += close.len();
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        } else if text[at..].starts_with(open.as_bytes()) {
            at += open.len();
            depth += 1;
        } else {
            at += 1;
        }
    }
    None
}

/// Where a string goes on after a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringEnd {
    /// It ends here.
    Closed(usize),
    /// An expression in it starts here.
    Expression(usize),
    /// It does not end before the end of its line, or of the text, which is here.
    Open(usize),
}

/// The end of the part of a string that starts at `from`.
pub(super) fn find_string_end(text: &[u8], from: usize, quote: Quote) -> StringEnd {
    let close = quote.close.as_bytes();
    // A byte that cannot occur in text stands for what need not be found.
    let none = 0xff;
    let escape = if quote.has_escapes { b'\\' } else { none };
    let line_end = if quote.spans_lines { none } else { b'\n' };
    let expression = quote.expression.unwrap_or_default().as_bytes();
    let sign = expression.first().copied().unwrap_or(none);
    let is_end = |byte: u8| byte == close[0] || byte == escape || byte == line_end || byte == sign;
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        // A fourth byte to look for is rare enough to do without vectors.
        let found = match (line_end, sign) {
            (0xff, sign) => memchr::memchr3(close[0], escape, sign, rest),
            (line_end, 0xff) => memchr::memchr3(close[0], escape, line_end, rest),
            _ => rest.iter().position(|byte| is_end(*byte)),
        };
        let Some(found) = found else { return StringEnd::Open(text.len()) };
        at += found;
        let rest = &text[at..];
        match text[at] {
            _ if rest.starts_with(close) => {
                at += close.len();
                if !quote.is_doubled || text.get(at) != Some(&close[0]) {
                    return StringEnd::Closed(at);
                }
                at += 1;
            }
            byte if byte == sign && rest.starts_with(expression) => {
                // A brace that is doubled is a brace.
                if expression != b"{" || rest.get(1) != Some(&b'{') {
                    return StringEnd::Expression(at + expression.len());
                }
                at += 2;
            }
            byte if byte == escape => at += 2,
            byte if byte == line_end => return StringEnd::Open(at),
            _ => at += 1,
        }
    }
}

/// The end of a character literal whose apostrophe stands at `start`.
pub(super) fn find_character_end(kind: Apostrophe, text: &[u8], start: usize) -> Option<usize> {
    let inner = start + 1;
    let ahead = &text[inner..text.len().min(inner + MAX_CHARACTER)];
    let ahead = &ahead[..memchr::memchr(b'\n', ahead).unwrap_or(ahead.len())];
    let first = *ahead.first()?;
    let escape = if first == b'\\' { 2 } else { 1 };
    let close = escape + memchr::memchr(b'\'', ahead.get(escape..)?)?;
    let is_single = first == b'\\' || close == character_len(first);
    match kind {
        Apostrophe::Plain => None,
        Apostrophe::OneCharacter if !is_single => None,
        Apostrophe::OneCharacter | Apostrophe::Character => Some(inner + close + 1),
    }
}

/// The length of the character that starts with this byte of UTF-8.
fn character_len(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// The end of a raw string that starts with `word`, which ends at `from`; the inner `None` where it does not end.
pub(super) fn find_raw_end(kind: RawString, word: &[u8], text: &[u8], from: usize) -> Option<Option<usize>> {
    match kind {
        RawString::Rust if matches!(word, b"r" | b"br" | b"cr") => rust_raw_end(text, from),
        RawString::Cpp if matches!(word, b"R" | b"LR" | b"uR" | b"UR" | b"u8R") => cpp_raw_end(text, from),
        _ => None,
    }
}

fn rust_raw_end(text: &[u8], from: usize) -> Option<Option<usize>> {
    let hashes = count_bytes(&text[from..], b'#');
    let mut at = from + hashes;
    if text.get(at) != Some(&b'"') {
        return None;
    }
    at += 1;
    while let Some(found) = memchr::memchr(b'"', &text[at..]) {
        at += found + 1;
        let closing = count_bytes(&text[at..text.len().min(at + hashes)], b'#');
        if closing == hashes {
            return Some(Some(at + hashes));
        }
        at += closing;
    }
    Some(None)
}

fn count_bytes(text: &[u8], byte: u8) -> usize {
    text.iter().take_while(|found| **found == byte).count()
}

fn cpp_raw_end(text: &[u8], from: usize) -> Option<Option<usize>> {
    let rest = text.get(from..)?.strip_prefix(b"\"")?;
    let len = rest.iter().take(MAX_DELIMITER + 1).position(|byte| *byte == b'(')?;
    let closing = [b")", &rest[..len], b"\""].concat();
    let inner = from + 1 + len + 1;
    Some(memmem::find(&text[inner..], &closing).map(|found| inner + found + closing.len()))
}

/// The level of the long bracket of Lua that starts at `from`: the number of its equals signs.
pub(super) fn long_bracket(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?.strip_prefix(b"[")?;
    let level = count_bytes(rest, b'=');
    (rest.get(level) == Some(&b'[')).then_some(level)
}

/// The end of the long bracket of Lua that starts at `from`.
pub(super) fn find_long_bracket_end(text: &[u8], from: usize) -> Option<usize> {
    let level = long_bracket(text, from)?;
    find_after(text, from + level + 2, &format!("]{}]", "=".repeat(level)))
}

/// The end of a regular expression whose content starts at `from`.
pub(super) fn find_regex_end(text: &[u8], from: usize, spans_lines: bool) -> Option<usize> {
    let mut in_class = false;
    let mut at = from;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if spans_lines || text.get(at + 1) != Some(&b'\n') => at += 1,
            b'\n' if !spans_lines => return None,
            // A class that is not closed must not reach the end of the file.
            b'\n' => in_class = false,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class || spans_lines => {
                let flags = text[at + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                return Some(at + 1 + flags);
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place of the delimiter of a literal such as `%w[`.
pub(super) fn percent_start(text: &[u8], start: usize) -> Option<usize> {
    let letter = text.get(start + 1)?;
    let place = start + 1 + usize::from(b"wWiIqQrsx".contains(letter));
    let delimiter = *text.get(place)?;
    (delimiter.is_ascii_punctuation() && delimiter != b'=').then_some(place)
}

/// The end of a literal between delimiters; brackets nest.
pub(super) fn find_delimited_end(text: &[u8], start: usize) -> Option<usize> {
    let open = *text.get(start)?;
    let close = match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        _ => open,
    };
    let mut depth = 1;
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            _ if byte == close => depth -= 1,
            _ if byte == open => depth += 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The end of a character of Ruby such as `?x`.
pub(super) fn find_letter_end(text: &[u8], start: usize) -> Option<usize> {
    let letter = *text.get(start + 1)?;
    let end = start + 1 + if letter == b'\\' { 2 } else { character_len(letter) };
    let is_alone = text.get(end).is_none_or(|next| !is_word_byte(*next));
    (is_alone && !letter.is_ascii_whitespace() && end <= text.len()).then_some(end)
}

/// A here-document that starts behind the end of the current line.
#[derive(Clone, Debug)]
pub(super) struct PendingHeredoc {
    kind: Heredoc,
    /// The place of its name.
    start: usize,
    end: usize,
    is_indented: bool,
}

impl PendingHeredoc {
    /// Reads the start of a here-document at `start`; returns it with the place behind.
    pub(super) fn parse(kind: Heredoc, text: &[u8], start: usize) -> Option<(Self, usize)> {
        let opening: &[u8] = if kind == Heredoc::Php { b"<<<" } else { b"<<" };
        let mut at = start + text[start..].starts_with(opening).then_some(opening.len())?;
        let mut is_indented = kind == Heredoc::Php;
        let next = *text.get(at)?;
        if next == b'<' || (start > 0 && text[start - 1] == b'<') {
            return None;
        }
        if next == b'-' || (next == b'~' && kind == Heredoc::Ruby) {
            is_indented = true;
            at += 1;
        }
        if kind != Heredoc::Ruby {
            at += text[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        }
        let quote = text.get(at).copied().filter(|byte| b"'\"`\\".contains(byte));
        at += usize::from(quote.is_some());
        let len = text[at..].iter().take_while(|byte| is_word_byte(**byte) || **byte == b'-').count();
        let first = text.get(at).filter(|first| is_word_byte(**first) && !first.is_ascii_digit())?;
        // `list <<item` appends to a list.
        let is_name = kind != Heredoc::Ruby || is_indented || quote.is_some() || !first.is_ascii_lowercase();
        let is_closed = quote.is_none_or(|quote| quote == b'\\' || text.get(at + len) == Some(&quote));
        let behind = at + len + usize::from(quote.is_some_and(|quote| quote != b'\\'));
        (is_name && is_closed).then_some((Self { kind, start: at, end: at + len, is_indented }, behind))
    }

    /// The end of the here-document whose text starts at `from`, with the line that closes it.
    pub(super) fn find_end(&self, text: &[u8], from: usize) -> Option<usize> {
        let name = &text[self.start..self.end];
        let mut at = from;
        // Behind another here-document, the line of its end comes first.
        if text.get(at) == Some(&b'\n') {
            at += 1;
        }
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |found| at + found);
            let line = text[at..end].trim_ascii_end();
            let inner = if self.is_indented { line.trim_ascii_start() } else { line };
            match inner.strip_prefix(name) {
                Some(b"") => return Some(at + line.len()),
                Some(rest) if self.kind == Heredoc::Php && !is_word_byte(rest[0]) => {
                    return Some(at + line.len() - rest.len());
                }
                _ => at = end + 1,
            }
        }
        None
    }
}
