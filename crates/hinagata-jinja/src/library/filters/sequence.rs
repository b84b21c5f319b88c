//! Filters on sequences.

use hinagata_value::{Arguments, Error, Kind, Number, Owner, Result, Undefined, Value};

use super::{attribute::Getter, flag, optional_argument};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_none, to_index, to_size},
        methods::collect_entries,
        number::{as_int, floor_divide, remainder},
        ops::{self, collect_items, iterate_value, list_characters},
        print::{escape_html, print_escaped, print_value},
        textual::{copy_string, finish_text, to_textual},
        types::{require_settled, wrong_type},
    },
};

/// `length`: the number of items, entries or characters.
pub(super) fn length<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "length")?;
    Ok(Value::Int(i64::try_from(ops::value_length(cx, &value)?).unwrap_or(i64::MAX)))
}

/// `list`: the items as a list.
pub(super) fn list<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "list")?;
    match value.as_str() {
        Some(text) => Ok(list_characters(cx, text)?.finish()),
        None => Ok(collect_items(cx, &value)?.finish()),
    }
}

/// The undefined value for an item of an empty sequence.
pub(super) fn missing_item<'a>(sequence: &Value<'a>) -> Value<'a> {
    let owner = if sequence.kind() == Kind::Str { Owner::Str } else { Owner::List };
    Value::Undefined(Undefined { owner, name: None })
}

/// `first`: the first item; undefined for an empty sequence.
pub(super) fn first<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "first")?;
    let found = match value.as_str() {
        // Creates a value for the first character only.
        Some(text) => text.chars().next().map(|first| character(cx, first)).transpose()?,
        None => iterate_value(cx, &value)?.next(),
    };
    Ok(found.unwrap_or_else(|| missing_item(&value)))
}

/// `last`: the last item; undefined for an empty sequence.
pub(super) fn last<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "last")?;
    require_settled(&value)?;
    let found = match value.kind() {
        Kind::Str => {
            let text = to_textual(cx, &value)?;
            let last = text.chars().next_back();
            last.map(|last| copy_string(cx, last.encode_utf8(&mut [0; 4]), value.is_safe())).transpose()?
        }
        Kind::Once => return Err(not_reversible_error(cx, &value)),
        Kind::List | Kind::Tuple | Kind::Range => {
            cx.heap.len(&value).and_then(|len| cx.heap.item(&value, len.checked_sub(1)?))
        }
        Kind::Map => cx
            .heap
            .len(&value)
            .and_then(|len| cx.heap.entry_at(&value, len.checked_sub(1)?))
            .map(|(key, _)| key),
        _ => {
            let mut found = None;
            for item in iterate_value(cx, &value)? {
                cx.heap.budget().charge_steps(1)?;
                found = Some(item);
            }
            found
        }
    };
    Ok(found.unwrap_or_else(|| missing_item(&value)))
}

#[cold]
fn not_reversible_error<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Error {
    wrong_type(cx, value, |name| format!("a {name} has no last item"))
        .with_hint("make it a list first: `|list|last`")
}

fn character<'a>(cx: &Context<'_, 'a>, character: char) -> Result<Value<'a>> {
    copy_string(cx, character.encode_utf8(&mut [0; 4]), false)
}

/// `reverse`: the items in reverse order: a string for a string, an iterator for other values.
pub(super) fn reverse<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "reverse")?;
    if let Some(text) = value.as_str() {
        let mut reversed = cx.heap.text();
        reversed.reserve(text.len())?;
        text.chars().rev().try_for_each(|character| reversed.push(character))?;
        return finish_text(reversed, value.is_safe());
    }
    let mut items = collect_items(cx, &value)?;
    items.reorder_items(<[Value<'_>]>::reverse);
    // An iterator becomes a list, as in Python.
    Ok(if value.kind() == Kind::Once { items.finish() } else { items.finish_once() })
}

/// `random`: a random item; undefined for an empty sequence.
pub(super) fn random<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "random")?;
    let len = ops::value_length(cx, &value)?;
    if len == 0 {
        return Ok(missing_item(&value));
    }
    let place = Value::Int(cx.random.random_below(len as u64).cast_signed());
    let found = match value.kind() {
        Kind::Map => cx.heap.lookup(&value, &place)?,
        Kind::View => None,
        _ => return ops::get_item(cx, &value, &place),
    };
    found.ok_or_else(|| wrong_type(cx, &value, |name| format!("`random` works on sequences, not on {name}")))
}

/// `items`: the entries of a map as tuples; empty for an undefined value.
pub(super) fn items<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "items")?;
    match value.kind() {
        Kind::Undefined => Ok(cx.heap.list()?.finish_once()),
        Kind::Map => Ok(collect_entries(cx, &value)?.finish_once()),
        _ => Err(wrong_type(cx, &value, |name| format!("`items` works on maps, not on {name}"))),
    }
}

