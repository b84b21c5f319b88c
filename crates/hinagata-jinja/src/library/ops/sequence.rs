//! Truth, length and iteration of values.

use hinagata_value::{Iter, Kind, ListBuilder, Result, Value};

use super::super::{
    textual::copy_string,
    types::{require_settled, wrong_type},
};
use crate::context::{Context, UndefinedMode};

/// Whether a value is true.
///
/// # Errors
/// When the value is pending, or undefined and the mode refuses it as a condition.
#[inline]
pub(crate) fn is_true<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::Int(int) => Ok(*int != 0),
        Value::None => Ok(false),
        _ => match value.as_str() {
            Some(text) => Ok(!text.is_empty()),
            None => is_other_true(cx, value),
        },
    }
}

#[inline(never)]
fn is_other_true<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<bool> {
    if value.is_undefined() {
        return match cx.settings.undefined {
            UndefinedMode::Needed => Ok(false),
            _ => cx.check_use(value).map(|()| false),
        };
    }
    require_settled(value)?;
    Ok(match value {
        Value::Namespace(_) => true,
        Value::Host(object) => object.get().is_true(),
        Value::Bytes(bytes) => !bytes.is_empty(),
        _ => match (value.kind(), value.as_number(), cx.heap.len(value)) {
            (Kind::None, ..) => false,
            (Kind::Bool, ..) => value.as_bool() == Some(true),
            (_, Some(number), _) => number.as_f64() != 0.0,
            (_, _, Some(len)) => len > 0,
            _ => true,
        },
    })
}

/// The number of items, entries or characters of a value.
///
/// # Errors
/// When it has no length.
pub(crate) fn value_length<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<usize> {
    if let Some(text) = value.as_str() {
        cx.heap.budget().step_bytes(text.len())?;
        return Ok(text.chars().count());
    }
    match value {
        Value::Undefined(_) => cx.check_use(value).map(|()| 0),
        Value::Bytes(bytes) => Ok(bytes.len()),
        Value::Namespace(_) => Err(length_error(cx, value)),
        _ => cx.heap.len(value).ok_or_else(|| length_error(cx, value)),
    }
}

#[cold]
fn length_error<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> hinagata_value::Error {
    wrong_type(cx, value, |name| format!("a {name} has no length"))
}

/// Iterates over the items of a value, the keys of a map, or the characters of a string.
///
/// # Errors
/// When the value is not iterable, or a limit is reached.
#[inline]
pub(crate) fn iterate_value<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<Iter<'a>> {
    match value {
        Value::Namespace(_) => Err(not_iterable(cx, value)),
        _ => match cx.heap.iter(value) {
            Some(items) => Ok(items),
            None => iterate_other(cx, value),
        },
    }
}

#[inline(never)]
fn iterate_other<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<Iter<'a>> {
    if let Some(text) = value.as_str() {
        let list = list_characters(cx, text)?.finish();
        return cx.heap.iter(&list).ok_or_else(|| not_iterable(cx, value));
    }
    match value {
        Value::Undefined(_) => cx.check_use(value).map(|()| Iter::Borrowed([].iter())),
        Value::Bytes(bytes) => {
            let list = cx.heap.list_of(bytes.iter().map(|byte| Value::Int(i64::from(*byte))))?;
            cx.heap.iter(&list).ok_or_else(|| not_iterable(cx, value))
        }
        _ => Err(not_iterable(cx, value)),
    }
}

#[cold]
fn not_iterable<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> hinagata_value::Error {
    wrong_type(cx, value, |name| format!("a {name} cannot be gone over"))
}

/// The characters of a text, each as a string. Memory for all of them is charged first.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn list_characters<'a>(cx: &Context<'_, 'a>, text: &str) -> Result<ListBuilder<'a>> {
    let mut list = cx.heap.list()?;
    list.reserve(text.chars().count())?;
    for character in text.chars() {
        list.push(copy_string(cx, character.encode_utf8(&mut [0; 4]), false)?)?;
    }
    Ok(list)
}

/// Collects the items of a value.
///
/// # Errors
/// As [`iterate_value`].
pub(crate) fn collect_items<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<ListBuilder<'a>> {
    let items = iterate_value(cx, value)?;
    let mut list = cx.heap.list()?;
    list.reserve(items.size_hint().0)?;
    for item in items {
        list.push(item)?;
    }
    Ok(list)
}
