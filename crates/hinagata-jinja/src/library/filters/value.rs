//! Filters on values of any type: `default` and `attr`.

use hinagata_value::{Arguments, Result, Value};

use super::flag;
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_string},
        ops::{get_attribute, is_true, own_attribute},
    },
};

/// `default`: the value, or a default if it is undefined (or, on request, false).
pub(super) fn default<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [default, boolean] = bind_arguments(arguments, "default", ["default_value", "boolean"], 0)?;
    let missing = value.is_undefined() || (flag(cx, boolean, false)? && !is_true(cx, &value)?);
    match default {
        _ if !missing => Ok(value),
        Some(default) => Ok(default.clone()),
        None => cx.heap.string(""),
    }
}

/// `attr`: an attribute; items with that name are ignored.
pub(super) fn attr<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [name] = bind_arguments(arguments, "attr", ["name"], 1)?;
    let name = name.unwrap_or(&Value::None);
    let constant = match name {
        Value::Lit(name) => Some(*name),
        _ => None,
    };
    cx.check_use(name)?;
    let text = expect_string(cx, "attr", name)?;
    match own_attribute(cx, &value, text, constant)? {
        Some(found) => Ok(found),
        None if value.is_undefined() => get_attribute(cx, &value, text, constant),
        None => Ok(cx.heap.undefined_value(&value, constant)),
    }
}
