//! An append-only list with stable references to its items.
//!
//! Everything that a render borrows has one lifetime, which starts before the render. Objects that are loaded
//! *during* the render (an included template, the result of a call) are pushed into this list, which is
//! created before that lifetime starts, and borrowed from it.

use std::{
    cell::{Cell, OnceCell},
    fmt,
};

/// Slots of the first bucket; each further bucket has twice as many.
const FIRST: usize = 8;
const BUCKETS: usize = 28;

/// An append-only list that hands out references while it grows.
pub struct Keep<T> {
    /// Allocated with the first item, because most renders load nothing.
    buckets: OnceCell<Box<Buckets<T>>>,
    len: Cell<usize>,
}

type Buckets<T> = [OnceCell<Box<[OnceCell<T>]>>; BUCKETS];

impl<T> Keep<T> {
    /// Creates an empty list without allocating.
    #[must_use]
    pub fn new() -> Self {
        Self { buckets: OnceCell::new(), len: Cell::new(0) }
    }

    /// Adds an item and returns it.
    pub fn push(&self, item: T) -> &T {
        let index = self.len.get();
        let (bucket, slot) = place(index);
        let buckets = self.buckets.get_or_init(|| Box::new([const { OnceCell::new() }; BUCKETS]));
        let slots = buckets[bucket].get_or_init(|| (0..FIRST << bucket).map(|_| OnceCell::new()).collect());
        self.len.set(index + 1);
        slots[slot].get_or_init(|| item)
    }

    /// The item at `index`, in the order of pushing.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (bucket, slot) = place(index);
        self.buckets.get()?.get(bucket)?.get()?.get(slot)?.get()
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items in the order of pushing, including those pushed during the iteration.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        (0..).map_while(|index| self.get(index))
    }
}

/// The bucket and the slot in it of an index.
fn place(index: usize) -> (usize, usize) {
    let bucket = (index / FIRST + 1).ilog2() as usize;
    (bucket, index - FIRST * ((1 << bucket) - 1))
}

impl<T> Default for Keep<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Keep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_where_they_are_while_the_list_grows() {
        let keep = Keep::new();
        let first: &String = keep.push("first".to_owned());
        for n in 1..10_000 {
            assert_eq!(keep.push(n.to_string()), &n.to_string());
        }
        assert_eq!(first, "first");
        assert_eq!(keep.len(), 10_000);
        assert_eq!(keep.get(9_999).map(String::as_str), Some("9999"));
        assert_eq!(keep.get(10_000), None);
        assert!(keep.iter().skip(1).zip(1..).all(|(item, n)| *item == n.to_string()));
    }
}
