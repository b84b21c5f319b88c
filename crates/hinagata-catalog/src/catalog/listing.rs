//! Lists of prompts and filters for them.

use std::sync::Arc;

use hinagata_document::Result;

use crate::{Catalog, PromptId, definition::Definition, source::Index};

/// An item of the list of prompts.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The id.
    pub id: PromptId,
    /// The definition of the chosen candidate; an error when it is broken or in conflict.
    pub definition: Result<Arc<Definition>>,
}

impl Catalog {
    /// All prompts that may be used, in the order of their ids.
    #[must_use]
    pub fn list(&self) -> Vec<Listing> {
        let usable = self.roots().iter().flat_map(Index::iter).filter(|entry| self.is_usable(entry));
        let mut ids: Vec<&PromptId> =
            usable.map(|entry| entry.id()).filter(|id| self.reaches_prompt(id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let listing = |id: &PromptId| Listing {
            id: id.clone(),
            definition: self.choose_id(id).and_then(|choice| choice.entry.definition()),
        };
        ids.into_iter().map(listing).collect()
    }
}

/// A filter of a list of prompts; an empty field matches every prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptFilter {
    /// The type.
    pub kind: Option<String>,
    /// Tags; a prompt must have all of them.
    pub tags: Vec<String>,
    /// The scene; a prompt that declares none matches.
    pub supports: Option<String>,
    /// The programming language; a prompt that declares none matches.
    pub language: Option<String>,
}

impl PromptFilter {
    /// Whether the prompt matches. A prompt that cannot be read matches the empty filter only.
    #[must_use]
    pub fn matches_listing(&self, listing: &Listing) -> bool {
        let Ok(definition) = &listing.definition else { return *self == Self::default() };
        let metadata = &definition.metadata;
        self.kind.as_ref().is_none_or(|kind| *kind == metadata.kind)
            && self.tags.iter().all(|tag| metadata.tags.contains(tag))
            && Self::is_for(&definition.settings.supports, self.supports.as_deref())
            && Self::is_for(&definition.settings.languages, self.language.as_deref())
    }

    /// Whether a list of declared uses includes the wanted one; an empty list includes everything.
    #[must_use]
    pub fn is_for(declared: &[String], wanted: Option<&str>) -> bool {
        wanted.is_none_or(|wanted| declared.is_empty() || declared.iter().any(|name| name == wanted))
    }
}
