//! A stack as large as the limits of a render say.

use std::thread;

use hinagata::settings::group_digits;
use hinagata_value::Limits;

use crate::failure::Failure;

/// Stack of the render thread in addition to the limit.
const SPARE: usize = 1 << 20;

/// Runs `render` on a thread with a stack large enough for `limits`.
pub(crate) fn run_with_stack<T: Send>(
    limits: &Limits,
    render: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let size = limits.stack.saturating_add(SPARE);
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().stack_size(size).spawn_scoped(scope, render).map_err(|error| {
                Failure::usage_error(format!(
                    "cannot allocate a stack of {} bytes: {error}",
                    group_digits(size as u64)
                ))
                .with_hint("lower the limit `stack`")
            })?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
