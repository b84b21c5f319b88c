//! The time budget of all Python of a render.

use std::time::Duration;

use serde_json::Number;

use super::plan::seconds;
use crate::{Code, Error, Reason};

/// The time budget of all Python of a render. Neither waits for a free process nor template runs count against it.
pub(super) struct PythonTime {
    limit: Number,
    spent: Vec<(&'static str, Duration)>,
}

impl PythonTime {
    pub(super) fn new(limit: &Number) -> Self {
        Self { limit: limit.clone(), spent: Vec::new() }
    }

    fn total_spent(&self) -> Duration {
        self.spent.iter().map(|(_, time)| *time).sum()
    }

    /// The remaining time.
    pub(super) fn remaining(&self) -> Duration {
        seconds(&self.limit).saturating_sub(self.total_spent())
    }

    /// Records the time of `stage`.
    pub(super) fn record_spent(&mut self, stage: &'static str, time: Duration) {
        self.spent.push((stage, time));
    }

    /// The time of each stage so far; empty if nothing ran.
    fn account(&self) -> String {
        let took = |(stage, time): &(&str, Duration)| format!("{stage} took {:.1} s", time.as_secs_f64());
        self.spent.iter().map(took).collect::<Vec<_>>().join(" and ")
    }

    /// The error of a stage that cannot start because no time remains.
    pub(super) fn exhausted_error(&self, stage: &str) -> Error {
        let why = match self.spent.is_empty() {
            true => String::new(),
            false => format!(" ({})", self.account()),
        };
        let message = format!(
            "`{stage}` did not run: the limit of {} s for all Python of a render is used up{why}",
            self.limit
        );
        timeout(message, &self.limit)
    }

    /// Adds the time of earlier stages to the error of a stage that timed out.
    pub(super) fn with_account(&self, error: Error) -> Error {
        let error = error.with_default("limit", self.limit.clone());
        match self.spent.is_empty() || error.reason() != Some(Reason::Timeout) {
            true => error,
            false => error.map_message(|message| {
                format!("{message}; {} of the {} s for all Python of a render", self.account(), self.limit)
            }),
        }
    }
}

fn timeout(message: String, limit: &Number) -> Error {
    Error::new(Code::HookTimeout, message)
        .with_reason(Reason::Timeout)
        .with("limit", limit.clone())
        .with_hint(
            "make the hooks faster, or raise `max_execution_time` in the prompt's limits or in defaults.json",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_used_up_the_time_is_told_by_whoever_has_none() {
        let mut time = PythonTime::new(&Number::from(3));
        assert_eq!(time.remaining(), Duration::from_secs(3));
        time.record_spent("the providers", Duration::from_millis(500));
        time.record_spent("`pre_render`", Duration::from_millis(2_600));
        assert_eq!(time.remaining(), Duration::ZERO);
        assert_eq!(
            time.exhausted_error("post_render").message(),
            "`post_render` did not run: the limit of 3 s for all Python of a render is used up (the providers took \
             0.5 s and `pre_render` took 2.6 s)"
        );
    }
}
