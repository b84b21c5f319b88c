//! How many bytes the process holds, and how many it held at most.
//!
//! The limits of a render are promises about memory, so they are measured where memory is handed
//! out rather than believed. The counter is one for the whole process: cases run one at a time.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Forgets the highest figure so far.
pub(crate) fn reset_peak() {
    ALLOCATOR.reset_peak_usage();
}

/// The most bytes held at once since [`start`].
pub(crate) fn peak_bytes() -> usize {
    ALLOCATOR.peak_usage()
}
