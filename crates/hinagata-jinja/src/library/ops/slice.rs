//! Slices as in Python.

use hinagata_value::{Error, Kind, Range, Result, Value};

use super::super::{
    number::as_int,
    textual::{copy_string, finish_text, part_of},
    types::{no_text_error, require_settled, type_error, wrong_type},
};
use super::arithmetic::new_bytes;
use crate::context::{Context, UndefinedMode};

/// The indexes that a slice selects, in order.
#[derive(Clone, Copy)]
struct Cut {
    start: i64,
    stop: i64,
    step: i64,
    len: usize,
}

impl Cut {
    fn places(self) -> impl Iterator<Item = usize> {
        // The first `len` indexes of a cut are inside the sequence.
        (0..self.len as i64).map(move |n| (self.start + n * self.step) as usize)
    }
}

/// `value[start:stop:step]`.
///
/// # Errors
/// When the value cannot be sliced, a bound is not an integer, the step is 0, or a limit is reached.
pub(crate) fn slice_value<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    start: Option<&Value<'a>>,
    stop: Option<&Value<'a>>,
    step: Option<&Value<'a>>,
) -> Result<Value<'a>> {
    require_settled(value)?;
    let cut_for_len = |len: usize| resolve_cut(cx, len, start, stop, step);
    match value.kind() {
        Kind::Str => match value.as_str() {
            Some(text) => slice_text(cx, value, text, cut_for_len),
            None => Err(no_text_error()),
        },
        Kind::List | Kind::Tuple => {
            let cut = cut_for_len(cx.heap.len(value).unwrap_or(0))?;
            let mut list = cx.heap.list()?;
            list.reserve(cut.len)?;
            for place in cut.places() {
                list.push(cx.heap.item(value, place).unwrap_or_default())?;
            }
            Ok(if value.kind() == Kind::Tuple { list.finish_tuple() } else { list.finish() })
        }
        Kind::Range => slice_range(cx, value, cut_for_len(cx.heap.len(value).unwrap_or(0))?),
        Kind::Bytes => {
            let whole = value.as_bytes().unwrap_or_default();
            new_bytes(cx, cut_for_len(whole.len())?.places().map(|place| whole[place]).collect())
        }
        Kind::Undefined if cx.settings.undefined == UndefinedMode::Empty => Ok(value.clone()),
        _ => Err(wrong_type(cx, value, |name| format!("a {name} cannot be sliced"))),
    }
}

/// `value[start:stop:step]` of literals.
///
/// Jinja2 evaluates it when it compiles, where a value that cannot be sliced is undefined, not an error.
///
/// # Errors
/// When the step is 0, or a limit is reached.
pub(crate) fn slice_literal<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    start: Option<&Value<'a>>,
    stop: Option<&Value<'a>>,
    step: Option<&Value<'a>>,
) -> Result<Value<'a>> {
    let sliceable = matches!(value.kind(), Kind::Str | Kind::List | Kind::Tuple);
    let is_bound = |bound: &Value<'a>| bound.is_none() || as_int(bound).is_some();
    if sliceable && [start, stop, step].into_iter().flatten().all(is_bound) {
        return slice_value(cx, value, start, stop, step);
    }
    Ok(cx.heap.undefined_value(value, None))
}

/// The indexes that the bounds select in a sequence of `len` items.
fn resolve_cut<'a>(
    cx: &Context<'_, 'a>,
    len: usize,
    start: Option<&Value<'a>>,
    stop: Option<&Value<'a>>,
    step: Option<&Value<'a>>,
) -> Result<Cut> {
    let step = resolve_bound(cx, step)?.unwrap_or(1);
    if step == 0 {
        return Err(Error::runtime("the step of a slice cannot be zero"));
    }
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let inside = |bound: i64| {
        let bound = if bound < 0 { bound.saturating_add(len) } else { bound };
        bound.clamp(low, high)
    };
    let start = resolve_bound(cx, start)?.map_or(if step > 0 { low } else { high }, inside);
    let stop = resolve_bound(cx, stop)?.map_or(if step > 0 { high } else { low }, inside);
    let distance = if step > 0 { stop - start } else { start - stop };
    let len = if distance <= 0 { 0 } else { (distance.unsigned_abs() - 1) / step.unsigned_abs() + 1 };
    Ok(Cut { start, stop, step, len: usize::try_from(len).unwrap_or(usize::MAX) })
}

fn resolve_bound<'a>(cx: &Context<'_, 'a>, value: Option<&Value<'a>>) -> Result<Option<i64>> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    match as_int(value) {
        Some(int) => Ok(Some(int.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)),
        None => Err(type_error(cx, value, |name| {
            format!("the bounds of a slice are integers or none, not {name}")
        })),
    }
}

fn slice_text<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    text: &str,
    cut_for_len: impl FnOnce(usize) -> Result<Cut>,
) -> Result<Value<'a>> {
    cx.heap.budget().step_bytes(text.len())?;
    let ascii = text.is_ascii();
    let cut = cut_for_len(if ascii { text.len() } else { text.chars().count() })?;
    if cut.len == 0 {
        return copy_string(cx, "", value.is_safe());
    }
    if cut.step == 1 {
        let start = cut.start as usize;
        let range = if ascii { (start, start + cut.len) } else { byte_range(text, start, cut.len) };
        return part_of(cx, value, &text[range.0..range.1]);
    }
    let mut result = cx.heap.text();
    if ascii {
        for place in cut.places() {
            result.push_str(&text[place..=place])?;
        }
    } else {
        cx.heap.budget().charge_bytes(text.len() * size_of::<char>())?;
        let characters: Vec<char> = text.chars().collect();
        let pushed = cut.places().try_for_each(|place| result.push(characters[place]));
        drop(characters);
        cx.heap.budget().release_bytes(text.len() * size_of::<char>());
        pushed?;
    }
    finish_text(result, value.is_safe())
}

/// The byte range of `len` characters starting at the character `start`.
fn byte_range(text: &str, start: usize, len: usize) -> (usize, usize) {
    let from = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
    let to = text[from..].char_indices().nth(len).map_or(text.len(), |(at, _)| from + at);
    (from, to)
}

fn slice_range<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, cut: Cut) -> Result<Value<'a>> {
    let Value::Range(range) = value else { return Ok(value.clone()) };
    let at = |place: i64| range.start().wrapping_add(range.step().wrapping_mul(place));
    let step = range.step().saturating_mul(cut.step);
    let cut = Range::new(at(cut.start), at(cut.stop), step);
    cut.map_or_else(|| Ok(value.clone()), |range| cx.heap.range(range))
}
