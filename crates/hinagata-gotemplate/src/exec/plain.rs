//! The short way of templates that only write texts and print fields of the data, as most system prompts do.
//!
//! It has no frames, values and budgets. Where a field is missing or is no text or integer, or the text could reach a
//! limit, the general way starts over.

use hinagata_value::{Limits, Provenance, ShortText, Site, Variables, Written};
use serde_json::Value as Json;

use crate::{
    set::Set,
    tree::{At, Node, Path},
    value::view::Integers,
};

fn find_value<'v>(path: &Path, variables: &'v dyn Variables) -> Option<&'v Json> {
    let (first, rest) = path.keys.split_first()?;
    let mut value = variables.find(first)?;
    for key in rest {
        let Json::Object(map) = value else { return None };
        value = key.find_in(map)?;
    }
    Some(value)
}

impl Set {
    /// Whether [`Set::render_plain`] may run the template `name`.
    #[inline]
    #[must_use]
    pub fn is_plain(&self, name: &str) -> bool {
        self.template_number(name).is_some_and(|number| self.tree(number).plain_steps.is_some())
    }

    /// Runs a plain template on variables, with room for a number of bytes and recorded pieces. `first_template` is that of
    /// [`crate::Context`]. `None` if it has to be run by [`Set::execute`], which has the same result or the error.
    #[must_use]
    pub fn render_plain<P: Provenance>(
        &self,
        name: &str,
        variables: &dyn Variables,
        limits: &Limits,
        first_template: u32,
        room: (usize, usize),
    ) -> Option<Written<P>> {
        let number = self.template_number(name)?;
        let tree = self.tree(number);
        let mut text = ShortText::new(limits, tree.plain_steps?, room)?;
        let is_exact = self.options.integers == Integers::Exact;
        let root = tree.root;
        for (node, index) in tree.nodes[root.range()].iter().zip(root.start..) {
            let site = Site { template: first_template + number, node: At::node(index).number() };
            match node {
                Node::Text(literal) => text.write_literal(&literal.text, site)?,
                Node::Action(action) => {
                    let value = find_value(action.path.as_ref()?, variables)?;
                    text.write_data(value, site, |number| number.as_i64().filter(|_| is_exact))?;
                }
                _ => return None,
            }
        }
        Some(text.finish())
    }
}
