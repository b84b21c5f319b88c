//! The methods of lists, tuples and ranges.

use std::rc::Rc;

use hinagata_value::{Arguments, Error, List, Result, Value};

use super::Table;
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, bind_positional, expect_none, integer_or, to_index, to_size},
        filters::sort_values,
        ops::{collect_items, values_equal},
        types::type_error,
    },
};

/// The methods of lists.
pub(super) const METHODS: Table = &[
    ("append", append),
    ("clear", clear),
    ("copy", copy),
    ("count", count),
    ("extend", extend),
    ("index", index_of),
    ("insert", insert),
    ("pop", pop),
    ("remove", remove),
    ("reverse", reverse),
    ("sort", sort),
];

/// The methods of tuples and ranges.
pub(super) const SEQUENCE_METHODS: Table = &[("count", count), ("index", index_of)];

/// The writable version of the receiver: data of the caller is copied first.
fn owned_list<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>) -> Result<Rc<List<'a>>> {
    match cx.heap.make_owned(receiver)? {
        Value::List(list) => Ok(list),
        other => Err(type_error(cx, &other, |name| format!("a {name} cannot be changed"))),
    }
}

fn append<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [value] = bind_positional(arguments, "append", 1)?;
    cx.heap.push(&owned_list(cx, receiver)?, value.cloned().unwrap_or_default())?;
    Ok(Value::None)
}

fn clear<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "clear")?;
    cx.heap.clear_list(&*owned_list(cx, receiver)?);
    Ok(Value::None)
}

fn copy<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "copy")?;
    Ok(collect_items(cx, receiver)?.finish())
}

fn count<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [searched_value] = bind_positional(arguments, "count", 1)?;
    let searched_value = searched_value.unwrap_or(&Value::None);
    let mut count = 0;
    for item in cx.heap.iter(receiver).into_iter().flatten() {
        cx.heap.budget().charge_steps(1)?;
        count += i64::from(values_equal(cx, &item, searched_value)?);
    }
    Ok(Value::Int(count))
}

fn extend<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [items] = bind_positional(arguments, "extend", 1)?;
    // Collected first, because the list may be extended by itself.
    let items = collect_items(cx, items.unwrap_or(&Value::None))?.finish();
    let list = owned_list(cx, receiver)?;
    for item in cx.heap.iter(&items).into_iter().flatten() {
        cx.heap.push(&list, item)?;
    }
    Ok(Value::None)
}

fn index_of<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [searched_value, start, stop] = bind_positional(arguments, "index", 1)?;
    let searched_value = searched_value.unwrap_or(&Value::None);
    let len = i64::try_from(cx.heap.len(receiver).unwrap_or(0)).unwrap_or(i64::MAX);
    let place = |place: i64| to_size(if place < 0 { place.saturating_add(len) } else { place });
    let start = place(integer_or(cx, start, 0)?);
    let stop = place(integer_or(cx, stop, i64::MAX)?);
    let items = cx.heap.iter(receiver).into_iter().flatten().enumerate();
    for (at, item) in items.take(stop).skip(start) {
        cx.heap.budget().charge_steps(1)?;
        if values_equal(cx, &item, searched_value)? {
            return Ok(Value::Int(at as i64));
        }
    }
    Err(Error::runtime("the value is not in the list"))
}

fn insert<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [place, value] = bind_positional(arguments, "insert", 2)?;
    let place = to_index(cx, place.unwrap_or(&Value::None))?;
    let list = owned_list(cx, receiver)?;
    let len = list.len() as i64;
    let place = if place < 0 { place.saturating_add(len) } else { place };
    cx.heap.insert_item(&list, to_size(place), value.cloned().unwrap_or_default())?;
    Ok(Value::None)
}

fn pop<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [place] = bind_positional(arguments, "pop", 0)?;
    let place = integer_or(cx, place, -1)?;
    let list = owned_list(cx, receiver)?;
    let len = list.len() as i64;
    let place = if place < 0 { place.saturating_add(len) } else { place };
    let item = match usize::try_from(place) {
        Ok(place) => cx.heap.remove_item(&list, place)?,
        Err(_) => None,
    };
    item.map(|item| cx.heap.current_version(item)).ok_or_else(|| match len {
        0 => Error::runtime("cannot pop from an empty list"),
        _ => Error::runtime("list index out of range"),
    })
}

fn remove<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let place = index_of(cx, receiver, arguments)?;
    let place = to_index(cx, &place)?;
    cx.heap.remove_item(&*owned_list(cx, receiver)?, to_size(place))?;
    Ok(Value::None)
}

fn reverse<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "reverse")?;
    let list = owned_list(cx, receiver)?;
    cx.heap.budget().charge_steps(list.len() as u64 / 16 + 1)?;
    cx.heap.reorder_items(&list, <[Value<'_>]>::reverse);
    Ok(Value::None)
}

fn sort<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    if !arguments.positional.is_empty() {
        return Err(Error::runtime("`sort` takes its arguments by name"));
    }
    let [key, reverse] = bind_arguments(arguments, "sort", ["key", "reverse"], 0)?;
    if key.is_some_and(|key| !key.is_none()) {
        return Err(Error::runtime("`sort` cannot call a key function here")
            .with_hint("the filter `sort` sorts by an attribute"));
    }
    let reverse = integer_or(cx, reverse, 0)? != 0;
    let list = owned_list(cx, receiver)?;
    // Sorted in a copy, because comparisons may read the list itself.
    let mut items = cx.heap.list()?;
    for item in cx.heap.iter(&Value::List(list.clone())).into_iter().flatten() {
        items.push(item)?;
    }
    sort_values(cx, &mut items, reverse)?;
    let Value::List(sorted) = items.finish() else { return Ok(Value::None) };
    sorted.with_items(|sorted| cx.heap.reorder_items(&list, |items| items.clone_from_slice(sorted)));
    Ok(Value::None)
}
