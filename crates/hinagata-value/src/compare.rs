//! Compares values of any depth, without recursion.

use std::cmp::Ordering;

use crate::{Budget, Entries, Error, Heap, Kind, Number, Result, Value, walk::check_depth};

/// Whether two values are equal: numbers by value regardless of type (true is 1), strings by text, lists item
/// by item, maps entry by entry regardless of order, everything else by identity.
///
/// # Errors
/// A limit is reached: steps, or `value_depth` for nested containers. [`crate::ErrorKind::Suspended`] if the
/// result depends on a pending call.
pub fn is_equal<'a>(heap: &Heap<'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool> {
    let mut open = Vec::new();
    let mut pair = (a.clone(), b.clone());
    loop {
        heap.budget().charge_steps(1)?;
        match open_pair(heap, &pair.0, &pair.1)? {
            Compared::Equal => {}
            Compared::Different => return Ok(false),
            Compared::Inside => {
                check_depth(heap, open.len())?;
                open.push(Pair::new(heap, pair.0, pair.1));
            }
        }
        pair = loop {
            let Some(inside) = open.last_mut() else { return Ok(true) };
            match inside.advance(heap)? {
                Advance::Pair(a, b) => break (a, b),
                Advance::Missing => return Ok(false),
                Advance::End => {
                    open.pop();
                }
            }
        };
    }
}

/// The order of two values. `scalars` decides unless both are lists. Lists are compared item by item, and the
/// first pair that is not equal decides.
///
/// # Errors
/// Those of `scalars`, and limits as for [`is_equal`].
pub fn order_values<'a>(
    heap: &Heap<'a>,
    a: &Value<'a>,
    b: &Value<'a>,
    scalars: &mut impl FnMut(&Value<'a>, &Value<'a>) -> Result<Ordering>,
) -> Result<Ordering> {
    let mut open: Vec<Pair<'_, 'a>> = Vec::new();
    let mut pair = (a.clone(), b.clone());
    // The first pair that is not equal decides. All pairs before it are equal.
    loop {
        heap.budget().charge_steps(1)?;
        let (a, b) = &pair;
        if is_sequence(a) && a.kind() == b.kind() {
            if !a.is_same_container(b) {
                check_depth(heap, open.len())?;
                open.push(Pair::new(heap, pair.0, pair.1));
            }
        } else if open.is_empty() || !is_equal(heap, a, b)? {
            return scalars(a, b);
        }
        pair = loop {
            let Some(inside) = open.last_mut() else { return Ok(Ordering::Equal) };
            let index = inside.next;
            inside.next += 1;
            match (heap.item(&inside.a, index), heap.item(&inside.b, index)) {
                (Some(a), Some(b)) => break (a, b),
                (None, Some(_)) => return Ok(Ordering::Less),
                (Some(_), None) => return Ok(Ordering::Greater),
                (None, None) => open.pop(),
            };
        };
    }
}

/// The order of two numbers, exact between integers and floats too. `None` for a NaN.
#[must_use]
pub fn order_numbers(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Int(a), Number::Float(b)) => order_int_float(a, b),
        (Number::Float(a), Number::Int(b)) => order_int_float(b, a).map(Ordering::reverse),
    }
}

fn order_int_float(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // 2^127 is exact as a float; within it truncation is exact too.
    if float >= 2_f64.powi(127) {
        return Some(Ordering::Less);
    }
    if float < -(2_f64.powi(127)) {
        return Some(Ordering::Greater);
    }
    let whole = float.trunc();
    Some(int.cmp(&(whole as i128)).then_with(|| 0.0.partial_cmp(&(float - whole)).unwrap_or(Ordering::Equal)))
}

enum Compared {
    Equal,
    Different,
    /// Two containers of the same kind and size, whose contents decide.
    Inside,
}

