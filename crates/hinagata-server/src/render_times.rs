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
const INLINE_MAX: Duration = Duration::from_millis(1);

/// One that takes longer than this among requests keeps others waiting.
const TOO_LONG: Duration = Duration::from_millis(20);

/// How long a prompt that was slow among requests stays beside them.
const INLINE_PAUSE: Duration = Duration::from_secs(10);

/// Prompts that are remembered.
const CAPACITY: usize = 4_096;

/// Measures how long a render is at work on this thread.
#[derive(Debug)]
pub(crate) struct ThreadTimer {
    started: Instant,
    used: Duration,
}

impl ThreadTimer {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), used: thread_cpu_time() }
    }

    /// How long it was at work: a thread that had to wait for its turn says nothing about the prompt.
    pub(crate) fn elapsed(&self) -> Duration {
        let time = self.started.elapsed();
        match time > TOO_LONG {
            true => time.min(thread_cpu_time().saturating_sub(self.used)),
            false => time,
        }
    }
}

/// Processor time of this thread.
#[cfg(unix)]
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), rest.unwrap_or_default())
}

/// Where a thread's own time is not known, all time counts.
#[cfg(not(unix))]
fn thread_cpu_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}

/// What is known about prompts, by the names that they were asked for.
#[derive(Debug, Default)]
pub(crate) struct RenderTimes(ArcSwap<HashMap<Box<str>, RenderTime>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RenderTime {
    Inline,
    /// Not to be tried among requests before then.
    OnWorkerUntil(Instant),
}

impl RenderTimes {
    /// Whether `prompt` may run among requests.
    pub(crate) fn is_quick(&self, prompt: &str) -> bool {
        self.0.load().get(prompt) == Some(&RenderTime::Inline)
    }

    /// `prompt` ran among requests and took this long.
    pub(crate) fn record_inline(&self, prompt: &str, time: Duration) {
        if time > TOO_LONG {
            self.remember(prompt, RenderTime::OnWorkerUntil(Instant::now() + INLINE_PAUSE));
        }
    }

    /// `prompt` ran beside the requests and took this long.
    pub(crate) fn record_on_worker(&self, prompt: &str, time: Duration) {
        let may = match self.0.load().get(prompt) {
            None => true,
            Some(RenderTime::Inline) => false,
            Some(RenderTime::OnWorkerUntil(until)) => Instant::now() >= *until,
        };
        if may && time <= INLINE_MAX {
            self.remember(prompt, RenderTime::Inline);
        }
    }

    fn remember(&self, prompt: &str, pace: RenderTime) {
        self.0.rcu(|known| {
            let mut known = HashMap::clone(known);
            if known.len() >= CAPACITY {
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
        let render_times = RenderTimes::default();
        assert!(!render_times.is_quick("p"), "nothing is known yet");
        render_times.record_on_worker("p", SLOW);
        assert!(!render_times.is_quick("p"), "making it ready took its time");
        render_times.record_on_worker("p", Duration::ZERO);
        assert!(render_times.is_quick("p"));
        assert!(!render_times.is_quick("other"));
    }

    #[test]
    fn one_that_was_slow_there_stays_away_for_a_while() {
        let render_times = RenderTimes::default();
        render_times.record_on_worker("p", Duration::ZERO);
        render_times.record_inline("p", SLOW);
        assert!(render_times.is_quick("p"), "the thread may have waited for its turn");
        render_times.record_inline("p", TOO_LONG * 2);
        assert!(!render_times.is_quick("p"));
        render_times.record_on_worker("p", Duration::ZERO);
        assert!(!render_times.is_quick("p"), "it may be quick with some variables and slow with others");
        render_times.remember("p", RenderTime::OnWorkerUntil(Instant::now()));
        render_times.record_on_worker("p", Duration::ZERO);
        assert!(render_times.is_quick("p"), "the while is over");
    }

    #[cfg(unix)]
    #[test]
    fn only_time_at_work_counts_once_it_is_long() {
        let timer = ThreadTimer {
            started: Instant::now().checked_sub(TOO_LONG * 2).expect("is long ago"),
            used: thread_cpu_time(),
        };
        assert!(timer.elapsed() < TOO_LONG, "the thread did nothing meanwhile");
    }

    #[test]
    fn names_that_nobody_bounds_take_bounded_memory() {
        let render_times = RenderTimes::default();
        for number in 0..=CAPACITY {
            render_times.record_on_worker(&number.to_string(), Duration::ZERO);
        }
        assert!(render_times.0.load().len() <= CAPACITY);
    }
}
