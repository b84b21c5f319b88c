//! Equality, order and membership.

use std::cmp::Ordering;

use hinagata_value::{Error, Kind, ListKind, Number, Result, Value, is_equal, order_numbers, order_values};

use super::super::{
    number::as_number,
    types::{require_settled, type_error, type_name, wrong_type},
};
use crate::context::Context;

/// An operator that compares the order of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Order {
    fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// `a == b`.
///
/// # Errors
/// When an operand is undefined and the mode forbids comparing it, or a limit is reached.
#[inline]
pub(crate) fn values_equal<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        return Ok(a == b);
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        cx.heap.budget().step_bytes(a.len().min(b.len()))?;
        return Ok(a == b);
    }
    equals_others(cx, a, b)
}

#[inline(never)]
fn equals_others<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool> {
    for operand in [a, b] {
        require_settled(operand)?;
        cx.check_use(operand)?;
    }
    match (a, b) {
        (Value::View(left), Value::View(right))
            if left.kind() != ListKind::Values && right.kind() != ListKind::Values =>
        {
            same_items(cx, a, b)
        }
        _ => is_equal(cx.heap, a, b),
    }
}

/// Whether two views contain the same items in any order: in Python, keys and items of maps are sets.
fn same_items<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool> {
    if cx.heap.len(a) != cx.heap.len(b) {
        return Ok(false);
    }
    for item in cx.heap.iter(a).into_iter().flatten() {
        if !contains_item(cx, &item, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two values are in the given order.
///
/// # Errors
/// When the values have no order, or a limit is reached.
#[inline]
pub(crate) fn compare_values<'a>(
    cx: &Context<'_, 'a>,
    operator: Order,
    a: &Value<'a>,
    b: &Value<'a>,
) -> Result<bool> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        return Ok(operator.holds(a.cmp(b)));
    }
    let ordering = partial_order(cx, operator.sign(), a, b)?;
    Ok(ordering.is_some_and(|ordering| operator.holds(ordering)))
}

/// The order of two values for sorting. Unordered values, such as a float NaN, count as equal.
///
/// # Errors
/// As [`compare_values`].
pub(crate) fn sort_order<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Ordering> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        return Ok(a.cmp(b));
    }
    Ok(partial_order(cx, "<", a, b)?.unwrap_or(Ordering::Equal))
}

/// The order of two values; `None` if one is NaN.
fn partial_order<'a>(
    cx: &Context<'_, 'a>,
    sign: &str,
    a: &Value<'a>,
    b: &Value<'a>,
) -> Result<Option<Ordering>> {
    let mut unordered = false;
    let ordering = order_values(cx.heap, a, b, &mut |a, b| {
        let ordering = scalar_order(cx, sign, a, b)?;
        unordered = ordering.is_none();
        Ok(ordering.unwrap_or(Ordering::Equal))
    })?;
    Ok((!unordered).then_some(ordering))
}

fn scalar_order<'a>(
    cx: &Context<'_, 'a>,
    sign: &str,
    a: &Value<'a>,
    b: &Value<'a>,
) -> Result<Option<Ordering>> {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        cx.heap.budget().step_bytes(a.len().min(b.len()))?;
        return Ok(Some(a.cmp(b)));
    }
    if let (Some(a), Some(b)) = (as_number(a), as_number(b)) {
        return Ok(order_numbers(a, b));
    }
    match (a, b) {
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Some(a.cmp(b))),
        _ => Err(order_error(cx, sign, a, b)),
    }
}

#[cold]
#[inline(never)]
fn order_error<'a>(cx: &Context<'_, 'a>, sign: &str, a: &Value<'a>, b: &Value<'a>) -> Error {
    for operand in [a, b] {
        match operand {
            _ if operand.is_pending() => return Error::suspended(),
            Value::Undefined(undefined) => return cx.undefined_error(*undefined),
            _ => {}
        }
    }
    Error::runtime(format!("`{sign}` does not work between {} and {}", type_name(cx, a), type_name(cx, b)))
}

/// `needle in haystack`.
///
/// # Errors
/// When the haystack is not a container, or a limit is reached.
pub(crate) fn contains_value<'a>(
    cx: &Context<'_, 'a>,
    needle: &Value<'a>,
    haystack: &Value<'a>,
) -> Result<bool> {
    require_settled(needle)?;
    if let Some(text) = haystack.as_str() {
        return match needle.as_str() {
            Some(part) => {
                cx.heap.budget().step_bytes(text.len())?;
                Ok(text.contains(part))
            }
            None => {
                Err(type_error(cx, needle, |name| format!("a string is needed left of `in`, not {name}")))
            }
        };
    }
    match haystack.kind() {
        Kind::Map => contains_key(cx, needle, haystack),
        Kind::List | Kind::Tuple | Kind::Once | Kind::View => contains_item(cx, needle, haystack),
        Kind::Range => match needle {
            Value::Undefined(_) => contains_item(cx, needle, haystack),
            _ => Ok(range_contains(needle, haystack)),
        },
        Kind::Bytes => bytes_contain(cx, needle, haystack),
        Kind::Undefined => cx.check_use(haystack).map(|()| false),
        _ => Err(wrong_type(cx, haystack, |name| format!("`in` requires a container, not {name}"))),
    }
}

fn contains_key<'a>(cx: &Context<'_, 'a>, key: &Value<'a>, map: &Value<'a>) -> Result<bool> {
    cx.heap.budget().step_bytes(key.as_str().map_or(0, str::len))?;
    cx.check_use(key)?;
    match key.kind() {
        Kind::List | Kind::Map => {
            Err(type_error(cx, key, |name| format!("a {name} cannot be a key, so it is in no map")))
        }
        // In Python these can be keys of a map by identity; here they never are.
        Kind::Range | Kind::Once | Kind::Namespace | Kind::Function | Kind::Host => Ok(false),
        _ => Ok(cx.heap.lookup(map, key)?.is_some()),
    }
}

fn contains_item<'a>(cx: &Context<'_, 'a>, needle: &Value<'a>, haystack: &Value<'a>) -> Result<bool> {
    for item in cx.heap.iter(haystack).into_iter().flatten() {
        cx.heap.budget().charge_steps(1)?;
        if values_equal(cx, &item, needle)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn range_contains(needle: &Value<'_>, haystack: &Value<'_>) -> bool {
    let Value::Range(range) = haystack else { return false };
    let int = match as_number(needle) {
        Some(Number::Int(int)) => i64::try_from(int).ok(),
        Some(Number::Float(float)) if float.fract() == 0.0 && float.abs() < 9e18 => Some(float as i64),
        _ => None,
    };
    int.is_some_and(|int| range.contains(int))
}

fn bytes_contain<'a>(cx: &Context<'_, 'a>, needle: &Value<'a>, haystack: &Value<'a>) -> Result<bool> {
    let bytes = haystack.as_bytes().unwrap_or_default();
    cx.heap.budget().step_bytes(bytes.len())?;
    match (needle, needle.as_i64()) {
        (Value::Bytes(part), _) => Ok(part.is_empty() || bytes.windows(part.len()).any(|at| at == &****part)),
        (_, Some(byte @ 0..=255)) => Ok(bytes.contains(&(byte as u8))),
        _ => Err(type_error(cx, needle, |name| format!("bytes are needed left of `in`, not {name}"))),
    }
}
