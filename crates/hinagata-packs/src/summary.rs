//! A pack in the list of packs.

use hinagata_catalog::{Approval, Catalog, PackId, PackKind};
use serde::Serialize;

use super::view::View;

/// A pack in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackSummary {
    /// The name of its directory.
    pub pack_id: PackId,
    /// The display name.
    pub name: Option<String>,
    /// The version in its `pack.json`; `None` if that file is invalid.
    pub version: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Its main content.
    pub kind: PackKind,
    /// The state of its approval.
    pub state: Approval,
    /// Whether the catalog uses it.
    pub active: bool,
}

impl PackSummary {
    pub(super) fn from_view(catalog: &Catalog, view: &View<'_>) -> Self {
        let manifest = view.manifest.as_ref().ok();
        Self {
            pack_id: view.id().clone(),
            name: manifest.and_then(|manifest| manifest.name.clone()),
            version: manifest.map(|manifest| manifest.version.clone()),
            description: manifest.and_then(|manifest| manifest.description.clone()),
            kind: view.kind(),
            state: catalog.approval(view.id()),
            active: catalog.is_active(view.id()),
        }
    }
}
