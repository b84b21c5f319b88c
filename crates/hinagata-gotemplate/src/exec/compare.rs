//! The comparisons `eq`, `lt` and so on.

use std::cmp::Ordering;

use hinagata_value::{Error, Provenance, Result, Value};

use super::Exec;
use crate::{
    fmt::{print::Printer, printf::printf, sink::Building},
    tree::Builtin,
    value::{exotic::Nil, view::View},
};

/// The relation that a comparison tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
}

/// The result of `builtin` for two scalars of one kind. `None` for other values.
#[inline]
pub(super) fn compare_same_kind(builtin: Builtin, left: View<'_, '_>, right: View<'_, '_>) -> Option<bool> {
    let ordering = match (left, right) {
        (View::Str(a), View::Str(b)) if matches!(builtin, Builtin::Eq | Builtin::Ne) => {
            return Some((a == b) == (builtin == Builtin::Eq));
        }
        (View::Str(a), View::Str(b)) => Some(a.cmp(b)),
        (View::Int(a), View::Int(b)) => Some(a.cmp(&b)),
        (View::Float(a), View::Float(b)) => a.partial_cmp(&b),
        _ => return None,
    };
    let is = |wanted: Ordering| ordering == Some(wanted);
    Some(match builtin {
        Builtin::Eq => is(Ordering::Equal),
        Builtin::Ne => !is(Ordering::Equal),
        Builtin::Lt => is(Ordering::Less),
        Builtin::Ge => !is(Ordering::Less),
        Builtin::Le => ordering.is_some_and(Ordering::is_le),
        Builtin::Gt => !ordering.is_some_and(Ordering::is_le),
        _ => return None,
    })
}

/// Whether two values are equal.
pub(super) fn are_equal<'a, P: Provenance>(
    exec: &Exec<'_, 'a, P>,
    a: &Value<'a>,
    b: &Value<'a>,
) -> Result<bool> {
    let (left, right) = (exec.view(a)?, exec.view(b)?);
    Ok(match (left, right) {
        (View::Str(a), View::Str(b)) => {
            exec.budget.step_bytes(a.len().min(b.len()))?;
            a == b
        }
        (View::Int(a), View::Int(b)) => a == b,
        (View::Float(a), View::Float(b)) => a == b,
        (View::Bool(a), View::Bool(b)) => a == b,
        (View::Complex(a, b), View::Complex(c, d)) => a == c && b == d,
        _ => match (left.int(), right.int(), left.bytes(), right.bytes()) {
            (Some(a), Some(b), _, _) => a == b,
            (_, _, Some(a), Some(b)) => {
                exec.budget.step_bytes(a.len().min(b.len()))?;
                a == b
            }
            _ => return are_equal_rare(exec, left, right),
        },
    })
}

/// Whether two values are equal whose kinds differ or have no order.
fn are_equal_rare<'a, P: Provenance>(
    exec: &Exec<'_, 'a, P>,
    left: View<'_, 'a>,
    right: View<'_, 'a>,
) -> Result<bool> {
    if is_basic(left) || is_basic(right) {
        if is_invalid(left) || is_invalid(right) {
            return Ok(false);
        }
        return Err(incompatible_error(left, right));
    }
    if !(shape(left) == shape(right) || is_invalid(left) || is_invalid(right)) {
        let (left_type, right_type) = (left.type_name(), right.type_name());
        let values = [
            view_value(exec, left)?,
            exec.heap.string(&left_type)?,
            exec.heap.string(&right_type)?,
            view_value(exec, right)?,
        ];
        return Err(printf_error(exec, "non-comparable types %s: %v, %s: %v", &values));
    }
    if is_nil(left) || is_nil(right) {
        return Ok(is_nil(left) == is_nil(right));
    }
    let values = [view_value(exec, right)?, exec.heap.string(&right.type_name())?];
    Err(printf_error(exec, "non-comparable type %s: %v", &values))
}

/// Whether `a` and `b` are in the given order.
pub(super) fn is_ordered<'a, P: Provenance>(
    exec: &Exec<'_, 'a, P>,
    a: &Value<'a>,
    b: &Value<'a>,
    order: Order,
) -> Result<bool> {
    let (left, right) = (exec.view(a)?, exec.view(b)?);
    let ordering = match (left, right) {
        (View::Float(a), View::Float(b)) => a.partial_cmp(&b),
        _ => match (left.int(), right.int(), left.bytes(), right.bytes()) {
            (Some(a), Some(b), _, _) => Some(a.cmp(&b)),
            (_, _, Some(a), Some(b)) => {
                exec.budget.step_bytes(a.len().min(b.len()))?;
                Some(a.cmp(b))
            }
            _ => return Err(unordered_error(left, right)),
        },
    };
    Ok(match order {
        Order::Less => ordering == Some(Ordering::Less),
        Order::LessOrEqual => ordering.is_some_and(Ordering::is_le),
    })
}

fn unordered_error<'a>(left: View<'_, 'a>, right: View<'_, 'a>) -> Error {
    let same_kind = std::mem::discriminant(&left) == std::mem::discriminant(&right);
    if !is_basic(left) || !is_basic(right) || same_kind {
        return Error::runtime("invalid type for comparison");
    }
    incompatible_error(left, right)
}

fn incompatible_error(left: View<'_, '_>, right: View<'_, '_>) -> Error {
    let (left, right) = (left.type_name(), right.type_name());
    Error::runtime(format!("incompatible types for comparison: {left} and {right}"))
}

fn is_basic(view: View<'_, '_>) -> bool {
    matches!(
        view,
        View::Bool(_)
            | View::Int(_)
            | View::Uint8(_)
            | View::Float(_)
            | View::Complex(..)
            | View::Str(_)
            | View::Bytes(_)
    )
}

fn is_invalid(view: View<'_, '_>) -> bool {
    matches!(view, View::Invalid | View::Nil)
}

fn is_nil(view: View<'_, '_>) -> bool {
    matches!(view, View::Invalid | View::Nil | View::TypedNil(_))
}

/// The kind of a value that is not basic.
fn shape(view: View<'_, '_>) -> u8 {
    match view {
        View::List(_) | View::TypedNil(Nil::List) => 1,
        View::Map(_) | View::TypedNil(Nil::Map) => 2,
        View::Func(_) => 3,
        View::Host(_) | View::Opaque => 4,
        _ => 0,
    }
}

/// The value behind a view that is not basic.
fn view_value<'a, P: Provenance>(exec: &Exec<'_, 'a, P>, view: View<'_, 'a>) -> Result<Value<'a>> {
    Ok(match view {
        View::List(value) | View::Map(value) => value.clone(),
        View::TypedNil(nil) => nil.to_value(exec.heap)?,
        View::Func(function) => Value::Function(function),
        View::Host(object) => Value::Host(object.clone()),
        _ => Value::None,
    })
}

#[cold]
fn printf_error<'a, P: Provenance>(exec: &Exec<'_, 'a, P>, format: &str, values: &[Value<'a>]) -> Error {
    let mut building = Building::new(exec.heap);
    let mut printer = Printer::new(&mut building, exec.heap, exec.integers());
    match printf(&mut printer, format.as_bytes(), values) {
        Ok(()) => Error::runtime(String::from_utf8_lossy(building.as_bytes())),
        Err(error) => error,
    }
}
