//! Filters that go over a sequence.

use hinagata_value::{Arguments, Error, Kind, Number, Owner, Result, Undefined, Value};

use super::{attribute::Getter, flag, given};
use crate::{
    context::Context,
    library::{
        arguments::{bind, index, none, size},
        methods::entries,
        number::{as_int, floor_divide, remainder},
        ops::{self, characters, collect, iterate},
        print::{escape, print, print_escaped},
        textual::{copied, finish, textual},
        types::{settled, wrong_type},
    },
};

/// How many items, entries or characters there are.
pub(super) fn length<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    none(arguments, "length")?;
    Ok(Value::Int(i64::try_from(ops::length(cx, &value)?).unwrap_or(i64::MAX)))
}

/// The items as a list.
pub(super) fn list<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    none(arguments, "list")?;
    match value.as_str() {
        Some(text) => Ok(characters(cx, text)?.finish()),
        None => Ok(collect(cx, &value)?.finish()),
    }
}

/// What stands for an item of a sequence that has none.
pub(super) fn nothing<'a>(sequence: &Value<'a>) -> Value<'a> {
    let owner = if sequence.kind() == Kind::Str { Owner::Str } else { Owner::List };
    Value::Undefined(Undefined { owner, name: None })
}

/// The first item; undefined where there is none.
pub(super) fn first<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    none(arguments, "first")?;
    let found = match value.as_str() {
        // Only the first character is made.
        Some(text) => text.chars().next().map(|first| character(cx, first)).transpose()?,
        None => iterate(cx, &value)?.next(),
    };
    Ok(found.unwrap_or_else(|| nothing(&value)))
}

/// The last item; undefined where there is none.
pub(super) fn last<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    none(arguments, "last")?;
    settled(&value)?;
    let found = match value.kind() {
        Kind::Str => {
            let text = textual(cx, &value)?;
            let last = text.chars().next_back();
            last.map(|last| copied(cx, last.encode_utf8(&mut [0; 4]), value.is_safe())).transpose()?
        }
        Kind::Once => return Err(not_reversible(cx, &value)),
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
            for item in iterate(cx, &value)? {
                cx.heap.budget().step(1)?;
                found = Some(item);
            }
            found
        }
    };
    Ok(found.unwrap_or_else(|| nothing(&value)))
}

#[cold]
fn not_reversible<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Error {
    wrong_type(cx, value, |name| format!("a {name} has no last item"))
        .with_hint("make it a list first: `|list|last`")
}

fn character<'a>(cx: &Context<'_, 'a>, character: char) -> Result<Value<'a>> {
    copied(cx, character.encode_utf8(&mut [0; 4]), false)
}

/// The items from the end: a string for a string, something to go over for anything else.
pub(super) fn reverse<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    none(arguments, "reverse")?;
    if let Some(text) = value.as_str() {
        let mut reversed = cx.heap.text();
        reversed.reserve(text.len())?;
        text.chars().rev().try_for_each(|character| reversed.push(character))?;
        return finish(reversed, value.is_safe());
    }
    let mut items = collect(cx, &value)?;
    items.reorder(<[Value<'_>]>::reverse);
    // What has no end to start from is made a list, as Python does.
    Ok(if value.kind() == Kind::Once { items.finish() } else { items.finish_once() })
}

/// An item chosen at random; undefined where there is none.
pub(super) fn random<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    none(arguments, "random")?;
    let len = ops::length(cx, &value)?;
    if len == 0 {
        return Ok(nothing(&value));
    }
    let place = Value::Int(cx.random.below(len as u64).cast_signed());
    let found = match value.kind() {
        Kind::Map => cx.heap.lookup(&value, &place)?,
        Kind::View => None,
        _ => return ops::item(cx, &value, &place),
    };
    found.ok_or_else(|| wrong_type(cx, &value, |name| format!("`random` works on sequences, not on {name}")))
}

/// The entries of a map as tuples; none of an undefined value.
pub(super) fn items<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    none(arguments, "items")?;
    match value.kind() {
        Kind::Undefined => Ok(cx.heap.list()?.finish_once()),
        Kind::Map => Ok(entries(cx, &value)?.finish_once()),
        _ => Err(wrong_type(cx, &value, |name| format!("`items` works on maps, not on {name}"))),
    }
}

