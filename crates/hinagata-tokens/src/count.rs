//! A number of tokens, and how sure it is.

/// A number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCount {
    /// The number.
    pub tokens: usize,
    /// How far an estimate may be off, in percent of the true number; `None` if the number is exact.
    pub error_percent: Option<u8>,
}

impl TokenCount {
    /// An exact number.
    #[must_use]
    pub const fn exact(tokens: usize) -> Self {
        Self { tokens, error_percent: None }
    }

    /// An estimate that may be off by so many percent.
    #[must_use]
    pub const fn estimate(tokens: usize, error_percent: u8) -> Self {
        Self { tokens, error_percent: Some(error_percent) }
    }

    /// Whether it is an estimate.
    #[must_use]
    pub const fn is_estimated(self) -> bool {
        self.error_percent.is_some()
    }

    /// The number with the whole error added: what a budget has to provide for.
    #[must_use]
    pub const fn upper_bound(self) -> usize {
        let error = match self.error_percent {
            Some(percent) => self.tokens.saturating_mul(percent as usize).div_ceil(100),
            None => 0,
        };
        self.tokens.saturating_add(error)
    }
}
