//! Strings as the library takes and makes them.

use std::ops::Deref;

use hinagata_value::{Metered, Result, Text, Value};

use super::{print::print_value, types::no_text_error};
use crate::context::Context;

/// The text of a value: its own where it is a string, what it prints as where it is not.
pub(crate) enum Textual<'v, 'a> {
    /// The value is a string.
    Borrowed(&'v str),
    /// What the value prints as.
    Printed(Text<'a>),
}

impl Deref for Textual<'_, '_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Printed(text) => text.as_str(),
        }
    }
}

/// The text of a value, as `str(value)` gives it.
///
/// # Errors
/// When a limit is reached, or the value cannot be printed.
#[inline]
pub(crate) fn to_textual<'v, 'a>(cx: &Context<'_, 'a>, value: &'v Value<'a>) -> Result<Textual<'v, 'a>> {
    match value.as_str() {
        Some(text) => Ok(Textual::Borrowed(text)),
        None => print_textual(cx, value),
    }
}

fn print_textual<'v, 'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<Textual<'v, 'a>> {
    if matches!(value, Value::Pieces(_)) && !value.is_pending() {
        return Err(no_text_error());
    }
    let mut text = cx.heap.text();
    print_value(cx, value, &mut text)?;
    Ok(Textual::Printed(text))
}

/// Charges for looking at every character of a text: that takes about four times as long as copying.
///
/// # Errors
/// When the steps are used up.
#[inline]
pub(crate) fn charge_characters(cx: &Context<'_, '_>, text: &str) -> Result<()> {
    cx.heap.budget().charge_steps(1 + (text.len() as u64 >> 4))
}

/// A text as a value; `safe` marks it as not to be escaped.
///
/// # Errors
/// When the byte budget is used up.
#[inline]
pub(crate) fn finish_text(text: Text<'_>, safe: bool) -> Result<Value<'_>> {
    let shared = text.into_shared()?;
    Ok(if safe { Value::Safe(shared) } else { Value::Str(shared) })
}

/// A string that was made outside of the budget as a value: its size is charged now.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn new_string<'a>(cx: &Context<'_, 'a>, string: String, safe: bool) -> Result<Value<'a>> {
    cx.heap.budget().step_bytes(string.len())?;
    let shared = Metered::new(cx.heap.budget(), string)?;
    Ok(if safe { Value::Safe(shared) } else { Value::Str(shared) })
}

/// A copy of `text` as a value.
///
/// # Errors
/// When a limit is reached.
#[inline]
pub(crate) fn copy_string<'a>(cx: &Context<'_, 'a>, text: &str, safe: bool) -> Result<Value<'a>> {
    if safe { cx.heap.safe(text) } else { cx.heap.string(text) }
}

/// What is left of a text after characters were taken off its ends, which is charged by their number.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn strip_text<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    whole: &str,
    left: &str,
) -> Result<Value<'a>> {
    cx.heap.budget().charge_steps(1 + ((whole.len() - left.len()) as u64 >> 4))?;
    part_of(cx, value, left)
}

/// The value itself if `part` is the whole of its text, else a copy of that part.
///
/// # Errors
/// When a limit is reached.
#[inline]
pub(crate) fn part_of<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, part: &str) -> Result<Value<'a>> {
    match value.as_str() {
        Some(text) if text.len() == part.len() => Ok(value.clone()),
        _ => copy_string(cx, part, value.is_safe()),
    }
}