/// `join`: the texts of the items with a separator between them.
pub(super) fn join<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [separator, attribute] = bind_arguments(arguments, "join", ["d", "attribute"], 0)?;
    let separator = separator
        .map(|separator| to_textual(cx, separator).map(|text| (text, separator.is_safe())))
        .transpose()?;
    let (separator, separator_safe) = match &separator {
        Some((text, safe)) => (&**text, *safe),
        None => ("", false),
    };
    let getter = Getter::new(cx, attribute)?;
    let mut text = cx.heap.text();
    if !cx.autoescape {
        for (at, item) in iterate_value(cx, &value)?.enumerate() {
            cx.heap.budget().charge_steps(1)?;
            if at > 0 {
                text.push_str(separator)?;
            }
            print_value(cx, &getter.get(cx, &item)?, &mut text)?;
        }
        return finish_text(text, false);
    }
    let mut parts = cx.heap.list()?;
    let mut safe = separator_safe;
    for item in iterate_value(cx, &value)? {
        let part = getter.get(cx, &item)?;
        safe |= part.is_safe();
        parts.push(part)?;
    }
    let parts = parts.finish();
    for (at, part) in iterate_value(cx, &parts)?.enumerate() {
        if at > 0 {
            if safe && !separator_safe {
                escape_html(separator, &mut text)?;
            } else {
                text.push_str(separator)?;
            }
        }
        if safe {
            print_escaped(cx, &part, &mut text)?;
        } else {
            print_value(cx, &part, &mut text)?;
        }
    }
    finish_text(text, safe)
}

/// `unique`: the items without duplicates.
pub(super) fn unique<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [case_sensitive, attribute] =
        bind_arguments(arguments, "unique", ["case_sensitive", "attribute"], 0)?;
    let getter = Getter::new(cx, attribute)?.ignoring_case(!flag(cx, case_sensitive, false)?);
    let mut seen = cx.heap.map()?;
    let mut unique = cx.heap.list()?;
    for item in iterate_value(cx, &value)? {
        let key = getter.get(cx, &item)?;
        require_settled(&key)?;
        cx.check_use(&key)?;
        cx.heap.budget().step_bytes(key.as_str().map_or(0, str::len))?;
        if seen.get(&key)?.is_none() {
            seen.insert(key, Value::None)?;
            unique.push(item)?;
        }
    }
    Ok(unique.finish_once())
}

/// `batch`: lists of a given length; the last one may be filled up.
pub(super) fn batch<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [count, fill] = bind_arguments(arguments, "batch", ["linecount", "fill_with"], 1)?;
    let count = count.unwrap_or(&Value::None);
    require_settled(count)?;
    cx.check_use(count)?;
    // No list has a length that is not an integer, so then all items are in one batch.
    let full = as_int(count).and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    let mut batches = cx.heap.list()?;
    let mut batch = cx.heap.list()?;
    for item in iterate_value(cx, &value)? {
        if batch.len() == full {
            batches.push(std::mem::replace(&mut batch, cx.heap.list()?).finish())?;
        }
        batch.push(item)?;
    }
    if !batch.is_empty() {
        if let Some(fill) = optional_argument(fill) {
            let missing = to_size(to_index(cx, count)?).saturating_sub(batch.len());
            batch.reserve(missing)?;
            for _ in 0..missing {
                batch.push(fill.clone())?;
            }
        }
        batches.push(batch.finish())?;
    }
    Ok(batches.finish_once())
}

/// `slice`: a given number of lists of about the same length; the shorter ones may be filled up.
pub(super) fn slice<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [count, fill] = bind_arguments(arguments, "slice", ["slices", "fill_with"], 1)?;
    let fill = optional_argument(fill);
    let items = collect_items(cx, &value)?.finish();
    let len = Number::Int(cx.heap.len(&items).unwrap_or(0) as i128);
    let count = count.unwrap_or(&Value::None);
    cx.require_defined(count)?;
    let count = to_index(cx, count)?;
    let whole = |number: Number| match number {
        Number::Int(int) => usize::try_from(int).unwrap_or(0),
        Number::Float(_) => 0,
    };
    let each = whole(floor_divide(len, Number::Int(i128::from(count)))?);
    let longer = whole(remainder(len, Number::Int(i128::from(count)))?);
    let mut slices = cx.heap.list()?;
    slices.reserve(to_size(count))?;
    let mut rest = iterate_value(cx, &items)?;
    for at in 0..to_size(count) {
        let mut slice = cx.heap.list()?;
        for item in rest.by_ref().take(each + usize::from(at < longer)) {
            slice.push(item)?;
        }
        if let Some(fill) = fill.filter(|_| at >= longer) {
            slice.push(fill.clone())?;
        }
        slices.push(slice.finish())?;
    }
    Ok(slices.finish_once())
}
