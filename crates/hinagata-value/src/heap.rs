//! Creates, changes and reads values.
//!
//! Everything that a template produces is created here and charged. Everything that it reads goes through the
//! accessors here, which hide whether a container belongs to the caller or to the template. Data of the caller
//! is never changed: a template changes a copy, which replaces the data for the rest of the render.
//!
//! The reasons are in `docs/design/borrowed-values.md`.

use std::{
    cell::{Cell, OnceCell, RefCell},
    rc::{Rc, Weak},
    sync::atomic::{AtomicU32, Ordering},
};

use hashbrown::HashMap;
use serde_json::Value as Json;

use crate::{
    Budget, HostObject, Kind, List, ListKind, Map, Metered, Number, Object, Owner, Range, Reads, Result,
    Text, Trace, Undefined, Value,
    iter::Iter,
    list::holds_values,
    metered::{grow_to, rc_size},
};

/// The values of one run.
///
/// Dropping it frees every value of the run, including those that refer to themselves.
pub struct Heap<'a> {
    budget: &'a Budget,
    /// Containers that were modified. Only these can be part of a cycle.
    stored_into: RefCell<Vec<Stored<'a>>>,
    /// Copies that replace data of the caller that the template changed.
    copies: RefCell<HashMap<usize, Value<'a>>>,
    changed: Cell<bool>,
    /// What values are made of. Allocated with the first use, because most renders are not recorded.
    trace: OnceCell<Box<RefCell<Trace<'a>>>>,
}

