//! A snapshot with unsaved texts in the place of some files.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use super::{Catalog, Inner};
use crate::source::{Index, UnsavedTexts};

impl Catalog {
    /// The same snapshot with unsaved texts in the place of some files, by prefix of a source root and path beneath it.
    /// Of two source roots with one prefix, the first has the texts.
    #[must_use]
    pub fn with_unsaved(&self, mut texts: BTreeMap<String, UnsavedTexts>) -> Self {
        let before = &self.0;
        let replace = |index: &Index| match texts.remove(&index.root.prefix) {
            Some(texts) => index.with_unsaved(texts),
            None => index.clone(),
        };
        let roots = before.roots.iter().map(replace).collect();
        let inner = Arc::new(Inner {
            options: before.options.clone(),
            roots,
            foreign: before.foreign.clone(),
            named: before.named.clone(),
            packs: before.packs.clone(),
            shared: before.shared.clone(),
            opening: before.opening.clone(),
            vocabulary: before.vocabulary.clone(),
            // The files of both are in a source root.
            resolutions: OnceLock::new(),
            defaults: OnceLock::new(),
            tools: before.tools.clone(),
            stored: before.stored.clone(),
        });
        Self(inner, self.1.clone())
    }
}
