//! `+ - * / // % **`, signs, and `~`.

use hinagata_value::{Error, Kind, Metered, Number, Result, Text, Value};

use super::super::{
    arguments::to_size,
    format::percent,
    number::{self, as_int, as_number},
    print::{escape_html, print_escaped, print_value},
    textual::finish_text,
    types::{no_text_error, type_name, wrong_type},
};
use crate::context::Context;

type Operation = fn(Number, Number) -> Result<Number>;

/// Applies an operation to two numbers; `None` if an operand is not a number.
#[inline]
fn numbers<'a>(
    cx: &Context<'_, 'a>,
    a: &Value<'a>,
    b: &Value<'a>,
    operation: Operation,
) -> Option<Result<Value<'a>>> {
    let (a, b) = (as_number(a)?, as_number(b)?);
    Some(operation(a, b).and_then(|number| cx.heap.number(number)))
}

/// The error for operands that an operator does not support.
#[cold]
#[inline(never)]
fn unsupported_error<'a>(cx: &Context<'_, 'a>, operator: &str, a: &Value<'a>, b: &Value<'a>) -> Error {
    for operand in [a, b] {
        match operand {
            _ if operand.is_pending() => return Error::suspended(),
            Value::Undefined(undefined) => return cx.undefined_error(*undefined),
            Value::Pieces(_) => return no_text_error(),
            _ => {}
        }
    }
    Error::runtime(format!("`{operator}` does not work on {} and {}", type_name(cx, a), type_name(cx, b)))
}

/// `a + b`.
///
/// # Errors
/// When the types of the operands do not match, or a limit is reached.
pub(crate) fn add<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    if let (Value::Int(a), Value::Int(b)) = (a, b)
        && let Some(sum) = a.checked_add(*b)
    {
        return Ok(Value::Int(sum));
    }
    if let (Some(left), Some(right)) = (a.as_str(), b.as_str()) {
        return add_strings(cx, (a, left), (b, right));
    }
    if let Some(sum) = numbers(cx, a, b, number::add) {
        return sum;
    }
    match (a.kind(), b.kind()) {
        (Kind::List, Kind::List) | (Kind::Tuple, Kind::Tuple) => add_sequences(cx, a, b),
        (Kind::Bytes, Kind::Bytes) => {
            let (left, right) = (a.as_bytes().unwrap_or_default(), b.as_bytes().unwrap_or_default());
            new_bytes(cx, [left, right].concat())
        }
        _ => Err(unsupported_error(cx, "+", a, b)),
    }
}

fn add_strings<'a>(cx: &Context<'_, 'a>, a: (&Value<'a>, &str), b: (&Value<'a>, &str)) -> Result<Value<'a>> {
    let safe = a.0.is_safe() || b.0.is_safe();
    let mut text = Text::with_capacity(cx.heap.budget(), a.1.len() + b.1.len())?;
    for (value, string) in [a, b] {
        if safe && !value.is_safe() {
            escape_html(string, &mut text)?;
        } else {
            text.push_str(string)?;
        }
    }
    finish_text(text, safe)
}

fn add_sequences<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    let mut list = cx.heap.list()?;
    let len = |value| cx.heap.len(value).unwrap_or(0);
    list.reserve(len(a) + len(b))?;
    for operand in [a, b] {
        for item in cx.heap.iter(operand).into_iter().flatten() {
            list.push(item)?;
        }
    }
    Ok(if a.kind() == Kind::Tuple { list.finish_tuple() } else { list.finish() })
}

/// Creates a value of bytes. They are never text to a template, even if they are valid UTF-8.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn new_bytes<'a>(cx: &Context<'_, 'a>, bytes: Vec<u8>) -> Result<Value<'a>> {
    cx.heap.budget().step_bytes(bytes.len())?;
    Ok(Value::Bytes(Metered::new(cx.heap.budget(), bytes.into_boxed_slice())?))
}

/// `a - b`.
///
/// # Errors
/// When the types of the operands do not match, or a limit is reached.
pub(crate) fn subtract<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    if let (Value::Int(a), Value::Int(b)) = (a, b)
        && let Some(difference) = a.checked_sub(*b)
    {
        return Ok(Value::Int(difference));
    }
    numbers(cx, a, b, number::subtract).unwrap_or_else(|| Err(unsupported_error(cx, "-", a, b)))
}

