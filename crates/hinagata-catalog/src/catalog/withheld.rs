//! Permissions that Python does not get in an untrusted workspace or library.

use hinagata_document::{Code, Diagnostic, Error, Hint, Reason};
use hinagata_workspace::permissions_needing_trust;

use super::{Catalog, Library, PromptHome};
use crate::{definition::Definition, source::Index};

/// The error for the permissions `names` that are withheld from `who`, such as "its hooks get", because `home` is not
/// trusted.
#[must_use]
pub fn withheld_error(home: &PromptHome, who: &str, names: &[impl AsRef<str>]) -> Error {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    untrusted_error(home, &format!("{who} no `{}`", names.join("`, `"))).with("withheld", names)
}

/// The error that `home` is not trusted, with the effect of that.
#[must_use]
pub fn untrusted_error(home: &PromptHome, effect: &str) -> Error {
    let (subject, hint) = match home {
        PromptHome::Workspace => ("the workspace".to_owned(), Hint::TrustWorkspace),
        PromptHome::Library(root) => {
            let path = root.display().to_string();
            (format!("the library `{path}`"), Hint::TrustLibrary { path })
        }
    };
    Error::new(Code::Approval, format!("{subject} is not trusted, so {effect}"))
        .with_reason(Reason::Untrusted)
        .with_hint(hint)
}

impl Catalog {
    /// Warnings about permissions that prompts and packs declare and do not get while `is_withheld` says so: `None` is the
    /// workspace itself.
    #[must_use]
    pub fn withheld_permissions(&self, is_withheld: impl Fn(Option<&Library>) -> bool) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        for entry in self.roots().iter().flat_map(Index::iter) {
            let library = self.library(entry.root());
            if !is_withheld(library) {
                continue;
            }
            let definition = entry.definition().ok().filter(|_| self.is_usable(entry));
            let names = definition.as_deref().map(withheld_from_hooks).unwrap_or_default();
            if !names.is_empty() {
                let home = library
                    .map_or(PromptHome::Workspace, |library| PromptHome::Library(library.root.clone()));
                let error = withheld_error(&home, "its hooks get", &names);
                found.push(Diagnostic::warning(entry.source(), error));
            }
        }
        let in_packs = is_withheld(None);
        for pack in self.active_packs().filter(|_| in_packs) {
            for provider in pack.manifest().iter().flat_map(|manifest| &manifest.providers) {
                let names = permissions_needing_trust(provider.permissions());
                if !names.is_empty() {
                    let who = format!("the provider `{}` gets", provider.namespace);
                    let file = format!("{}/{}", pack.path(), provider.file);
                    let error = withheld_error(&PromptHome::Workspace, &who, &names);
                    found.push(Diagnostic::warning(file, error));
                }
            }
        }
        found
    }
}

fn withheld_from_hooks(definition: &Definition) -> Vec<&str> {
    permissions_needing_trust(definition.permissions.granted_names().filter(|_| definition.hooks.has_any()))
}
