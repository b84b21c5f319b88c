//! Produced lists, and dropping values of any depth.

use std::{
    cell::{Cell, RefCell},
    fmt,
    rc::Rc,
};

use crate::{Budget, Result, Value, metered::rc_size};

/// A produced list or tuple.
///
/// Items are read one at a time, so that a list may change while something iterates over it.
pub struct List<'a> {
    budget: &'a Budget,
    items: RefCell<Vec<Value<'a>>>,
    /// Whether the heap knows this list as one that could be part of a cycle.
    pub(crate) noted: Cell<bool>,
    /// Items handed out so far, where going over them is possible once only.
    pub(crate) taken: Cell<usize>,
    role: Cell<Role>,
}

/// What a produced sequence is beside its items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing special.
    #[default]
    Plain,
    /// A tuple of a key and the items that share it, whose parts have names too.
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
        budget.charge(rc_size::<Self>())?;
        Ok(Self {
            budget,
            items: RefCell::default(),
            noted: Cell::new(false),
            taken: Cell::new(0),
            role: Cell::default(),
        })
    }

    /// What the sequence is beside its items.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role.get()
    }

    pub(crate) fn set_role(&self, role: Role) {
        self.role.set(role);
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.borrow().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        self.items.borrow().get(index).cloned()
    }

    /// A look at all items at once; the list must not be changed meanwhile.
    pub fn with<R>(&self, look: impl FnOnce(&[Value<'a>]) -> R) -> R {
        look(&self.items.borrow())
    }

    /// Makes room for `additional` more items.
    pub(crate) fn reserve(&self, additional: usize) -> Result<()> {
        let mut items = self.items.borrow_mut();
        let needed = items.len().saturating_add(additional);
        if needed > items.capacity() {
            self.grow(&mut items, needed)?;
        }
        Ok(())
    }

    fn grow(&self, items: &mut Vec<Value<'a>>, capacity: usize) -> Result<()> {
        self.budget.charge((capacity - items.capacity()).saturating_mul(ITEM))?;
        items.reserve_exact(capacity - items.len());
        debug_assert_eq!(items.capacity(), capacity, "the charge is what is allocated");
        Ok(())
    }

    pub(crate) fn insert(&self, index: usize, value: Value<'a>) -> Result<()> {
        let mut items = self.items.borrow_mut();
        if items.len() == items.capacity() {
            let capacity = (items.capacity() * 2).max(4);
            self.grow(&mut items, capacity)?;
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

    pub(crate) fn truncate(&self, len: usize) {
        let rest = {
            let mut items = self.items.borrow_mut();
            let len = len.min(items.len());
            items.split_off(len)
        };
        drop_all(rest);
    }

    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut [Value<'a>]) -> R) -> R {
        change(&mut self.items.borrow_mut())
    }

    /// Takes the items out and gives their room back.
    fn take(&mut self) -> Vec<Value<'a>> {
        let items = std::mem::take(self.items.get_mut());
        self.budget.release(items.capacity() * ITEM);
        items
    }
}

impl Drop for List<'_> {
    fn drop(&mut self) {
        self.budget.release(rc_size::<Self>());
        let items = self.take();
        drop_all(items);
    }
}

impl fmt::Debug for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List of {}", self.len())
    }
}

/// Drops values without recursion, however deep they are.
///
/// Only a container that nobody else holds is taken apart; its items join the work list.
pub(crate) fn drop_all(mut work: Vec<Value<'_>>) {
    if !work.iter().any(holds_values) {
        return;
    }
    while let Some(value) = work.pop() {
        match value {
            Value::List(list) | Value::Tuple(list) | Value::Once(list) | Value::View(list) => {
                if let Some(mut list) = Rc::into_inner(list) {
                    work.append(&mut list.take());
                }
            }
            Value::Map(map) | Value::Namespace(map) => {
                if let Some(mut map) = Rc::into_inner(map) {
                    map.take_into(&mut work);
                }
            }
            // Captures hold text and marks only, never values.
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
