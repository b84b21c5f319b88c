//! A line of the list of packs.

use hinagata_catalog::{Approval, Catalog, PackId, PackKind};
use serde::Serialize;

use super::view::View;

/// A pack in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackSummary {
    /// The name of its directory.
    pub pack_id: PackId,
    /// A name for people.
    pub name: Option<String>,
    /// The version that its `pack.json` says; `None` when that is broken.
    pub version: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// What it mainly brings.
    pub kind: PackKind,
    /// What the user said about it.
    pub state: Approval,
    /// Whether what it brings is used.
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
