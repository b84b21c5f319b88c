//! Methods that pad strings: `center`, `ljust`, `rjust`, `zfill`, `expandtabs`.

use hinagata_value::{Arguments, Error, Result, Text, Value};

use super::string::{build_string, text};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, bind_positional, expect_string, integer_or, to_index, to_size},
        print::needs_escape,
        textual::charge_characters,
    },
};

/// Appends `text` with `before` and `after` copies of `fill` around it.
fn push_padded(result: &mut Text<'_>, text: &str, fill: &str, before: usize, after: usize) -> Result<()> {
    // The limit applies to both paddings together.
    result.budget().check_fill(before.saturating_add(after).saturating_mul(fill.len()))?;
    result.push_repeated(fill, before)?;
    result.push_str(text)?;
    result.push_repeated(fill, after)
}

/// Appends a text centred in a field.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn push_centered(result: &mut Text<'_>, text: &str, fill: &str, width: i64) -> Result<()> {
    let width = to_size(width);
    let missing = width.saturating_sub(text.chars().count());
    // As in Python, an odd padding is larger before the text if the width is odd, and after it otherwise.
    let before = missing / 2 + (missing & width & 1);
    push_padded(result, text, fill, before, missing - before)
}

/// Binds the width and the fill of a field.
fn field<'r, 'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'r, 'a>,
    method: &str,
) -> Result<(i64, &'r str)> {
    let [width, fill] = bind_positional(arguments, method, 1)?;
    let width = to_index(cx, width.unwrap_or(&Value::None))?;
    let fill = match fill {
        Some(fill) => expect_string(cx, method, fill)?,
        None => " ",
    };
    if fill.chars().count() != 1 || (receiver.is_safe() && needs_escape(fill)) {
        return Err(Error::runtime(format!("the fill of `{method}` must be exactly one character")));
    }
    Ok((width, fill))
}

pub(super) fn center<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (width, fill) = field(cx, receiver, arguments, "center")?;
    build_string(cx, receiver, |result| push_centered(result, text(receiver), fill, width))
}

pub(super) fn justify_left<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (width, fill) = field(cx, receiver, arguments, "ljust")?;
    let missing = to_size(width).saturating_sub(text(receiver).chars().count());
    build_string(cx, receiver, |result| push_padded(result, text(receiver), fill, 0, missing))
}

pub(super) fn justify_right<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (width, fill) = field(cx, receiver, arguments, "rjust")?;
    let missing = to_size(width).saturating_sub(text(receiver).chars().count());
    build_string(cx, receiver, |result| push_padded(result, text(receiver), fill, missing, 0))
}

pub(super) fn zero_fill<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [width] = bind_positional(arguments, "zfill", 1)?;
    let width = to_index(cx, width.unwrap_or(&Value::None))?;
    let text = text(receiver);
    let missing = to_size(width).saturating_sub(text.chars().count());
    let sign = if text.starts_with(['+', '-']) { 1 } else { 0 };
    build_string(cx, receiver, |result| {
        result.push_str(&text[..sign])?;
        push_padded(result, &text[sign..], "0", missing, 0)
    })
}

pub(super) fn expand_tabs<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [tab] = bind_arguments(arguments, "expandtabs", ["tabsize"], 0)?;
    let tab = to_size(integer_or(cx, tab, 8)?);
    charge_characters(cx, text(receiver))?;
    build_string(cx, receiver, |result| {
        let mut column = 0_usize;
        let mut rest = text(receiver);
        while let Some(at) = rest.find(['\t', '\n', '\r']) {
            result.push_str(&rest[..at])?;
            column += rest[..at].chars().count();
            if rest.as_bytes()[at] == b'\t' {
                if tab > 0 {
                    let spaces = tab - column % tab;
                    result.push_repeated(" ", spaces)?;
                    column += spaces;
                }
            } else {
                result.push_str(&rest[at..=at])?;
                column = 0;
            }
            rest = &rest[at + 1..];
        }
        result.push_str(rest)
    })
}
