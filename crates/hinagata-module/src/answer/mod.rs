//! Finds JSON in the answers of models, repairs it if it is invalid, and checks it against a schema.

#[cfg(feature = "schema")]
mod check;
#[cfg(feature = "schema")]
mod coerce;
mod find;
mod repair;

use serde_json::Value;

#[cfg(feature = "schema")]
pub use check::{AnswerFault, AnswerMode, AnswerSchema, CheckedAnswer};

/// The member that contains a list which is the whole answer, for providers that require an object.
pub(crate) const LIST_KEY: &str = "items";

/// How to search for JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Whether to repair invalid JSON.
    pub repair: bool,
    /// Whether to return all values instead of the first one.
    pub multiple: bool,
}

impl Default for ExtractOptions {
    fn default() -> Self {
        Self { repair: true, multiple: false }
    }
}

/// Where JSON was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The complete answer.
    Full,
    /// A code block.
    CodeBlock,
    /// Between other text.
    Direct,
    /// Nowhere.
    None,
}

impl Source {
    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::CodeBlock => "codeblock",
            Self::Direct => "direct",
            Self::None => "none",
        }
    }
}

/// The JSON of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted {
    /// The values, in order; at most one unless all were requested.
    pub values: Vec<Value>,
    /// Where they were found.
    pub source: Source,
    /// Whether the lenient parser read them, which also accepts valid JSON.
    pub repaired: bool,
}

/// Finds the JSON in an answer: the complete answer, else its code blocks, else its text.
///
/// ```
/// use hinagata_module::answer::{ExtractOptions, extract_json};
///
/// let found = extract_json("Sure!\n```json\n{urgency: 'high',}\n```", ExtractOptions::default());
/// assert_eq!(found.values, [serde_json::json!({"urgency": "high"})]);
/// ```
#[must_use]
pub fn extract_json(text: &str, options: ExtractOptions) -> Extracted {
    if let Ok(value) = serde_json::from_str(text) {
        return Extracted { values: vec![value], source: Source::Full, repaired: false };
    }
    let blocks = parse_all(find::code_blocks(text), options);
    if !blocks.is_empty() {
        return Extracted { values: blocks, source: Source::CodeBlock, repaired: options.repair };
    }
    let whole = text.trim();
    if options.repair
        && whole.starts_with(['{', '['])
        && let Some(value) = repair::repair_json(whole)
    {
        return Extracted { values: vec![value], source: Source::Full, repaired: true };
    }
    let direct = parse_all(find::balanced_texts(text), options);
    if !direct.is_empty() {
        return Extracted { values: direct, source: Source::Direct, repaired: options.repair };
    }
    Extracted { values: Vec::new(), source: Source::None, repaired: false }
}

fn parse_all<'t>(texts: impl Iterator<Item = &'t str>, options: ExtractOptions) -> Vec<Value> {
    let parse = |text: &str| match serde_json::from_str(text) {
        Ok(value) => Some(value),
        Err(_) if options.repair => repair::repair_json(text),
        Err(_) => None,
    };
    texts.filter_map(parse).take(if options.multiple { usize::MAX } else { 1 }).collect()
}
