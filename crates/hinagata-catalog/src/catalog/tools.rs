//! The tools of packs: one file each, `tools/<name>.json`.

use hinagata_document::{Diagnostic, Result, json};
use serde_json::Value;

use super::Catalog;
use crate::{
    Resolution,
    pack::Pack,
    tool_document::{ToolDocument, ToolDocuments},
};

/// The directory of tools in a pack.
const TOOLS: &str = "tools";

/// Largest definition of a tool, in bytes.
const LARGEST: u64 = 256 << 10;

/// The tools of packs.
#[derive(Clone, Debug, Default)]
pub struct PackTools {
    /// Tools that replace others, as the user chose.
    pub replacing: ToolDocuments,
    /// All tools by pack and name.
    pub own: ToolDocuments,
    /// Diagnostics of their files.
    pub(crate) found: Vec<Diagnostic>,
}

/// The tools of all active packs.
pub(crate) fn pack_tools(catalog: &Catalog) -> PackTools {
    let (mut all, mut found) = (Vec::new(), Vec::new());
    // The existence of the directory decides whether its pack must be checked.
    let with_tools = catalog.opened_packs().iter().filter(|pack| pack.has_directory(TOOLS));
    for pack in with_tools.filter(|pack| catalog.is_active(&pack.id)) {
        let names = names(pack).unwrap_or_else(|error| {
            found.push(Diagnostic::error(format!("{}/{TOOLS}", pack.path()), error));
            Vec::new()
        });
        for name in names {
            let origin = format!("{}/{TOOLS}/{name}.json", pack.path());
            match document(pack, &name, &origin) {
                Ok(Some(document)) => {
                    let id = format!("{}.{name}", pack.id);
                    all.push(ToolDocument { id, origin, document, replaces: false });
                }
                Ok(None) => {}
                Err(error) => found.push(Diagnostic::error(origin, error)),
            }
        }
    }
    let chosen = |(id, chosen): (&str, &Resolution)| {
        let own = all.iter().find(|own| own.origin == chosen.source)?;
        Some(ToolDocument { id: id.to_owned(), replaces: true, ..own.clone() })
    };
    let replacing = catalog.resolutions().tools().filter_map(chosen).collect();
    PackTools { replacing, own: all.into(), found }
}

/// The names of a pack's tools, in order.
fn names(pack: &Pack) -> Result<Vec<String>> {
    let files = pack.names_in(TOOLS)?.into_iter().filter(|name| !name.starts_with('.'));
    Ok(files.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect())
}

fn document(pack: &Pack, name: &str, origin: &str) -> Result<Option<Value>> {
    let text = pack.read(&format!("{TOOLS}/{name}.json"), LARGEST)?;
    text.map(|text| Ok(json::parse(origin, &text)?.to_value())).transpose()
}
