//! Lists of prompts, and which of them are wanted.

use std::sync::Arc;

use hinagata_document::Result;

use crate::{Catalog, PromptId, definition::Definition, source::Index};

/// A line of the list of prompts.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The id.
    pub id: PromptId,
    /// What the chosen directory declares; an error when it is broken or nothing is chosen.
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

/// Which prompts of a list are wanted; what is not said is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptFilter {
    /// The type.
    pub kind: Option<String>,
    /// Tags, all of them.
    pub tags: Vec<String>,
    /// The scene that it is made for, or that it says nothing about.
    pub supports: Option<String>,
    /// The programming language that it is made for, or that it says nothing about.
    pub language: Option<String>,
}

impl PromptFilter {
    /// Whether it is one of them. A prompt that cannot be read is one as long as nothing is asked of it.
    #[must_use]
    pub fn matches_listing(&self, listing: &Listing) -> bool {
        let Ok(definition) = &listing.definition else { return *self == Self::default() };
        let metadata = &definition.metadata;
        self.kind.as_ref().is_none_or(|kind| *kind == metadata.kind)
            && self.tags.iter().all(|tag| metadata.tags.contains(tag))
            && Self::is_for(&definition.settings.supports, self.supports.as_deref())
            && Self::is_for(&definition.settings.languages, self.language.as_deref())
    }

    /// Whether something that `said` what it is made for is made for what is wanted: what says nothing is for everything.
    #[must_use]
    pub fn is_for(declared: &[String], wanted: Option<&str>) -> bool {
        wanted.is_none_or(|wanted| declared.is_empty() || declared.iter().any(|name| name == wanted))
    }
}