/// `a * b`.
///
/// # Errors
/// When the types of the operands do not match, or a limit is reached.
pub(crate) fn multiply<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    if let Some(product) = numbers(cx, a, b, number::multiply) {
        return product;
    }
    match (as_int(a), as_int(b)) {
        (None, Some(times)) => repeat(cx, a, times),
        (Some(times), None) => repeat(cx, b, times),
        _ => None,
    }
    .unwrap_or_else(|| Err(unsupported_error(cx, "*", a, b)))
}

/// A string, list or tuple repeated; `None` for other values.
fn repeat<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, times: i128) -> Option<Result<Value<'a>>> {
    let times = to_size(times.clamp(0, i128::from(i64::MAX)) as i64);
    match value.as_str() {
        Some(string) => Some(repeat_string(cx, string, times, value.is_safe())),
        None if matches!(value.kind(), Kind::List | Kind::Tuple) => Some(repeat_items(cx, value, times)),
        None => None,
    }
}

fn repeat_string<'a>(cx: &Context<'_, 'a>, string: &str, times: usize, safe: bool) -> Result<Value<'a>> {
    let mut text = cx.heap.text();
    if !string.is_empty() {
        text.push_repeated(string, times)?;
    }
    finish_text(text, safe)
}

fn repeat_items<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, times: usize) -> Result<Value<'a>> {
    let len = cx.heap.len(value).unwrap_or(0);
    let mut list = cx.heap.list()?;
    if len > 0 {
        list.reserve(len.saturating_mul(times))?;
        for _ in 0..times {
            for item in cx.heap.iter(value).into_iter().flatten() {
                list.push(item)?;
            }
        }
    }
    Ok(if value.kind() == Kind::Tuple { list.finish_tuple() } else { list.finish() })
}

/// `a / b`.
///
/// # Errors
/// When the types of the operands do not match, or `b` is zero.
pub(crate) fn divide<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    numbers(cx, a, b, number::divide).unwrap_or_else(|| Err(unsupported_error(cx, "/", a, b)))
}

/// `a // b`.
///
/// # Errors
/// When the types of the operands do not match, or `b` is zero.
pub(crate) fn floor_divide<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    numbers(cx, a, b, number::floor_divide).unwrap_or_else(|| Err(unsupported_error(cx, "//", a, b)))
}

/// `a % b`: the remainder of a division, or a formatted string.
///
/// # Errors
/// When the types of the operands do not match, `b` is zero, or the format does not fit the values.
pub(crate) fn remainder<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    if let Some(rest) = numbers(cx, a, b, number::remainder) {
        return rest;
    }
    match a.as_str() {
        Some(format) => percent::format_percent(cx, format, b, a.is_safe()),
        None => Err(unsupported_error(cx, "%", a, b)),
    }
}

/// `a ** b`.
///
/// # Errors
/// When the types of the operands do not match, or the result is too large.
pub(crate) fn power<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
    numbers(cx, a, b, number::power).unwrap_or_else(|| Err(unsupported_error(cx, "**", a, b)))
}

/// `-a`.
///
/// # Errors
/// When `a` is not a number.
pub(crate) fn negate<'a>(cx: &Context<'_, 'a>, a: &Value<'a>) -> Result<Value<'a>> {
    match as_number(a) {
        Some(number) => cx.heap.number(number::negate(number)?),
        None => Err(wrong_type(cx, a, |name| format!("`-` does not work on {name}"))),
    }
}

/// `+a`.
///
/// # Errors
/// When `a` is not a number.
pub(crate) fn positive<'a>(cx: &Context<'_, 'a>, a: &Value<'a>) -> Result<Value<'a>> {
    match as_number(a) {
        Some(number) => cx.heap.number(number),
        None => Err(wrong_type(cx, a, |name| format!("`+` does not work on {name}"))),
    }
}

/// `a ~ b ~ c`: the texts of all values, one after the other.
///
/// If autoescaping is on, one safe value makes the result safe, and the others are escaped.
///
/// # Errors
/// When a value cannot be printed, or a limit is reached.
pub(crate) fn concat_values<'a>(cx: &Context<'_, 'a>, values: &[Value<'a>]) -> Result<Value<'a>> {
    let safe = cx.autoescape && values.iter().any(Value::is_safe);
    let mut text = cx.heap.text();
    for value in values {
        if safe {
            print_escaped(cx, value, &mut text)?;
        } else {
            print_value(cx, value, &mut text)?;
        }
    }
    finish_text(text, safe)
}
