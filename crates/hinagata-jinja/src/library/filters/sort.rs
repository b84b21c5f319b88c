//! Stable sorting with a fallible comparison, charged before it starts.
//!
//! The order of a template's values can be inconsistent (a float NaN). The sort of the standard library may
//! panic then, so this one is separate. A failed comparison ends it with an error.

use std::cmp::Ordering;

use hinagata_value::{Arguments, Error, Kind, ListBuilder, Result, Value};

use super::{
    attribute::{Getter, getters},
    flag,
};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, integer_or},
        methods::{collect_entries, to_lower},
        ops::{collect_items, sort_order, values_equal},
        types::wrong_type,
    },
};

/// Runs up to this length are sorted by insertion sort.
const RUN: usize = 16;

/// Sorts items in place; `before` returns whether its second argument must come before its first.
///
/// # Errors
/// Those of `before`; the order is then unspecified.
pub(super) fn merge_sort<T: Clone>(
    items: &mut [T],
    mut before: impl FnMut(&T, &T) -> Result<bool>,
) -> Result<()> {
    for run in items.chunks_mut(RUN) {
        for at in 1..run.len() {
            let mut place = at;
            while place > 0 && before(&run[place - 1], &run[place])? {
                run.swap(place - 1, place);
                place -= 1;
            }
        }
    }
    let mut width = RUN;
    let mut merged = Vec::with_capacity(items.len());
    while width < items.len() {
        merged.clear();
        for pair in items.chunks(width * 2) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged, &mut before)?;
        }
        items.clone_from_slice(&merged);
        width *= 2;
    }
    Ok(())
}

fn merge<T: Clone>(
    left: &[T],
    right: &[T],
    merged: &mut Vec<T>,
    before: &mut impl FnMut(&T, &T) -> Result<bool>,
) -> Result<()> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if before(a, b)? { right.next() } else { left.next() };
        merged.extend(next.cloned());
    }
    merged.extend(left.cloned());
    merged.extend(right.cloned());
    Ok(())
}

/// Charges for sorting `len` items: each is compared about log₂ n times.
pub(super) fn charge(cx: &Context<'_, '_>, len: usize) -> Result<()> {
    let rounds = u64::from(len.max(1).ilog2() + 1);
    cx.heap.budget().charge_steps((len as u64).saturating_mul(rounds))
}

/// Sorts the items of a list that is being built.
///
/// # Errors
/// When two items have no order, or a limit is reached.
pub(crate) fn sort_values<'a>(
    cx: &Context<'_, 'a>,
    items: &mut ListBuilder<'a>,
    reverse: bool,
) -> Result<()> {
    charge(cx, items.len())?;
    items.reorder_items(|items| merge_sort(items, |a, b| comes_first(cx, a, b, reverse)))
}

/// Whether `b` must come before `a`.
fn comes_first<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>, reverse: bool) -> Result<bool> {
    Ok(if reverse { sort_order(cx, a, b)?.is_lt() } else { sort_order(cx, b, a)?.is_lt() })
}

/// The indexes of items, sorted by their keys. Each item has `width` consecutive keys.
///
/// `listed` keys are compared like lists: equal keys need no order, so undefined ones are allowed.
///
/// # Errors
/// When two keys have no order, or a limit is reached.
fn sorted_places<'a>(
    cx: &Context<'_, 'a>,
    keys: &[Value<'a>],
    width: usize,
    listed: bool,
    reverse: bool,
) -> Result<Vec<usize>> {
    let len = keys.len() / width.max(1);
    charge(cx, len)?;
    let mut places: Vec<usize> = (0..len).collect();
    let key = |place: usize| &keys[place * width..(place + 1) * width];
    merge_sort(&mut places, |&a, &b| {
        let (first, second) = if reverse { (a, b) } else { (b, a) };
        for (first, second) in key(first).iter().zip(key(second)) {
            match key_order(cx, first, second, listed)? {
                Ordering::Less => return Ok(true),
                Ordering::Greater => return Ok(false),
                Ordering::Equal => {}
            }
        }
        Ok(false)
    })?;
    Ok(places)
}

