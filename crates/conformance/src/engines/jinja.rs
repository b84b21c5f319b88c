//! The product's Jinja engine, answering recorded cases.

use crate::kinds::jinja::{JinjaCase, JinjaEngine, JinjaOutcome, Undefined};

/// The engine as the product ships it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jinja;

impl Jinja {
    /// Whether this build has the engine.
    pub const READY: bool = false;
}

impl JinjaEngine for Jinja {
    fn render(&self, _case: &JinjaCase, _undefined: Undefined) -> JinjaOutcome {
        JinjaOutcome::Unavailable("this build has no jinja engine".into())
    }
}