enum Stored<'a> {
    List(Weak<List<'a>>),
    Map(Weak<Map<'a>>),
}

/// Bytes of an entry in the list of modified containers.
const NOTE: usize = size_of::<Stored<'_>>();

/// Bytes of a dropped container that stay allocated, because a weak reference is in the list.
const KEPT: usize =
    if rc_size::<List<'_>>() > rc_size::<Map<'_>>() { rc_size::<List<'_>>() } else { rc_size::<Map<'_>>() };

impl<'a> Heap<'a> {
    /// Creates a heap that charges `budget`, without allocating.
    #[must_use]
    pub fn new(budget: &'a Budget) -> Self {
        Self {
            budget,
            stored_into: RefCell::default(),
            copies: RefCell::default(),
            changed: Cell::new(false),
            trace: OnceCell::new(),
        }
    }

    /// The sets, captures and names of a recorded render.
    #[inline]
    pub fn trace(&self) -> &RefCell<Trace<'a>> {
        self.trace.get_or_init(Box::default)
    }

    /// Like [`Heap::trace`], if a value was recorded that needs it.
    #[inline]
    #[must_use]
    pub fn used_trace(&self) -> Option<&RefCell<Trace<'a>>> {
        self.trace.get().map(|trace| &**trace)
    }

    /// Ends the recording and returns what the record refers to, if anything.
    #[must_use]
    pub fn finish_trace(&self) -> Option<Box<Reads>> {
        self.trace.get().map(|trace| Box::new(trace.take().finish()))
    }

    /// The budget of the run.
    #[inline]
    #[must_use]
    pub fn budget(&self) -> &'a Budget {
        self.budget
    }

    /// An empty text to write into.
    #[must_use]
    pub fn text(&self) -> Text<'a> {
        Text::new(self.budget)
    }

    /// A copy of `text` as a value.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn string(&self, text: &str) -> Result<Value<'a>> {
        Ok(Value::Str(self.shared_text(text)?))
    }

    /// A copy of `text` as a value that is safe to insert without escaping.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn safe(&self, text: &str) -> Result<Value<'a>> {
        Ok(Value::Safe(self.shared_text(text)?))
    }

    fn shared_text(&self, text: &str) -> Result<Rc<Metered<'a, String>>> {
        self.budget.step_bytes(text.len())?;
        self.budget.charge_bytes(text.len())?;
        Metered::new_charged(self.budget, text.to_owned())
    }

    /// A string of bytes: text where they are UTF-8.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn bytes(&self, bytes: &[u8]) -> Result<Value<'a>> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.string(text),
            Err(_) => {
                self.budget.step_bytes(bytes.len())?;
                self.budget.charge_bytes(bytes.len())?;
                Ok(Value::Bytes(Metered::new_charged(self.budget, bytes.into())?))
            }
        }
    }

    /// An integer of any size up to 128 bits.
    ///
    /// # Errors
    /// The byte budget is used up.
    #[inline]
    pub fn int(&self, int: i128) -> Result<Value<'a>> {
        match i64::try_from(int) {
            Ok(int) => Ok(Value::Int(int)),
            Err(_) => Ok(Value::Big(Metered::new(self.budget, int)?)),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn number(&self, number: Number) -> Result<Value<'a>> {
        match number {
            Number::Int(int) => self.int(int),
            Number::Float(float) => Ok(Value::Float(float)),
        }
    }

    /// A range of at most `range_items` items.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn range(&self, range: Range) -> Result<Value<'a>> {
        self.budget.check_range(range.len())?;
        Ok(Value::Range(Metered::new(self.budget, range)?))
    }

    /// An object of the host.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn host_object(&self, object: impl Object) -> Result<Value<'a>> {
        Ok(Value::Host(Metered::new(self.budget, HostObject::new(object))?))
    }

    /// A list that is being built.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn list(&self) -> Result<ListBuilder<'a>> {
        Ok(ListBuilder { list: List::new(self.budget)?, budget: self.budget })
    }

    /// A list of these items.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn list_of(&self, items: impl IntoIterator<Item = Value<'a>>) -> Result<Value<'a>> {
        let mut list = self.list()?;
        for item in items {
            list.push(item)?;
        }
        Ok(list.finish())
    }

    /// A tuple of these items.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn tuple_of(&self, items: impl IntoIterator<Item = Value<'a>>) -> Result<Value<'a>> {
        let mut list = self.list()?;
        for item in items {
            list.push(item)?;
        }
        Ok(list.finish_tuple())
    }

    /// A map that is being built.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn map(&self) -> Result<MapBuilder<'a>> {
        Ok(MapBuilder { map: Map::new(self.budget)?, budget: self.budget })
    }

    // ---- reading ----

    /// The current version of `value`: itself, or the copy if the template changed it.
    #[inline]
    #[must_use]
    pub fn current_version(&self, value: Value<'a>) -> Value<'a> {
        if self.changed.get() { self.current_copy(value) } else { value }
    }

    #[cold]
    #[inline(never)]
    fn current_copy(&self, value: Value<'a>) -> Value<'a> {
        match value {
            Value::Json(Json::Array(_) | Json::Object(_)) => {
                let address = value.address().unwrap_or_default();
                self.copies.borrow().get(&address).cloned().unwrap_or(value)
            }
            value => value,
        }
    }

    /// Like [`Heap::current_version`], by reference. `slot` stores the copy, if any.
    #[inline]
    fn current_reference<'v>(&self, value: &'v Value<'a>, slot: &'v mut Value<'a>) -> &'v Value<'a> {
        if self.changed.get() && matches!(value, Value::Json(_)) {
            *slot = self.current_copy(value.clone());
            return slot;
        }
        value
    }

    /// The value of an attribute or entry with a constant name. The hint of the key makes it fast.
    #[inline]
    #[must_use]
    pub fn attribute(&self, value: &Value<'a>, key: &Key) -> Option<Value<'a>> {
        if let Value::Json(Json::Object(map)) = value
            && !self.changed.get()
        {
            self.budget.owe_text(&key.name);
            return key.find_in(map).map(Value::Json);
        }
        self.entry(value, &key.name)
    }

    /// The value of the string `key` in a map, namespace or host object. The steps for a long key are charged
    /// later.
    #[must_use]
    pub fn entry(&self, value: &Value<'a>, key: &str) -> Option<Value<'a>> {
        match self.current_reference(value, &mut Value::None) {
            Value::Json(Json::Object(map)) => {
                self.budget.owe_text(key);
                map.get(key).map(|value| self.current_version(Value::Json(value)))
            }
            Value::Map(map) | Value::Namespace(map) => {
                map.get_str(key).map(|value| self.current_version(value))
            }
            Value::Host(object) => object.get().attribute(self, key),
            _ => None,
        }
    }

    /// The value under any key of a map.
    ///
    /// # Errors
    /// `key` cannot be a key.
    pub fn lookup(&self, value: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>> {
        match self.current_reference(value, &mut Value::None) {
            Value::Map(map) => Ok(map.get(key)?.map(|value| self.current_version(value))),
            value => Ok(key.as_str().and_then(|key| self.entry(value, key))),
        }
    }

    /// The item at `index` of a list, tuple or range.
    #[inline]
    #[must_use]
    pub fn item(&self, value: &Value<'a>, index: usize) -> Option<Value<'a>> {
        match self.current_reference(value, &mut Value::None) {
            Value::Json(Json::Array(items)) => {
                items.get(index).map(|item| self.current_version(Value::Json(item)))
            }
            Value::List(list) | Value::Tuple(list) => list.get(index).map(|item| self.current_version(item)),
            Value::Range(range) => range.get(index as u64).map(Value::Int),
            _ => None,
        }
    }

    /// Number of items or entries of a container. `None` for other values. Strings are excluded, because one
    /// language counts characters and the other bytes.
    #[must_use]
    pub fn len(&self, value: &Value<'a>) -> Option<usize> {
        match self.current_reference(value, &mut Value::None) {
            Value::Json(Json::Array(items)) => Some(items.len()),
            Value::Json(Json::Object(map)) => Some(map.len()),
            Value::List(list) | Value::Tuple(list) | Value::View(list) => Some(list.len()),
            Value::Map(map) | Value::Namespace(map) => Some(map.len()),
            Value::Range(range) => Some(range.len() as usize),
            _ => None,
        }
    }

    /// The items of a list, tuple or range, or the keys of a map; `None` for any other value.
    ///
    /// The iteration includes items that are added to a list meanwhile. Data of the caller is iterated as it was
    /// at the start, even if the template changes it meanwhile.
    #[must_use]
    pub fn iter(&self, value: &Value<'a>) -> Option<Iter<'a>> {
        Iter::from_value(self.current_version(value.clone()))
    }

    /// The keys and values of a map in order; `None` for any other value.
    #[must_use]
    pub fn entries(&self, value: &Value<'a>) -> Option<Entries<'_, 'a>> {
        let value = self.current_version(value.clone());
        let borrowed = match &value {
            Value::Json(Json::Object(map)) => Some(map.iter()),
            _ => None,
        };
        matches!(value.kind(), Kind::Map | Kind::Namespace).then_some(Entries {
            heap: self,
            value,
            borrowed,
            next: 0,
        })
    }

    /// The key and value at `index` of a map, in order. Use [`Heap::entries`] to iterate: on a map of the caller,
    /// this counts from the start.
    #[must_use]
    pub fn entry_at(&self, value: &Value<'a>, index: usize) -> Option<(Value<'a>, Value<'a>)> {
        match self.current_reference(value, &mut Value::None) {
            Value::Json(Json::Object(map)) => {
                let (key, value) = map.iter().nth(index)?;
                Some((Value::Lit(key), self.current_version(Value::Json(value))))
            }
            Value::Map(map) | Value::Namespace(map) => {
                map.entry(index).map(|(key, value)| (key, self.current_version(value)))
            }
            _ => None,
        }
    }

    /// The undefined value that searching `owner` for the constant `name` gives.
    #[must_use]
    pub fn undefined_value(&self, owner: &Value<'a>, name: Option<&'a String>) -> Value<'a> {
        let owner = match owner.kind() {
            Kind::Map => Owner::Map,
            Kind::List | Kind::Tuple => Owner::List,
            Kind::Str => Owner::Str,
            _ => Owner::Other,
        };
        Value::Undefined(Undefined { owner, name })
    }

    // ---- changing ----

    /// The template's own version of a list or map, made by copying the caller's on first use.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn make_owned(&self, value: &Value<'a>) -> Result<Value<'a>> {
        let value = self.current_version(value.clone());
        let copy = match &value {
            Value::Json(Json::Array(items)) => self.list_of(items.iter().map(Value::Json))?,
            Value::Json(Json::Object(map)) => {
                let mut copy = self.map()?;
                for (key, value) in map {
                    copy.insert(Value::Lit(key), Value::Json(value))?;
                }
                copy.finish()
            }
            _ => return Ok(value),
        };
        let address = value.address().unwrap_or_default();
        let mut copies = self.copies.borrow_mut();
        let before = copies.allocation_size();
        copies.insert(address, copy.clone());
        self.changed.set(true);
        self.budget.charge_allocated(copies.allocation_size() - before)?;
        Ok(copy)
    }

    /// Whether a copy replaces some of the caller's data.
    #[inline]
    #[must_use]
    pub fn has_copies(&self) -> bool {
        self.changed.get()
    }

    /// Whether some of the caller's data was changed, or stored in a container.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.changed.get() || !self.stored_into.borrow().is_empty()
    }

    /// Appends to a list.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn push(&self, list: &Rc<List<'a>>, value: Value<'a>) -> Result<()> {
        self.insert_item(list, usize::MAX, value)
    }

    /// Inserts into a list before `index`, or at the end of a shorter list.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn insert_item(&self, list: &Rc<List<'a>>, index: usize, value: Value<'a>) -> Result<()> {
        // The items after the new one move, so each costs a step.
        self.budget.charge_steps(1 + (list.len().saturating_sub(index) as u64 >> 4))?;
        self.note_list(list, &value)?;
        list.insert(index, value)
    }

    /// Replaces an item of a list. Returns false if `index` is out of range.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn set_item(&self, list: &Rc<List<'a>>, index: usize, value: Value<'a>) -> Result<bool> {
        self.budget.charge_steps(1)?;
        self.note_list(list, &value)?;
        Ok(list.set(index, value))
    }

    /// Removes an item from a list. `None` if `index` is out of range.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn remove_item(&self, list: &List<'a>, index: usize) -> Result<Option<Value<'a>>> {
        self.budget.charge_steps(1 + (list.len().saturating_sub(index) as u64 >> 4))?;
        Ok(list.remove(index))
    }

    /// Removes all items of a list.
    pub fn clear_list(&self, list: &List<'a>) {
        list.clear();
    }

    /// Lets `change` reorder the items of a list. `change` charges its own steps.
    ///
    /// During the change, the list is empty for all other code, and items added to it are lost.
    pub fn reorder_items<R>(&self, list: &List<'a>, change: impl FnOnce(&mut [Value<'a>]) -> R) -> R {
        list.change_items(change)
    }

    /// Inserts an entry into a map or namespace.
    ///
    /// # Errors
    /// A limit is reached, or `key` cannot be a key.
    pub fn insert(&self, map: &Rc<Map<'a>>, key: Value<'a>, value: Value<'a>) -> Result<()> {
        self.budget.charge_steps(1)?;
        if !map.noted.get() && holds_values(&value) {
            self.note(Stored::Map(Rc::downgrade(map)))?;
            map.noted.set(true);
        }
        map.insert(key, value)
    }

    /// Removes an entry from a map.
    ///
    /// # Errors
    /// A limit is reached, or `key` cannot be a key.
    pub fn remove(&self, map: &Map<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>> {
        self.budget.charge_steps(1)?;
        map.remove(key)
    }

    /// Removes the last entry of a map.
    pub fn pop_entry(&self, map: &Map<'a>) -> Option<(Value<'a>, Value<'a>)> {
        map.pop()
    }

    /// Removes all entries of a map.
    pub fn clear_map(&self, map: &Map<'a>) {
        map.clear();
    }

    fn note_list(&self, list: &Rc<List<'a>>, value: &Value<'a>) -> Result<()> {
        if !list.noted.get() && holds_values(value) {
            self.note(Stored::List(Rc::downgrade(list)))?;
            list.noted.set(true);
        }
        Ok(())
    }

    /// Records a container that may be part of a cycle.
    fn note(&self, stored: Stored<'a>) -> Result<()> {
        let mut list = self.stored_into.borrow_mut();
        if list.len() == list.capacity() {
            // Dropped containers cannot be part of a cycle any more.
            let before = list.len();
            list.retain(Stored::is_alive);
            self.budget.release_bytes((before - list.len()) * KEPT);
            if list.len() * 2 >= list.capacity() {
                let capacity = (list.capacity() * 2).max(4);
                grow_to(&mut list, capacity, self.budget)?;
            }
        }
        self.budget.charge_bytes(KEPT)?;
        list.push(stored);
        Ok(())
    }
}

