//! Ranges of integers.

use crate::Extent;

/// The integers from `start` to `stop`, `stop` excluded, in steps of `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    start: i64,
    stop: i64,
    step: i64,
}

impl Range {
    /// Creates a range. `None` if `step` is 0.
    #[must_use]
    pub fn new(start: i64, stop: i64, step: i64) -> Option<Self> {
        (step != 0).then_some(Self { start, stop, step })
    }

    /// Number of integers.
    #[must_use]
    pub fn len(self) -> u64 {
        let (low, high) = if self.step > 0 { (self.start, self.stop) } else { (self.stop, self.start) };
        if low >= high { 0 } else { (high.abs_diff(low) - 1) / self.step.unsigned_abs() + 1 }
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The integer at `index`, from 0.
    #[must_use]
    pub fn get(self, index: u64) -> Option<i64> {
        // The result is between start and stop, so wrapping arithmetic is correct.
        (index < self.len()).then(|| self.start.wrapping_add(self.step.wrapping_mul(index as i64)))
    }

    /// The first integer.
    #[must_use]
    pub fn start(self) -> i64 {
        self.start
    }

    /// The end, exclusive.
    #[must_use]
    pub fn stop(self) -> i64 {
        self.stop
    }

    /// The distance of two consecutive integers.
    #[must_use]
    pub fn step(self) -> i64 {
        self.step
    }

    /// Whether `number` is one of its integers.
    #[must_use]
    pub fn contains(self, number: i64) -> bool {
        let inside = if self.step > 0 {
            (self.start..self.stop).contains(&number)
        } else {
            number <= self.start && number > self.stop
        };
        inside && number.abs_diff(self.start).is_multiple_of(self.step.unsigned_abs())
    }
}

impl Extent for Range {
    fn extent(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_items_are_right_up_to_the_edges() {
        let all = |start, stop, step| {
            let range = Range::new(start, stop, step).expect("step is not 0");
            (0..range.len()).map(|n| range.get(n).expect("inside")).collect::<Vec<_>>()
        };
        assert_eq!(all(0, 3, 1), [0, 1, 2]);
        assert_eq!(all(5, 0, -2), [5, 3, 1]);
        assert_eq!(all(0, 7, 3), [0, 3, 6]);
        assert_eq!(all(3, 3, 1), [] as [i64; 0]);
        let whole = Range::new(i64::MIN, i64::MAX, 1).expect("step is not 0");
        assert_eq!(whole.len(), u64::MAX);
        assert_eq!(whole.get(u64::MAX - 1), Some(i64::MAX - 1));
        let down = Range::new(i64::MAX, i64::MIN, i64::MIN).expect("step is not 0");
        assert_eq!((down.len(), down.get(1)), (2, Some(-1)));
        assert!(Range::new(0, 1, 0).is_none());
        assert!(down.contains(-1) && !down.contains(0));
    }
}
