//! Python's methods of strings, lists, tuples, maps, numbers and bytes.
//!
//! Methods that change a list or map never change data of the caller: they copy it first, and the copy
//! replaces it for the rest of the render.

mod bytes;
mod case;
mod list;
mod map;
mod number;
mod pad;
mod search;
mod split;
mod string;

pub(crate) use case::{to_capitalized, to_lower, to_upper};
pub(crate) use map::{collect_entries, update_map};
pub(crate) use pad::push_centered;
pub(crate) use search::replace_text;
pub(crate) use split::{lines_without_ends, split_words, strip_set, whole_lines};

use hinagata_value::{Arguments, Error, Kind, Result, Value};

use crate::context::Context;

/// A method: takes its receiver and the arguments.
pub(crate) type Method = for<'a> fn(&Context<'_, 'a>, &Value<'a>, &Arguments<'_, 'a>) -> Result<Value<'a>>;

/// Methods, sorted by name.
type Table = &'static [(&'static str, Method)];

/// Methods that change a list in place.
const LIST_CHANGES: &[&str] = &["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
/// Methods that change a map in place.
const MAP_CHANGES: &[&str] = &["clear", "pop", "popitem", "setdefault", "update"];

fn tables(value: &Value<'_>) -> (Table, Table) {
    match value.kind() {
        Kind::Str if value.is_safe() => (string::METHODS, string::SAFE_METHODS),
        Kind::Str => (string::METHODS, &[]),
        Kind::Bytes => (bytes::METHODS, &[]),
        Kind::List => (list::METHODS, &[]),
        Kind::Tuple | Kind::Range => (list::SEQUENCE_METHODS, &[]),
        Kind::Map => (map::METHODS, &[]),
        Kind::Int | Kind::Bool => (number::INT_METHODS, &[]),
        Kind::Float => (number::FLOAT_METHODS, &[]),
        _ => (&[], &[]),
    }
}

fn entry(value: &Value<'_>, name: &str) -> Option<&'static (&'static str, Method)> {
    let search = |table: Table| table.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| &table[at]);
    let (table, more) = tables(value);
    search(table).or_else(|| search(more))
}

/// The static name of the method `name`, if this value has it.
pub(crate) fn find_method(value: &Value<'_>, name: &str) -> Option<&'static str> {
    entry(value, name).map(|(name, _)| *name)
}

/// Whether the method `name` changes this value in place.
pub(crate) fn changes_receiver(value: &Value<'_>, name: &str) -> bool {
    match value.kind() {
        Kind::List => LIST_CHANGES.contains(&name),
        Kind::Map => MAP_CHANGES.contains(&name),
        _ => false,
    }
}

/// Whether maps have a method `name`. An attribute with that name is never an entry.
pub(crate) fn is_map_method(name: &str) -> bool {
    map::METHODS.binary_search_by_key(&name, |(name, _)| name).is_ok()
}

/// Calls the method `name`; returns `None` if the value has no such method.
///
/// # Errors
/// Those of the method; a security error if the method changes its receiver and the settings forbid that.
pub(crate) fn call_method<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    name: &str,
    arguments: &Arguments<'_, 'a>,
) -> Result<Option<Value<'a>>> {
    let Some((name, method)) = entry(receiver, name) else { return Ok(None) };
    if cx.settings.immutable && changes_receiver(receiver, name) {
        return Err(immutable_error(name));
    }
    cx.heap.budget().charge_steps(1)?;
    method(cx, receiver, arguments).map(Some)
}

#[cold]
fn immutable_error(name: &str) -> Error {
    Error::security(format!("`{name}` would change a value in place, which is not allowed here"))
}

/// The methods of each type, by the name of the type in Python.
const TABLES: [(&str, Table); 8] = [
    ("str", string::METHODS),
    ("Markup", string::SAFE_METHODS),
    ("bytes", bytes::METHODS),
    ("list", list::METHODS),
    ("tuple", list::SEQUENCE_METHODS),
    ("dict", map::METHODS),
    ("int", number::INT_METHODS),
    ("float", number::FLOAT_METHODS),
];

/// The names of all methods, each with its type.
pub(crate) fn method_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLES.iter().flat_map(|(type_name, table)| table.iter().map(move |(name, _)| (*type_name, *name)))
}

/// Panics if a method cannot be found by its name (a table is not sorted).
#[cfg(test)]
pub(crate) fn check_tables() {
    for (_, table) in TABLES {
        assert!(table.is_sorted_by_key(|(name, _)| *name), "{table:?}", table = table[0].0);
    }
}
