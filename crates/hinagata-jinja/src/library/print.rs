//! Printing as in Python: `str`, `repr`, and HTML escaping.

use hinagata_value::{
    Error, Event, ListKind, Number, Owner, Result, Shape, Text, Undefined, Value, walk_value,
    write_float_repr,
};

use super::{types::no_text_error, unicode::is_printable};
use crate::context::{Context, UndefinedMode};

/// Appends a value as `str` prints it.
///
/// # Errors
/// When a limit is reached, when the value is undefined and the mode forbids printing it, or when it is
/// pending.
#[inline]
pub(crate) fn print_value<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    match value {
        Value::Int(int) => text.push_str(itoa::Buffer::new().format(*int)),
        _ => match value.as_str() {
            Some(string) => text.push_str(string),
            None => print_other(cx, value, text),
        },
    }
}

#[inline(never)]
fn print_other<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    match value {
        Value::Undefined(undefined) => print_undefined(cx, *undefined, text),
        _ => print_repr(cx, value, text),
    }
}

fn print_undefined<'a>(cx: &Context<'_, 'a>, undefined: Undefined<'a>, text: &mut Text<'a>) -> Result<()> {
    match cx.settings.undefined {
        UndefinedMode::Empty | UndefinedMode::Jinja => Ok(()),
        UndefinedMode::Error | UndefinedMode::Needed => cx.check_use(&Value::Undefined(undefined)),
        UndefinedMode::Debug => {
            let owner = match undefined.owner {
                Owner::Variables => None,
                Owner::Map => Some("dict object"),
                Owner::List => Some("list object"),
                Owner::Str => Some("str object"),
                Owner::Other | Owner::Unsafe | Owner::Condition | Owner::Nothing => Some("object"),
            };
            match (owner, undefined.name) {
                (None, Some(name)) => text.push_fmt(format_args!("{{{{ {name} }}}}")),
                (Some(owner), Some(name)) => {
                    text.push_fmt(format_args!("{{{{ no such element: {owner}['{name}'] }}}}"))
                }
                (_, None) => text.push_str("{{ undefined value printed }}"),
            }
        }
    }
}

/// Appends a value for HTML: escaped, unless it is marked safe.
///
/// # Errors
/// As [`print_value()`].
pub(crate) fn print_escaped<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    if value.is_safe() {
        return print_value(cx, value, text);
    }
    match value {
        // Numbers have nothing to escape.
        Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::None | Value::Big(_) => {
            print_value(cx, value, text)
        }
        _ => match value.as_str() {
            Some(string) => escape_html(string, text),
            None => {
                let mut plain = cx.heap.text();
                print_value(cx, value, &mut plain)?;
                escape_html(plain.as_str(), text)
            }
        },
    }
}

/// Appends a value as the output needs it: escaped if autoescaping is on.
///
/// # Errors
/// As [`print_value()`].
#[inline]
pub(crate) fn print_output<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    if cx.autoescape { print_escaped(cx, value, text) } else { print_value(cx, value, text) }
}

/// Appends a string with the special characters of HTML escaped.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn escape_html(string: &str, text: &mut Text<'_>) -> Result<()> {
    let mut from = 0;
    for (at, byte) in string.bytes().enumerate() {
        let replacement = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'\'' => "&#39;",
            b'"' => "&#34;",
            _ => continue,
        };
        text.push_str(&string[from..at])?;
        text.push_str(replacement)?;
        from = at + 1;
    }
    text.push_str(&string[from..])
}

/// Whether escaping would change the string.
pub(crate) fn needs_escape(string: &str) -> bool {
    string.bytes().any(|byte| matches!(byte, b'&' | b'<' | b'>' | b'\'' | b'"'))
}

/// Appends a value as `repr` prints it.
///
/// # Errors
/// When a limit is reached, or the value contains a pending one.
pub(crate) fn print_repr<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    repr_with(cx, value, text, false)
}

/// As [`print_repr`], with every non-ASCII character escaped, as `ascii` does.
///
/// # Errors
/// As [`print_repr`].
pub(crate) fn repr_ascii<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    repr_with(cx, value, text, true)
}

fn repr_with<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>, ascii: bool) -> Result<()> {
    walk_value(cx.heap, value, &mut |event| match event {
        Event::Scalar(value) => repr_scalar(cx, &value, text, ascii),
        Event::Key(key) => {
            // A key may be a tuple, but contains hashable values only, so it cannot contain a map again.
            repr_key(cx, &key, text, ascii)?;
            text.push_str(": ")
        }
        Event::Next => text.push_str(", "),
        Event::Start(shape, _) => text.push_str(opening(shape)),
        Event::End(Shape::Tuple, 1) => text.push_str(",)"),
        Event::End(shape, _) => text.push_str(closing(shape)),
        Event::Cycle(shape) => {
            text.push_str(opening(shape))?;
            text.push_str("...")?;
            text.push_str(closing(shape))
        }
    })
}

