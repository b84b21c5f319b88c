//! Binds positional and keyword arguments to parameters as Python does.

use hinagata_value::{Arguments, Error, LimitKind, Result, Value, near_names};

use super::{number::as_int, types::type_error};
use crate::context::Context;

/// Binds arguments to the parameters `names`, of which the first `required` are mandatory.
///
/// # Errors
/// When an argument is missing, given twice or unknown, or when there are too many.
#[inline]
pub(crate) fn bind_arguments<'r, 'a, const N: usize>(
    arguments: &Arguments<'r, 'a>,
    function: &str,
    names: [&str; N],
    required: usize,
) -> Result<[Option<&'r Value<'a>>; N]> {
    let passed_count = arguments.positional.len();
    if passed_count > N {
        return Err(too_many(function, N, passed_count));
    }
    let mut bound = [None; N];
    for (slot, value) in bound.iter_mut().zip(arguments.positional) {
        *slot = Some(value);
    }
    for (name, value) in arguments.named {
        match names.iter().position(|known| known == name) {
            Some(at) if bound[at].is_none() => bound[at] = Some(value),
            Some(_) => return Err(given_twice(function, name)),
            None => return Err(unknown_name(function, name, &names)),
        }
    }
    match bound[..required].iter().position(Option::is_none) {
        Some(missing) => Err(not_given(function, names[missing])),
        None => Ok(bound),
    }
}

/// As [`bind_arguments`], for functions that take positional arguments only.
///
/// # Errors
/// When the number of arguments is wrong, or one is a keyword argument.
#[inline]
pub(crate) fn bind_positional<'r, 'a, const N: usize>(
    arguments: &Arguments<'r, 'a>,
    function: &str,
    required: usize,
) -> Result<[Option<&'r Value<'a>>; N]> {
    if !arguments.named.is_empty() {
        return Err(no_keywords_error(function));
    }
    let passed_count = arguments.positional.len();
    if passed_count > N {
        return Err(too_many(function, N, passed_count));
    }
    if passed_count < required {
        return Err(too_few(function, required, passed_count));
    }
    let mut bound = [None; N];
    for (slot, value) in bound.iter_mut().zip(arguments.positional) {
        *slot = Some(value);
    }
    Ok(bound)
}

/// Refuses any argument.
///
/// # Errors
/// When there is one.
#[inline]
pub(crate) fn expect_none(arguments: &Arguments<'_, '_>, function: &str) -> Result<()> {
    if arguments.positional.is_empty() && arguments.named.is_empty() {
        return Ok(());
    }
    Err(too_many(function, 0, arguments.positional.len() + arguments.named.len()))
}

#[cold]
pub(crate) fn no_keywords_error(function: &str) -> Error {
    Error::runtime(format!("`{function}` takes no arguments by name"))
}

#[cold]
fn too_many(function: &str, most: usize, passed_count: usize) -> Error {
    let most = match most {
        0 => "no arguments".to_owned(),
        1 => "at most 1 argument".to_owned(),
        most => format!("at most {most} arguments"),
    };
    Error::runtime(format!("`{function}` takes {most}, but {passed_count} were given"))
}

#[cold]
fn too_few(function: &str, least: usize, passed_count: usize) -> Error {
    Error::runtime(format!("`{function}` needs at least {least} arguments, but {passed_count} were given"))
}

#[cold]
fn given_twice(function: &str, name: &str) -> Error {
    Error::runtime(format!("`{function}` got its argument `{name}` twice"))
}

#[cold]
fn not_given(function: &str, name: &str) -> Error {
    Error::runtime(format!("`{function}` needs its argument `{name}`"))
}

#[cold]
fn unknown_name(function: &str, name: &str, names: &[&str]) -> Error {
    Error::runtime(format!("`{function}` has no argument called `{name}`"))
        .with_near(near_names(name, names.iter().copied()))
}

/// Returns an argument that must be an integer, or `default` if it is missing.
///
/// Integers beyond 64 bits become the nearest that fits, which as a width or a count means the same.
///
/// # Errors
/// When it is not an integer.
pub(crate) fn integer_or<'a>(
    cx: &Context<'_, 'a>,
    argument: Option<&Value<'a>>,
    default: i64,
) -> Result<i64> {
    match argument {
        None => Ok(default),
        Some(value) => to_index(cx, value),
    }
}

/// Returns a value that must be an integer, limited to 64 bits.
///
/// # Errors
/// When it is not an integer.
#[inline]
pub(crate) fn to_index<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<i64> {
    match as_int(value) {
        Some(int) => Ok(int.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64),
        None => Err(type_error(cx, value, |name| format!("an integer is needed, not {name}"))),
    }
}

/// Returns an argument that must be a string.
///
/// # Errors
/// When it is not a string.
pub(crate) fn expect_string<'r, 'a>(
    cx: &Context<'_, 'a>,
    function: &str,
    value: &'r Value<'a>,
) -> Result<&'r str> {
    value
        .as_str()
        .ok_or_else(|| type_error(cx, value, |name| format!("`{function}` needs a string, not {name}")))
}

/// A width or count as `usize`; a negative one becomes 0.
pub(crate) fn to_size(int: i64) -> usize {
    usize::try_from(int.max(0)).unwrap_or(usize::MAX)
}

/// The error for a result that does not fit into an integer.
#[cold]
pub(crate) fn integer_too_large() -> Error {
    Error::limit_reached(LimitKind::Integer, "an integer would be larger than 128 bits")
}
