//! Values as JSON: text for templates, documents for what leaves the render.

use std::borrow::Cow;

use serde_json::{Number as JsonNumber, Value as Json};

use crate::{
    Error, Heap, Kind, Number, Result, Text, Value,
    number::write_float_repr,
    walk::{Event, Shape, walk},
};

/// How JSON text looks.
#[derive(Clone, Debug)]
pub struct JsonStyle<'s> {
    /// Between items and entries.
    pub item_separator: Cow<'s, str>,
    /// Between a key and its value.
    pub key_separator: Cow<'s, str>,
    /// What each level is indented by; on one line when `None`.
    pub indent: Option<Cow<'s, str>>,
    /// Whether keys are sorted.
    pub sort_keys: bool,
    /// Whether everything beyond ASCII is written as `\uXXXX`.
    pub ascii: bool,
    /// Characters written as `\uXXXX` although JSON does not ask for it, such as `<`.
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
/// When a limit is reached; when something in it has no JSON form (undefined, functions, a value that
/// contains itself).
pub fn write_json<'a>(
    heap: &Heap<'a>,
    value: &Value<'a>,
    style: &JsonStyle<'_>,
    text: &mut Text<'a>,
) -> Result<()> {
    if style.sort_keys {
        let sorted = sort_keys(heap, value)?;
        return write_unsorted(heap, &sorted, style, text);
    }
    write_unsorted(heap, value, style, text)
}

fn write_unsorted<'a>(
    heap: &Heap<'a>,
    value: &Value<'a>,
    style: &JsonStyle<'_>,
    text: &mut Text<'a>,
) -> Result<()> {
    let mut depth = 0_usize;
    let new_line = |text: &mut Text<'a>, depth: usize| -> Result<()> {
        let Some(indent) = &style.indent else { return Ok(()) };
        text.push_str("\n")?;
        text.push_repeated(indent, depth)
    };
    walk(heap, value, &mut |event| match event {
        Event::Start(shape, len) => {
            text.push_str(if is_list(shape)? { "[" } else { "{" })?;
            depth += 1;
            if len > 0 { new_line(text, depth) } else { Ok(()) }
        }
        Event::Next => {
            text.push_str(&style.item_separator)?;
            new_line(text, depth)
        }
        Event::Key(key) => {
            write_key(&key, style, text)?;
            text.push_str(&style.key_separator)
        }
        Event::End(shape, len) => {
            depth -= 1;
            if len > 0 {
                new_line(text, depth)?;
            }
            text.push_str(if is_list(shape)? { "]" } else { "}" })
        }
        Event::Scalar(value) => write_scalar(heap, &value, style, text),
        Event::Cycle(_) => Err(Error::runtime("a value that contains itself has no JSON form")),
    })
}

fn is_list(shape: Shape) -> Result<bool> {
    match shape {
        Shape::List | Shape::Tuple => Ok(true),
        Shape::Map => Ok(false),
        Shape::View(_) => Err(no_json_form("a view of a map")),
        Shape::Namespace => Err(no_json_form("a namespace")),
    }
}

#[cold]
fn no_json_form(what: &str) -> Error {
    Error::runtime(format!("{what} has no JSON form"))
}

