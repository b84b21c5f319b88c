//! The settings that bound a render.

use std::time::Duration;

/// What one render may use. Each field is a setting; the defaults are the product's.
///
/// Steps and bytes are the main limits, because they are the same on every machine. The deadline and `stack`
/// are additional safeguards (see [`crate::Budget::check_stack`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps: one per operation, and one per produced item or 64 produced bytes.
    pub steps: u64,
    /// Bytes of produced values and captures in use.
    pub bytes: usize,
    /// Characters of output. With `None`, only the byte budget bounds it.
    pub output: Option<usize>,
    /// Nested calls and includes.
    pub calls: u32,
    /// Nested expressions and blocks in one source.
    pub nesting: u32,
    /// Nested containers of a value that is printed, compared or written as JSON.
    pub value_depth: usize,
    /// Bytes of stack that a run may use, counted from the frame that created its budget.
    ///
    /// The default fits into a thread of 2 MiB, Rust's default size.
    pub stack: usize,
    /// Items of one `range`.
    pub range_items: u64,
    /// Bytes that one repeat, pad or indent may produce.
    pub fill: usize,
    /// Bytes of one template source.
    pub source: usize,
    /// Templates loaded in one render.
    pub templates: usize,
    /// Passes that one render may take to wait for calls.
    pub passes: u32,
    /// Calls to other programs (tools) that one render may make.
    pub requests: usize,
    /// Processor time that rendering may take. Waiting for calls or for a free core does not count.
    pub deadline: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 20_000_000,
            bytes: 64 << 20,
            output: None,
            calls: 200,
            nesting: 200,
            value_depth: 1_000,
            stack: 1 << 20,
            range_items: 100_000,
            fill: 1 << 20,
            source: 256 << 10,
            templates: 500,
            passes: 32,
            requests: 1_000,
            deadline: None,
        }
    }
}
