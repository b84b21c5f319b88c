//! The filter `urlencode`.

use hinagata_value::{Arguments, Error, Kind, Result, Text, Value};

use crate::{
    context::Context,
    library::{
        arguments::expect_none,
        ops::{collect_items, iterate_value},
        textual::{finish_text, to_textual},
        types::require_settled,
    },
};

/// `urlencode`: a string quoted for a path, or a query string from the pairs of a map or sequence.
pub(super) fn urlencode<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "urlencode")?;
    require_settled(&value)?;
    let mut text = cx.heap.text();
    match value.kind() {
        Kind::Map => {
            for (at, (key, value)) in cx.heap.entries(&value).into_iter().flatten().enumerate() {
                push_pair(cx, at, &key, &value, &mut text)?;
            }
        }
        Kind::List | Kind::Tuple | Kind::Once | Kind::View | Kind::Range | Kind::Undefined => {
            for (at, pair) in iterate_value(cx, &value)?.enumerate() {
                let pair = collect_items(cx, &pair)?;
                if pair.len() != 2 {
                    return Err(Error::runtime("`urlencode` needs pairs of key and value"));
                }
                let pair = pair.finish();
                let item = |index| cx.heap.item(&pair, index).unwrap_or_default();
                push_pair(cx, at, &item(0), &item(1), &mut text)?;
            }
        }
        _ => quote(cx, &value, false, &mut text)?,
    }
    finish_text(text, false)
}

fn push_pair<'a>(
    cx: &Context<'_, 'a>,
    at: usize,
    key: &Value<'a>,
    value: &Value<'a>,
    text: &mut Text<'a>,
) -> Result<()> {
    if at > 0 {
        text.push_str("&")?;
    }
    quote(cx, key, true, text)?;
    text.push_str("=")?;
    quote(cx, value, true, text)
}

/// Appends a value with every character quoted except letters, digits and `_.-~`. A query has `+` for
/// spaces and quotes slashes too.
fn quote<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, query: bool, text: &mut Text<'a>) -> Result<()> {
    let printed_text;
    let bytes = match value {
        Value::Bytes(bytes) => &***bytes,
        _ => {
            printed_text = to_textual(cx, value)?;
            printed_text.as_bytes()
        }
    };
    for &byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                text.push(char::from(byte))?;
            }
            b'/' if !query => text.push('/')?,
            b' ' if query => text.push('+')?,
            _ => text.push_fmt(format_args!("%{byte:02X}"))?,
        }
    }
    Ok(())
}