impl Stored<'_> {
    fn is_alive(&self) -> bool {
        match self {
            Self::List(list) => list.strong_count() > 0,
            Self::Map(map) => map.strong_count() > 0,
        }
    }
}

impl Drop for Heap<'_> {
    fn drop(&mut self) {
        // Most templates change nothing.
        if !self.changed.get() && self.stored_into.get_mut().capacity() == 0 {
            return;
        }
        let copies = self.copies.take();
        self.budget.release_bytes(copies.allocation_size());
        drop(copies);
        let stored = self.stored_into.take();
        self.budget.release_bytes(stored.capacity() * NOTE + stored.len() * KEPT);
        for stored in stored {
            match stored {
                Stored::List(list) => {
                    if let Some(list) = list.upgrade() {
                        list.clear();
                    }
                }
                Stored::Map(map) => {
                    if let Some(map) = map.upgrade() {
                        map.clear();
                    }
                }
            }
        }
    }
}

impl std::fmt::Debug for Heap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heap").field("budget", self.budget).finish_non_exhaustive()
    }
}

/// A constant key with the position where it was found last.
///
/// The objects of a list usually have their keys in the same order, so a site finds its key at the same
/// position each time. The hint is only a guess: a wrong one costs a comparison.
#[derive(Debug, Default)]
pub struct Key {
    name: String,
    hint: AtomicU32,
}

