//! State with many readers and few writers.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use hinagata::{
    ports::StoreListener,
    store::{StoreChange, StoreSnapshot},
};

use crate::state::StoreState;

/// The state of a store, its current snapshot, and its listeners.
pub(crate) struct SharedState {
    state: Mutex<StoreState>,
    current: ArcSwap<StoreSnapshot>,
    listeners: Mutex<Vec<StoreListener>>,
}

impl SharedState {
    pub(crate) fn new(state: StoreState) -> Self {
        Self {
            state: Mutex::new(state),
            current: ArcSwap::from_pointee(StoreSnapshot::default()),
            listeners: Mutex::default(),
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<StoreSnapshot> {
        self.current.load_full()
    }

    pub(crate) fn subscribe(&self, listener: StoreListener) {
        self.listeners().push(listener);
    }

    /// Changes the state. Readers see the whole change or nothing. Listeners are called in the order of changes.
    pub(crate) fn update_state<T>(&self, change: impl FnOnce(&mut StoreState) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut state);
        if let Some(snapshot) = state.next_snapshot(&self.current.load()) {
            let snapshot = Arc::new(snapshot);
            self.current.store(Arc::clone(&snapshot));
            // Locked before the state is released, so that listeners are called in order.
            let listeners = self.listeners();
            drop(state);
            listeners.iter().for_each(|listener| listener(&snapshot));
        }
        result
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<StoreListener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Converts changes to writes of keys. A document keeps its current key.
    pub(crate) fn key_writes(&self, changes: &[StoreChange]) -> Vec<KeyWrite> {
        let keys = self.state.lock().unwrap_or_else(PoisonError::into_inner).keys().clone();
        let current = self.current.load();
        // A key may be spelled with dots, and the write must replace the visible document.
        let key = |change: &StoreChange| match current.documents(change.kind).get(change.id.as_str()) {
            Some(stored) => stored.key.to_string(),
            None => keys.document_key(change.kind, &change.id),
        };
        let write = |change: &StoreChange| KeyWrite {
            key: key(change),
            text: change.value.as_ref().map(|value| value.to_string().into_bytes()),
        };
        changes.iter().map(write).collect()
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").finish_non_exhaustive()
    }
}

/// The new content of a key. `None` deletes it.
#[derive(Clone, Debug)]
pub(crate) struct KeyWrite {
    pub(crate) key: String,
    pub(crate) text: Option<Vec<u8>>,
}

impl KeyWrite {
    pub(crate) fn apply_to(&self, state: &mut StoreState) {
        use crate::state::RawValue;
        state.apply_value(&self.key, self.text.as_deref().map_or(RawValue::Missing, RawValue::Text));
    }
}
