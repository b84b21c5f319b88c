//! Log lines about a store: one for each change of its condition, and one for each document that becomes invalid.
//!
//! Lines contain addresses, keys and reasons, but no values and no passwords.

use std::collections::HashSet;

use hinagata::{Code, Diagnostic, Reason, Severity, store::StoreHealth};

/// Maximum lines about documents for one change of the store.
const MAX_LINES: usize = 20;

/// The log of a store.
#[derive(Debug)]
pub(crate) struct StoreLog {
    /// The address in the lines. A store without one is not logged.
    name: Option<String>,
    /// It has no server that could be away: opening and closing it are no news.
    is_file: bool,
    condition: Option<Condition>,
    was_up: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Condition {
    Up,
    Down(Option<Reason>),
    /// It lost documents; the message names their kinds.
    Emptied(String),
}

/// A change of the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConditionChange {
    Connected,
    Reconnected,
    Refilled,
    Lost,
    Unavailable,
    PasswordRefused,
    Emptied,
}

impl StoreLog {
    /// The log of the server at the address `name`, which contains no password.
    #[cfg(feature = "redis")]
    pub(crate) fn for_server(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), is_file: false, condition: None, was_up: false }
    }

    /// The log of the store in the file `name`.
    pub(crate) fn for_file(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), is_file: true, condition: None, was_up: false }
    }

    /// No log.
    pub(crate) const fn silent() -> Self {
        Self { name: None, is_file: false, condition: None, was_up: false }
    }

    /// Logs the health if its condition changed.
    pub(crate) fn record_health(&mut self, health: &StoreHealth) {
        let change = self.next_change(health);
        let (Some(store), Some(change)) = (&self.name, change) else { return };
        let changes = health.freshness.as_str();
        let outage = health.outage.as_ref().map(|(_, error)| error);
        let reason = health.reason().map_or("", Reason::as_str);
        let error = outage.map_or("", |error| error.message());
        match change {
            ConditionChange::Connected if self.is_file => tracing::debug!(%store, "store opened"),
            ConditionChange::Connected => tracing::info!(%store, changes, "store connected"),
            ConditionChange::Reconnected => tracing::info!(%store, changes, "store reconnected"),
            ConditionChange::Refilled => tracing::info!(%store, "store has documents again"),
            ConditionChange::Lost => tracing::warn!(%store, reason, error, "store lost"),
            ConditionChange::Unavailable => tracing::warn!(%store, reason, error, "store unavailable"),
            ConditionChange::PasswordRefused => {
                tracing::warn!(%store, reason, error, "store refused the password");
            }
            ConditionChange::Emptied => tracing::warn!(%store, reason, error, "store emptied"),
        }
    }

    /// The change of the condition, if there is one.
    fn next_change(&mut self, health: &StoreHealth) -> Option<ConditionChange> {
        let condition = match &health.outage {
            None => Condition::Up,
            Some((_, error)) if error.reason() == Some(Reason::Emptied) => {
                Condition::Emptied(error.message().to_owned())
            }
            // Not by its message: that may change with every attempt.
            Some((_, error)) => Condition::Down(error.reason()),
        };
        if self.condition.as_ref() == Some(&condition) {
            return None;
        }
        let before = self.condition.replace(condition);
        let was_up = self.was_up;
        self.was_up |= health.is_up();
        Some(match (before, self.condition.as_ref()?) {
            (Some(Condition::Emptied(_)), Condition::Up) => ConditionChange::Refilled,
            (_, Condition::Up) if was_up => ConditionChange::Reconnected,
            (_, Condition::Up) => ConditionChange::Connected,
            (_, Condition::Emptied(_)) => ConditionChange::Emptied,
            (_, Condition::Down(Some(Reason::Password))) => ConditionChange::PasswordRefused,
            (Some(Condition::Up | Condition::Emptied(_)), Condition::Down(_)) => ConditionChange::Lost,
            (_, Condition::Down(_)) => ConditionChange::Unavailable,
        })
    }

    /// Logs the documents that became invalid or valid again.
    pub(crate) fn record_documents(&self, before: &[Diagnostic], now: &[Diagnostic]) {
        let Some(store) = &self.name else { return };
        if before.is_empty() && now.is_empty() {
            return;
        }
        let known: HashSet<(&str, Code)> = before.iter().map(problem).collect();
        let new: Vec<&Diagnostic> = now.iter().filter(|found| !known.contains(&problem(found))).collect();
        for found in new.iter().take(MAX_LINES) {
            let key = key(found).escape_debug();
            match found.severity {
                Severity::Error => {
                    tracing::warn!(%store, %key, reason = found.error.message(), "document is invalid");
                }
                // Its message may quote the document.
                _ => {
                    let reason = found.error.reason().map_or(found.error.code().as_str(), Reason::as_str);
                    tracing::warn!(%store, %key, reason, "document is doubtful");
                }
            }
        }
        if new.len() > MAX_LINES {
            tracing::warn!(%store, count = new.len() - MAX_LINES, "more documents are invalid");
        }
        let left: HashSet<&str> = now.iter().map(key).collect();
        let healed: HashSet<&str> = before.iter().map(key).filter(|key| !left.contains(key)).collect();
        for key in healed.iter().take(MAX_LINES) {
            tracing::info!(%store, key = %key.escape_debug(), "document is valid again or gone");
        }
    }
}

impl Drop for StoreLog {
    fn drop(&mut self) {
        match (&self.name, &self.condition) {
            (Some(store), Some(_)) if self.is_file => tracing::debug!(%store, "store closed"),
            (Some(store), Some(_)) => tracing::info!(%store, "store stopped"),
            _ => {}
        }
    }
}

fn problem(found: &Diagnostic) -> (&str, Code) {
    (key(found), found.error.code())
}

/// The key that a diagnostic is about.
fn key(found: &Diagnostic) -> &str {
    found.source.strip_prefix("store:").unwrap_or(&found.source)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use hinagata::{Error, store::Freshness};

    use super::*;

    fn down(reason: Reason, message: &str) -> StoreHealth {
        let error = Error::new(Code::Store, message).with_reason(reason);
        let outage = Some((SystemTime::UNIX_EPOCH, error));
        StoreHealth { outage, freshness: Freshness::Tracked, ..StoreHealth::default() }
    }

    #[test]
    fn every_change_is_reported_once() {
        let mut log = StoreLog::silent();
        let up = StoreHealth::default();
        let steps = [
            (down(Reason::Unreachable, "refused"), Some(ConditionChange::Unavailable)),
            (down(Reason::Unreachable, "refused"), None),
            (down(Reason::Unreachable, "timed out"), None),
            (down(Reason::Password, "WRONGPASS"), Some(ConditionChange::PasswordRefused)),
            (up.clone(), Some(ConditionChange::Connected)),
            (up.clone(), None),
            (down(Reason::Unreachable, "closed"), Some(ConditionChange::Lost)),
            (down(Reason::Unreachable, "refused"), None),
            (up.clone(), Some(ConditionChange::Reconnected)),
            (down(Reason::Emptied, "templates and environs"), Some(ConditionChange::Emptied)),
            (down(Reason::Emptied, "templates and environs"), None),
            (down(Reason::Emptied, "templates"), Some(ConditionChange::Emptied)),
            (up, Some(ConditionChange::Refilled)),
        ];
        for (number, (health, wanted)) in steps.into_iter().enumerate() {
            assert_eq!(log.next_change(&health), wanted, "step {number}");
        }
    }
}
