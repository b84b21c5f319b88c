//! Limits under which this engine behaves like Go itself.

use hinagata_value::Limits;

/// Limits wide enough for Go's own ones to be reached first: 100 000 template calls inside each
/// other, 10 000 parentheses.
///
/// For comparing with Go, not for templates of strangers. A run needs a thread whose stack has
/// `stack` bytes and some more.
#[must_use]
pub fn go_limits(stack: usize) -> Limits {
    Limits {
        steps: u64::MAX >> 1,
        bytes: usize::MAX >> 1,
        output: None,
        calls: u32::MAX - 1,
        nesting: u32::MAX - 1,
        value_depth: usize::MAX,
        stack,
        range_items: u64::MAX,
        fill: usize::MAX,
        source: usize::MAX,
        ..Limits::default()
    }
}
