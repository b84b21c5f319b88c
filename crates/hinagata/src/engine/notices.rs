//! Warnings that every call of a prompt gets: unreadable files that may affect it, unknown names, and providers of
//! unapproved packs.

use std::cell::LazyCell;

use super::{late::active_namespaces, plan::Reads, rendered::Warning};
use crate::{
    Approval, Catalog, Code, Defaults, Error, Hint, ResolvedPrompt,
    definition::{Definition, Inherited},
};

/// The warnings for calls that requested `choice` as `asked`.
pub(super) fn notices(
    catalog: &Catalog,
    asked: &str,
    choice: &ResolvedPrompt,
    (inherited, defaults): (&Inherited, &Defaults),
    reads: &Reads,
) -> Vec<Warning> {
    let unread = catalog.unread_for(asked, choice).into_iter();
    let mut all: Vec<Warning> = unread.map(|found| Warning::new(found.source, found.error)).collect();
    let of = |definition: &Definition| {
        let warning = |error: &Error| Warning::new(definition.source.as_str(), error.clone());
        definition.warnings.iter().map(warning).collect::<Vec<_>>()
    };
    all.extend(std::iter::once(&inherited.definition).chain(&inherited.parents).flat_map(|one| of(one)));
    let file = format!("{}/defaults.json", crate::SHARED_PROMPTS);
    all.extend(defaults.warnings.iter().map(|error| Warning::new(file.as_str(), error.clone())));
    if let Some(manifest) = choice.entry.pack().and_then(|pack| catalog.manifest(pack).ok()?) {
        let about = |error: &Error| Warning::new(format!("pack {}", manifest_name(choice)), error.clone());
        all.extend(manifest.warnings.iter().map(about));
    }
    all.extend(unapproved_provider_warnings(catalog, reads, inherited));
    all
}

fn manifest_name(choice: &ResolvedPrompt) -> &str {
    choice.entry.pack().map_or("", |pack| pack.as_str())
}

/// Warnings about namespaces that a template reads and that only an unapproved pack provides.
fn unapproved_provider_warnings(catalog: &Catalog, reads: &Reads, inherited: &Inherited) -> Vec<Warning> {
    let mut all = Vec::new();
    // Needed only if a pack is not approved.
    let provided = LazyCell::new(|| active_namespaces(catalog));
    for pack in catalog.packs() {
        let state = catalog.approval(pack);
        // The user rejected it on purpose.
        if state == Approval::Rejected || catalog.is_active(pack) {
            continue;
        }
        let Ok(Some(manifest)) = catalog.manifest(pack) else { continue };
        let reached = |namespace: &str| {
            reads.roots_contain(namespace)
                && inherited.parameters.get(namespace).is_none()
                && !provided.contains(namespace)
        };
        for provider in manifest.providers.iter().filter(|provider| reached(&provider.namespace)) {
            let namespace = &provider.namespace;
            let message =
                format!("`{namespace}` is undefined, because the pack `{pack}` that provides it is {state}");
            let error = Error::new(Code::Approval, message)
                .with("pack_id", pack.as_str())
                .with_hint(Hint::ApprovePack { pack: pack.to_string() });
            all.push(Warning::new(format!("provider {namespace}"), error));
        }
    }
    all
}
