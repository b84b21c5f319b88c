//! The methods of maps.

use std::rc::Rc;

use hinagata_value::{Arguments, Error, Kind, ListBuilder, ListKind, Map, Result, Value};

use super::Table;
use crate::{
    context::Context,
    library::{
        arguments::{bind_positional, expect_none},
        ops::{collect_items, iterate_value},
        types::type_error,
    },
};

/// The methods of maps.
pub(super) const METHODS: Table = &[
    ("clear", clear),
    ("copy", copy),
    ("fromkeys", from_keys),
    ("get", get),
    ("items", items),
    ("keys", keys),
    ("pop", pop),
    ("popitem", pop_item),
    ("setdefault", set_default),
    ("update", update_method),
    ("values", values),
];

/// The writable version of the receiver: data of the caller is copied first.
fn owned_map<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>) -> Result<Rc<Map<'a>>> {
    match cx.heap.make_owned(receiver)? {
        Value::Map(map) => Ok(map),
        other => Err(type_error(cx, &other, |name| format!("a {name} cannot be changed"))),
    }
}

/// The value under a key.
fn lookup<'a>(cx: &Context<'_, 'a>, map: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>> {
    cx.heap.budget().step_bytes(key.as_str().map_or(0, str::len))?;
    cx.check_use(key)?;
    match key.kind() {
        Kind::List | Kind::Map => Err(type_error(cx, key, |name| format!("a {name} cannot be a key"))),
        Kind::Pending => Err(Error::suspended()),
        _ => cx.heap.lookup(map, key),
    }
}

fn clear<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "clear")?;
    cx.heap.clear_map(&*owned_map(cx, receiver)?);
    Ok(Value::None)
}

fn copy<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "copy")?;
    let mut map = cx.heap.map()?;
    for (key, value) in cx.heap.entries(receiver).into_iter().flatten() {
        map.insert(key, value)?;
    }
    Ok(map.finish())
}

fn from_keys<'a>(cx: &Context<'_, 'a>, _: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [keys, value] = bind_positional(arguments, "fromkeys", 1)?;
    let mut map = cx.heap.map()?;
    for key in iterate_value(cx, keys.unwrap_or(&Value::None))? {
        cx.check_use(&key)?;
        map.insert(key, value.cloned().unwrap_or_default())?;
    }
    Ok(map.finish())
}

fn get<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [key, default] = bind_positional(arguments, "get", 1)?;
    let found = lookup(cx, receiver, key.unwrap_or(&Value::None))?;
    Ok(found.unwrap_or_else(|| default.cloned().unwrap_or_default()))
}

fn keys<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "keys")?;
    let mut list = cx.heap.list()?;
    list.reserve(cx.heap.len(receiver).unwrap_or(0))?;
    for key in cx.heap.iter(receiver).into_iter().flatten() {
        list.push(key)?;
    }
    Ok(list.finish_view(ListKind::Keys))
}

fn values<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "values")?;
    let mut list = cx.heap.list()?;
    list.reserve(cx.heap.len(receiver).unwrap_or(0))?;
    for (_, value) in cx.heap.entries(receiver).into_iter().flatten() {
        list.push(value)?;
    }
    Ok(list.finish_view(ListKind::Values))
}

fn items<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "items")?;
    Ok(collect_entries(cx, receiver)?.finish_view(ListKind::Items))
}

/// Collects the entries of a map as tuples.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn collect_entries<'a>(cx: &Context<'_, 'a>, map: &Value<'a>) -> Result<ListBuilder<'a>> {
    let mut list = cx.heap.list()?;
    list.reserve(cx.heap.len(map).unwrap_or(0))?;
    for (key, value) in cx.heap.entries(map).into_iter().flatten() {
        let mut pair = cx.heap.list()?;
        pair.reserve(2)?;
        pair.push(key)?;
        pair.push(value)?;
        list.push(pair.finish_tuple())?;
    }
    Ok(list)
}

fn pop<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [key, default] = bind_positional(arguments, "pop", 1)?;
    let key = key.unwrap_or(&Value::None);
    if lookup(cx, receiver, key)?.is_none() {
        return default.cloned().ok_or_else(|| Error::runtime("the map has no such key"));
    }
    let found = cx.heap.remove(&*owned_map(cx, receiver)?, key)?;
    Ok(cx.heap.current_version(found.unwrap_or_default()))
}

fn pop_item<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "popitem")?;
    match cx.heap.pop_entry(&*owned_map(cx, receiver)?) {
        Some((key, value)) => cx.heap.tuple_of([key, cx.heap.current_version(value)]),
        None => Err(Error::runtime("cannot pop from an empty map")),
    }
}

fn set_default<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [key, default] = bind_positional(arguments, "setdefault", 1)?;
    let key = key.unwrap_or(&Value::None);
    if let Some(found) = lookup(cx, receiver, key)? {
        return Ok(found);
    }
    let default = default.cloned().unwrap_or_default();
    cx.heap.insert(&owned_map(cx, receiver)?, key.clone(), default.clone())?;
    Ok(default)
}

fn update_method<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    update_map(cx, &owned_map(cx, receiver)?, arguments, "update")?;
    Ok(Value::None)
}

/// Inserts the entries of a map or of pairs, and keyword arguments, into a map.
///
/// # Errors
/// When the argument is neither a map nor pairs, or a limit is reached.
pub(crate) fn update_map<'a>(
    cx: &Context<'_, 'a>,
    map: &Rc<Map<'a>>,
    arguments: &Arguments<'_, 'a>,
    function: &str,
) -> Result<()> {
    let [other] = bind_positional(&Arguments::from_positional(arguments.positional), function, 0)?;
    if let Some(other) = other {
        if other.kind() == Kind::Map {
            // Collected first, because the map may be updated with itself.
            let pairs: Vec<_> = cx.heap.entries(other).into_iter().flatten().collect();
            for (key, value) in pairs {
                cx.heap.insert(map, key, value)?;
            }
        } else {
            // An undefined value is iterable, but Python asks it for its keys first, which fails.
            cx.require_defined(other)?;
            for pair in iterate_value(cx, other)? {
                let (key, value) = pair_of(cx, &pair)?;
                cx.check_use(&key)?;
                cx.heap.insert(map, key, value)?;
            }
        }
    }
    for (name, value) in arguments.named {
        cx.heap.insert(map, cx.heap.string(name)?, value.clone())?;
    }
    Ok(())
}

/// The two items of a pair.
fn pair_of<'a>(cx: &Context<'_, 'a>, pair: &Value<'a>) -> Result<(Value<'a>, Value<'a>)> {
    let items = collect_items(cx, pair)?;
    if items.len() != 2 {
        return Err(Error::runtime(format!("a pair of key and value is needed, not {} items", items.len())));
    }
    let list = items.finish();
    let item = |index| cx.heap.item(&list, index).unwrap_or_default();
    Ok((item(0), item(1)))
}