/// Maps up to this size are searched linearly, which is faster than hashing.
const SCAN: usize = 16;

impl Key {
    /// Creates a key without a hint.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), hint: AtomicU32::new(0) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &String {
        &self.name
    }

    /// The steps of finding it beyond the one of the operation: one for 64 bytes of its name.
    /// [`Heap::attribute`] charges them itself. Callers of [`Key::find_in`] must charge them, else an author can
    /// repeat a very long name at no cost.
    #[inline]
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.name.len() as u64 >> 6
    }

    /// The value under this key.
    #[inline]
    #[must_use]
    pub fn find_in<'m>(&self, map: &'m serde_json::Map<String, Json>) -> Option<&'m Json> {
        let hint = self.hint.load(Ordering::Relaxed) as usize;
        match map.iter().nth(hint) {
            Some((key, value)) if *key == self.name => Some(value),
            _ => self.search(map),
        }
    }

    #[inline(never)]
    fn search<'m>(&self, map: &'m serde_json::Map<String, Json>) -> Option<&'m Json> {
        if map.len() > SCAN {
            return map.get(&self.name);
        }
        let (at, (_, value)) = map.iter().enumerate().find(|(_, (key, _))| **key == self.name)?;
        self.hint.store(at as u32, Ordering::Relaxed);
        Some(value)
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), hint: AtomicU32::new(self.hint.load(Ordering::Relaxed)) }
    }
}

