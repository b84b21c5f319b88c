//! What Python does not get in a workspace that the user does not trust, and how that is told.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use hinagata_catalog::untrusted_error;

use super::rendered::Warning;

/// Whose Python does not get everything that it declares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Declarer {
    /// The prompt that is rendered.
    Prompt,
    /// The provider of a namespace.
    Provider(String),
}

/// What one render withheld: noted where it happens, so that nothing runs with less than it declares in silence.
#[derive(Default)]
pub(super) struct Withheld(Mutex<BTreeSet<(Declarer, Vec<String>)>>);

impl Withheld {
    /// Notes that `declarer` runs without `names`, if there are any.
    pub(super) fn note(&self, declarer: Declarer, names: &[&str]) {
        if !names.is_empty() {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            // The lock is held for this line, which cannot panic halfway.
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((declarer, names));
        }
    }

    /// The warnings about everything that was noted.
    pub(super) fn take_warnings(&self) -> Vec<Warning> {
        let noted = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let warning = |(declarer, names): (Declarer, Vec<String>)| match declarer {
            Declarer::Prompt => Warning::new("trust", untrusted_error("its hooks get", &names)),
            Declarer::Provider(namespace) => {
                let error = untrusted_error(&format!("the provider `{namespace}` gets"), &names);
                Warning::new(format!("provider {namespace}"), error)
            }
        };
        noted.into_iter().map(warning).collect()
    }
}
