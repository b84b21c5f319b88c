//! What a template needs and offers, without running it; in one form for both languages.

mod graph;

pub use graph::{Graph, GraphUse, GraphVariable, analyze_graph};

use std::sync::Arc;

use hinagata_value::analysis::Analysis;

use crate::{Template, structure::NAMES, template::Body};

/// Whether messages can come out of a template: it starts one, or puts in a picture or a resource, by the
/// names that these functions have.
#[must_use]
pub fn has_structure(analysis: &Analysis) -> bool {
    !analysis.roles.is_empty() || analysis.functions.iter().any(|used| NAMES.contains(&used.name.as_str()))
}

impl Template {
    /// What the template reads, uses and defines. Made with the first call, from the tree that was
    /// compiled, and shared by everything that shares the compiled template.
    #[must_use]
    pub fn analysis(&self) -> &Arc<Analysis> {
        match self.body() {
            Body::Jinja(template) => template.analysis(),
            Body::Go(go) => go.analysis(self.name()),
        }
    }
}