fn repr_key<'a>(cx: &Context<'_, 'a>, key: &Value<'a>, text: &mut Text<'a>, ascii: bool) -> Result<()> {
    match key {
        Value::Tuple(_) => walk_value(cx.heap, key, &mut |event| match event {
            Event::Scalar(value) => repr_scalar(cx, &value, text, ascii),
            Event::Next => text.push_str(", "),
            Event::Start(shape, _) => text.push_str(opening(shape)),
            Event::End(Shape::Tuple, 1) => text.push_str(",)"),
            Event::End(shape, _) => text.push_str(closing(shape)),
            Event::Key(_) | Event::Cycle(_) => Ok(()),
        }),
        _ => repr_scalar(cx, key, text, ascii),
    }
}

fn opening(shape: Shape) -> &'static str {
    match shape {
        Shape::List => "[",
        Shape::Tuple => "(",
        Shape::Map => "{",
        Shape::Namespace => "<Namespace {",
        Shape::View(ListKind::Values) => "dict_values([",
        Shape::View(ListKind::Items) => "dict_items([",
        Shape::View(_) => "dict_keys([",
    }
}

fn closing(shape: Shape) -> &'static str {
    match shape {
        Shape::List => "]",
        Shape::Tuple => ")",
        Shape::Map => "}",
        Shape::Namespace => "}>",
        Shape::View(_) => "])",
    }
}

fn repr_scalar<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>, ascii: bool) -> Result<()> {
    if let Some(string) = value.as_str() {
        if value.is_safe() {
            text.push_str("Markup(")?;
            repr_str(string, text, ascii)?;
            return text.push_str(")");
        }
        return repr_str(string, text, ascii);
    }
    match value.as_number() {
        Some(Number::Int(int)) => return text.push_str(itoa::Buffer::new().format(int)),
        Some(Number::Float(float)) => return print_float(float, text),
        None => {}
    }
    match value {
        _ if value.is_none() => text.push_str("None"),
        Value::Undefined(_) => text.push_str("Undefined"),
        Value::Range(range) => {
            text.push_fmt(format_args!("range({}, {}", range.start(), range.stop()))?;
            match range.step() {
                1 => text.push_str(")"),
                step => text.push_fmt(format_args!(", {step})")),
            }
        }
        Value::Bytes(bytes) => repr_bytes(bytes, text),
        Value::Once(_) => text.push_str("<generator object>"),
        Value::Function(function) => text.push_fmt(format_args!("<host function {}>", function.name())),
        Value::Host(object) => object.get().print(text),
        Value::Engine(object) => text.push_str(&cx.objects.repr(*object)),
        Value::Pieces(_) if !value.is_pending() => Err(no_text_error()),
        Value::Pieces(_) | Value::Pending(_) => Err(Error::suspended()),
        _ => text.push_str(if value.as_bool() == Some(true) { "True" } else { "False" }),
    }
}

/// Appends a float with the fewest digits that identify it.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn print_float(float: f64, text: &mut Text<'_>) -> Result<()> {
    let mut buffer = String::with_capacity(24);
    write_float_repr(float, &mut buffer);
    text.push_str(&buffer)
}

/// Appends a string in quotes, with unprintable characters escaped.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn repr_str(string: &str, text: &mut Text<'_>, ascii: bool) -> Result<()> {
    let quote = if string.contains('\'') && !string.contains('"') { '"' } else { '\'' };
    text.push(quote)?;
    let mut from = 0;
    for (at, character) in string.char_indices() {
        let prints_itself = match character {
            '\\' => false,
            _ if character == quote => false,
            _ if character.is_ascii() => !character.is_ascii_control(),
            _ => !ascii && is_printable(character),
        };
        if !prints_itself {
            text.push_str(&string[from..at])?;
            repr_char(character, text)?;
            from = at + character.len_utf8();
        }
    }
    text.push_str(&string[from..])?;
    text.push(quote)
}

/// Appends the escape of one character.
fn repr_char(character: char, text: &mut Text<'_>) -> Result<()> {
    match (character, u32::from(character)) {
        ('\\' | '\'' | '"', _) => {
            text.push('\\')?;
            text.push(character)
        }
        ('\n', _) => text.push_str("\\n"),
        ('\r', _) => text.push_str("\\r"),
        ('\t', _) => text.push_str("\\t"),
        (_, code @ ..=0xff) => text.push_fmt(format_args!("\\x{code:02x}")),
        (_, code @ ..=0xffff) => text.push_fmt(format_args!("\\u{code:04x}")),
        (_, code) => text.push_fmt(format_args!("\\U{code:08x}")),
    }
}

fn repr_bytes(bytes: &[u8], text: &mut Text<'_>) -> Result<()> {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    text.push('b')?;
    text.push(quote)?;
    for &byte in bytes {
        let character = char::from(byte);
        match byte {
            b'\\' | b'\n' | b'\r' | b'\t' => repr_char(character, text)?,
            b' '..=b'~' if character == quote => repr_char(character, text)?,
            b' '..=b'~' => text.push(character)?,
            _ => text.push_fmt(format_args!("\\x{byte:02x}"))?,
        }
    }
    text.push(quote)
}
