//! Heap objects that charge the budget when they are created and release it when they are dropped.

use std::{fmt, ops::Deref, rc::Rc};

use crate::{Budget, Result};

/// The heap bytes that a value owns, without its own size.
pub trait Extent {
    /// Those bytes, as requested from the allocator.
    fn extent(&self) -> usize;
}

impl Extent for String {
    fn extent(&self) -> usize {
        self.capacity()
    }
}

impl Extent for Box<[u8]> {
    fn extent(&self) -> usize {
        self.len()
    }
}

impl Extent for i128 {
    fn extent(&self) -> usize {
        0
    }
}

/// Bytes that `Rc<T>` requests from the allocator: two counters and the value.
pub(crate) const fn rc_size<T>() -> usize {
    let header = (2 * size_of::<usize>()).next_multiple_of(align_of::<T>());
    (header + size_of::<T>()).next_multiple_of(align_of::<usize>())
}

/// Bytes that `Rc<[u8]>` of `len` bytes requests from the allocator.
pub(crate) const fn rc_bytes(len: usize) -> usize {
    (2 * size_of::<usize>() + len).next_multiple_of(align_of::<usize>())
}

/// Grows the capacity of `items` to exactly `capacity`. The memory is charged first.
///
/// # Errors
/// The byte budget is used up, or the machine is out of memory. Nothing changes.
pub(crate) fn grow_to<T>(items: &mut Vec<T>, capacity: usize, budget: &Budget) -> Result<()> {
    let bytes = (capacity - items.capacity()).saturating_mul(size_of::<T>());
    budget.charge_bytes(bytes)?;
    if items.try_reserve_exact(capacity - items.len()).is_err() {
        budget.release_bytes(bytes);
        return Err(budget.out_of_memory(bytes));
    }
    // The allocator may return more than requested. That is charged too.
    budget.charge_allocated((items.capacity() - capacity) * size_of::<T>())
}

/// Bytes charged for an object that does not charge itself. Dropping this releases them.
pub(crate) struct Charge<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl<'a> Charge<'a> {
    /// Nothing charged yet.
    pub(crate) fn new(budget: &'a Budget) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Charges `bytes` more.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub(crate) fn add_bytes(&mut self, bytes: usize) -> Result<()> {
        self.budget.charge_bytes(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.budget.release_bytes(self.bytes);
    }
}

/// A value whose memory is charged to a budget as long as it lives.
pub struct Metered<'a, T: Extent> {
    budget: &'a Budget,
    value: T,
}

impl<'a, T: Extent> Metered<'a, T> {
    /// Charges for the whole of `value` and wraps it.
    ///
    /// # Errors
    /// The byte budget is used up.
    pub fn new(budget: &'a Budget, value: T) -> Result<Rc<Self>> {
        budget.charge_bytes(rc_size::<Self>().saturating_add(value.extent()))?;
        Ok(Rc::new(Self { budget, value }))
    }

    /// Like [`Metered::new`], for a value whose extent was charged while it was built.
    pub(crate) fn new_charged(budget: &'a Budget, value: T) -> Result<Rc<Self>> {
        match budget.charge_bytes(rc_size::<Self>()) {
            Ok(()) => Ok(Rc::new(Self { budget, value })),
            Err(error) => {
                budget.release_bytes(value.extent());
                Err(error)
            }
        }
    }
}

impl<T: Extent> Drop for Metered<'_, T> {
    fn drop(&mut self) {
        self.budget.release_bytes(rc_size::<Self>().saturating_add(self.value.extent()));
    }
}

impl<T: Extent> Deref for Metered<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Extent + fmt::Debug> fmt::Debug for Metered<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
