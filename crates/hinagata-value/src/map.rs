//! Produced maps: insertion order, any hashable key, exact accounting.

use std::{
    cell::{Cell, RefCell},
    fmt,
    hash::{BuildHasher, Hash, Hasher},
    sync::LazyLock,
};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{
    Budget, Error, Kind, Number, Result, Value,
    list::drop_all,
    metered::{grow_to, rc_size},
};

/// Maps up to this size are searched linearly.
const SCAN: usize = 8;

/// One seed per process, so that an author cannot choose keys that collide.
static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// A produced map or namespace.
pub struct Map<'a> {
    budget: &'a Budget,
    table: RefCell<Table<'a>>,
    /// Whether the heap has recorded this map as a possible part of a cycle.
    pub(crate) noted: Cell<bool>,
}

#[derive(Default)]
struct Table<'a> {
    entries: Vec<Entry<'a>>,
    /// Positions in `entries` by hash; empty while the map is small.
    index: HashTable<u32>,
}

struct Entry<'a> {
    hash: u64,
    key: Value<'a>,
    value: Value<'a>,
}

const ENTRY: usize = size_of::<Entry<'_>>();

impl<'a> Map<'a> {
    pub(crate) fn new(budget: &'a Budget) -> Result<Self> {
        budget.charge_bytes(rc_size::<Self>())?;
        Ok(Self { budget, table: RefCell::default(), noted: Cell::new(false) })
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.borrow().entries.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under the string `key`; a long key is owed to the budget.
    #[must_use]
    pub fn get_str(&self, key: &str) -> Option<Value<'a>> {
        self.budget.owe_text(key);
        let table = self.table.borrow();
        let at = table.find(|| hash_str(key), |other| other.as_str() == Some(key))?;
        Some(table.entries[at].value.clone())
    }

    /// The value of `key`. 1, 1.0 and true are the same key, as in Python.
    ///
    /// # Errors
    /// `key` cannot be a key, waits for a call, or the steps for hashing it are used up.
    pub fn get(&self, key: &Value<'a>) -> Result<Option<Value<'a>>> {
        let hash = hash_key(key, self.budget)?;
        let table = self.table.borrow();
        Ok(table.find(|| hash, |other| same_key(other, key)).map(|at| table.entries[at].value.clone()))
    }

    /// The key and value at `index`, in insertion order.
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<(Value<'a>, Value<'a>)> {
        let table = self.table.borrow();
        table.entries.get(index).map(|entry| (entry.key.clone(), entry.value.clone()))
    }

    /// Stores `value` under `key`. It replaces an older one, or is added at the end.
    pub(crate) fn insert(&self, key: Value<'a>, value: Value<'a>) -> Result<()> {
        let hash = hash_key(&key, self.budget)?;
        let mut table = self.table.borrow_mut();
        if let Some(at) = table.find(|| hash, |other| same_key(other, &key)) {
            let old = std::mem::replace(&mut table.entries[at].value, value);
            drop(table);
            drop(old);
            return Ok(());
        }
        table.make_room(self.budget)?;
        let at = table.entries.len();
        table.entries.push(Entry { hash, key, value });
        table.add_to_index(at, self.budget)
    }

    /// Removes the entry of `key`. Later entries move up.
    pub(crate) fn remove(&self, key: &Value<'a>) -> Result<Option<Value<'a>>> {
        let hash = hash_key(key, self.budget)?;
        let mut table = self.table.borrow_mut();
        let Some(at) = table.find(|| hash, |other| same_key(other, key)) else { return Ok(None) };
        self.budget.charge_steps(table.entries.len() as u64)?;
        let entry = table.entries.remove(at);
        table.rebuild_index();
        drop(table);
        Ok(Some(entry.value))
    }

    /// Removes the last entry.
    pub(crate) fn pop(&self) -> Option<(Value<'a>, Value<'a>)> {
        let mut table = self.table.borrow_mut();
        let entry = table.entries.pop()?;
        let at = table.entries.len();
        if at <= SCAN {
            // The index is rebuilt when the map grows again.
            table.index.clear();
        } else if let Ok(slot) = table.index.find_entry(entry.hash, |&other| other as usize == at) {
            slot.remove();
        }
        Some((entry.key, entry.value))
    }

    pub(crate) fn clear(&self) {
        let entries = {
            let mut table = self.table.borrow_mut();
            table.index.clear();
            let capacity = table.entries.capacity();
            self.budget.release_bytes(capacity * ENTRY);
            std::mem::take(&mut table.entries)
        };
        drop_all(entries.into_iter().flat_map(|entry| [entry.key, entry.value]).collect());
    }

    /// Moves all keys and values to a list of values to drop.
    pub(crate) fn take_into(&mut self, work: &mut Vec<Value<'a>>) {
        let table = std::mem::take(self.table.get_mut());
        self.budget.release_bytes(table.extent());
        work.extend(table.entries.into_iter().flat_map(|entry| [entry.key, entry.value]));
    }
}

impl Table<'_> {
    fn extent(&self) -> usize {
        self.entries.capacity() * ENTRY + self.index.allocation_size()
    }

    #[inline]
    fn find(&self, hash: impl FnOnce() -> u64, same: impl Fn(&Value<'_>) -> bool) -> Option<usize> {
        if self.entries.len() <= SCAN {
            return self.entries.iter().position(|entry| same(&entry.key));
        }
        let entries = &self.entries;
        self.index.find(hash(), |&at| same(&entries[at as usize].key)).map(|&at| at as usize)
    }

    fn make_room(&mut self, budget: &Budget) -> Result<()> {
        let capacity = self.entries.capacity();
        if self.entries.len() == capacity {
            grow_to(&mut self.entries, (capacity * 2).max(4), budget)?;
        }
        if u32::try_from(self.entries.len()).is_err() {
            return Err(Error::runtime("a map cannot hold more than 4 294 967 295 entries"));
        }
        Ok(())
    }

    fn add_to_index(&mut self, at: usize, budget: &Budget) -> Result<()> {
        let first = match self.entries.len() {
            ..=SCAN => return Ok(()),
            len if len == SCAN + 1 => 0,
            _ => at,
        };
        let Self { entries, index } = self;
        let before = index.allocation_size();
        // The growth of the table is only known afterwards, so an entry over the limit stays and is charged.
        index.reserve(entries.len() - first, |&at| entries[at as usize].hash);
        let charged = budget.charge_allocated(index.allocation_size() - before);
        for at in first..entries.len() {
            index.insert_unique(entries[at].hash, at as u32, |&at| entries[at as usize].hash);
        }
        charged
    }

    fn rebuild_index(&mut self) {
        let Self { entries, index } = self;
        index.clear();
        if entries.len() > SCAN {
            for (at, entry) in entries.iter().enumerate() {
                index.insert_unique(entry.hash, at as u32, |&at| entries[at as usize].hash);
            }
        }
    }
}

impl Drop for Map<'_> {
    fn drop(&mut self) {
        self.budget.release_bytes(rc_size::<Self>());
        let mut work = Vec::new();
        self.take_into(&mut work);
        drop_all(work);
    }
}

impl fmt::Debug for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map of {}", self.len())
    }
}

