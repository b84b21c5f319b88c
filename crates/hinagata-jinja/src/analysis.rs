//! Static analysis: what a Jinja template reads and defines, without running it.
//!
//! A name that the template binds is followed to the data that it was bound to, so that
//! `{% for t in tools %}{{ t.name }}` reads `tools` and `tools[].name`. Paths are followed through
//! attributes, subscripts, assignments, loops and filters that return items of their input. The result of a
//! function is unknown.

mod expression;
mod nodes;
mod scope;
mod statement;

use hinagata_value::analysis::Analysis;

use crate::{Source, ast::Template};

/// Analyses one template, whose text is `source`. Time and memory are linear in its size.
#[must_use]
pub fn analyze_template(template: &Template, source: &Source) -> Analysis {
    statement::Walker::new(&template.body, source).template(&template.body)
}
