//! The template languages of other programs: a parser with positions for each, and the Jinja that they become.

pub(crate) mod dollar;
pub(crate) mod fstring;
pub(crate) mod handlebars;
pub(crate) mod jinja;
pub(crate) mod mustache;
pub(crate) mod nunjucks;
pub(crate) mod placeholder;

use crate::report::LossCode;

/// A problem at a byte offset of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateProblem {
    /// The offset.
    pub(crate) offset: usize,
    /// What is wrong.
    pub(crate) message: String,
}

impl TemplateProblem {
    /// A problem at `offset`.
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }
}

/// A loss at a byte offset of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateLoss {
    /// The kind.
    pub(crate) code: LossCode,
    /// The offset.
    pub(crate) offset: usize,
    /// What is lost or changed.
    pub(crate) what: String,
    /// What takes its place.
    pub(crate) instead: String,
}

impl TemplateLoss {
    /// A loss at `offset`.
    pub(crate) fn new(
        code: LossCode,
        offset: usize,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self { code, offset, what: what.into(), instead: instead.into() }
    }
}

/// Maximum nesting of blocks.
pub(crate) const DEEPEST: usize = 200;

/// Maximum size of a translated template, in bytes.
pub(crate) const LARGEST_OUTPUT: usize = 1 << 20;

/// Adds `keys` to an expression: plain attributes as far as possible, then `at`.
pub(crate) fn access_path(base: &str, keys: &[String]) -> String {
    let plain = keys.iter().take_while(|key| crate::names::is_plain_key(key)).count();
    let mut expression = base.to_owned();
    for key in &keys[..plain] {
        expression.push('.');
        expression.push_str(key);
    }
    if plain < keys.len() {
        let quoted: Vec<String> =
            keys[plain..].iter().map(|key| crate::jinja_text::quote_string(key)).collect();
        expression.push_str(&format!("|at({})", quoted.join(", ")));
    }
    expression
}
