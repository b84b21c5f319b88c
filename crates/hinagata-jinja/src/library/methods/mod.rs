//! Python's methods of strings, lists, tuples, maps and numbers.

use hinagata_value::{Arguments, Result, Value};

use crate::context::Context;

/// The method called `name` of this value, under a name that lives for ever.
pub(crate) fn find(value: &Value<'_>, name: &str) -> Option<&'static str> {
    let _ = (value, name);
    None
}

/// Whether the method `name` changes this value in place.
pub(crate) fn changes(value: &Value<'_>, name: &str) -> bool {
    let _ = (value, name);
    false
}

/// Whether maps have a method called `name`: an attribute of that name is never an entry.
pub(crate) fn is_map_method(name: &str) -> bool {
    matches!(
        name,
        "clear"
            | "copy"
            | "fromkeys"
            | "get"
            | "items"
            | "keys"
            | "pop"
            | "popitem"
            | "setdefault"
            | "update"
            | "values"
    )
}

/// Calls the method `name`; `None` when the value has no such method.
///
/// # Errors
/// Those of the method; a security error when it would change a value and changes are forbidden.
pub(crate) fn call<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    name: &str,
    arguments: &Arguments<'_, 'a>,
) -> Result<Option<Value<'a>>> {
    let _ = (cx, receiver, name, arguments);
    Ok(None)
}