/// A list that is being built.
#[derive(Debug)]
pub struct ListBuilder<'a> {
    list: List<'a>,
    budget: &'a Budget,
}

impl<'a> ListBuilder<'a> {
    /// Reserves room for `additional` items. The memory is charged now, so that a huge list fails early.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        self.list.reserve(additional)
    }

    /// Appends an item and charges one step for it.
    ///
    /// # Errors
    /// A limit is reached.
    #[inline]
    pub fn push(&mut self, value: Value<'a>) -> Result<()> {
        self.budget.charge_steps(1)?;
        self.list.push(value)
    }

    /// Number of items so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether it has no items so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Lets `change` reorder the items, for sorting.
    pub fn reorder_items<R>(&mut self, change: impl FnOnce(&mut [Value<'a>]) -> R) -> R {
        self.list.change_items(change)
    }

    /// The list.
    #[must_use]
    pub fn finish(self) -> Value<'a> {
        Value::List(Rc::new(self.list))
    }

    /// The items as a sequence that can be iterated once.
    #[must_use]
    pub fn finish_once(self) -> Value<'a> {
        Value::Once(Rc::new(self.list))
    }

    /// The items as the keys, values or items of a map, as `role` says.
    #[must_use]
    pub fn finish_view(self, kind: ListKind) -> Value<'a> {
        self.list.set_kind(kind);
        Value::View(Rc::new(self.list))
    }

    /// A key and the list of its items, as a tuple with named parts.
    #[must_use]
    pub fn finish_group(self) -> Value<'a> {
        self.list.set_kind(ListKind::Group);
        Value::Tuple(Rc::new(self.list))
    }

    /// The items as a tuple.
    #[must_use]
    pub fn finish_tuple(self) -> Value<'a> {
        Value::Tuple(Rc::new(self.list))
    }
}

/// A map that is being built.
#[derive(Debug)]
pub struct MapBuilder<'a> {
    map: Map<'a>,
    budget: &'a Budget,
}

impl<'a> MapBuilder<'a> {
    /// Inserts an entry. It replaces an older one, or is added at the end.
    ///
    /// # Errors
    /// A limit is reached, or `key` cannot be a key.
    pub fn insert(&mut self, key: Value<'a>, value: Value<'a>) -> Result<()> {
        self.budget.charge_steps(1)?;
        self.map.insert(key, value)
    }

    /// The value under `key` so far.
    ///
    /// # Errors
    /// `key` cannot be a key.
    pub fn get(&self, key: &Value<'a>) -> Result<Option<Value<'a>>> {
        self.map.get(key)
    }

    /// The map.
    #[must_use]
    pub fn finish(self) -> Value<'a> {
        Value::Map(Rc::new(self.map))
    }

    /// The entries as a namespace.
    #[must_use]
    pub fn finish_namespace(self) -> Value<'a> {
        Value::Namespace(Rc::new(self.map))
    }
}

/// The keys and values of a map, in order.
#[derive(Debug)]
pub struct Entries<'h, 'a> {
    heap: &'h Heap<'a>,
    value: Value<'a>,
    /// The entries of a map of the caller, which has no access by index.
    borrowed: Option<serde_json::map::Iter<'a>>,
    next: usize,
}

impl<'a> Iterator for Entries<'_, 'a> {
    type Item = (Value<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(entries) = &mut self.borrowed {
            let (key, value) = entries.next()?;
            return Some((Value::Lit(key), self.heap.current_version(Value::Json(value))));
        }
        self.next += 1;
        self.heap.entry_at(&self.value, self.next - 1)
    }
}
