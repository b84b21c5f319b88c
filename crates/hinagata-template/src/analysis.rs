//! Static analysis of templates, in one form for both languages.

mod graph;

pub use graph::{Graph, GraphUse, GraphVariable, analyze_graph};

use std::sync::Arc;

use hinagata_value::analysis::Analysis;

use crate::{Template, structure::NAMES, template::Body};

/// Whether a template can produce messages: it calls `role`, `media` or `resource`, or has a `message` block.
#[must_use]
pub fn has_structure(analysis: &Analysis) -> bool {
    !analysis.roles.is_empty() || analysis.functions.iter().any(|used| NAMES.contains(&used.name.as_str()))
}

impl Template {
    /// What the template reads, uses and defines. It is computed with the first call, from the compiled tree,
    /// and shared by all clones of the compiled template.
    #[must_use]
    pub fn analysis(&self) -> &Arc<Analysis> {
        match self.body() {
            Body::Jinja(template) => template.analysis(),
            Body::Go(go) => go.analysis(self.name()),
        }
    }
}
