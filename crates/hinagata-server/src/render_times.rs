//! Which prompts render fast enough to run on the thread that serves the request.
//!
//! A worker thread serves many connections, so a render there must be short. A template does not show its cost, so
//! every prompt first runs on a blocking thread. It moves to the worker thread after a fast render, and back for a
//! while after a slow one.

use std::time::{Duration, Instant};

use hinagata_value::BoundedCache;

/// The longest render after which a prompt may run inline.
const INLINE_MAX: Duration = Duration::from_millis(1);

/// An inline render that takes longer than this delays other requests.
const TOO_LONG: Duration = Duration::from_millis(20);

/// How long a prompt that was too slow inline stays on blocking threads.
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
        Self { started: Instant::now(), used: thread_cpu_time() }
    }

    /// The time of the render. Once it is long, only CPU time counts: a thread that waited for a core says nothing
    /// about the prompt.
    pub(crate) fn elapsed(&self) -> Duration {
        let time = self.started.elapsed();
        if time > TOO_LONG { time.min(thread_cpu_time().saturating_sub(self.used)) } else { time }
    }
}

/// The CPU time of this thread.
#[cfg(unix)]
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), rest.unwrap_or_default())
}

/// Without a CPU clock for threads, wall time counts.
#[cfg(not(unix))]
fn thread_cpu_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
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
    OnWorkerUntil(Instant),
}

impl RenderTimes {
    /// Whether `prompt` may run inline.
    pub(crate) fn is_quick(&self, prompt: &str) -> bool {
        self.0.get(prompt) == Some(RenderTime::Inline)
    }

    /// Records the time of an inline render.
    pub(crate) fn record_inline(&self, prompt: &str, time: Duration) {
        if time > TOO_LONG {
            self.remember(prompt, RenderTime::OnWorkerUntil(Instant::now() + INLINE_PAUSE));
        }
    }

    /// Records the time of a render on a blocking thread.
    pub(crate) fn record_on_worker(&self, prompt: &str, time: Duration) {
        let may = match self.0.get(prompt) {
            None => true,
            Some(RenderTime::Inline) => false,
            Some(RenderTime::OnWorkerUntil(until)) => Instant::now() >= until,
        };
        if may && time <= INLINE_MAX {
            self.remember(prompt, RenderTime::Inline);
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
        render_times.record_on_worker("p", SLOW);
        assert!(!render_times.is_quick("p"), "making it ready took its time");
        render_times.record_on_worker("p", Duration::ZERO);
        assert!(render_times.is_quick("p"));
        assert!(!render_times.is_quick("other"));
    }

    #[test]
    fn a_prompt_that_was_slow_inline_stays_on_blocking_threads_for_a_while() {
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
    fn only_cpu_time_counts_for_a_long_render() {
        let timer = ThreadTimer {
            started: Instant::now().checked_sub(TOO_LONG * 2).expect("is long ago"),
            used: thread_cpu_time(),
        };
        assert!(timer.elapsed() < TOO_LONG, "the thread did nothing meanwhile");
    }

    #[test]
    fn any_number_of_names_takes_bounded_memory() {
        let render_times = RenderTimes::default();
        for number in 0..=CAPACITY {
            render_times.record_on_worker(&number.to_string(), Duration::ZERO);
        }
        assert_eq!(render_times.0.len(), CAPACITY);
    }
}
