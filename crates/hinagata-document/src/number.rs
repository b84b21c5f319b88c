//! Numbers that JSON data cannot represent exactly.

use serde_json::Value;

use crate::{Code, Error};

/// Returns a warning if `value` of the variable `name` has a number that exceeds 64 bits and lost digits.
#[must_use]
pub fn warn_of_long_number(name: &str, value: &Value) -> Option<Error> {
    hinagata_value::has_long_number(value).then(|| {
        let message = format!(
            "the number in `{name}` exceeds 64 bits and was read as a float: an integer of that size loses digits"
        );
        Error::new(Code::Validation, message).with_hint("pass it as a string")
    })
}
