//! Changes of the workspace and of the store, published to all subscribers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use hinagata::{Catalog, definition::Definition, store::StoreKind, store::StoreSnapshot};
use tokio::sync::broadcast;

/// How many changes a slow subscriber may lag behind.
const CHANNEL_CAPACITY: usize = 256;

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// Prompts were added, removed or changed.
    Prompts { added: Vec<String>, removed: Vec<String>, changed: Vec<String> },
    /// Documents of the store changed.
    Store { kinds: Vec<StoreKind> },
    /// The store became unavailable or available again.
    Outage { up: bool },
}

/// Publishes changes to subscribers.
#[derive(Clone)]
pub(crate) struct Events(Arc<Inner>);

struct Inner {
    sender: Mutex<Option<broadcast::Sender<Arc<Change>>>>,
    prompts: Mutex<BTreeMap<String, Option<Arc<Definition>>>>,
    store: Mutex<Option<Arc<StoreSnapshot>>>,
}

impl Events {
    pub(crate) fn new() -> Self {
        let (sender, _) = broadcast::channel(CHANNEL_CAPACITY);
        Self(Arc::new(Inner {
            sender: Mutex::new(Some(sender)),
            prompts: Mutex::default(),
            store: Mutex::default(),
        }))
    }

    /// Receives all later changes; `None` when the daemon is stopping.
    pub(crate) fn subscribe(&self) -> Option<broadcast::Receiver<Arc<Change>>> {
        self.0
            .sender
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(broadcast::Sender::subscribe)
    }

    /// Ends all subscriptions.
    pub(crate) fn close(&self) {
        self.0.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn publish(&self, change: Change) {
        if let Some(sender) = &*self.0.sender.lock().unwrap_or_else(PoisonError::into_inner) {
            // An error only says that there are no subscribers.
            let _ = sender.send(Arc::new(change));
        }
    }

    /// Publishes the difference between `catalog` and the catalog before it.
    pub(crate) fn publish_catalog(&self, catalog: &Catalog) {
        let now: BTreeMap<String, Option<Arc<Definition>>> = catalog
            .list()
            .into_iter()
            .map(|listing| (listing.id.as_str().to_owned(), listing.definition.ok()))
            .collect();
        let before = std::mem::replace(
            &mut *self.0.prompts.lock().unwrap_or_else(PoisonError::into_inner),
            now.clone(),
        );
        let (added, kept): (Vec<_>, Vec<_>) = now.iter().partition(|(id, _)| !before.contains_key(*id));
        let is_same = |one: &Option<Arc<Definition>>, other: &Option<Arc<Definition>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.files == other.files,
            (one, other) => one.is_none() == other.is_none(),
        };
        let changed = kept.into_iter().filter(|(id, now)| !is_same(now, &before[*id]));
        let change = Change::Prompts {
            added: added.into_iter().map(|(id, _)| id.clone()).collect(),
            changed: changed.map(|(id, _)| id.clone()).collect(),
            removed: before.keys().filter(|id| !now.contains_key(*id)).cloned().collect(),
        };
        if !matches!(&change, Change::Prompts { added, removed, changed } if added.is_empty() && removed.is_empty() && changed.is_empty())
        {
            self.publish(change);
        }
    }

    /// Sets the state that later changes are compared with.
    pub(crate) fn set_baseline(&self, catalog: &Catalog, store: Option<Arc<StoreSnapshot>>) {
        self.publish_catalog(catalog);
        *self.0.store.lock().unwrap_or_else(PoisonError::into_inner) = store;
    }

    /// Publishes the difference between `store` and the snapshot before it. Returns whether prompts may have changed.
    pub(crate) fn publish_store(&self, store: &Arc<StoreSnapshot>) -> bool {
        let before = self.0.store.lock().unwrap_or_else(PoisonError::into_inner).replace(Arc::clone(store));
        let is_same = |kind: StoreKind| {
            before.as_ref().is_some_and(|before| Arc::ptr_eq(before.documents(kind), store.documents(kind)))
        };
        let kinds: Vec<StoreKind> = StoreKind::ALL.into_iter().filter(|kind| !is_same(*kind)).collect();
        if before.as_ref().is_some_and(|before| before.health.is_up() != store.health.is_up()) {
            self.publish(Change::Outage { up: store.health.is_up() });
        }
        let prompts = kinds.iter().any(|kind| matches!(kind, StoreKind::Extension | StoreKind::Template));
        if !kinds.is_empty() {
            self.publish(Change::Store { kinds });
        }
        prompts
    }
}
