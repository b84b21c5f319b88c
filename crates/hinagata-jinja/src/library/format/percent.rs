//! `%` formatting.

use hinagata_value::{Error, Result, Value};

use crate::context::Context;

/// `format % arguments`.
///
/// # Errors
/// When the format cannot take the values, or a limit is reached.
pub(crate) fn format<'a>(
    cx: &Context<'_, 'a>,
    format: &str,
    arguments: &Value<'a>,
    safe: bool,
) -> Result<Value<'a>> {
    let _ = (cx, format, arguments, safe);
    Err(Error::runtime("formatting is not there yet"))
}
