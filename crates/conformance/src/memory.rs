//! Measures the memory of the process.
//!
//! The limits of a render promise bounds on memory, so they are measured in the allocator. There is one counter for
//! the whole process, because cases run one at a time.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Resets the peak.
pub(crate) fn reset_peak() {
    ALLOCATOR.reset_peak_usage();
}

/// The peak since [`reset_peak`], in bytes.
pub(crate) fn peak_bytes() -> usize {
    ALLOCATOR.peak_usage()
}
