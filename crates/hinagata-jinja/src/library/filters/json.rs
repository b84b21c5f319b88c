//! The filter `tojson`.

use std::borrow::Cow;

use hinagata_value::{Arguments, Error, JsonStyle, Kind, Result, Value, write_json};

use super::{flag, optional_argument};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_string, to_index, to_size},
        textual::finish_text,
    },
};

/// The special characters of HTML, and the one control character that JSON does not escape.
const HTML: &[char] = &['<', '>', '&', '\'', '\u{7f}'];
const DELETE: &[char] = &['\u{7f}'];

/// `tojson`: the value as JSON that is safe in HTML; in chat templates, plain JSON.
pub(super) fn tojson<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    if cx.settings.chat_host {
        return plain(cx, &value, arguments);
    }
    let [indent] = bind_arguments(arguments, "tojson", ["indent"], 0)?;
    // A string has no levels, so `indent` is not checked for it.
    let indent = optional_argument(indent).filter(|_| value.as_str().is_none());
    let indent = indentation(cx, indent)?;
    let style = JsonStyle { sort_keys: true, ascii: true, escape: HTML, ..style(indent) };
    write(cx, &value, &style, true)
}

/// `tojson` of chat templates: takes the options of Python's `json.dumps` and escapes nothing for HTML.
fn plain<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [ascii, indent, separators, sort_keys] =
        bind_arguments(arguments, "tojson", ["ensure_ascii", "indent", "separators", "sort_keys"], 0)?;
    let ascii = flag(cx, ascii, false)?;
    let indent = indentation(cx, optional_argument(indent))?;
    let mut style = JsonStyle {
        sort_keys: flag(cx, sort_keys, false)?,
        ascii,
        escape: if ascii { DELETE } else { &[] },
        ..style(indent)
    };
    if let Some(separators) = optional_argument(separators) {
        let part = |at: usize| -> Result<Cow<'static, str>> {
            let part = cx.heap.item(separators, at).unwrap_or_default();
            Ok(Cow::Owned(expect_string(cx, "tojson", &part)?.to_owned()))
        };
        if !matches!(separators.kind(), Kind::Tuple | Kind::List) || cx.heap.len(separators) != Some(2) {
            return Err(Error::runtime("`tojson` takes two separators: between items, and after keys"));
        }
        style.item_separator = part(0)?;
        style.key_separator = part(1)?;
    }
    write(cx, value, &style, false)
}

fn style(indent: Option<Cow<'static, str>>) -> JsonStyle<'static> {
    JsonStyle {
        item_separator: Cow::Borrowed(if indent.is_some() { "," } else { ", " }),
        key_separator: Cow::Borrowed(": "),
        indent,
        ..JsonStyle::default()
    }
}

/// The indentation of each level: a text, or a number of spaces.
fn indentation<'a>(cx: &Context<'_, 'a>, indent: Option<&Value<'a>>) -> Result<Option<Cow<'static, str>>> {
    let Some(indent) = indent else { return Ok(None) };
    cx.require_defined(indent)?;
    let text = match indent.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let width = to_size(to_index(cx, indent)?);
            cx.heap.budget().check_fill(width)?;
            " ".repeat(width)
        }
    };
    Ok(Some(Cow::Owned(text)))
}

fn write<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    style: &JsonStyle<'_>,
    safe: bool,
) -> Result<Value<'a>> {
    let mut text = cx.heap.text();
    write_json(cx.heap, value, style, &mut text)?;
    finish_text(text, safe)
}
