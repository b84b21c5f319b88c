//! Attributes and items, under the rules of the sandbox of Jinja2.
//!
//! `a.b` looks for an attribute and then for an item, `a['b']` the other way round. An attribute that the
//! sandbox blocks is an undefined value whose use is a security error.

use hinagata_value::{ErrorKind, Kind, ListKind, Owner, Result, Undefined, Value};

use super::{
    super::{
        methods,
        number::{as_int, as_number},
        textual::copy_string,
        types::{no_text_error, require_settled},
    },
    attributes::{is_blocked_attribute, is_blocked_module_attribute},
};
use crate::context::{Context, UndefinedMode};

/// `value.name`: an attribute, or else an item.
///
/// `constant` is the name if it is a constant of the template: an undefined result keeps it for its error.
///
/// # Errors
/// When the value is pending, or undefined and the mode refuses attributes of undefined values.
pub(crate) fn get_attribute<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    name: &str,
    constant: Option<&'a String>,
) -> Result<Value<'a>> {
    if let Some(found) = own_attribute(cx, value, name, constant)? {
        return Ok(found);
    }
    if value.is_undefined() {
        return chain(cx, value);
    }
    if value.kind() == Kind::Map
        && let Some(found) = cx.heap.entry(value, name)
    {
        return Ok(found);
    }
    Ok(cx.heap.undefined_value(value, constant))
}

/// The attribute `name` of a value, which comes from its type; items are ignored.
///
/// # Errors
/// When the value is pending, or a limit is reached.
pub(crate) fn own_attribute<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    name: &str,
    constant: Option<&'a String>,
) -> Result<Option<Value<'a>>> {
    require_settled(value)?;
    if let Value::Pieces(_) = value {
        return Err(no_text_error());
    }
    if name.starts_with('_') || matches!(value, Value::Once(_) | Value::Function(_)) {
        // Templates that import this one do not see its private names.
        let own = matches!(value, Value::Engine(object) if cx.objects.is_module(*object));
        if own && !is_blocked_module_attribute(name) {
            return Ok(None);
        }
        if is_blocked_attribute(value, name) {
            return Ok(Some(blocked_value(constant)));
        }
        if let Value::Namespace(_) = value {
            return Ok(cx.heap.entry(value, name).map(|_| blocked_value(constant)));
        }
    }
    match value {
        Value::Namespace(_) | Value::Host(_) => return Ok(cx.heap.entry(value, name)),
        Value::Engine(object) => return Ok(cx.objects.attribute(*object, name)),
        _ => {}
    }
    if let Some(found) = plain_attribute(cx, value, name)? {
        return Ok(Some(found));
    }
    match methods::find_method(value, name) {
        Some(name) if cx.settings.immutable && methods::changes_receiver(value, name) => {
            Ok(Some(blocked_value(constant)))
        }
        Some(name) => cx.objects.method(value.clone(), name).map(Some),
        None => Ok(None),
    }
}

/// An attribute that is a value, not a method.
fn plain_attribute<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, name: &str) -> Result<Option<Value<'a>>> {
    Ok(match (value, name) {
        (Value::Tuple(group), "grouper") if group.kind() == ListKind::Group => group.get(0),
        (Value::Tuple(group), "list") if group.kind() == ListKind::Group => group.get(1),
        (Value::Range(range), "start") => Some(Value::Int(range.start())),
        (Value::Range(range), "stop") => Some(Value::Int(range.stop())),
        (Value::Range(range), "step") => Some(Value::Int(range.step())),
        (_, "real" | "imag" | "numerator" | "denominator") => return number_attribute(cx, value, name),
        _ => None,
    })
}

fn number_attribute<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, name: &str) -> Result<Option<Value<'a>>> {
    let Some(number) = as_number(value) else { return Ok(None) };
    let is_int = as_int(value).is_some();
    match name {
        "real" => cx.heap.number(number).map(Some),
        "imag" => Ok(Some(if is_int { Value::Int(0) } else { Value::Float(0.0) })),
        "numerator" if is_int => cx.heap.number(number).map(Some),
        "denominator" if is_int => Ok(Some(Value::Int(1))),
        _ => Ok(None),
    }
}

/// The undefined value for an attribute that the sandbox blocks.
#[cold]
fn blocked_value(constant: Option<&String>) -> Value<'_> {
    Value::Undefined(Undefined { owner: Owner::Unsafe, name: constant })
}

/// An attribute or item of an undefined value.
#[cold]
fn chain<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<Value<'a>> {
    match cx.settings.undefined {
        UndefinedMode::Empty | UndefinedMode::Needed => Ok(value.clone()),
        _ => cx.require_defined(value).map(|()| value.clone()),
    }
}

/// `value[key]`: an item, or else an attribute.
///
/// # Errors
/// As [`get_attribute`].
pub(crate) fn get_item<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, key: &Value<'a>) -> Result<Value<'a>> {
    require_settled(value)?;
    require_settled(key)?;
    if value.is_undefined() {
        return chain(cx, value);
    }
    if let Some(found) = own_item(cx, value, key)? {
        return Ok(found);
    }
    let constant = match key {
        Value::Lit(name) => Some(*name),
        _ => None,
    };
    if let Some(name) = key.as_str()
        && let Some(found) = own_attribute(cx, value, name, constant)?
    {
        return Ok(found);
    }
    Ok(cx.heap.undefined_value(value, constant))
}

/// The item with a key; `None` if the value has no such item.
fn own_item<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>> {
    match value.kind() {
        Kind::Map => map_item(cx, value, key),
        Kind::List | Kind::Tuple | Kind::Range => {
            let len = cx.heap.len(value).unwrap_or(0);
            Ok(position(key, len).and_then(|index| cx.heap.item(value, index)))
        }
        Kind::Str => string_item(cx, value, key),
        Kind::Bytes => {
            let bytes = value.as_bytes().unwrap_or_default();
            Ok(position(key, bytes.len()).map(|index| Value::Int(i64::from(bytes[index]))))
        }
        Kind::Host => Ok(key.as_str().and_then(|key| cx.heap.entry(value, key))),
        _ => Ok(None),
    }
}

fn map_item<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>> {
    if let Some(name) = key.as_str() {
        cx.heap.budget().step_bytes(name.len())?;
        return Ok(cx.heap.entry(value, name));
    }
    cx.check_use(key)?;
    match cx.heap.lookup(value, key) {
        // A value that cannot be a key is in no map.
        Err(error) if error.kind() == ErrorKind::Runtime && error.limit().is_none() => Ok(None),
        found => found,
    }
}

fn string_item<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>> {
    let (Some(text), Some(index)) = (value.as_str(), as_int(key)) else { return Ok(None) };
    cx.heap.budget().step_bytes(text.len())?;
    let found = match usize::try_from(index) {
        Ok(index) if text.is_ascii() => text.get(index..=index),
        Ok(index) => text.char_indices().nth(index).map(|(at, found)| &text[at..at + found.len_utf8()]),
        Err(_) => {
            let back = usize::try_from(index.unsigned_abs() - 1).unwrap_or(usize::MAX);
            text.char_indices().rev().nth(back).map(|(at, found)| &text[at..at + found.len_utf8()])
        }
    };
    found.map(|found| copy_string(cx, found, value.is_safe())).transpose()
}

/// The position of an index in a sequence of `len` items; negative indexes count from the end.
fn position(key: &Value<'_>, len: usize) -> Option<usize> {
    let index = as_int(key)?;
    let index = if index < 0 { index + len as i128 } else { index };
    usize::try_from(index).ok().filter(|index| *index < len)
}
