//! Produced lists, and dropping values of any depth.

use std::{
    cell::{Cell, RefCell},
    fmt,
    rc::Rc,
};

use crate::{
    Budget, Result, Value,
    metered::{grow_to, rc_size},
};

/// A produced list or tuple.
///
/// Items are read one at a time, so that a list may change while something iterates over it.
pub struct List<'a> {
    budget: &'a Budget,
    items: RefCell<Vec<Value<'a>>>,
    /// Whether the heap has recorded this list as a possible part of a cycle.
    pub(crate) noted: Cell<bool>,
    /// Items returned so far, for a sequence that can be iterated once.
    pub(crate) taken: Cell<usize>,
    kind: Cell<ListKind>,
}

/// The kind of a produced sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// A plain list or tuple.
    #[default]
    Plain,
    /// A tuple of a key and its items, with named parts.
    Group,
    /// The keys of a map.
    Keys,
    /// The values of a map.
    Values,
    /// The keys and values of a map, as tuples.
    Items,
}

const ITEM: usize = size_of::<Value<'_>>();

impl<'a> List<'a> {
    pub(crate) fn new(budget: &'a Budget) -> Result<Self> {
        budget.charge_bytes(rc_size::<Self>())?;
        Ok(Self {
            budget,
            items: RefCell::default(),
            noted: Cell::new(false),
            taken: Cell::new(0),
            kind: Cell::default(),
        })
    }

    /// The kind of the sequence.
    #[must_use]
    pub fn kind(&self) -> ListKind {
        self.kind.get()
    }

    pub(crate) fn set_kind(&self, kind: ListKind) {
        self.kind.set(kind);
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.borrow().len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        self.items.borrow().get(index).cloned()
    }

    /// Passes all items to `look`.
    ///
    /// # Panics
    /// If `look` changes this list. Reading, comparing and printing do not.
    pub fn with_items<R>(&self, look: impl FnOnce(&[Value<'a>]) -> R) -> R {
        look(&self.items.borrow())
    }

    /// Reserves room for `additional` more items.
    pub(crate) fn reserve(&self, additional: usize) -> Result<()> {
        let mut items = self.items.borrow_mut();
        let needed = items.len().saturating_add(additional);
        if needed > items.capacity() {
            grow_to(&mut items, needed, self.budget)?;
        }
        Ok(())
    }

    pub(crate) fn insert(&self, index: usize, value: Value<'a>) -> Result<()> {
        let mut items = self.items.borrow_mut();
        if items.len() == items.capacity() {
            let capacity = (items.capacity() * 2).max(4);
            grow_to(&mut items, capacity, self.budget)?;
        }
        let index = index.min(items.len());
        items.insert(index, value);
        Ok(())
    }

    pub(crate) fn push(&self, value: Value<'a>) -> Result<()> {
        self.insert(usize::MAX, value)
    }

    pub(crate) fn set(&self, index: usize, value: Value<'a>) -> bool {
        let old = match self.items.borrow_mut().get_mut(index) {
            Some(slot) => std::mem::replace(slot, value),
            None => return false,
        };
        drop(old);
        true
    }

    pub(crate) fn remove(&self, index: usize) -> Option<Value<'a>> {
        let mut items = self.items.borrow_mut();
        (index < items.len()).then(|| items.remove(index))
    }

    pub(crate) fn clear(&self) {
        drop_all(self.replace(Vec::new()));
    }

    /// Lets `change` reorder the items. As in Python, the list is empty for all other code meanwhile, because
    /// comparing the items may access the list itself.
    pub(crate) fn change_items<R>(&self, change: impl FnOnce(&mut [Value<'a>]) -> R) -> R {
        let mut items = self.items.take();
        let result = change(&mut items);
        drop_all(self.replace(items));
        result
    }

    /// Replaces the items. The memory of the new ones is charged already, that of the old ones is released.
    fn replace(&self, items: Vec<Value<'a>>) -> Vec<Value<'a>> {
        let old = self.items.replace(items);
        self.budget.release_bytes(old.capacity() * ITEM);
        old
    }
}

impl Drop for List<'_> {
    fn drop(&mut self) {
        self.budget.release_bytes(rc_size::<Self>());
        self.clear();
    }
}

impl fmt::Debug for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List of {}", self.len())
    }
}

/// Drops values of any depth without recursion.
///
/// Only a container without other owners is taken apart. Its items are added to the work list.
pub(crate) fn drop_all(mut work: Vec<Value<'_>>) {
    if !work.iter().any(holds_values) {
        return;
    }
    while let Some(value) = work.pop() {
        match value {
            Value::List(list) | Value::Tuple(list) | Value::Once(list) | Value::View(list) => {
                if let Some(list) = Rc::into_inner(list) {
                    work.append(&mut list.replace(Vec::new()));
                }
            }
            Value::Map(map) | Value::Namespace(map) => {
                if let Some(mut map) = Rc::into_inner(map) {
                    map.take_into(&mut work);
                }
            }
            // Captures contain text and marks only, no values.
            _ => {}
        }
    }
}

#[inline]
pub(crate) fn holds_values(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::List(_)
            | Value::Tuple(_)
            | Value::Once(_)
            | Value::View(_)
            | Value::Map(_)
            | Value::Namespace(_)
    )
}
