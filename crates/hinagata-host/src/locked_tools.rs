//! Tools whose servers must state the schemas that were locked.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hinagata::{
    Diagnostic, Result,
    ports::{PortFuture, Tool, ToolDocuments, ToolSet, Tools},
};
use serde_json::Value;

use crate::lock_guard::LockGuard;

/// Asks the server of a tool for its schema before the first call, and refuses to call it where the lock has another one.
pub(crate) struct LockedTools {
    inner: Arc<dyn Tools>,
    lock: Arc<LockGuard>,
    current: Mutex<Option<Arc<LockedSet>>>,
}

impl LockedTools {
    pub(crate) fn new(inner: Arc<dyn Tools>, lock: Arc<LockGuard>) -> Self {
        Self { inner, lock, current: Mutex::default() }
    }
}

impl Tools for LockedTools {
    fn tool_set(&self, documents: &[ToolDocuments]) -> Arc<dyn ToolSet> {
        let inner = self.inner.tool_set(documents);
        let mut current = lock_mutex(&self.current);
        if let Some(known) = current.as_ref().filter(|known| Arc::ptr_eq(&known.inner, &inner)) {
            return Arc::clone(known) as Arc<dyn ToolSet>;
        }
        let set = Arc::new(LockedSet { inner, lock: Arc::clone(&self.lock), checked: Mutex::default() });
        *current = Some(Arc::clone(&set));
        set
    }
}

struct LockedSet {
    inner: Arc<dyn ToolSet>,
    lock: Arc<LockGuard>,
    /// The tools whose schemas are the locked ones.
    checked: Mutex<BTreeSet<String>>,
}

impl LockedSet {
    async fn check_schema(&self, name: &str) -> Result<()> {
        let Some(id) = self.inner.tools().get(name).map(|tool| &tool.id) else { return Ok(()) };
        let check = self.lock.check();
        if !check.lock().tool_schemas.contains_key(id) || lock_mutex(&self.checked).contains(id) {
            return Ok(());
        }
        let schema = self.inner.server_schema(name).await?;
        if let Some(drift) = check.schema_drift(id, schema.as_ref()) {
            return Err(drift.to_error());
        }
        lock_mutex(&self.checked).insert(id.clone());
        Ok(())
    }
}

impl ToolSet for LockedSet {
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>> {
        self.inner.tools()
    }

    fn call_tool<'a>(&'a self, name: &'a str, arguments: Value) -> PortFuture<'a, Result<Value>> {
        Box::pin(async move {
            self.check_schema(name).await?;
            self.inner.call_tool(name, arguments).await
        })
    }

    fn server_schema<'a>(&'a self, name: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
        self.inner.server_schema(name)
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        self.inner.diagnostics()
    }
}

/// The data of a mutex that is held for lines that cannot panic.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
