//! A cache of bounded size that several threads share.

use std::{
    borrow::Borrow,
    fmt,
    hash::Hash,
    sync::{
        PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use hashbrown::HashMap;

/// A cache that drops the least recently used entry first.
///
/// A hit takes a read lock and records the time. Only an insertion into a full cache searches the oldest entry,
/// so that no order has to be maintained.
pub struct BoundedCache<K, V> {
    capacity: usize,
    /// Counts uses.
    clock: AtomicU64,
    entries: RwLock<HashMap<K, Entry<V>>>,
}

struct Entry<V> {
    value: V,
    used: AtomicU64,
}

impl<K: Hash + Eq + Clone, V: Clone> BoundedCache<K, V> {
    /// An empty cache of at most `capacity` entries, and at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), clock: AtomicU64::new(0), entries: RwLock::default() }
    }

    /// The value of `key`, which is marked as used.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entries = self.read();
        let entry = entries.get(key)?;
        entry.used.store(self.next_use(), Ordering::Relaxed);
        Some(entry.value.clone())
    }

    /// Stores `value` under `key`, and replaces an older value. Returns whether the entry of another key was dropped.
    pub fn insert(&self, key: K, value: V) -> bool {
        let used = AtomicU64::new(self.next_use());
        let mut entries = self.write();
        let is_full = self.make_room(&mut entries, &key);
        entries.insert(key, Entry { value, used });
        is_full
    }

    /// The value of `key`, which is marked as used. `make` creates a missing one.
    ///
    /// `make` runs under the lock, so it must be fast.
    pub fn get_or_insert_with(&self, key: &K, make: impl FnOnce() -> V) -> V {
        if let Some(value) = self.get(key) {
            return value;
        }
        let now = self.next_use();
        let mut entries = self.write();
        self.make_room(&mut entries, key);
        let entry =
            entries.entry(key.clone()).or_insert_with(|| Entry { value: make(), used: AtomicU64::new(0) });
        entry.used.store(now, Ordering::Relaxed);
        entry.value.clone()
    }

    /// Removes the entry of `key` if `test` returns true for its value.
    pub fn remove_if(&self, key: &K, test: impl FnOnce(&V) -> bool) {
        let mut entries = self.write();
        if entries.get(key).is_some_and(|entry| test(&entry.value)) {
            entries.remove(key);
        }
    }

    /// Removes the oldest entry if the cache is full and does not contain `key`. Returns whether it did.
    fn make_room(&self, entries: &mut HashMap<K, Entry<V>>, key: &K) -> bool {
        if entries.len() < self.capacity || entries.contains_key(key) {
            return false;
        }
        let oldest = entries.iter().min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
        let oldest = oldest.map(|(key, _)| key.clone());
        oldest.is_some_and(|oldest| entries.remove(&oldest).is_some())
    }
}

impl<K, V> BoundedCache<K, V> {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.write().clear();
    }

    fn next_use(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    // The map of a poisoned lock is complete: nothing panics in the middle of a change.

    fn read(&self) -> RwLockReadGuard<'_, HashMap<K, Entry<V>>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<K, Entry<V>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> fmt::Debug for BoundedCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedCache")
            .field("capacity", &self.capacity)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let cache: BoundedCache<&str, u8> = BoundedCache::new(2);
        assert!(!cache.insert("a", 1) && !cache.insert("b", 2));
        assert_eq!(cache.get("a"), Some(1));
        assert!(cache.insert("c", 3), "another one was dropped");
        assert_eq!((cache.get("a"), cache.get("b"), cache.get("c")), (Some(1), None, Some(3)));
        assert!(!cache.insert("c", 4), "replacing takes no place");
        assert_eq!((cache.get("a"), cache.get("c")), (Some(1), Some(4)));
    }

    #[test]
    fn a_value_is_made_once() {
        let cache: BoundedCache<&str, u8> = BoundedCache::new(1);
        assert_eq!(cache.get_or_insert_with(&"a", || 1), 1);
        assert_eq!(cache.get_or_insert_with(&"a", || 2), 1);
        assert_eq!(cache.get_or_insert_with(&"b", || 3), 3);
        assert_eq!((cache.get("a"), cache.len()), (None, 1));
    }

    #[test]
    fn an_entry_is_removed_only_where_the_test_holds() {
        let cache: BoundedCache<&str, u8> = BoundedCache::new(4);
        cache.insert("a", 1);
        cache.remove_if(&"a", |value| *value == 2);
        assert_eq!(cache.get("a"), Some(1));
        cache.remove_if(&"a", |value| *value == 1);
        assert!(cache.is_empty());
    }
}
