//! Filters that write or read HTML.

use std::borrow::Cow;

use hinagata_value::{Arguments, Error, Kind, Result, Value};

use super::{entities::ENTITIES, flag};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_none},
        methods::split_words,
        print::{escape_html as push_escaped, needs_escape, print_escaped, print_value},
        textual::{charge_characters, finish_text, new_string, to_textual},
        types::wrong_type,
    },
};

/// `escape`: the escaped value, unless it is safe.
pub(super) fn escape<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "escape")?;
    if value.is_safe() {
        return Ok(value);
    }
    let mut text = cx.heap.text();
    print_escaped(cx, &value, &mut text)?;
    finish_text(text, true)
}

/// `forceescape`: the escaped value, even if it is safe.
pub(super) fn forceescape<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "forceescape")?;
    let mut text = cx.heap.text();
    push_escaped(&to_textual(cx, &value)?, &mut text)?;
    finish_text(text, true)
}

/// `safe`: the value marked as safe, so that it is not escaped.
pub(super) fn safe<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "safe")?;
    match value {
        Value::Safe(_) | Value::Pieces(_) => Ok(value),
        Value::Str(text) => Ok(Value::Safe(text)),
        _ => {
            let mut text = cx.heap.text();
            print_value(cx, &value, &mut text)?;
            finish_text(text, true)
        }
    }
}

/// `striptags`: the text without tags, with collapsed spaces and resolved character references.
pub(super) fn striptags<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "striptags")?;
    strip_tags(cx, &to_textual(cx, &value)?)
}

/// Removes tags and comments from a text, except unclosed ones.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn strip_tags<'a>(cx: &Context<'_, 'a>, text: &str) -> Result<Value<'a>> {
    charge_characters(cx, text)?;
    let mut stripped = cx.heap.text();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start..];
        let end = match tag.strip_prefix("<!--") {
            Some(comment) => comment.find("-->").map(|end| end + 7),
            None => tag.find('>').map(|end| end + 1),
        };
        let Some(end) = end else { break };
        stripped.push_str(&rest[..start])?;
        rest = &tag[end..];
    }
    stripped.push_str(rest)?;
    let mut tidy = cx.heap.text();
    for (at, word) in split_words(stripped.as_str(), usize::MAX).enumerate() {
        if at > 0 {
            tidy.push_str(" ")?;
        }
        tidy.push_str(word)?;
    }
    // Each reference takes up to about thirty lookups.
    let references = tidy.as_str().bytes().filter(|byte| *byte == b'&').count();
    cx.heap.budget().charge_steps(references as u64 * 32)?;
    new_string(cx, unescape_html(tidy.as_str()), false)
}

/// Resolves the character references of HTML in a text.
pub(crate) fn unescape_html(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        result.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match read_reference(after) {
            Some((read, len)) => {
                result.push_str(&read);
                rest = &after[len..];
            }
            None => {
                result.push('&');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    result
}

/// The text of the reference after `&`, and the length of the reference.
fn read_reference(text: &str) -> Option<(Cow<'static, str>, usize)> {
    if let Some(number) = text.strip_prefix('#') {
        return numeric_reference(number).map(|(read, len)| (read, len + 1));
    }
    let ends = |character: char| matches!(character, '\t' | '\n' | '\u{c}' | ' ' | '<' | '&' | '#' | ';');
    let end = text.char_indices().enumerate().find(|(count, (_, next))| *count == 32 || ends(*next));
    let end = end.map_or(text.len(), |(_, (at, _))| at);
    let end = if text[end..].starts_with(';') { end + 1 } else { end };
    // The longest name that the text starts with; some need no semicolon.
    let boundary = |len: &usize| text.is_char_boundary(*len);
    (2..=end)
        .rev()
        .filter(boundary)
        .find_map(|len| find_entity(&text[..len]).map(|read| (Cow::Borrowed(read), len)))
}

fn find_entity(name: &str) -> Option<&'static str> {
    ENTITIES.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| ENTITIES[at].1)
}

/// The text of the numeric reference after `&#`, and its length.
fn numeric_reference(text: &str) -> Option<(Cow<'static, str>, usize)> {
    let (digits, radix, start) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16, 1),
        None => (text, 10, 0),
    };
    let len = digits.bytes().position(|byte| !char::from(byte).is_digit(radix)).unwrap_or(digits.len());
    if len == 0 {
        return None;
    }
    // A number that does not fit is beyond the last character, as `u32::MAX` is.
    let code = u32::from_str_radix(&digits[..len], radix).unwrap_or(u32::MAX);
    let semicolon = usize::from(digits[len..].starts_with(';'));
    Some((character(code), start + len + semicolon))
}

/// The characters for codes 0x80 to 0x9f, as browsers read them (Windows-1252).
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn character(code: u32) -> Cow<'static, str> {
    let found = match code {
        0 => '\u{fffd}',
        0x80..=0x9f => WINDOWS[(code - 0x80) as usize],
        0xd => '\r',
        0x1..=0x8 | 0xb | 0xe..=0x1f | 0x7f | 0xfdd0..=0xfdef => return Cow::Borrowed(""),
        _ if code & 0xfffe == 0xfffe && code <= 0x10_ffff => return Cow::Borrowed(""),
        _ => char::from_u32(code).unwrap_or('\u{fffd}'),
    };
    Cow::Owned(found.to_string())
}

/// `xmlattr`: the entries of a map as attributes of a tag.
pub(super) fn xmlattr<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [autospace] = bind_arguments(arguments, "xmlattr", ["autospace"], 0)?;
    let autospace = flag(cx, autospace, true)?;
    if value.kind() != Kind::Map {
        return Err(wrong_type(cx, &value, |name| format!("`xmlattr` works on maps, not on {name}")));
    }
    let mut text = cx.heap.text();
    for (key, value) in cx.heap.entries(&value).into_iter().flatten() {
        cx.heap.budget().charge_steps(1)?;
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let Some(name) = key.as_str() else {
            return Err(wrong_type(cx, &key, |name| {
                format!("the name of an attribute is a string, not {name}")
            }));
        };
        if name.contains(|character: char| {
            character.is_ascii_whitespace() || matches!(character, '\u{b}' | '/' | '>' | '=')
        }) {
            return Err(Error::runtime(format!("{name:?} cannot be the name of an attribute")));
        }
        if autospace || !text.is_empty() {
            text.push_str(" ")?;
        }
        if key.is_safe() || !needs_escape(name) {
            text.push_str(name)?;
        } else {
            push_escaped(name, &mut text)?;
        }
        text.push_str("=\"")?;
        print_escaped(cx, &value, &mut text)?;
        text.push_str("\"")?;
    }
    finish_text(text, cx.autoescape)
}
