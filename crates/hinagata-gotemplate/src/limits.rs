//! Limits under which this engine behaves like Go itself.

use hinagata_value::Limits;

/// Limits so wide that Go's own ones are reached first: 100 000 nested template calls, 10 000 nested
/// parentheses.
///
/// For comparisons with Go, not for untrusted templates. The thread of a run needs a stack of somewhat
/// more than `stack` bytes.
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
