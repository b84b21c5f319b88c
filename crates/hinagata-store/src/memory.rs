//! A store that lives as long as its process.

use std::sync::Arc;

use hinagata::{
    Result,
    ports::{PortFuture, Store, StoreListener},
    store::{StoreChange, StoreSnapshot},
};

use crate::{keys::KeyLayout, log::StoreLog, shared::SharedState, state::StoreState};

/// A store in memory, for tests and for read-only environments.
#[derive(Debug)]
pub struct MemoryStore(SharedState);

impl MemoryStore {
    /// Creates an empty store whose keys start with `prefix`.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        Self(SharedState::new(StoreState::new(KeyLayout::new(prefix), StoreLog::silent())))
    }
}

impl Store for MemoryStore {
    fn snapshot(&self) -> Arc<StoreSnapshot> {
        self.0.snapshot()
    }

    fn write_changes(&self, changes: Vec<StoreChange>) -> PortFuture<'_, Result<()>> {
        Box::pin(async move {
            let writes = self.0.key_writes(&changes);
            self.0.update_state(|state| writes.iter().for_each(|write| write.apply_to(state)));
            Ok(())
        })
    }

    fn subscribe(&self, listener: StoreListener) {
        self.0.subscribe(listener);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future as _,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use hinagata::store::StoreKind;
    use serde_json::json;

    use super::*;
    use crate::{DEFAULT_PREFIX, state::RawValue};

    #[test]
    fn a_write_replaces_the_visible_document() {
        let store = MemoryStore::new(DEFAULT_PREFIX);
        store.0.update_state(|state| {
            state.apply_value("shenma:environs:a:b", RawValue::Text(b"1"));
            state.apply_value("shenma:environs:a.b", RawValue::Text(b"2"));
        });
        assert_eq!(*store.snapshot().environs["a.b"].value, json!(2));
        let write = pin!(store.write_changes(vec![StoreChange::set(StoreKind::Environ, "a.b", json!(3))]));
        assert!(matches!(write.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(()))));
        assert_eq!(*store.snapshot().environs["a.b"].value, json!(3));
    }
}
