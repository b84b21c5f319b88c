//! Methods that find, count, replace and split at parts of a string.

use hinagata_value::{Arguments, Error, Kind, Result, Text, Value};

use super::string::{refuse_keywords, text};
use crate::{
    context::Context,
    library::{
        arguments::{bind_positional, expect_string, integer_or, to_index},
        print::print_escaped,
        textual::{charge_characters, copy_string, finish_text, part_of},
    },
};

/// The part of a text between two character indexes.
struct Window<'t> {
    text: &'t str,
    /// The number of characters before it.
    start: usize,
    /// Whether it starts after its end, where nothing is found, not even the empty string.
    outside: bool,
}

impl<'t> Window<'t> {
    fn new<'a>(
        cx: &Context<'_, 'a>,
        text: &'t str,
        start: Option<&Value<'a>>,
        end: Option<&Value<'a>>,
    ) -> Result<Self> {
        let bound = |value: Option<&Value<'a>>, default: i64| match value.filter(|value| !value.is_none()) {
            Some(value) => to_index(cx, value),
            None => Ok(default),
        };
        let (start, end) = (bound(start, 0)?, bound(end, i64::MAX)?);
        if start == 0 && end == i64::MAX {
            return Ok(Self { text, start: 0, outside: false });
        }
        charge_characters(cx, text)?;
        let len = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let inside = |place: i64| if place < 0 { place.saturating_add(len).max(0) } else { place };
        let (start, end) = (inside(start), inside(end).min(len));
        if start > end {
            return Ok(Self { text: "", start: 0, outside: true });
        }
        let (start, end) = (start as usize, end as usize);
        let place = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
        Ok(Self { text: &text[place(start)..place(end)], start, outside: false })
    }

    /// The character index of a byte offset in the window.
    fn place(&self, at: usize) -> i64 {
        (self.start + self.text[..at].chars().count()) as i64
    }
}

/// The part to look for, and the window to look in.
fn part_and_window<'r, 'v, 'a>(
    cx: &Context<'_, 'a>,
    receiver: &'v Value<'a>,
    arguments: &Arguments<'r, 'a>,
    method: &str,
) -> Result<(&'r str, Window<'v>)> {
    let [part, start, end] = bind_positional(arguments, method, 1)?;
    let part = expect_string(cx, method, part.unwrap_or(&Value::None))?;
    Ok((part, Window::new(cx, text(receiver), start, end)?))
}

fn first_place<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
    method: &str,
    search: impl FnOnce(&str, &str) -> Option<usize>,
) -> Result<Option<i64>> {
    let (part, window) = part_and_window(cx, receiver, arguments, method)?;
    if window.outside {
        return Ok(None);
    }
    charge_characters(cx, window.text)?;
    Ok(search(window.text, part).map(|at| window.place(at)))
}

pub(super) fn find<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let place = first_place(cx, receiver, arguments, "find", |text, part| text.find(part))?;
    Ok(Value::Int(place.unwrap_or(-1)))
}

pub(super) fn find_last<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let place = first_place(cx, receiver, arguments, "rfind", |text, part| text.rfind(part))?;
    Ok(Value::Int(place.unwrap_or(-1)))
}

pub(super) fn index_of<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let place = first_place(cx, receiver, arguments, "index", |text, part| text.find(part))?;
    place.map(Value::Int).ok_or_else(not_found)
}

pub(super) fn index_of_last<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let place = first_place(cx, receiver, arguments, "rindex", |text, part| text.rfind(part))?;
    place.map(Value::Int).ok_or_else(not_found)
}

#[cold]
fn not_found() -> Error {
    Error::runtime("substring not found").with_hint("`find` returns -1 instead of failing")
}

pub(super) fn count<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (part, window) = part_and_window(cx, receiver, arguments, "count")?;
    charge_characters(cx, window.text)?;
    Ok(Value::Int(match (window.outside, part) {
        (true, _) => 0,
        (false, "") => window.text.chars().count() as i64 + 1,
        (false, part) => window.text.matches(part).count() as i64,
    }))
}

pub(super) fn starts_with<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    any_part_matches(cx, receiver, arguments, "startswith", |text, part| text.starts_with(part))
}

pub(super) fn ends_with<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    any_part_matches(cx, receiver, arguments, "endswith", |text, part| text.ends_with(part))
}