/// A key for hashing and comparing. Equal numbers of any type are the same key.
#[derive(PartialEq, Hash)]
enum Scalar<'v> {
    None,
    /// All undefined values are one key.
    Undefined,
    Int(i128),
    Float(u64),
    Text(&'v str),
    Bytes(&'v [u8]),
    Identity(usize),
}

impl Scalar<'_> {
    /// The steps of hashing and comparing it, beyond the one of the operation.
    fn steps(&self) -> u64 {
        let bytes = match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        bytes as u64 >> 6
    }
}

fn scalar<'v>(value: &'v Value<'_>) -> Option<Scalar<'v>> {
    if let Some(text) = value.as_str() {
        return Some(Scalar::Text(text));
    }
    if let Some(flag) = value.as_bool() {
        return Some(Scalar::Int(i128::from(flag)));
    }
    Some(match (value.kind(), value.as_number()) {
        (_, Some(Number::Int(int))) => Scalar::Int(int),
        (_, Some(Number::Float(float))) => match whole_number(float) {
            Some(int) => Scalar::Int(int),
            None => Scalar::Float(float.to_bits()),
        },
        (Kind::None, _) => Scalar::None,
        (Kind::Undefined, _) => Scalar::Undefined,
        (Kind::Bytes, _) => Scalar::Bytes(value.as_bytes()?),
        (Kind::Engine, _) => match value {
            Value::Engine(handle) => Scalar::Identity(handle.index as usize * 256 + handle.kind as usize),
            _ => return None,
        },
        _ => return None,
    })
}

/// The integer that is equal to the float, if any.
fn whole_number(float: f64) -> Option<i128> {
    let limit = 2_f64.powi(127);
    (float.fract() == 0.0 && (-limit..limit).contains(&float)).then_some(float as i128)
}

fn hash_str(text: &str) -> u64 {
    HASHER.hash_one(Scalar::Text(text))
}

/// The hash of a key. Tuples are hashed item by item, without recursion.
fn hash_key(key: &Value<'_>, budget: &Budget) -> Result<u64> {
    if let Some(scalar) = scalar(key) {
        budget.charge_steps(scalar.steps())?;
        return Ok(HASHER.hash_one(scalar));
    }
    let mut hasher = HASHER.build_hasher();
    let mut work = vec![key.clone()];
    while let Some(value) = work.pop() {
        budget.charge_steps(1)?;
        if let Some(scalar) = scalar(&value) {
            budget.charge_steps(scalar.steps())?;
            scalar.hash(&mut hasher);
        } else if let Value::Tuple(items) = &value {
            items.len().hash(&mut hasher);
            items.with_items(|items| work.extend_from_slice(items));
        } else if value.is_pending() {
            return Err(Error::suspended());
        } else {
            return Err(Error::runtime(format!("{} cannot be a key", kind_name(value.kind())))
                .with_hint("keys are strings, numbers, true, false, none, or tuples of these"));
        }
    }
    Ok(hasher.finish())
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::List => "a list",
        Kind::Map => "a map",
        Kind::Namespace => "a namespace",
        _ => "a value of this kind",
    }
}

/// Whether two keys are the same. Both were hashed, so they contain only hashable values.
fn same_key(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (scalar(a), scalar(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => same_tuple(a, b),
        _ => false,
    }
}

fn same_tuple(a: &Value<'_>, b: &Value<'_>) -> bool {
    let mut work = vec![(a.clone(), b.clone())];
    while let Some((a, b)) = work.pop() {
        match (&a, &b) {
            (Value::Tuple(left), Value::Tuple(right)) => {
                if left.len() != right.len() {
                    return false;
                }
                left.with_items(|left| {
                    right.with_items(|right| work.extend(left.iter().cloned().zip(right.iter().cloned())));
                });
            }
            _ if scalar(&a).is_some() && scalar(&a) == scalar(&b) => {}
            _ => return false,
        }
    }
    true
}
