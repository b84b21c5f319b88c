//! Which prompts render fast enough to run on the thread that serves the request.
//!
//! A worker thread serves many connections, so a render there must be short. A template does not show its cost, so
//! every prompt first runs on a render thread. It moves to the worker thread after a fast render, and back for a while
//! after a slow one.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use hinagata_value::{BoundedCache, thread_cpu_time};

use crate::render_pool::ExpectedTime;

/// The longest render after which a prompt may run inline.
const INLINE_MAX: Duration = Duration::from_millis(1);

/// An inline render that takes longer than this delays other requests.
const TOO_LONG: Duration = Duration::from_millis(20);

/// How old the CPU time may be that a render starts with. As much of what ran before can count as part of the render.
const CLOCK_AGE: Duration = Duration::from_millis(2);

/// How long a prompt that was too slow inline stays on render threads.
const INLINE_PAUSE: Duration = Duration::from_secs(10);

/// Prompts that are remembered.
const CAPACITY: usize = 4_096;

/// Measures how long a render occupies this thread.
#[derive(Debug)]
pub(crate) struct ThreadTimer {
    started: Instant,
    used: Duration,
}

impl ThreadTimer {
    pub(crate) fn start() -> Self {
        let started = Instant::now();
        Self { started, used: recent_cpu_time(started) }
    }

    /// The time of the render. Once it is long, only CPU time counts: a thread that waited for a core says nothing
    /// about the prompt.
    pub(crate) fn elapsed(&self) -> Duration {
        let time = self.started.elapsed();
        if time > TOO_LONG { time.min(thread_cpu_time().saturating_sub(self.used)) } else { time }
    }
}

thread_local! {
    /// When this thread last read its CPU time, and what it was.
    static LAST_READ: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// The CPU time of this thread, as it was less than [`CLOCK_AGE`] before `now`. Reading it is a system call, which most
/// renders do not need.
fn recent_cpu_time(now: Instant) -> Duration {
    match LAST_READ.get() {
        Some((read_at, used)) if now.saturating_duration_since(read_at) < CLOCK_AGE => used,
        _ => {
            let used = thread_cpu_time();
            LAST_READ.set(Some((now, used)));
            used
        }
    }
}

/// Where prompts run, by the names that callers used.
#[derive(Debug)]
pub(crate) struct RenderTimes(BoundedCache<Box<str>, RenderTime>);

impl Default for RenderTimes {
    fn default() -> Self {
        Self(BoundedCache::new(CAPACITY))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RenderTime {
    Inline,
    /// Do not run inline before this time.
    OnPoolUntil(Instant),
}

impl RenderTimes {
    /// Whether `prompt` may run inline.
    pub(crate) fn is_quick(&self, prompt: &str) -> bool {
        self.0.get(prompt) == Some(RenderTime::Inline)
    }

    /// Records the time of an inline render.
    pub(crate) fn record_inline(&self, prompt: &str, time: Duration) {
        if time > TOO_LONG {
            self.remember(prompt, RenderTime::OnPoolUntil(Instant::now() + INLINE_PAUSE));
        }
    }

    /// What is known about the time of `prompt`, which does not run inline.
    pub(crate) fn expected_time(&self, prompt: &str) -> ExpectedTime {
        match self.0.get(prompt) {
            None | Some(RenderTime::Inline) => ExpectedTime::Unknown,
            Some(RenderTime::OnPoolUntil(_)) => ExpectedTime::Long,
        }
    }

    /// Records the time of a render on a render thread. A failed render says nothing about how fast others are.
    pub(crate) fn record_on_pool(&self, prompt: &str, time: Duration, is_ok: bool) {
        let now = Instant::now();
        match self.0.get(prompt) {
            Some(RenderTime::Inline) => {}
            Some(RenderTime::OnPoolUntil(until)) if now < until => {}
            _ if time > INLINE_MAX => self.remember(prompt, RenderTime::OnPoolUntil(now)),
            _ if is_ok => self.remember(prompt, RenderTime::Inline),
            _ => {}
        }
    }

    fn remember(&self, prompt: &str, render_time: RenderTime) {
        self.0.insert(prompt.into(), render_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_millis(2);

    #[test]
    fn a_prompt_runs_inline_after_a_fast_render() {
        let render_times = RenderTimes::default();
        assert!(!render_times.is_quick("p"), "nothing is known yet");
        render_times.record_on_pool("p", SLOW, true);
        assert!(!render_times.is_quick("p"), "making it ready took its time");
        render_times.record_on_pool("p", Duration::ZERO, true);
        assert!(render_times.is_quick("p"));
        assert!(!render_times.is_quick("other"));
    }

    #[test]
    fn a_long_render_is_expected_to_be_long_again() {
        let render_times = RenderTimes::default();
        assert_eq!(render_times.expected_time("p"), ExpectedTime::Unknown);
        render_times.record_on_pool("p", Duration::ZERO, false);
        assert_eq!(render_times.expected_time("p"), ExpectedTime::Unknown, "it failed early");
        render_times.record_on_pool("p", SLOW, false);
        assert_eq!(render_times.expected_time("p"), ExpectedTime::Long);
        render_times.record_on_pool("p", Duration::ZERO, true);
        assert!(render_times.is_quick("p"), "it was made ready the first time");
    }

    #[test]
    fn a_prompt_that_was_slow_inline_stays_on_render_threads_for_a_while() {
        let render_times = RenderTimes::default();
        render_times.record_on_pool("p", Duration::ZERO, true);
        render_times.record_inline("p", SLOW);
        assert!(render_times.is_quick("p"), "the thread may have waited for its turn");
        render_times.record_inline("p", TOO_LONG * 2);
        assert!(!render_times.is_quick("p"));
        render_times.record_on_pool("p", Duration::ZERO, true);
        assert!(!render_times.is_quick("p"), "it may be quick with some variables and slow with others");
        render_times.remember("p", RenderTime::OnPoolUntil(Instant::now()));
        render_times.record_on_pool("p", Duration::ZERO, true);
        assert!(render_times.is_quick("p"), "the while is over");
    }

    #[cfg(unix)]
    #[test]
    fn only_cpu_time_counts_for_a_long_render() {
        let timer = ThreadTimer {
            started: Instant::now().checked_sub(TOO_LONG * 2).expect("is long ago"),
            used: thread_cpu_time(),
        };
        assert!(timer.elapsed() < TOO_LONG, "the thread did nothing meanwhile");
    }

    #[cfg(unix)]
    #[test]
    fn the_cpu_clock_is_read_again_after_a_while() {
        let now = Instant::now();
        let first = recent_cpu_time(now);
        while thread_cpu_time() == first {}
        assert_eq!(recent_cpu_time(now + CLOCK_AGE / 2), first);
        assert!(recent_cpu_time(now + CLOCK_AGE) > first);
    }

    #[test]
    fn any_number_of_names_takes_bounded_memory() {
        let render_times = RenderTimes::default();
        for number in 0..=CAPACITY {
            render_times.record_on_pool(&number.to_string(), Duration::ZERO, true);
        }
        assert_eq!(render_times.0.len(), CAPACITY);
    }
}
