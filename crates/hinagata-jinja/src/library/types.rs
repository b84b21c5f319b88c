//! Names of types, and errors about types.

use hinagata_value::{Error, Kind, ListKind, Result, Value};

use crate::context::Context;

/// The name of the value's type in Python.
pub(crate) fn type_name(cx: &Context<'_, '_>, value: &Value<'_>) -> &'static str {
    match value {
        Value::Safe(_) => "Markup",
        Value::Engine(object) => cx.objects.type_name(*object),
        Value::View(list) => match list.kind() {
            ListKind::Values => "dict_values",
            ListKind::Items => "dict_items",
            _ => "dict_keys",
        },
        _ => kind_name(value.kind()),
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Undefined => "Undefined",
        Kind::None => "NoneType",
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Str => "str",
        Kind::Bytes => "bytes",
        Kind::List => "list",
        Kind::Tuple => "tuple",
        Kind::Once => "generator",
        Kind::View => "dict_keys",
        Kind::Map => "dict",
        Kind::Namespace => "Namespace",
        Kind::Range => "range",
        Kind::Function => "function",
        Kind::Host | Kind::Engine => "object",
        Kind::Pending => "pending result",
    }
}

/// The error for a value of the wrong type. For a pending value it is [`Error::suspended`]; for an
/// undefined one it names the variable.
#[cold]
#[inline(never)]
pub(crate) fn wrong_type(
    cx: &Context<'_, '_>,
    value: &Value<'_>,
    message: impl FnOnce(&str) -> String,
) -> Error {
    match value {
        Value::Undefined(undefined) => cx.undefined_error(*undefined),
        _ => type_error(cx, value, message),
    }
}

/// As [`wrong_type`], but an undefined value is treated as any other type.
#[cold]
#[inline(never)]
pub(crate) fn type_error(
    cx: &Context<'_, '_>,
    value: &Value<'_>,
    message: impl FnOnce(&str) -> String,
) -> Error {
    if value.is_pending() {
        return Error::suspended();
    }
    if let Value::Pieces(_) = value {
        return no_text_error();
    }
    Error::runtime(message(type_name(cx, value)))
}

/// The error for using a captured output as text if it contains parts of messages, which are not text.
#[cold]
pub(crate) fn no_text_error() -> Error {
    Error::runtime("captured output with a message, media or a resource cannot be used as text")
        .with_hint("print it as a whole")
}

/// Refuses a pending value, so that the pass stops here and waits.
///
/// # Errors
/// [`Error::suspended`] when the value is pending.
#[inline]
pub(crate) fn require_settled(value: &Value<'_>) -> Result<()> {
    match value {
        Value::Pending(_) | Value::Pieces(_) if value.is_pending() => Err(Error::suspended()),
        _ => Ok(()),
    }
}
