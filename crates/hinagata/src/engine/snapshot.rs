//! A catalog with its cached plans.
//!
//! The reasons are in `docs/design/snapshots.md`.

use std::sync::Arc;

use hinagata_catalog::ReachCache;
use hinagata_value::BoundedCache;

use super::plan::Plan;
use crate::{Agent, Catalog, Reach, Result, store::StoreSnapshot};

/// A catalog with the plans of recently used prompts.
pub(super) struct Snapshot {
    pub(super) catalog: Catalog,
    pub(super) plans: BoundedCache<Box<str>, Arc<Plan>>,
    agents: BoundedCache<Box<str>, Result<Option<Arc<Agent>>>>,
    /// The same snapshot for each restricted reach, with separate plans.
    views: ReachCache<Arc<Self>>,
    capacity: usize,
}

impl Snapshot {
    pub(super) fn new(catalog: Catalog, capacity: usize) -> Self {
        let (plans, agents) = (BoundedCache::new(capacity), BoundedCache::new(capacity));
        Self { catalog, plans, agents, views: ReachCache::default(), capacity }
    }

    /// The same snapshot within `reach`.
    pub(super) fn with_reach(&self, reach: &Arc<Reach>) -> Arc<Self> {
        self.views.get(reach, |_| true, || Arc::new(Self::new(self.catalog.with_reach(reach), self.capacity)))
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