fn key_order<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>, listed: bool) -> Result<Ordering> {
    let plain = matches!(a.kind(), Kind::Int | Kind::Str | Kind::Float);
    if listed && !plain && values_equal(cx, a, b)? {
        return Ok(Ordering::Equal);
    }
    sort_order(cx, a, b)
}

/// `sort`: the items sorted by value or by attributes, ignoring case unless `case_sensitive`.
pub(super) fn sort<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [reverse, case_sensitive, attribute] =
        bind_arguments(arguments, "sort", ["reverse", "case_sensitive", "attribute"], 0)?;
    let ignore_case = !flag(cx, case_sensitive, false)?;
    let reverse = integer_or(cx, reverse, 0)? != 0;
    let getters = getters(cx, attribute, ignore_case)?;
    let items = collect_items(cx, &value)?.finish();
    let keys = keys(cx, &items, &getters)?;
    reorder_items(cx, &items, &places_by_keys(cx, &keys, getters.len(), true, reverse)?)
}

/// The keys of all items, in a list of the heap so that they are charged while it exists.
fn keys<'a>(cx: &Context<'_, 'a>, items: &Value<'a>, getters: &[Getter<'a>]) -> Result<Value<'a>> {
    let mut keys = cx.heap.list()?;
    keys.reserve(cx.heap.len(items).unwrap_or(0).saturating_mul(getters.len()))?;
    for item in cx.heap.iter(items).into_iter().flatten() {
        for getter in getters {
            keys.push(getter.get(cx, &item)?)?;
        }
    }
    Ok(keys.finish())
}

/// As [`sorted_places`], for keys in a list value.
pub(super) fn places_by_keys<'a>(
    cx: &Context<'_, 'a>,
    keys: &Value<'a>,
    width: usize,
    listed: bool,
    reverse: bool,
) -> Result<Vec<usize>> {
    match keys {
        Value::List(keys) => keys.with_items(|keys| sorted_places(cx, keys, width, listed, reverse)),
        _ => Ok(Vec::new()),
    }
}

/// The items of a list at these indexes.
pub(super) fn reorder_items<'a>(
    cx: &Context<'_, 'a>,
    items: &Value<'a>,
    places: &[usize],
) -> Result<Value<'a>> {
    let mut list = cx.heap.list()?;
    list.reserve(places.len())?;
    for &place in places {
        list.push(cx.heap.item(items, place).unwrap_or_default())?;
    }
    Ok(list.finish())
}

/// `dictsort`: the entries of a map as tuples, sorted by key or value.
pub(super) fn dictsort<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [case_sensitive, by, reverse] =
        bind_arguments(arguments, "dictsort", ["case_sensitive", "by", "reverse"], 0)?;
    let place = match by.map(Value::as_str) {
        None | Some(Some("key")) => 0,
        Some(Some("value")) => 1,
        _ => return Err(Error::runtime("`dictsort` sorts by 'key' or by 'value'")),
    };
    if value.kind() != Kind::Map {
        return Err(wrong_type(cx, &value, |name| format!("`dictsort` works on maps, not on {name}")));
    }
    let ignore_case = !flag(cx, case_sensitive, false)?;
    let reverse = integer_or(cx, reverse, 0)? != 0;
    let pairs = collect_entries(cx, &value)?.finish();
    let mut keys = cx.heap.list()?;
    for pair in cx.heap.iter(&pairs).into_iter().flatten() {
        let key = cx.heap.item(&pair, place).unwrap_or_default();
        keys.push(match key.as_str() {
            Some(text) if ignore_case => to_lower(cx, &key, text)?,
            _ => key,
        })?;
    }
    reorder_items(cx, &pairs, &places_by_keys(cx, &keys.finish(), 1, false, reverse)?)
}
