//! How long a run used its thread.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Measures the processor time of a run on the thread that started it.
///
/// Reading the processor clock is a system call, so a run that ends within its first chunk of steps never reads it. For
/// that chunk, wall time counts.
#[derive(Debug)]
pub(crate) struct RunTimer {
    started: Instant,
    /// Time of earlier runs.
    spent: Duration,
    /// The processor clock at the first look, less what counts of the time before.
    base: Cell<Option<Duration>>,
}

impl RunTimer {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), spent: Duration::ZERO, base: Cell::new(None) }
    }

    /// The same after an earlier run took `time`.
    pub(crate) fn with_spent(self, time: Duration) -> Self {
        Self { spent: self.spent.saturating_add(time), ..self }
    }

    /// Whether the run took longer than `limit`.
    pub(crate) fn has_passed(&self, limit: Duration) -> bool {
        let wall = self.started.elapsed();
        match self.base.get() {
            Some(_) if wall.saturating_add(self.spent) <= limit => false,
            Some(_) => self.time_used() > limit,
            None => {
                // The clock of a new thread can be behind the wall time that already counts.
                let clock = thread_cpu_time();
                let before = wall.min(clock);
                self.base.set(Some(clock - before));
                before.saturating_add(self.spent) > limit
            }
        }
    }

    /// The time of this run and of earlier ones.
    pub(crate) fn time_used(&self) -> Duration {
        let wall = self.started.elapsed();
        let used = self.base.get().map_or(wall, |base| thread_cpu_time().saturating_sub(base).min(wall));
        used.saturating_add(self.spent)
    }
}

/// The processor time that this thread has used.
#[cfg(unix)]
#[must_use]
pub fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), rest.unwrap_or_default())
}

/// Without a processor clock for threads, wall time counts.
#[cfg(not(unix))]
#[must_use]
pub fn thread_cpu_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}
