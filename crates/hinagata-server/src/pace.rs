//! Which prompts render quickly enough to run among requests.
//!
//! A thread that answers has many connections: whatever runs there has to be quick. Nobody can tell that from a template,
//! so each prompt runs beside the requests until it was seen to be quick, and does again for a while once it was not.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;

/// A render that takes no longer may run among requests the next time.
const QUICK: Duration = Duration::from_millis(1);

/// One that takes longer than this among requests keeps others waiting.
const TOO_LONG: Duration = Duration::from_millis(20);

/// How long a prompt that was slow among requests stays beside them.
const AGAIN: Duration = Duration::from_secs(10);

/// Prompts that are remembered.
const REMEMBERED: usize = 4_096;

/// Measures how long a render is at work on this thread.
#[derive(Debug)]
pub(crate) struct Lap {
    started: Instant,
    used: Duration,
}

impl Lap {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), used: used() }
    }

    /// How long it was at work: a thread that had to wait for its turn says nothing about the prompt.
    pub(crate) fn time(&self) -> Duration {
        let time = self.started.elapsed();
        match time > TOO_LONG {
            true => time.min(used().saturating_sub(self.used)),
            false => time,
        }
    }
}

/// Processor time of this thread.
#[cfg(unix)]
fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), rest.unwrap_or_default())
}

/// Where a thread's own time is not known, all time counts.
#[cfg(not(unix))]
fn used() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}

/// What is known about prompts, by the names that they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Paces(ArcSwap<HashMap<Box<str>, Pace>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Quick,
    /// Not to be tried among requests before then.
    Slow(Instant),
}

impl Paces {
    /// Whether `prompt` may run among requests.
    pub(crate) fn is_quick(&self, prompt: &str) -> bool {
        self.0.load().get(prompt) == Some(&Pace::Quick)
    }

    /// `prompt` ran among requests and took this long.
    pub(crate) fn ran_among(&self, prompt: &str, time: Duration) {
        if time > TOO_LONG {
            self.remember(prompt, Pace::Slow(Instant::now() + AGAIN));
        }
    }

    /// `prompt` ran beside the requests and took this long.
    pub(crate) fn ran_beside(&self, prompt: &str, time: Duration) {
        let may = match self.0.load().get(prompt) {
            None => true,
            Some(Pace::Quick) => false,
            Some(Pace::Slow(until)) => Instant::now() >= *until,
        };
        if may && time <= QUICK {
            self.remember(prompt, Pace::Quick);
        }
    }

    fn remember(&self, prompt: &str, pace: Pace) {
        self.0.rcu(|known| {
            let mut known = HashMap::clone(known);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(prompt.into(), pace);
            known
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_millis(2);

    #[test]
    fn a_prompt_runs_among_requests_once_it_was_quick() {
        let paces = Paces::default();
        assert!(!paces.is_quick("p"), "nothing is known yet");
        paces.ran_beside("p", SLOW);
        assert!(!paces.is_quick("p"), "making it ready took its time");
        paces.ran_beside("p", Duration::ZERO);
        assert!(paces.is_quick("p"));
        assert!(!paces.is_quick("other"));
    }

    #[test]
    fn one_that_was_slow_there_stays_away_for_a_while() {
        let paces = Paces::default();
        paces.ran_beside("p", Duration::ZERO);
        paces.ran_among("p", SLOW);
        assert!(paces.is_quick("p"), "the thread may have waited for its turn");
        paces.ran_among("p", TOO_LONG * 2);
        assert!(!paces.is_quick("p"));
        paces.ran_beside("p", Duration::ZERO);
        assert!(!paces.is_quick("p"), "it may be quick with some variables and slow with others");
        paces.remember("p", Pace::Slow(Instant::now()));
        paces.ran_beside("p", Duration::ZERO);
        assert!(paces.is_quick("p"), "the while is over");
    }

    #[cfg(unix)]
    #[test]
    fn only_time_at_work_counts_once_it_is_long() {
        let lap =
            Lap { started: Instant::now().checked_sub(TOO_LONG * 2).expect("is long ago"), used: used() };
        assert!(lap.time() < TOO_LONG, "the thread did nothing meanwhile");
    }

    #[test]
    fn names_that_nobody_bounds_take_bounded_memory() {
        let paces = Paces::default();
        for number in 0..=REMEMBERED {
            paces.ran_beside(&number.to_string(), Duration::ZERO);
        }
        assert!(paces.0.load().len() <= REMEMBERED);
    }
}
