//! The findings about prompts and documents: what `hina doctor` reports, for callers over HTTP.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use hinagata::{
    Catalog, Code, Diagnostic, Engine, Error, Reach, Reason, Severity,
    store::{StoreChange, StoreKind, StorePrompts, StoreSnapshot, Stored, StoredMap, check_change},
};
use serde_json::{Value, json};

use crate::problem::Problem;

/// The findings about the documents of the store, checked once for each state of it: every template is parsed, which
/// takes long in a large store.
#[derive(Default)]
pub(crate) struct StoreFindings(Mutex<Option<CheckedStore>>);

struct CheckedStore {
    extensions: Arc<StoredMap>,
    templates: Arc<StoredMap>,
    found: Arc<Vec<Diagnostic>>,
}

impl CheckedStore {
    fn new(store: &StoreSnapshot) -> Self {
        let (extensions, templates) = (Arc::clone(&store.extensions), Arc::clone(&store.templates));
        let of_kind = |kind: StoreKind| {
            store.documents(kind).iter().filter_map(move |(id, stored)| {
                let change = StoreChange::set(kind, &**id, (*stored.value).clone());
                let error = check_change(&change).err()?;
                Some(Diagnostic::error(store_source(stored), error))
            })
        };
        let found = of_kind(StoreKind::Extension).chain(of_kind(StoreKind::Template)).collect();
        Self { extensions, templates, found: Arc::new(found) }
    }

    fn is_for(&self, store: &StoreSnapshot) -> bool {
        Arc::ptr_eq(&self.extensions, &store.extensions) && Arc::ptr_eq(&self.templates, &store.templates)
    }
}

impl StoreFindings {
    /// The findings about `store`. The lock is held meanwhile, so that callers at the same time check it once.
    fn check_store(&self, store: &StoreSnapshot) -> Arc<Vec<Diagnostic>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let checked = match known.take().filter(|checked| checked.is_for(store)) {
            Some(checked) => checked,
            None => CheckedStore::new(store),
        };
        Arc::clone(&known.insert(checked).found)
    }

    /// The documents of `store` with errors, by source. It may take long, so it belongs on a blocking thread.
    pub(crate) fn broken_sources(&self, store: &StoreSnapshot) -> HashSet<String> {
        self.check_store(store).iter().map(|found| found.source.clone()).collect()
    }
}

fn store_source(stored: &Stored) -> String {
    format!("store:{}", stored.key)
}

/// All findings of the workspace and its store, sorted by source. It reads every prompt.
#[must_use]
pub fn workspace_findings(engine: &Engine) -> Vec<Diagnostic> {
    list_findings(engine, &StoreFindings::default(), &[], None)
}

/// All findings of the workspace and its store that a caller with `reach` may see, sorted by source; `checked` are those
/// of the check of all prompts. It reads every prompt, so it belongs on a blocking thread.
pub(crate) fn list_findings(
    engine: &Engine,
    cache: &StoreFindings,
    checked: &[Diagnostic],
    reach: Option<&Reach>,
) -> Vec<Diagnostic> {
    let (catalog, store) = (engine.catalog(), engine.store().unwrap_or_default());
    let mut all = catalog.check();
    all.extend(engine.tool_diagnostics());
    all.extend(cache.check_store(&store).iter().cloned());
    all.extend(checked.iter().cloned());
    // The sort is stable: where two checks report the same, the first one decides the severity.
    all.sort_by(|a, b| (&a.source, a.error.message()).cmp(&(&b.source, b.error.message())));
    all.dedup_by(|a, b| a.source == b.source && a.error.message() == b.error.message());
    if let Some(reach) = reach {
        let documents = documents_by_source(&store);
        all.retain(|found| is_reached(reach, found, &catalog, &documents));
        all.iter_mut().for_each(hide_dependence);
    }
    all
}

type Documents<'s> = HashMap<String, (StoreKind, &'s str, &'s Value)>;

fn documents_by_source(store: &StoreSnapshot) -> Documents<'_> {
    let of_kind = |kind: StoreKind| {
        let all = store.documents(kind).iter();
        all.map(move |(id, stored)| (store_source(stored), (kind, &**id, &*stored.value)))
    };
    StoreKind::ALL.into_iter().flat_map(of_kind).collect()
}

/// Whether the finding is about a prompt or document that the caller can use. Findings about anything else, such as a
/// pack or a key of the store that is not a document, are for callers who can use everything.
fn is_reached(reach: &Reach, found: &Diagnostic, catalog: &Catalog, documents: &Documents<'_>) -> bool {
    if let Some((kind, id, value)) = documents.get(found.source.as_str()) {
        return reach.has_document(*kind, id, value);
    }
    if let Some(environ) = found.error.details().get("environ").and_then(Value::as_str) {
        return reach.has_environ(environ);
    }
    catalog.entry_at(&found.source).is_some_and(|entry| reach.has_prompt(entry.id().as_str()))
}

/// Removes which other extension is missing, or which versions of it exist: the caller cannot use it.
fn hide_dependence(found: &mut Diagnostic) {
    if found.error.reason() == Some(Reason::Dependence) {
        found.error = Error::new(Code::NotFound, "a dependence of the extension is not met")
            .with_reason(Reason::Dependence);
    }
}

/// Why prompts of a document that a caller with `reach` wrote cannot be used, or not as its author may expect.
pub(crate) fn document_findings(
    engine: &Engine,
    (kind, id, value): (StoreKind, &str, &Value),
    reach: Option<&Reach>,
) -> Vec<Diagnostic> {
    let store = engine.store().unwrap_or_default();
    let stored = store.documents(kind).get(id).cloned().unwrap_or_else(|| Stored::new(id, value.clone()));
    let mut found = StorePrompts::from_document(kind, id, &stored, &store).diagnostics;
    let source = store_source(&stored);
    found.extend(store.diagnostics.iter().filter(|found| found.source == source).cloned());
    if kind == StoreKind::Tool {
        found.extend(engine.tool_diagnostics().into_iter().filter(|found| found.source == source));
    }
    if reach.is_some() {
        found.iter_mut().for_each(hide_dependence);
    }
    found
}

/// The finding as JSON.
pub(crate) fn finding_json(found: &Diagnostic) -> Value {
    let mut all = Problem::from(&found.error).to_json();
    if let Some(members) = all.as_object_mut() {
        for name in ["type", "title", "status"] {
            members.remove(name);
        }
        if let Some(message) = members.remove("detail") {
            members.insert("message".to_owned(), message);
        }
    }
    all["severity"] = severity_name(found.severity).into();
    all["source"] = json!(found.source);
    all
}

/// The name of a severity in queries and answers.
pub(crate) const fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
