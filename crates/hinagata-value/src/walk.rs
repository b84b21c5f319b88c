//! Visits a value and everything in it, without recursion.
//!
//! Printers of both languages and the JSON writer are visitors of [`walk_value`], so that no printer can
//! overflow the stack and each bounds depth in the same way.
//!
//! The reasons are in `docs/design/stack-depth.md`.

use std::rc::Rc;

use hashbrown::HashSet;
use serde_json::Value as Json;

use crate::{
    Error, Heap, LimitKind, List, ListKind, Map, Result, Value, compare::sort_by_key, metered::Charge,
};

/// An event for a visitor of [`walk_value`], in the order of printing.
#[derive(Debug)]
pub enum Event<'a> {
    /// A value that is not a container.
    Scalar(Value<'a>),
    /// The start of a container, with the number of its items or entries.
    Start(Shape, usize),
    /// The separator before every item or entry except the first.
    Next,
    /// The key of an entry; its value follows.
    Key(Value<'a>),
    /// The end of the innermost container.
    End(Shape, usize),
    /// A container inside itself, which is not entered again.
    Cycle(Shape),
}

/// The shape of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A list.
    List,
    /// A tuple.
    Tuple,
    /// The keys, values or items of a map.
    View(ListKind),
    /// A map.
    Map,
    /// A namespace.
    Namespace,
}

/// A container that is being visited.
struct Open<'a> {
    items: Items<'a>,
    shape: Shape,
    len: usize,
    next: usize,
    /// Its address, if cycles are possible.
    address: Option<usize>,
}

enum Items<'a> {
    Borrowed(std::slice::Iter<'a, Json>),
    BorrowedMap(serde_json::map::Iter<'a>),
    List(Rc<List<'a>>),
    Map(Rc<Map<'a>>),
    Sorted(std::vec::IntoIter<Entry<'a>>, #[expect(dead_code, reason = "held for its drop")] Charge<'a>),
}

type Entry<'a> = (Value<'a>, Value<'a>);

impl<'a> Open<'a> {
    /// The value as a container, or unchanged if it is a scalar.
    fn new(value: Value<'a>, may_cycle: bool) -> Result<Self, Value<'a>> {
        let address = if may_cycle { value.address() } else { None };
        let (items, shape, len) = match value {
            Value::Json(Json::Array(items)) => (Items::Borrowed(items.iter()), Shape::List, items.len()),
            Value::Json(Json::Object(map)) => (Items::BorrowedMap(map.iter()), Shape::Map, map.len()),
            Value::List(list) => (Items::List(list.clone()), Shape::List, list.len()),
            Value::Tuple(list) => (Items::List(list.clone()), Shape::Tuple, list.len()),
            Value::View(list) => (Items::List(list.clone()), Shape::View(list.kind()), list.len()),
            Value::Map(map) => (Items::Map(map.clone()), Shape::Map, map.len()),
            Value::Namespace(map) => (Items::Map(map.clone()), Shape::Namespace, map.len()),
            scalar => return Err(scalar),
        };
        Ok(Self { items, shape, len, next: 0, address })
    }

    /// Whether it is one of the open containers. Adds it if not.
    fn is_in(&self, open: &mut Option<HashSet<usize>>) -> bool {
        self.address.is_some_and(|address| !open.get_or_insert_default().insert(address))
    }

    /// Sorts the entries of a map by key, in a copy that is charged.
    fn sort(&mut self, heap: &Heap<'a>) -> Result<()> {
        let mut charge = Charge::new(heap.budget());
        charge.add_bytes(self.len.saturating_mul(size_of::<Entry<'_>>()))?;
        let mut entries: Vec<Entry<'a>> = match &self.items {
            Items::BorrowedMap(map) => {
                map.clone().map(|(key, value)| (Value::Lit(key), Value::Json(value))).collect()
            }
            Items::Map(map) => (0..self.len).map_while(|index| map.entry(index)).collect(),
            Items::Borrowed(_) | Items::List(_) | Items::Sorted(..) => return Ok(()),
        };
        sort_by_key(heap.budget(), &mut entries)?;
        self.items = Items::Sorted(entries.into_iter(), charge);
        Ok(())
    }

    /// The next item, or the next key and value.
    fn advance(&mut self) -> Option<(Option<Value<'a>>, Value<'a>)> {
        self.next += 1;
        match &mut self.items {
            Items::Borrowed(items) => items.next().map(|item| (None, Value::Json(item))),
            Items::BorrowedMap(map) => {
                map.next().map(|(key, value)| (Some(Value::Lit(key)), Value::Json(value)))
            }
            Items::List(list) => list.get(self.next - 1).map(|item| (None, item)),
            Items::Map(map) => map.entry(self.next - 1).map(|(key, value)| (Some(key), value)),
            Items::Sorted(entries, _) => entries.next().map(|(key, value)| (Some(key), value)),
        }
    }
}

/// Visits `value` and everything in it, charging a step for each.
///
/// Ranges are scalars here, because the languages print them differently. The list of open containers is not
/// charged: it has some hundred bytes for each of at most `value_depth` containers.
///
/// # Errors
/// Those of `visit`, and limits: steps, and `value_depth` for nested containers.
pub fn walk_value<'a>(
    heap: &Heap<'a>,
    value: &Value<'a>,
    visit: &mut impl FnMut(Event<'a>) -> Result<()>,
) -> Result<()> {
    walk_as(heap, value, Order::AsTheyAre, visit)
}

/// The order in which entries of maps are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    AsTheyAre,
    ByKey,
}

/// Like [`walk_value`], with a given order of map entries.
///
/// # Errors
/// Those of [`walk_value`], and an error if keys to be sorted have different types.
pub(crate) fn walk_as<'a>(
    heap: &Heap<'a>,
    value: &Value<'a>,
    order: Order,
    visit: &mut impl FnMut(Event<'a>) -> Result<()>,
) -> Result<()> {
    let may_cycle = heap.has_changes();
    let mut open: Vec<Open<'a>> = Vec::new();
    // The addresses of the open containers that may be part of a cycle.
    let mut inside: Option<HashSet<usize>> = None;
    let mut current = value.clone();
    loop {
        heap.budget().charge_steps(1)?;
        match Open::new(heap.current_version(current), may_cycle) {
            Err(scalar) => visit(Event::Scalar(scalar))?,
            Ok(container) if container.is_in(&mut inside) => visit(Event::Cycle(container.shape))?,
            Ok(mut container) => {
                check_depth(heap, open.len())?;
                if order == Order::ByKey {
                    container.sort(heap)?;
                }
                visit(Event::Start(container.shape, container.len))?;
                open.push(container);
            }
        }
        current = loop {
            let Some(container) = open.last_mut() else { return Ok(()) };
            let Some((key, value)) = container.advance() else {
                visit(Event::End(container.shape, container.len))?;
                if let (Some(address), Some(inside)) = (container.address, &mut inside) {
                    inside.remove(&address);
                }
                open.pop();
                continue;
            };
            if container.next > 1 {
                visit(Event::Next)?;
            }
            if let Some(key) = key {
                visit(Event::Key(key))?;
            }
            break value;
        };
    }
}

/// Fails if a container is nested too deeply inside `open` others.
pub(crate) fn check_depth(heap: &Heap<'_>, open: usize) -> Result<()> {
    let limit = heap.budget().limits().value_depth;
    if open < limit { Ok(()) } else { Err(too_deep(limit)) }
}

#[cold]
pub(crate) fn too_deep(limit: usize) -> Error {
    Error::limit_reached(LimitKind::ValueDepth, format!("a value is nested more than {limit} deep"))
}
