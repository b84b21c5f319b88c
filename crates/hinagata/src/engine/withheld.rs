//! What Python does not get in a workspace that the user does not trust, and how that is told.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use hinagata_workspace::needing_trust;

use super::rendered::Warning;
use crate::{Catalog, Code, Diagnostic, Error, definition::Definition};

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

fn untrusted_error(who: &str, names: &[impl AsRef<str>]) -> Error {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    Error::new(Code::Approval, format!("the workspace is not trusted, so {who} no `{}`", names.join("`, `")))
        .with("reason", "untrusted")
        .with("withheld", names)
        .with_hint("read its code and settings, then run `hina trust`")
}

impl Catalog {
    /// What the Python of usable prompts and packs declares and does not get while the user does not trust the workspace.
    #[must_use]
    pub fn withheld_permissions(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        for entry in self.roots().iter().flat_map(crate::source::Index::iter) {
            let definition = entry.definition().ok().filter(|_| self.is_usable(entry));
            let names = definition.as_deref().map(withheld_from_hooks).unwrap_or_default();
            if !names.is_empty() {
                found.push(Diagnostic::warning(entry.source(), untrusted_error("its hooks get", &names)));
            }
        }
        for pack in self.active_packs() {
            for provider in pack.manifest().iter().flat_map(|manifest| &manifest.providers) {
                let names = needing_trust(provider.permissions());
                if !names.is_empty() {
                    let who = format!("the provider `{}` gets", provider.namespace);
                    let file = format!("{}/{}", pack.path(), provider.file);
                    found.push(Diagnostic::warning(file, untrusted_error(&who, &names)));
                }
            }
        }
        found
    }
}

fn withheld_from_hooks(definition: &Definition) -> Vec<&str> {
    needing_trust(definition.permissions.granted().filter(|_| definition.hooks.any()))
}
