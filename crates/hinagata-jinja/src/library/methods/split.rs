//! Methods that split, strip and join strings.

use std::collections::HashSet;

use hinagata_value::{Arguments, Result, Text, Value};

use super::string::{build_string, parts, separator, text};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, bind_positional, expect_string, integer_or},
        ops::iterate_value,
        print::print_escaped,
        textual::{charge_characters, part_of, strip_text},
        types::type_error,
        unicode::{is_line_end, is_space},
    },
};

pub(super) fn split<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (separator, most) = separator(cx, "split", arguments)?;
    let text = text(receiver);
    charge_characters(cx, text)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    match separator {
        Some(separator) => parts(cx, receiver, text.splitn(most.saturating_add(1), separator)),
        None => parts(cx, receiver, split_words(text, most)),
    }
}

/// The words of a text. After `most` words, the unchanged rest is the last one.
pub(crate) fn split_words(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start_matches(is_space);
    let mut left = most;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if left == 0 {
            return Some(std::mem::take(&mut rest));
        }
        left -= 1;
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after.trim_start_matches(is_space);
        Some(word)
    })
}

pub(super) fn split_right<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (separator, most) = separator(cx, "rsplit", arguments)?;
    let text = text(receiver);
    charge_characters(cx, text)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut list = cx.heap.list()?;
    let mut push = |part: &str| part_of(cx, receiver, part).and_then(|part| list.push(part));
    match separator {
        Some(separator) => text.rsplitn(most.saturating_add(1), separator).try_for_each(&mut push)?,
        None => words_from_right(text, most).try_for_each(&mut push)?,
    }
    list.reorder_items(<[Value<'_>]>::reverse);
    Ok(list.finish())
}

/// The words of a text from its end. After `most` words, the unchanged rest is the last one.
fn words_from_right(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_end_matches(is_space);
    let mut left = most;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if left == 0 {
            return Some(std::mem::take(&mut rest));
        }
        left -= 1;
        let start = rest.char_indices().rev().find(|(_, character)| is_space(*character));
        let start = start.map_or(0, |(at, space)| at + space.len_utf8());
        let (before, word) = rest.split_at(start);
        rest = before.trim_end_matches(is_space);
        Some(word)
    })
}

pub(super) fn split_lines<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [keep] = bind_arguments(arguments, "splitlines", ["keepends"], 0)?;
    let keep = integer_or(cx, keep, 0)? != 0;
    let text = text(receiver);
    charge_characters(cx, text)?;
    if keep { parts(cx, receiver, whole_lines(text)) } else { parts(cx, receiver, lines_without_ends(text)) }
}

/// The lines of a text without their ends.
pub(crate) fn lines_without_ends(text: &str) -> impl Iterator<Item = &str> {
    whole_lines(text).map(|line| match line.strip_suffix("\r\n") {
        Some(line) => line,
        None => line.strip_suffix(is_line_end).unwrap_or(line),
    })
}

/// The lines of a text, each with its end.
pub(crate) fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match rest.find(is_line_end) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + rest[at..].chars().next().map_or(1, char::len_utf8),
            None if rest.is_empty() => return None,
            None => rest.len(),
        };
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

/// Sets up to this many bytes are searched linearly.
const SMALL_SET: usize = 32;

/// The set of characters to strip, or whitespace.
pub(crate) fn strip_set<'r, 'a>(
    cx: &Context<'_, 'a>,
    method: &str,
    characters: Option<&'r Value<'a>>,
) -> Result<impl Fn(char) -> bool + use<'r, 'a>> {
    let set = match characters.filter(|characters| !characters.is_none()) {
        Some(characters) => Some(expect_string(cx, method, characters)?),
        None => None,
    };
    let large: Option<HashSet<char>> = match set.filter(|set| set.len() > SMALL_SET) {
        Some(set) => {
            cx.heap.budget().charge_steps(set.len() as u64)?;
            Some(set.chars().collect())
        }
        None => None,
    };
    Ok(move |character: char| match (&large, set) {
        (Some(large), _) => large.contains(&character),
        (None, Some(set)) => set.contains(character),
        (None, None) => is_space(character),
    })
}

pub(super) fn strip<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [characters] = bind_positional(arguments, "strip", 0)?;
    let set = strip_set(cx, "strip", characters)?;
    let whole = text(receiver);
    strip_text(cx, receiver, whole, whole.trim_start_matches(&set).trim_end_matches(&set))
}

pub(super) fn strip_left<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [characters] = bind_positional(arguments, "lstrip", 0)?;
    let whole = text(receiver);
    strip_text(cx, receiver, whole, whole.trim_start_matches(strip_set(cx, "lstrip", characters)?))
}

pub(super) fn strip_right<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [characters] = bind_positional(arguments, "rstrip", 0)?;
    let whole = text(receiver);
    strip_text(cx, receiver, whole, whole.trim_end_matches(strip_set(cx, "rstrip", characters)?))
}

/// `separator.join(items)`. A safe separator escapes the items; any other accepts strings only.
pub(super) fn join<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [items] = bind_positional(arguments, "join", 1)?;
    let items = iterate_value(cx, items.unwrap_or(&Value::None))?;
    let push = |item: &Value<'a>, result: &mut Text<'a>| match item.as_str() {
        _ if receiver.is_safe() => print_escaped(cx, item, result),
        Some(text) => result.push_str(text),
        None => Err(type_error(cx, item, |name| format!("`join` joins strings, not {name}"))
            .with_hint("the filter `join` joins values of any type")),
    };
    build_string(cx, receiver, |result| {
        for (at, item) in items.enumerate() {
            if at > 0 {
                result.push_str(text(receiver))?;
            }
            push(&item, result)?;
        }
        Ok(())
    })
}