fn open_pair<'a>(heap: &Heap<'a>, a: &Value<'a>, b: &Value<'a>) -> Result<Compared> {
    let verdict = |same| if same { Compared::Equal } else { Compared::Different };
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        heap.budget().step_bytes(a.len().min(b.len()))?;
        return Ok(verdict(a == b));
    }
    if let (Some(a), Some(b)) = (as_number(a), as_number(b)) {
        return Ok(verdict(order_numbers(a, b) == Some(Ordering::Equal)));
    }
    if a.is_same_container(b) {
        return Ok(Compared::Equal);
    }
    Ok(match (a.kind(), b.kind()) {
        (Kind::None, Kind::None) | (Kind::Undefined, Kind::Undefined) => Compared::Equal,
        (Kind::List, Kind::List) | (Kind::Tuple, Kind::Tuple) | (Kind::Map, Kind::Map) => {
            if heap.len(a) == heap.len(b) { Compared::Inside } else { Compared::Different }
        }
        (Kind::Pending, _) | (_, Kind::Pending) => return Err(Error::suspended()),
        (Kind::Bytes, Kind::Bytes) => match (a.as_bytes(), b.as_bytes()) {
            (Some(a), Some(b)) => {
                heap.budget().step_bytes(a.len().min(b.len()))?;
                verdict(a == b)
            }
            _ => Compared::Different,
        },
        (Kind::Str, Kind::Str) => match (a, b) {
            (Value::Pieces(a), Value::Pieces(b)) => verdict(std::rc::Rc::ptr_eq(a, b)),
            _ => Compared::Different,
        },
        (Kind::Range, Kind::Range) => match (a, b) {
            (Value::Range(a), Value::Range(b)) => {
                let (a, b) = (***a, ***b);
                let same_items = a.len() == b.len()
                    && a.get(0) == b.get(0)
                    && a.get(a.len().wrapping_sub(1)) == b.get(b.len().wrapping_sub(1));
                verdict(same_items)
            }
            _ => Compared::Different,
        },
        (Kind::Engine, Kind::Engine) => match (a, b) {
            (Value::Engine(a), Value::Engine(b)) => verdict(a == b),
            _ => Compared::Different,
        },
        (Kind::Function, Kind::Function) => match (a, b) {
            (Value::Function(a), Value::Function(b)) => verdict(std::ptr::eq(*a, *b)),
            _ => Compared::Different,
        },
        (Kind::Host, Kind::Host) => match (a, b) {
            (Value::Host(a), Value::Host(b)) => verdict(std::rc::Rc::ptr_eq(a, b)),
            _ => Compared::Different,
        },
        _ => Compared::Different,
    })
}

/// Numbers and booleans as numbers.
fn as_number(value: &Value<'_>) -> Option<Number> {
    value.as_number().or_else(|| value.as_bool().map(|flag| Number::Int(i128::from(flag))))
}

fn is_sequence(value: &Value<'_>) -> bool {
    matches!(value.kind(), Kind::List | Kind::Tuple)
}

/// Two containers whose contents are being compared.
struct Pair<'h, 'a> {
    a: Value<'a>,
    b: Value<'a>,
    next: usize,
    /// The entries of `a`, where it is a map.
    entries: Option<Entries<'h, 'a>>,
}

enum Advance<'a> {
    Pair(Value<'a>, Value<'a>),
    Missing,
    End,
}

impl<'h, 'a> Pair<'h, 'a> {
    fn new(heap: &'h Heap<'a>, a: Value<'a>, b: Value<'a>) -> Self {
        let entries = if a.kind() == Kind::Map { heap.entries(&a) } else { None };
        Self { a, b, next: 0, entries }
    }

    fn advance(&mut self, heap: &Heap<'a>) -> Result<Advance<'a>> {
        let index = self.next;
        self.next += 1;
        if let Some(entries) = &mut self.entries {
            let Some((key, left)) = entries.next() else { return Ok(Advance::End) };
            return Ok(match heap.lookup(&self.b, &key)? {
                Some(right) => Advance::Pair(left, right),
                None => Advance::Missing,
            });
        }
        Ok(match (heap.item(&self.a, index), heap.item(&self.b, index)) {
            (Some(left), Some(right)) => Advance::Pair(left, right),
            _ => Advance::End,
        })
    }
}

/// Sorts entries by their keys, which must all be strings or all be numbers. A NaN is last.
///
/// # Errors
/// The keys have different types, or the steps are used up.
pub(crate) fn sort_by_key<'a>(budget: &Budget, entries: &mut [(Value<'a>, Value<'a>)]) -> Result<()> {
    budget.charge_steps(entries.len() as u64 * u64::from(entries.len().max(1).ilog2() + 1))?;
    let texts = entries.iter().filter(|(key, _)| key.as_str().is_some()).count();
    let numbers = entries.iter().filter(|(key, _)| as_number(key).is_some()).count();
    // Checked in advance, because a sort needs an order for every pair.
    if entries.len() > 1 && texts < entries.len() && numbers < entries.len() {
        return Err(Error::runtime("keys of different types cannot be sorted"));
    }
    entries.sort_by(|(a, _), (b, _)| match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => {
            budget.owe_text(if a.len() < b.len() { a } else { b });
            a.cmp(b)
        }
        _ => order_with_nan(as_number(a), as_number(b)),
    });
    Ok(())
}

fn order_with_nan(a: Option<Number>, b: Option<Number>) -> Ordering {
    let is_nan = |number| matches!(number, Some(Number::Float(float)) if float.is_nan());
    match (a, b) {
        (Some(a), Some(b)) => order_numbers(a, b),
        _ => None,
    }
    .unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}
