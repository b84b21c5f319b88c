//! The contents of a store by key, and the snapshots made from them.
//!
//! The reasons are in `docs/design/store-snapshots.md`.

use std::{collections::BTreeMap, sync::Arc};

use hinagata::{
    Code, Diagnostic, Error, Reason,
    store::{StoreHealth, StoreKind, StoreSnapshot, Stored, StoredMap, check_shape},
};
use serde_json::Value;

use crate::{keys::KeyLayout, log::StoreLog};

/// Maximum bytes of a value.
pub(crate) const MAX_VALUE_BYTES: usize = 8 << 20;

/// The content of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawValue<'a> {
    /// The key does not exist.
    Missing,
    /// A string, which should be JSON.
    Text(&'a [u8]),
    /// Another Redis type, such as a hash. `None` if the server does not tell which.
    #[cfg_attr(not(any(feature = "redis", test)), expect(dead_code, reason = "a file holds texts alone"))]
    Other(Option<&'a str>),
}

/// The contents of a store.
#[derive(Debug)]
pub(crate) struct StoreState {
    keys: KeyLayout,
    kinds: [Documents; StoreKind::ALL.len()],
    health: StoreHealth,
    health_changed: bool,
    /// Whether the source was read at least once.
    was_read: bool,
    log: StoreLog,
}

#[derive(Debug, Default)]
struct Documents {
    by_key: BTreeMap<Arc<str>, KeyEntry>,
    changed: bool,
    /// Whether the source lost all of them at once, so that the last state stays.
    is_retained: bool,
    diagnostics: Vec<Diagnostic>,
}

/// The state of one key.
#[derive(Debug, Default)]
struct KeyEntry {
    /// The last valid value.
    value: Option<Arc<Value>>,
    /// Why the current content is invalid.
    error: Option<Arc<Error>>,
}

impl StoreState {
    pub(crate) fn new(keys: KeyLayout, log: StoreLog) -> Self {
        let health = StoreHealth::default();
        Self { keys, kinds: Default::default(), health, health_changed: false, was_read: false, log }
    }

    pub(crate) fn keys(&self) -> &KeyLayout {
        &self.keys
    }

    /// The number of keys.
    #[cfg(feature = "redis")]
    pub(crate) fn key_count(&self) -> usize {
        self.kinds.iter().map(|documents| documents.by_key.len()).sum()
    }

    /// Applies the current content of `key`. Foreign keys are ignored.
    pub(crate) fn apply_value(&mut self, key: &str, raw: RawValue<'_>) {
        let Some((kind, rest)) = self.keys.parse_key(key) else { return };
        let documents = &mut self.kinds[kind as usize];
        let value = match raw {
            RawValue::Missing => {
                documents.changed |= documents.by_key.remove(key).is_some();
                documents.is_retained &= !documents.by_key.is_empty();
                return;
            }
            RawValue::Other(found) => Err(wrong_type_error(found)),
            RawValue::Text(text) => parse_document(kind, rest, text),
        };
        let entry = documents.by_key.entry(key.into()).or_default();
        match value {
            Ok(value) => {
                if entry.error.is_none() && entry.value.as_deref() == Some(&value) {
                    return;
                }
                *entry = KeyEntry { value: Some(Arc::new(value)), error: None };
            }
            Err(error) => {
                if entry.error.as_ref().is_some_and(|known| known.message() == error.message()) {
                    return;
                }
                entry.error = Some(Arc::new(error));
            }
        }
        documents.changed = true;
    }

    /// Removes every key that is not in `present`, which is sorted.
    pub(crate) fn retain(&mut self, present: &[String]) {
        for documents in self.kinds.iter_mut().filter(|documents| !documents.is_retained) {
            let before = documents.by_key.len();
            documents
                .by_key
                .retain(|key, _| present.binary_search_by(|known| known.as_str().cmp(key)).is_ok());
            documents.changed |= documents.by_key.len() != before;
        }
    }

    /// As [`StoreState::retain`], but a kind that lost all documents at once keeps them until it has documents again.
    ///
    /// They were lost, not deleted, if nothing at all is left, or if more than one document is missing.
    #[cfg(feature = "redis")]
    pub(crate) fn retain_unless_lost(&mut self, present: &[String]) {
        let is_present = |key: &str| present.binary_search_by(|known| known.as_str().cmp(key)).is_ok();
        let current = self.kinds.iter().filter(|documents| !documents.is_retained);
        let missing =
            current.flat_map(|documents| documents.by_key.keys()).filter(|key| !is_present(key)).count();
        let is_loss = present.is_empty() || missing > 1;
        let mut has_documents = [false; StoreKind::ALL.len()];
        for (kind, _) in present.iter().filter_map(|key| self.keys.parse_key(key)) {
            has_documents[kind as usize] = true;
        }
        for (documents, has_documents) in self.kinds.iter_mut().zip(has_documents) {
            let has_none = !has_documents && !documents.by_key.is_empty();
            documents.is_retained = has_none && (documents.is_retained || is_loss);
        }
        self.retain(present);
    }

    /// The kinds whose last state stays because the source lost it.
    #[cfg(feature = "redis")]
    pub(crate) fn retained_kinds(&self) -> Vec<StoreKind> {
        StoreKind::ALL.into_iter().filter(|kind| self.kinds[*kind as usize].is_retained).collect()
    }

    /// Whether `key` belongs to a kind whose last state stays.
    #[cfg(feature = "redis")]
    pub(crate) fn is_retained(&self, key: &str) -> bool {
        self.keys.parse_key(key).is_some_and(|(kind, _)| self.kinds[kind as usize].is_retained)
    }

    /// Updates the health of the store.
    pub(crate) fn set_health(&mut self, mut health: StoreHealth) {
        self.was_read |= health.is_up();
        health.is_unread = !self.was_read;
        let same = self.health.freshness == health.freshness
            && match (&self.health.outage, &mut health.outage) {
                (None, None) => true,
                (Some((since, known)), Some((start, now))) => {
                    *start = *since;
                    known.message() == now.message()
                }
                _ => false,
            };
        self.log.record_health(&health);
        if !same {
            self.health = health;
            self.health_changed = true;
        }
    }

    pub(crate) fn health(&self) -> &StoreHealth {
        &self.health
    }

    /// The snapshot after `before`, if anything changed.
    pub(crate) fn next_snapshot(&mut self, before: &StoreSnapshot) -> Option<StoreSnapshot> {
        let mut snapshot = before.clone();
        let mut any = std::mem::take(&mut self.health_changed);
        snapshot.health = self.health.clone();
        for kind in StoreKind::ALL {
            let documents = &mut self.kinds[kind as usize];
            if std::mem::take(&mut documents.changed) {
                any = true;
                let known = std::mem::take(&mut documents.diagnostics);
                snapshot = snapshot.with_documents(kind, documents.by_id(kind, &self.keys));
                self.log.record_documents(&known, &documents.diagnostics);
            }
        }
        if !any {
            return None;
        }
        let found = self.kinds.iter().flat_map(|documents| documents.diagnostics.iter().cloned());
        snapshot.diagnostics = Arc::new(found.collect());
        Some(snapshot)
    }
}

impl Documents {
    /// The documents by id. Problems with keys become diagnostics.
    fn by_id(&mut self, kind: StoreKind, keys: &KeyLayout) -> StoredMap {
        let mut all = StoredMap::new();
        for (key, entry) in &self.by_key {
            let rest = keys.parse_key(key).map_or(&**key, |(_, rest)| rest);
            // Marks diagnostics of shared variables, so that renders that read them can report them.
            let about = |error: Error| match kind {
                StoreKind::Environ => error.with("environ", rest),
                // An unknown prompt is explained by it.
                StoreKind::Template => error.with("prompts", vec![rest.replace(':', ".")]),
                StoreKind::Extension | StoreKind::Tool => error,
            };
            let mut report =
                |error: Error| self.diagnostics.push(Diagnostic::error(format!("store:{key}"), about(error)));
            if let Some(error) = &entry.error {
                report(stale_error(error, entry.value.is_some()));
            }
            let Some(value) = &entry.value else { continue };
            match kind.id_from_key(rest) {
                Err(error) => report(error),
                Ok(id) if all.contains_key(&id) => report(
                    Error::new(
                        Code::Conflict,
                        format!("another key has the same id `{id}` and takes precedence"),
                    )
                    .with_hint("rename one of the keys"),
                ),
                Ok(id) => {
                    // Tools are checked by their caller.
                    let doubt = match kind {
                        StoreKind::Extension => check_shape(kind, &id, value).err(),
                        StoreKind::Environ => hinagata::warn_of_long_number(&id, value),
                        _ => None,
                    };
                    let warning = |error| Diagnostic::warning(format!("store:{key}"), about(error));
                    self.diagnostics.extend(doubt.map(warning));
                    let stored =
                        Stored { key: Arc::clone(key), value: Arc::clone(value), stale: entry.error.clone() };
                    all.insert(id, stored);
                }
            }
        }
        all
    }
}

/// The error of a key that holds no string.
fn wrong_type_error(found: Option<&str>) -> Error {
    let message = match found {
        Some(found) => format!("the key has the type {found}, not string"),
        None => "the key does not hold a string".to_owned(),
    };
    Error::definition(Reason::WrongType, message).with_hint("store the document as a JSON string")
}

/// The error of an invalid value, with what is used instead.
fn stale_error(error: &Error, has_good: bool) -> Error {
    let used = if has_good { "its last valid value is used" } else { "it is ignored" };
    let stale = Error::new(error.code(), format!("{error}; {used}")).with("stale", has_good);
    match error.hint() {
        Some(hint) => stale.with_hint(hint),
        None => stale,
    }
}

/// Parses a document.
fn parse_document(kind: StoreKind, rest: &str, text: &[u8]) -> Result<Value, Error> {
    if text.len() > MAX_VALUE_BYTES {
        let message = format!("the value has {} bytes; the limit is {MAX_VALUE_BYTES}", text.len());
        return Err(Error::definition(Reason::TooLarge, message));
    }
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        Error::definition(Reason::Json, format!("invalid JSON: {error}"))
            .with_hint("write a string in quotes, such as \"go\"")
    })?;
    if kind != StoreKind::Environ && !value.is_object() {
        let message = format!("`{rest}` must be an object that describes {}", kind.article());
        return Err(Error::definition(Reason::NoMap, message));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::DEFAULT_PREFIX;

    fn state() -> StoreState {
        StoreState::new(KeyLayout::new(DEFAULT_PREFIX), StoreLog::silent())
    }

    fn text(value: &str) -> RawValue<'_> {
        RawValue::Text(value.as_bytes())
    }

    #[test]
    fn an_invalid_value_keeps_the_last_valid_one_and_is_reported() {
        let mut state = state();
        state.apply_value("shenma:environs:a", text("1"));
        state.apply_value("shenma:environs:b", text("go"));
        let first = state.next_snapshot(&StoreSnapshot::default()).expect("something changed");
        assert_eq!((*first.tree).clone(), json!({"a": 1}));
        assert_eq!(first.diagnostics.len(), 1);
        assert!(first.diagnostics[0].error.message().contains("it is ignored"), "{:?}", first.diagnostics);

        state.apply_value("shenma:environs:a", RawValue::Other(Some("hash")));
        let second = state.next_snapshot(&first).expect("something changed");
        assert_eq!((*second.tree).clone(), json!({"a": 1}));
        assert!(second.environs["a"].stale.is_some());
        assert_eq!(second.diagnostics.len(), 2);
        let of_environs = |found: &Diagnostic| found.error.details().contains_key("environ");
        assert!(second.diagnostics.iter().all(of_environs), "{:?}", second.diagnostics);

        state.apply_value("shenma:environs:a", text("2"));
        state.apply_value("shenma:environs:b", text("\"go\""));
        let third = state.next_snapshot(&second).expect("something changed");
        assert_eq!((*third.tree).clone(), json!({"a": 2, "b": "go"}));
        assert!(third.diagnostics.is_empty() && third.environs["a"].stale.is_none());
    }

    #[test]
    fn an_integer_beyond_64_bits_is_reported() {
        let mut state = state();
        state.apply_value("shenma:environs:a", text("[18446744073709551615, 1.5]"));
        state.apply_value("shenma:environs:b", text("{\"n\": 18446744073709551616}"));
        let first = state.next_snapshot(&StoreSnapshot::default()).expect("something changed");
        let [found] = first.diagnostics.as_slice() else { panic!("{:?}", first.diagnostics) };
        assert_eq!(found.source, "store:shenma:environs:b");
        assert!(found.error.message().contains("exceeds 64 bits"), "{found:?}");
    }

    #[test]
    fn unchanged_documents_are_shared() {
        let mut state = state();
        state.apply_value("shenma:environs:a", text("1"));
        state.apply_value("shenma:templates:t", text(r#"{"prompt": "hello"}"#));
        let first = state.next_snapshot(&StoreSnapshot::default()).expect("something changed");
        state.apply_value("shenma:environs:a", text(" 1 "));
        assert!(state.next_snapshot(&first).is_none(), "the same value in another spelling");
        state.apply_value("shenma:environs:a", text("2"));
        let second = state.next_snapshot(&first).expect("something changed");
        assert!(Arc::ptr_eq(&first.templates, &second.templates));
        assert!(!Arc::ptr_eq(&first.environs, &second.environs));
    }

    #[test]
    fn the_first_key_with_an_id_takes_precedence() {
        let mut state = state();
        state.apply_value("shenma:environs:a:b", text("\"colon\""));
        state.apply_value("shenma:environs:a.b", text("\"dot\""));
        let snapshot = state.next_snapshot(&StoreSnapshot::default()).expect("something changed");
        assert_eq!(*snapshot.environs["a.b"].value, json!("dot"));
        assert_eq!(snapshot.diagnostics.len(), 1);
        assert_eq!(&*snapshot.environs["a.b"].key, "shenma:environs:a.b");
    }

    #[test]
    fn missing_keys_are_removed_and_foreign_keys_ignored() {
        let mut state = state();
        for key in ["shenma:environs:a", "shenma:environs:b", "shenma:other:c", "x"] {
            state.apply_value(key, text("1"));
        }
        let first = state.next_snapshot(&StoreSnapshot::default()).expect("something changed");
        assert_eq!((*first.tree).clone(), json!({"a": 1, "b": 1}));
        state.retain(&["shenma:environs:b".to_owned(), "x".to_owned()]);
        assert_eq!((*state.next_snapshot(&first).expect("changed").tree).clone(), json!({"b": 1}));
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_kind_that_lost_all_documents_keeps_them_until_it_has_new_ones() {
        let all = ["environs:a", "environs:b", "templates:s", "templates:t", "tools:x"];
        let full = || {
            let mut state = state();
            all.iter().for_each(|key| state.apply_value(&format!("shenma:{key}"), text("{}")));
            state
        };
        let read = |state: &mut StoreState, present: &[&str]| {
            let present: Vec<String> = present.iter().map(|key| format!("shenma:{key}")).collect();
            state.retain_unless_lost(&present);
            present.iter().for_each(|key| state.apply_value(key, text("{}")));
            let kinds: Vec<&str> = state.retained_kinds().into_iter().map(StoreKind::as_str).collect();
            (state.key_count(), kinds.join(" "))
        };
        let mut state = full();
        assert_eq!(read(&mut state, &[]), (5, "templates environs tools".to_owned()));
        assert_eq!(read(&mut state, &["environs:new"]), (4, "templates tools".to_owned()));
        // A kind that is retained stays so, whatever happens to others.
        assert_eq!(read(&mut state, &["environs:new"]), (4, "templates tools".to_owned()));
        assert_eq!(read(&mut state, &["environs:new", "tools:x"]), (4, "templates".to_owned()));
        // Deleting retained documents one by one is meant.
        state.apply_value("shenma:templates:s", RawValue::Missing);
        assert_eq!(read(&mut state, &["environs:new", "tools:x"]), (3, "templates".to_owned()));
        state.apply_value("shenma:templates:t", RawValue::Missing);
        assert_eq!(read(&mut state, &["environs:new", "tools:x"]), (2, String::new()));

        // The write of another program arrives before the flush is noticed.
        assert_eq!(read(&mut full(), &["environs:a"]), (4, "templates tools".to_owned()));
        // One missing document was deleted, even if it was the last of its kind.
        assert_eq!(read(&mut full(), &all[..4]), (4, String::new()));
    }

    #[test]
    fn hostile_keys_and_values_are_reported() {
        let mut state = state();
        let deep = format!("shenma:environs:{}", vec!["a"; 100].join(":"));
        let nested = "[".repeat(1_000);
        for (key, value) in [
            (deep.as_str(), "1"),
            ("shenma:environs:", "1"),
            ("shenma:environs:a::b", "1"),
            ("shenma:environs:nested", nested.as_str()),
            ("shenma:templates:t", "[]"),
            ("shenma:tools:t", "\"text\""),
        ] {
            state.apply_value(key, text(value));
        }
        let snapshot = state.next_snapshot(&StoreSnapshot::default()).expect("something changed");
        assert_eq!((*snapshot.tree).clone(), json!({}));
        assert_eq!(snapshot.diagnostics.len(), 6, "{:#?}", snapshot.diagnostics);
    }
}
