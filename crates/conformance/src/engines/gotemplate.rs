//! The product's Go template engine, answering recorded cases.

use crate::kinds::gotemplate::{GoCase, GoEngine, GoOutcome};

/// The engine as the product ships it.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoTemplate;

impl GoTemplate {
    /// Whether this build has the engine.
    pub const READY: bool = false;
}

impl GoEngine for GoTemplate {
    fn render(&self, _case: &GoCase) -> GoOutcome {
        GoOutcome::Unavailable("this build has no gotemplate engine".into())
    }
}
