//! Strings as input and output of the library.

use std::ops::Deref;

use hinagata_value::{Metered, Result, Text, Value};

use super::{print::print_value, types::no_text_error};
use crate::context::Context;

/// The text of a value: the string itself, or the printed form of another value.
pub(crate) enum Textual<'v, 'a> {
    /// The text of a string.
    Borrowed(&'v str),
    /// The printed form of another value.
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

/// The text of a value, as `str(value)` returns it.
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

/// Charges for a visit of every character of a text, which takes about four times as long as a copy.
///
/// # Errors
/// When the limit for steps is reached.
#[inline]
pub(crate) fn charge_characters(cx: &Context<'_, '_>, text: &str) -> Result<()> {
    cx.heap.budget().charge_steps(1 + (text.len() as u64 >> 4))
}

/// Finishes a text as a value; `safe` marks it as safe, so that it is not escaped.
///
/// # Errors
/// When the limit for memory is reached.
#[inline]
pub(crate) fn finish_text(text: Text<'_>, safe: bool) -> Result<Value<'_>> {
    let shared = text.into_shared()?;
    Ok(if safe { Value::Safe(shared) } else { Value::Str(shared) })
}

/// Turns a string that was created outside the budget into a value and charges for its size.
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

/// The part of a text that remains after stripping its ends. The stripped characters are charged.
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

/// The value itself if `part` is its whole text, otherwise a copy of the part.
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
