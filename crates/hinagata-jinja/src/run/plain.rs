//! The short way of templates that only write texts and print variables, as most system prompts do.
//!
//! It has no frames, contexts and budgets. Where a variable is missing or is no text or integer, or the text could reach
//! a limit, the general way starts over.

use hinagata_value::{Limits, Provenance, ShortText, Site, Variables, Written};
use serde_json::Value as Json;

use crate::{
    Settings, Template,
    code::{Expr, Function, Op},
};

/// The steps that the general way charges at most for a root that can be rendered here, besides those for the bytes that
/// it writes; `None` for other roots.
pub(crate) fn plain_steps(root: &Function) -> Option<u64> {
    let mut steps = 8;
    for node in &root.body {
        steps += match &node.op {
            Op::Text(_) => 1,
            Op::Print(Expr::Context(key)) => 2 + key.steps(),
            Op::Print(Expr::Path(path)) => match &path.base {
                Expr::Context(key) if !path.steps.iter().any(|step| step.special) => {
                    2 + key.steps() + path.cost
                }
                _ => return None,
            },
            _ => return None,
        };
    }
    (root.slots == 0).then_some(steps)
}

/// The variable that an expression of a plain template prints.
#[inline]
fn find_value<'v>(expr: &Expr, variables: &'v dyn Variables) -> Option<&'v Json> {
    match expr {
        Expr::Context(key) => variables.find(key),
        Expr::Path(path) => {
            let mut value = find_value(&path.base, variables)?;
            for step in &path.steps {
                let Json::Object(map) = value else { return None };
                value = step.key.find_in(map)?;
            }
            Some(value)
        }
        _ => None,
    }
}

impl Template {
    /// Whether [`Template::render_plain`] may render it.
    #[inline]
    #[must_use]
    pub fn is_plain(&self, settings: &Settings) -> bool {
        self.code.plain_steps.is_some() && !settings.autoescape
    }

    /// Renders a plain template, which has the number `number` in this render, with room for a number of bytes and
    /// recorded pieces. `None` if it has to be rendered by [`crate::Run::render`], which has the same result or the error.
    #[must_use]
    pub fn render_plain<P: Provenance>(
        &self,
        limits: &Limits,
        variables: &dyn Variables,
        number: u32,
        room: (usize, usize),
    ) -> Option<Written<P>> {
        let mut text = ShortText::new(limits, self.code.plain_steps?, room)?;
        for node in &self.code.root.body {
            let site = Site { template: number, node: node.span.start };
            match &node.op {
                Op::Text(literal) => text.write_literal(literal, site)?,
                Op::Print(expr) => {
                    text.write_data(find_value(expr, variables)?, site, serde_json::Number::as_i64)?;
                }
                _ => return None,
            }
        }
        Some(text.finish())
    }
}
