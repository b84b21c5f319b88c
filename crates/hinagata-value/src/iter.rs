//! Iterates over the items of a value.

use std::rc::Rc;

use serde_json::Value as Json;

use crate::{List, Map, Range, Value};

/// The items of a list, tuple or range, or the keys of a map.
#[derive(Clone, Debug)]
pub enum Iter<'a> {
    /// A list of the caller.
    Borrowed(std::slice::Iter<'a, Json>),
    /// A map of the caller.
    BorrowedKeys(serde_json::map::Keys<'a>),
    /// A produced list, which may change during the iteration.
    List(Rc<List<'a>>, usize),
    /// The rest of a sequence that can be iterated once. All iterators share the position.
    Once(Rc<List<'a>>),
    /// The keys of a produced map, which may change during the iteration.
    Keys(Rc<Map<'a>>, usize),
    /// The integers of a range.
    Range(Range, u64),
}

impl<'a> Iter<'a> {
    pub(crate) fn from_value(value: Value<'a>) -> Option<Self> {
        Some(match value {
            Value::Json(Json::Array(items)) => Self::Borrowed(items.iter()),
            Value::Json(Json::Object(map)) => Self::BorrowedKeys(map.keys()),
            Value::List(list) | Value::Tuple(list) | Value::View(list) => Self::List(list, 0),
            Value::Once(list) => Self::Once(list),
            Value::Map(map) | Value::Namespace(map) => Self::Keys(map, 0),
            Value::Range(range) => Self::Range(**range, 0),
            _ => return None,
        })
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        match self {
            Self::Borrowed(items) => items.next().map(Value::Json),
            Self::BorrowedKeys(keys) => keys.next().map(Value::Lit),
            Self::List(list, next) => {
                let item = list.get(*next);
                *next = next.saturating_add(1);
                item
            }
            Self::Once(list) => {
                let next = list.taken.get();
                list.taken.set(next.saturating_add(1));
                list.get(next)
            }
            Self::Keys(map, next) => {
                *next += 1;
                map.entry(*next - 1).map(|(key, _)| key)
            }
            Self::Range(range, next) => {
                *next += 1;
                range.get(*next - 1).map(Value::Int)
            }
        }
    }

    /// The number of remaining items, as of now.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self {
            Self::Borrowed(items) => items.len(),
            Self::BorrowedKeys(keys) => keys.len(),
            Self::List(list, next) => list.len().saturating_sub(*next),
            Self::Once(list) => list.len().saturating_sub(list.taken.get()),
            Self::Keys(map, next) => map.len().saturating_sub(*next),
            Self::Range(range, next) => range.len().saturating_sub(*next) as usize,
        };
        (left, Some(left))
    }
}
