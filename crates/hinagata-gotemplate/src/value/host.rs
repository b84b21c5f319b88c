//! Functions for host functions that treat values as Go does.

use std::borrow::Cow;

use hinagata_value::{Heap, Result, Value};

use super::view::{Integers, View};
use crate::fmt::{print::Printer, printf::printf, sink::Building};

/// The result of Go's `Sprint` for `values`: each in the format `%v`, with a space between two values if
/// neither is a string.
///
/// # Errors
/// A limit is reached, or a value is the result of a call that is still running.
pub fn sprint<'a>(heap: &Heap<'a>, values: &[Value<'a>], integers: Integers) -> Result<Value<'a>> {
    let mut building = Building::new(heap);
    Printer::new(&mut building, heap, integers).print(values)?;
    building.finish(heap)
}

/// The result of Go's `Sprintf` for `format` and `values`.
///
/// # Errors
/// Those of [`sprint`].
pub fn sprintf<'a>(
    heap: &Heap<'a>,
    format: &[u8],
    values: &[Value<'a>],
    integers: Integers,
) -> Result<Value<'a>> {
    let mut building = Building::new(heap);
    printf(&mut Printer::new(&mut building, heap, integers), format, values)?;
    building.finish(heap)
}

/// The name of the Go type that a value has, such as `map[string]interface {}`.
///
/// # Errors
/// The value is the result of a call that is still running.
pub fn type_name<'v>(value: &'v Value<'_>, integers: Integers) -> Result<Cow<'v, str>> {
    Ok(View::from_value(value, integers)?.type_name())
}

/// Whether a value is nil, with a type or without.
#[must_use]
pub fn is_nil(value: &Value<'_>) -> bool {
    matches!(View::from_value(value, Integers::Float), Ok(View::Nil | View::Invalid | View::TypedNil(_)))
}
