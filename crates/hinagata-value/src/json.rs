//! Values as JSON text.

use std::borrow::Cow;

use crate::{
    Error, Heap, Kind, Number, Range, Result, Text, Value,
    number::write_float_repr,
    walk::{Event, Order, Shape, walk_as},
};

/// The style of JSON text.
#[derive(Clone, Debug)]
pub struct JsonStyle<'s> {
    /// The separator between items and entries.
    pub item_separator: Cow<'s, str>,
    /// The separator between a key and its value.
    pub key_separator: Cow<'s, str>,
    /// The indentation of each level. `None` writes one line.
    pub indent: Option<Cow<'s, str>>,
    /// Whether keys are sorted.
    pub sort_keys: bool,
    /// Whether all characters except printable ASCII are written as `\uXXXX`.
    pub ascii: bool,
    /// Further characters that are written as `\uXXXX`, such as `<`.
    pub escape: &'s [char],
}

impl Default for JsonStyle<'_> {
    /// Compact, in the order of the data, UTF-8.
    fn default() -> Self {
        Self {
            item_separator: Cow::Borrowed(","),
            key_separator: Cow::Borrowed(":"),
            indent: None,
            sort_keys: false,
            ascii: false,
            escape: &[],
        }
    }
}

/// Appends `value` as JSON text.
///
/// # Errors
/// A limit is reached, or a value in it has no JSON form (undefined, functions, a value that contains itself).
pub fn write_json<'a>(
    heap: &Heap<'a>,
    value: &Value<'a>,
    style: &JsonStyle<'_>,
    text: &mut Text<'a>,
) -> Result<()> {
    let order = if style.sort_keys { Order::ByKey } else { Order::AsTheyAre };
    let mut depth = 0_usize;
    walk_as(heap, value, order, &mut |event| match event {
        Event::Start(shape, len) => {
            text.push_str(if is_list(shape)? { "[" } else { "{" })?;
            depth += 1;
            if len > 0 { style.new_line(depth, text) } else { Ok(()) }
        }
        Event::Next => {
            text.push_str(&style.item_separator)?;
            style.new_line(depth, text)
        }
        Event::Key(key) => {
            write_key(&key, style, text)?;
            text.push_str(&style.key_separator)
        }
        Event::End(shape, len) => {
            depth -= 1;
            if len > 0 {
                style.new_line(depth, text)?;
            }
            text.push_str(if is_list(shape)? { "]" } else { "}" })
        }
        Event::Scalar(Value::Range(range)) => write_range(**range, depth, style, text),
        Event::Scalar(value) => write_scalar(&value, style, text),
        Event::Cycle(_) => Err(contains_itself()),
    })
}

impl JsonStyle<'_> {
    /// Starts a new line, indented by `depth` levels, if the style has lines.
    fn new_line(&self, depth: usize, text: &mut Text<'_>) -> Result<()> {
        let Some(indent) = &self.indent else { return Ok(()) };
        text.push_str("\n")?;
        text.push_repeated(indent, depth)
    }
}

pub(crate) fn is_list(shape: Shape) -> Result<bool> {
    match shape {
        Shape::List | Shape::Tuple => Ok(true),
        Shape::Map => Ok(false),
        Shape::View(_) => Err(no_json_form("a view of a map")),
        Shape::Namespace => Err(no_json_form("a namespace")),
    }
}

#[cold]
pub(crate) fn no_json_form(what: &str) -> Error {
    Error::runtime(format!("{what} has no JSON form"))
}

#[cold]
pub(crate) fn contains_itself() -> Error {
    Error::runtime("a value that contains itself has no JSON form")
}

/// Writes a range as the list of its integers, inside `depth` open containers.
fn write_range(range: Range, depth: usize, style: &JsonStyle<'_>, text: &mut Text<'_>) -> Result<()> {
    text.push_str("[")?;
    for (index, int) in (0..range.len()).map_while(|index| range.get(index)).enumerate() {
        if index > 0 {
            text.push_str(&style.item_separator)?;
        }
        style.new_line(depth + 1, text)?;
        write_number(Number::Int(i128::from(int)), text)?;
    }
    if !range.is_empty() {
        style.new_line(depth, text)?;
    }
    text.push_str("]")
}

