//! What a Jinja template needs and offers, without running it.
//!
//! Names that the template binds itself are followed to where their value comes from, so that
//! `{% for t in tools %}{{ t.name }}` reads `tools` and `tools[].name`. Paths are followed through
//! attributes, subscripts, assignments, loops and the filters that pass items on. What a function
//! returns is unknown.

mod expression;
mod nodes;
mod scope;
mod statement;

use hinagata_value::analysis::Analysis;

use crate::{Source, ast::Template};

/// Analyses one template, whose text is `source`. Takes time and memory in proportion to its size.
#[must_use]
pub fn analyze_template(template: &Template, source: &Source) -> Analysis {
    statement::Walker::new(&template.body, source).template(&template.body)
}
