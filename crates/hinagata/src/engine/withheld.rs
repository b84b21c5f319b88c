//! Warnings about permissions that are withheld from Python in an untrusted workspace or library.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use hinagata_catalog::{PromptHome, withheld_error};

use super::rendered::Warning;

/// The code from which permissions are withheld.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Declarer {
    /// The prompt that is rendered, of an untrusted workspace or library.
    Prompt(PromptHome),
    /// The provider of a namespace.
    Provider(String),
}

/// The permissions that one render withheld, recorded where it happens, so that every such run has a warning.
#[derive(Default)]
pub(super) struct Withheld(Mutex<BTreeSet<(Declarer, Vec<String>)>>);

impl Withheld {
    /// Records that `declarer` runs without `names`, unless empty.
    pub(super) fn note(&self, declarer: Declarer, names: &[&str]) {
        if !names.is_empty() {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            // The lock is held for this line, which cannot panic halfway.
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((declarer, names));
        }
    }

    /// Takes the warnings about withheld permissions.
    pub(super) fn take_warnings(&self) -> Vec<Warning> {
        let noted = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let warning = |(declarer, names): (Declarer, Vec<String>)| match declarer {
            Declarer::Prompt(home) => Warning::new("trust", withheld_error(&home, "its hooks get", &names)),
            Declarer::Provider(namespace) => {
                let who = format!("the provider `{namespace}` gets");
                let error = withheld_error(&PromptHome::Workspace, &who, &names);
                Warning::new(format!("provider {namespace}"), error)
            }
        };
        noted.into_iter().map(warning).collect()
    }
}