/// The texts of the items, with a separator between them.
pub(super) fn join<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [separator, attribute] = bind(arguments, "join", ["d", "attribute"], 0)?;
    let separator = separator
        .map(|separator| textual(cx, separator).map(|text| (text, separator.is_safe())))
        .transpose()?;
    let (separator, separator_safe) = match &separator {
        Some((text, safe)) => (&**text, *safe),
        None => ("", false),
    };
    let getter = Getter::new(cx, attribute)?;
    let mut text = cx.heap.text();
    if !cx.autoescape {
        for (at, item) in iterate(cx, &value)?.enumerate() {
            cx.heap.budget().step(1)?;
            if at > 0 {
                text.push_str(separator)?;
            }
            print(cx, &getter.get(cx, &item)?, &mut text)?;
        }
        return finish(text, false);
    }
    let mut parts = cx.heap.list()?;
    let mut safe = separator_safe;
    for item in iterate(cx, &value)? {
        let part = getter.get(cx, &item)?;
        safe |= part.is_safe();
        parts.push(part)?;
    }
    let parts = parts.finish();
    for (at, part) in iterate(cx, &parts)?.enumerate() {
        if at > 0 {
            if safe && !separator_safe {
                escape(separator, &mut text)?;
            } else {
                text.push_str(separator)?;
            }
        }
        if safe {
            print_escaped(cx, &part, &mut text)?;
        } else {
            print(cx, &part, &mut text)?;
        }
    }
    finish(text, safe)
}

/// The items, each once: what was there already is left out.
pub(super) fn unique<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [case_sensitive, attribute] = bind(arguments, "unique", ["case_sensitive", "attribute"], 0)?;
    let getter = Getter::new(cx, attribute)?.ignoring_case(!flag(cx, case_sensitive, false)?);
    let mut seen = cx.heap.map()?;
    let mut unique = cx.heap.list()?;
    for item in iterate(cx, &value)? {
        let key = getter.get(cx, &item)?;
        settled(&key)?;
        cx.check_use(&key)?;
        cx.heap.budget().step_bytes(key.as_str().map_or(0, str::len))?;
        if seen.get(&key)?.is_none() {
            seen.insert(key, Value::None)?;
            unique.push(item)?;
        }
    }
    Ok(unique.finish_once())
}

/// Lists of so many items each; the last one may be filled up.
pub(super) fn batch<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [count, fill] = bind(arguments, "batch", ["linecount", "fill_with"], 1)?;
    let count = count.unwrap_or(&Value::None);
    settled(count)?;
    cx.check_use(count)?;
    // What is no integer is the length of no list.
    let full = as_int(count).and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    let mut batches = cx.heap.list()?;
    let mut batch = cx.heap.list()?;
    for item in iterate(cx, &value)? {
        if batch.len() == full {
            batches.push(std::mem::replace(&mut batch, cx.heap.list()?).finish())?;
        }
        batch.push(item)?;
    }
    if !batch.is_empty() {
        if let Some(fill) = given(fill) {
            let missing = size(index(cx, count)?).saturating_sub(batch.len());
            batch.reserve(missing)?;
            for _ in 0..missing {
                batch.push(fill.clone())?;
            }
        }
        batches.push(batch.finish())?;
    }
    Ok(batches.finish_once())
}

/// So many lists of about the same length; the shorter ones may be filled up.
pub(super) fn slice<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [count, fill] = bind(arguments, "slice", ["slices", "fill_with"], 1)?;
    let fill = given(fill);
    let items = collect(cx, &value)?.finish();
    let len = Number::Int(cx.heap.len(&items).unwrap_or(0) as i128);
    let count = count.unwrap_or(&Value::None);
    cx.require_defined(count)?;
    let count = index(cx, count)?;
    let whole = |number: Number| match number {
        Number::Int(int) => usize::try_from(int).unwrap_or(0),
        Number::Float(_) => 0,
    };
    let each = whole(floor_divide(len, Number::Int(i128::from(count)))?);
    let longer = whole(remainder(len, Number::Int(i128::from(count)))?);
    let mut slices = cx.heap.list()?;
    slices.reserve(size(count))?;
    let mut rest = iterate(cx, &items)?;
    for at in 0..size(count) {
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
