//! A catalog with its cached plans.
//!
//! The reasons are in `docs/design/snapshots.md`.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use hinagata_catalog::ReachCache;
use hinagata_value::BoundedCache;

use super::plan::Plan;
use crate::{Agent, Catalog, Reach, Result, ports::Guard, store::StoreSnapshot};

/// How often prompts were rendered with a cached plan.
#[derive(Debug, Default)]
pub(super) struct PlanCounts {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

impl PlanCounts {
    pub(super) fn record_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }
}

/// The cache of prepared prompts: their resolved definitions and compiled templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanCacheStats {
    /// The prompts in the cache, as a caller without a limited reach uses it.
    pub entries: usize,
    /// The most prompts that it holds: the setting `cache.templates`.
    pub limit: usize,
    /// Calls that found their prompt in it, since the engine was opened.
    pub hits: u64,
    /// Calls that prepared their prompt, since the engine was opened.
    pub misses: u64,
    /// Prompts that made room for others, since the engine was opened.
    pub evictions: u64,
}

/// A catalog with the plans of recently used prompts.
pub(super) struct Snapshot {
    pub(super) catalog: Catalog,
    pub(super) plans: BoundedCache<Box<str>, Arc<Plan>>,
    /// Counts over all snapshots of an engine.
    pub(super) counts: Arc<PlanCounts>,
    agents: BoundedCache<Box<str>, Result<Option<Arc<Agent>>>>,
    /// The same snapshot for each restricted reach, with separate plans.
    views: ReachCache<Arc<Self>>,
    capacity: usize,
    /// What the guard says about the catalog, once it was asked.
    guarded: OnceLock<Result<()>>,
}

impl Snapshot {
    pub(super) fn new(catalog: Catalog, capacity: usize, counts: Arc<PlanCounts>) -> Self {
        let (plans, agents) = (BoundedCache::new(capacity), BoundedCache::new(capacity));
        Self {
            catalog,
            plans,
            counts,
            agents,
            views: ReachCache::default(),
            capacity,
            guarded: OnceLock::new(),
        }
    }

    /// Asks the guard about the catalog, once.
    pub(super) fn check_guard(&self, guard: &dyn Guard) -> Result<()> {
        self.guarded.get_or_init(|| guard.check_catalog(&self.catalog.without_reach())).clone()
    }

    /// Caches a plan that had to be built.
    pub(super) fn insert_plan(&self, name: &str, plan: &Arc<Plan>) {
        self.counts.misses.fetch_add(1, Ordering::Relaxed);
        if self.plans.insert(name.into(), Arc::clone(plan)) {
            self.counts.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn plan_cache_stats(&self) -> PlanCacheStats {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let PlanCounts { hits, misses, evictions } = &*self.counts;
        PlanCacheStats {
            entries: self.plans.len(),
            limit: self.capacity,
            hits: count(hits),
            misses: count(misses),
            evictions: count(evictions),
        }
    }

    /// The same snapshot within `reach`.
    pub(super) fn with_reach(&self, reach: &Arc<Reach>) -> Arc<Self> {
        let view = || Self::new(self.catalog.with_reach(reach), self.capacity, Arc::clone(&self.counts));
        self.views.get(reach, |_| true, || Arc::new(view()))
    }

    /// Whether the prompts of `store` are those of the catalog.
    pub(super) fn has_prompts_of(&self, store: &StoreSnapshot) -> bool {
        self.catalog.store().is_some_and(|known| known.has_same_prompts(store))
    }

    /// The agent `id`. It is read once.
    pub(super) fn agent(&self, id: &str) -> Result<Option<Arc<Agent>>> {
        if let Some(known) = self.agents.get(id) {
            return known;
        }
        let read = self.catalog.agent(id).map(|agent| agent.map(Arc::new));
        self.agents.insert(id.into(), read.clone());
        read
    }
}