fn write_scalar<'a>(
    heap: &Heap<'a>,
    value: &Value<'a>,
    style: &JsonStyle<'_>,
    text: &mut Text<'a>,
) -> Result<()> {
    if let Some(string) = value.as_str() {
        return write_string(string, style, text);
    }
    if let Some(number) = value.as_number() {
        return write_number(number, text);
    }
    match value.kind() {
        Kind::None => text.push_str("null"),
        Kind::Bool => text.push_str(if value.as_bool() == Some(true) { "true" } else { "false" }),
        Kind::Range => {
            let items = heap.iter(value).ok_or_else(|| no_json_form("this range"))?;
            let list = heap.list_of(items)?;
            write_unsorted(heap, &list, style, text)
        }
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

/// Keys of other types are written as the strings that JSON libraries make of them.
fn write_key(key: &Value<'_>, style: &JsonStyle<'_>, text: &mut Text<'_>) -> Result<()> {
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
        // The plain case: only control characters, quotes and backslashes are of interest.
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
        || (style.ascii && character > '\u{7e}' && character != '\u{7f}')
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

/// A copy of `value` whose maps are in the order of their keys.
fn sort_keys<'a>(heap: &Heap<'a>, value: &Value<'a>) -> Result<Value<'a>> {
    build(heap, value, &mut |heap, mut entries: Vec<(Value<'a>, Value<'a>)>| {
        heap.budget().step(entries.len() as u64 * u64::from(entries.len().max(1).ilog2() + 1))?;
        let mut failure = None;
        entries.sort_by(|(a, _), (b, _)| {
            crate::compare::order_keys(a, b).unwrap_or_else(|| {
                failure = Some(Error::runtime("keys of different types cannot be sorted"));
                std::cmp::Ordering::Equal
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let mut map = heap.map()?;
        for (key, value) in entries {
            map.insert(key, value)?;
        }
        Ok(map.finish())
    })
}

/// Rebuilds `value` from its leaves, without recursion; `make_map` makes each map from its entries.
fn build<'a>(
    heap: &Heap<'a>,
    value: &Value<'a>,
    make_map: &mut impl FnMut(&Heap<'a>, Vec<(Value<'a>, Value<'a>)>) -> Result<Value<'a>>,
) -> Result<Value<'a>> {
    enum Level<'a> {
        List(Vec<Value<'a>>),
        Map(Vec<(Value<'a>, Value<'a>)>, Option<Value<'a>>),
    }
    let mut levels: Vec<Level<'a>> = Vec::new();
    let mut result = Value::None;
    let mut place = |levels: &mut Vec<Level<'a>>, value: Value<'a>| match levels.last_mut() {
        None => result = value,
        Some(Level::List(items)) => items.push(value),
        Some(Level::Map(entries, key)) => entries.push((key.take().unwrap_or_default(), value)),
    };
    walk(heap, value, &mut |event| {
        match event {
            Event::Start(shape, len) => levels.push(match is_list(shape)? {
                true => Level::List(Vec::with_capacity(len)),
                false => Level::Map(Vec::with_capacity(len), None),
            }),
            Event::Next => {}
            Event::Key(new) => {
                if let Some(Level::Map(_, key)) = levels.last_mut() {
                    *key = Some(new);
                }
            }
            Event::Scalar(value) => place(&mut levels, value),
            Event::End(..) => {
                let built = match levels.pop() {
                    Some(Level::List(items)) => heap.list_of(items)?,
                    Some(Level::Map(entries, _)) => make_map(heap, entries)?,
                    None => Value::None,
                };
                place(&mut levels, built);
            }
            Event::Cycle(_) => return Err(Error::runtime("a value that contains itself has no JSON form")),
        }
        Ok(())
    })?;
    Ok(result)
}

/// A document of its own with everything in `value`: for what crosses threads or leaves the render.
///
/// Integers beyond 64 bits become floats, as JSON readers make them.
///
/// # Errors
/// As [`write_json`]. The depth is bounded by `value_depth`, so that dropping the document is safe.
pub fn to_json<'a>(heap: &Heap<'a>, value: &Value<'a>) -> Result<Json> {
    let mut levels: Vec<(Json, String)> = Vec::new();
    let mut result = Json::Null;
    let mut place = |levels: &mut Vec<(Json, String)>, value: Json| match levels.last_mut() {
        None => result = value,
        Some((Json::Array(items), _)) => items.push(value),
        Some((Json::Object(map), key)) => {
            map.insert(std::mem::take(key), value);
        }
        Some(_) => {}
    };
    walk(heap, value, &mut |event| {
        match event {
            Event::Start(shape, _) => {
                let empty =
                    if is_list(shape)? { Json::Array(vec![]) } else { Json::Object(serde_json::Map::new()) };
                levels.push((empty, String::new()));
            }
            Event::Next => {}
            Event::Key(key) => {
                let mut text = heap.text();
                write_key(&key, &JsonStyle::default(), &mut text)?;
                if let Some((_, slot)) = levels.last_mut() {
                    *slot = match key.as_str() {
                        Some(key) => key.to_owned(),
                        None => text.as_str().trim_matches('"').to_owned(),
                    };
                }
            }
            Event::Scalar(value) => place(&mut levels, scalar_to_json(heap, &value)?),
            Event::End(..) => {
                if let Some((built, _)) = levels.pop() {
                    place(&mut levels, built);
                }
            }
            Event::Cycle(_) => return Err(Error::runtime("a value that contains itself has no JSON form")),
        }
        Ok(())
    })?;
    Ok(result)
}

fn scalar_to_json<'a>(heap: &Heap<'a>, value: &Value<'a>) -> Result<Json> {
    if let Some(string) = value.as_str() {
        heap.budget().step_bytes(string.len())?;
        return Ok(Json::String(string.to_owned()));
    }
    match (value.as_number(), value.kind()) {
        (Some(Number::Int(int)), _) => Ok(match (i64::try_from(int), u64::try_from(int)) {
            (Ok(int), _) => Json::from(int),
            (_, Ok(int)) => Json::from(int),
            _ => Json::from(int as f64),
        }),
        (Some(Number::Float(float)), _) => JsonNumber::from_f64(float)
            .map(Json::Number)
            .ok_or_else(|| no_json_form("an infinite or undefined number")),
        (_, Kind::None) => Ok(Json::Null),
        (_, Kind::Bool) => Ok(Json::Bool(value.as_bool() == Some(true))),
        (_, Kind::Range) => {
            let items = heap.iter(value).ok_or_else(|| no_json_form("this range"))?;
            heap.budget().step(items.size_hint().0 as u64)?;
            Ok(Json::Array(items.filter_map(|item| item.as_i64()).map(Json::from).collect()))
        }
        (_, Kind::Pending) => Err(Error::suspended()),
        (_, Kind::Undefined) => Err(no_json_form("an undefined value")),
        (_, Kind::Bytes) => Err(no_json_form("a string that is not UTF-8")),
        _ => Err(no_json_form("a function or object")),
    }
}