/// Whether a test is true for a part, or for any part of a tuple.
fn any_part_matches<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
    method: &str,
    test: impl Fn(&str, &str) -> bool,
) -> Result<Value<'a>> {
    let [parts, start, end] = bind_positional(arguments, method, 1)?;
    let parts = parts.unwrap_or(&Value::None);
    let window = Window::new(cx, text(receiver), start, end)?;
    let holds = |part: &Value<'a>| {
        let part = expect_string(cx, method, part)?;
        cx.heap.budget().step_bytes(part.len())?;
        Ok(!window.outside && test(window.text, part))
    };
    if parts.kind() != Kind::Tuple {
        return holds(parts).map(Value::Bool);
    }
    for part in cx.heap.iter(parts).into_iter().flatten() {
        cx.heap.budget().charge_steps(1)?;
        if holds(&part)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

pub(super) fn replace<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [old, new, count] = bind_positional(arguments, "replace", 2)?;
    let (old, new) = (old.unwrap_or(&Value::None), new.unwrap_or(&Value::None));
    let old = expect_string(cx, "replace", old)?;
    let count = integer_or(cx, count, -1)?;
    if receiver.is_safe() {
        let mut escaped = cx.heap.text();
        print_escaped(cx, new, &mut escaped)?;
        return replace_text(cx, receiver, text(receiver), old, escaped.as_str(), count);
    }
    let new = expect_string(cx, "replace", new)?;
    replace_text(cx, receiver, text(receiver), old, new, count)
}

/// Replaces the first `count` occurrences of `old` in `text` (all of them if negative). The result is safe
/// if `value` is. Its size is charged before it is created.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn replace_text<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    text: &str,
    old: &str,
    new: &str,
    count: i64,
) -> Result<Value<'a>> {
    charge_characters(cx, text)?;
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let found = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() }.min(most);
    if found == 0 {
        return part_of(cx, value, text);
    }
    let removed = found * old.len();
    let mut result = Text::with_capacity(
        cx.heap.budget(),
        (text.len() - removed.min(text.len())).saturating_add(found.saturating_mul(new.len())),
    )?;
    if old.is_empty() {
        insert_between(&mut result, text, new, found)?;
    } else {
        let mut rest = text;
        for _ in 0..found {
            let Some((before, after)) = rest.split_once(old) else { break };
            result.push_str(before)?;
            result.push_str(new)?;
            rest = after;
        }
        result.push_str(rest)?;
    }
    finish_text(result, value.is_safe())
}

fn insert_between(result: &mut Text<'_>, text: &str, new: &str, count: usize) -> Result<()> {
    for (replaced_count, (at, character)) in text.char_indices().enumerate() {
        if replaced_count == count {
            return result.push_str(&text[at..]);
        }
        result.push_str(new)?;
        result.push(character)?;
    }
    if count > text.chars().count() { result.push_str(new) } else { Ok(()) }
}

pub(super) fn remove_prefix<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [prefix] = bind_positional(arguments, "removeprefix", 1)?;
    let prefix = expect_string(cx, "removeprefix", prefix.unwrap_or(&Value::None))?;
    cx.heap.budget().step_bytes(prefix.len())?;
    part_of(cx, receiver, text(receiver).strip_prefix(prefix).unwrap_or(text(receiver)))
}

pub(super) fn remove_suffix<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [suffix] = bind_positional(arguments, "removesuffix", 1)?;
    let suffix = expect_string(cx, "removesuffix", suffix.unwrap_or(&Value::None))?;
    cx.heap.budget().step_bytes(suffix.len())?;
    part_of(cx, receiver, text(receiver).strip_suffix(suffix).unwrap_or(text(receiver)))
}

pub(super) fn partition<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let separator = separator(cx, arguments, "partition")?;
    charge_characters(cx, text(receiver))?;
    match text(receiver).split_once(separator) {
        Some((before, after)) => tuple_of_parts(cx, receiver, [before, separator, after]),
        None => tuple_of_parts(cx, receiver, [text(receiver), "", ""]),
    }
}

pub(super) fn partition_last<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let separator = separator(cx, arguments, "rpartition")?;
    charge_characters(cx, text(receiver))?;
    match text(receiver).rsplit_once(separator) {
        Some((before, after)) => tuple_of_parts(cx, receiver, [before, separator, after]),
        None => tuple_of_parts(cx, receiver, ["", "", text(receiver)]),
    }
}

fn separator<'r, 'a>(cx: &Context<'_, 'a>, arguments: &Arguments<'r, 'a>, method: &str) -> Result<&'r str> {
    refuse_keywords(arguments, method)?;
    let [separator] = bind_positional(arguments, method, 1)?;
    match expect_string(cx, method, separator.unwrap_or(&Value::None))? {
        "" => Err(Error::runtime("a separator cannot be empty")),
        separator => Ok(separator),
    }
}

fn tuple_of_parts<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, parts: [&str; 3]) -> Result<Value<'a>> {
    cx.heap.budget().step_bytes(text(receiver).len())?;
    let mut tuple = cx.heap.list()?;
    for part in parts {
        tuple.push(copy_string(cx, part, receiver.is_safe())?)?;
    }
    Ok(tuple.finish_tuple())
}
