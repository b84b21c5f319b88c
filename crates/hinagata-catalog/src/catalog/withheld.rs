//! Permissions that Python does not get in an untrusted workspace.

use hinagata_document::{Code, Diagnostic, Error, Hint, Reason};
use hinagata_workspace::permissions_needing_trust;

use super::Catalog;
use crate::{definition::Definition, source::Index};

/// The error for the permissions `names` that are withheld from `who`, such as "its hooks get".
#[must_use]
pub fn untrusted_error(who: &str, names: &[impl AsRef<str>]) -> Error {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    Error::new(Code::Approval, format!("the workspace is not trusted, so {who} no `{}`", names.join("`, `")))
        .with_reason(Reason::Untrusted)
        .with("withheld", names)
        .with_hint(Hint::TrustWorkspace)
}

impl Catalog {
    /// Warnings about permissions that prompts and packs declare and do not get while the workspace is untrusted.
    #[must_use]
    pub fn withheld_permissions(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        for entry in self.roots().iter().flat_map(Index::iter) {
            let definition = entry.definition().ok().filter(|_| self.is_usable(entry));
            let names = definition.as_deref().map(withheld_from_hooks).unwrap_or_default();
            if !names.is_empty() {
                found.push(Diagnostic::warning(entry.source(), untrusted_error("its hooks get", &names)));
            }
        }
        for pack in self.active_packs() {
            for provider in pack.manifest().iter().flat_map(|manifest| &manifest.providers) {
                let names = permissions_needing_trust(provider.permissions());
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
    permissions_needing_trust(definition.permissions.granted_names().filter(|_| definition.hooks.has_any()))
}
