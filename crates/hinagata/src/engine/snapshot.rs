//! One state of the workspace, and what was prepared from it.
//!
//! The reasons are in `docs/design/snapshots.md`.

use std::{
    hash::Hash,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use hashbrown::HashMap;
use hinagata_catalog::Narrowed;

use super::plan::Plan;
use crate::{Agent, Catalog, Reach, Result, store::StoreSnapshot};

/// A catalog, with the plans of the prompts that were used last.
pub(super) struct Snapshot {
    pub(super) catalog: Catalog,
    pub(super) plans: Recent<Box<str>, Arc<Plan>>,
    agents: Recent<Box<str>, Result<Option<Arc<Agent>>>>,
    /// The same state as callers have it who reach some of it, with plans of their own.
    views: Narrowed<Arc<Self>>,
    capacity: usize,
}

impl Snapshot {
    pub(super) fn new(catalog: Catalog, capacity: usize) -> Self {
        let (plans, agents) = (Recent::new(capacity), Recent::new(capacity));
        Self { catalog, plans, agents, views: Narrowed::default(), capacity }
    }

    /// The same state as far as `reach` goes.
    pub(super) fn within(&self, reach: &Arc<Reach>) -> Arc<Self> {
        self.views.get(reach, |_| true, || Arc::new(Self::new(self.catalog.within(reach), self.capacity)))
    }

    /// Whether the prompts of `store` are those of the catalog.
    pub(super) fn has_prompts_of(&self, store: &StoreSnapshot) -> bool {
        self.catalog.store().is_some_and(|known| known.has_same_prompts(store))
    }

    /// The agent called `id`, read once.
    pub(super) fn agent(&self, id: &str) -> Result<Option<Arc<Agent>>> {
        if let Some(known) = self.agents.get(id) {
            return known;
        }
        let read = self.catalog.agent(id).map(|agent| agent.map(Arc::new));
        self.agents.insert(id.into(), read.clone());
        read
    }
}

/// The entries that were used last; the one used longest ago goes first.
pub(super) struct Recent<K, V> {
    capacity: usize,
    clock: AtomicU64,
    entries: RwLock<HashMap<K, (V, AtomicU64)>>,
}

impl<K: Hash + Eq + Clone, V: Clone> Recent<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), clock: AtomicU64::new(0), entries: RwLock::default() }
    }

    pub(super) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let (value, used) = entries.get(key)?;
        used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(value.clone())
    }

    pub(super) fn insert(&self, key: K, value: V) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if !entries.contains_key(&key) && entries.len() >= self.capacity {
            let oldest = entries.iter().min_by_key(|(_, (_, used))| used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                entries.remove(&oldest);
            }
        }
        entries.insert(key, (value, AtomicU64::new(now)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let recent: Recent<&str, u8> = Recent::new(2);
        recent.insert("a", 1);
        recent.insert("b", 2);
        assert_eq!(recent.get("a"), Some(1));
        recent.insert("c", 3);
        assert_eq!((recent.get("a"), recent.get("b"), recent.get("c")), (Some(1), None, Some(3)));
        recent.insert("c", 4);
        assert_eq!((recent.get("a"), recent.get("c")), (Some(1), Some(4)));
    }
}