fn write_scalar(value: &Value<'_>, style: &JsonStyle<'_>, text: &mut Text<'_>) -> Result<()> {
    if let Some(string) = value.as_str() {
        return write_string(string, style, text);
    }
    if let Some(number) = value.as_number() {
        return write_number(number, text);
    }
    match value.kind() {
        Kind::None => text.push_str("null"),
        Kind::Bool => text.push_str(if value.as_bool() == Some(true) { "true" } else { "false" }),
        Kind::Pending => Err(Error::suspended()),
        Kind::Undefined => Err(no_json_form("an undefined value")),
        Kind::Bytes => Err(no_json_form("a string that is not UTF-8")),
        _ => Err(no_json_form("a function or object")),
    }
}

fn write_number(number: Number, text: &mut Text<'_>) -> Result<()> {
    match number {
        Number::Int(int) => text.push_str(itoa::Buffer::new().format(int)),
        Number::Float(float) if float.is_nan() => text.push_str("NaN"),
        Number::Float(float) if float.is_infinite() => {
            text.push_str(if float > 0.0 { "Infinity" } else { "-Infinity" })
        }
        Number::Float(float) => {
            let mut buffer = String::with_capacity(24);
            write_float_repr(float, &mut buffer);
            text.push_str(&buffer)
        }
    }
}

/// Writes a key. Keys of other types become strings, as in JSON libraries.
pub(crate) fn write_key(key: &Value<'_>, style: &JsonStyle<'_>, text: &mut Text<'_>) -> Result<()> {
    if let Some(string) = key.as_str() {
        return write_string(string, style, text);
    }
    text.push_str("\"")?;
    match (key.kind(), key.as_number()) {
        (_, Some(number)) => write_number(number, text)?,
        (Kind::Bool, _) => text.push_str(if key.as_bool() == Some(true) { "true" } else { "false" })?,
        (Kind::None, _) => text.push_str("null")?,
        _ => return Err(no_json_form("a key that is neither text nor a number")),
    }
    text.push_str("\"")
}

fn write_string(string: &str, style: &JsonStyle<'_>, text: &mut Text<'_>) -> Result<()> {
    text.push_str("\"")?;
    let mut from = 0;
    let escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\' || byte >= 0x7f;
    if style.escape.is_empty() && !style.ascii {
        // The usual case: only control characters, quotes and backslashes need an escape.
        for (at, byte) in string.bytes().enumerate() {
            if byte < 0x20 || byte == b'"' || byte == b'\\' {
                text.push_str(&string[from..at])?;
                write_escape(char::from(byte), text)?;
                from = at + 1;
            }
        }
    } else {
        for (at, character) in string.char_indices() {
            let special = escaped(string.as_bytes()[at]) || style.escape.contains(&character);
            if special && must_escape(character, style) {
                text.push_str(&string[from..at])?;
                write_escape(character, text)?;
                from = at + character.len_utf8();
            }
        }
    }
    text.push_str(&string[from..])?;
    text.push_str("\"")
}

fn must_escape(character: char, style: &JsonStyle<'_>) -> bool {
    character < ' '
        || matches!(character, '"' | '\\')
        || (style.ascii && character > '~')
        || style.escape.contains(&character)
}

fn write_escape(character: char, text: &mut Text<'_>) -> Result<()> {
    match character {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\u{8}' => text.push_str("\\b"),
        '\u{c}' => text.push_str("\\f"),
        other => {
            let mut units = [0_u16; 2];
            for unit in other.encode_utf16(&mut units) {
                text.push_fmt(format_args!("\\u{unit:04x}"))?;
            }
            Ok(())
        }
    }
}
