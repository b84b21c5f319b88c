//! The budget of a run, and the errors when it is used up.
//!
//! The hot path has one countdown: [`Budget::charge_steps`] subtracts and compares. The total, the
//! cancellation flag and the clock are checked when a chunk of steps is used up. Objects charge their bytes
//! ([`crate::Heap`]) and release them when they are dropped.
//!
//! The reasons are in `docs/design/budget.md`.

use std::{
    cell::Cell,
    marker::PhantomData,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use crate::{Error, ErrorKind, LimitKind, Limits, Result, run_timer::RunTimer};

/// Steps between two looks at the clock and the cancellation flag: some ten microseconds of work.
pub(crate) const CHUNK: i64 = 4096;

/// A handle that stops a run from another thread.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    cancelled: AtomicBool,
    /// Tasks that are woken when the run is stopped.
    wakers: Mutex<Vec<Waker>>,
}

impl Cancel {
    /// Stops the run: it ends with [`ErrorKind::Cancelled`] within a few thousand steps. Tasks that wait in
    /// [`Cancel::poll_cancelled`] are woken.
    pub fn cancel(&self) {
        // Set under the lock, so that a task that is about to wait either sees it or is woken.
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.cancelled.store(true, Ordering::Relaxed);
        let woken = std::mem::take(&mut *wakers);
        drop(wakers);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Whether the run should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Ready when the run should stop. Until then, the task is registered to be woken.
    pub fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<()> {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        if !wakers.iter().any(|known| known.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Stops a run on drop, because nobody waits for its result any more.
#[derive(Debug)]
pub struct CancelOnDrop(Cancel);

impl CancelOnDrop {
    /// Creates a guard for the runs that watch `cancel`.
    #[must_use]
    pub fn new(cancel: Cancel) -> Self {
        Self(cancel)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The countdowns of one run.
///
/// A budget belongs to the thread and roughly to the stack frame that creates it: the stack of a run is
/// measured from there. It outlives every value of the run, so produced values can refer to it.
#[derive(Debug)]
pub struct Budget {
    /// Steps left in this chunk.
    chunk: Cell<i64>,
    /// Steps left after this chunk.
    reserve: Cell<u64>,
    bytes: Cell<usize>,
    peak: Cell<usize>,
    calls: Cell<u32>,
    levels: Cell<u32>,
    stack_base: usize,
    limits: Limits,
    cancel: Option<Cancel>,
    timer: Option<RunTimer>,
    /// Prevents moving to another thread, where the stack base would be wrong.
    thread: PhantomData<Rc<()>>,
}

impl Budget {
    /// Creates an unused budget. It reads a clock only if there is a deadline.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let chunk = CHUNK.min(i64::try_from(limits.steps).unwrap_or(CHUNK));
        Self {
            chunk: Cell::new(chunk),
            reserve: Cell::new(limits.steps - chunk.unsigned_abs()),
            bytes: Cell::new(0),
            peak: Cell::new(0),
            calls: Cell::new(0),
            levels: Cell::new(0),
            stack_base: stack_address(),
            timer: limits.deadline.map(|_| RunTimer::start()),
            limits,
            cancel: None,
            thread: PhantomData,
        }
    }

    /// Stops the run when `cancel` is triggered.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Subtracts the `steps` and `time` of earlier runs that share the limits.
    #[must_use]
    pub fn with_spent(mut self, steps: u64, time: Duration) -> Self {
        let left = self.limits.steps.saturating_sub(steps);
        let chunk = left.min(CHUNK as u64);
        self.chunk.set(chunk as i64);
        self.reserve.set(left - chunk);
        self.timer = self.timer.map(|timer| timer.with_spent(time));
        self
    }

    /// The limits of this budget.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Charges `n` steps.
    ///
    /// # Errors
    /// The steps are used up, the deadline has passed, or the run was cancelled.
    #[inline(always)]
    pub fn charge_steps(&self, n: u64) -> Result<()> {
        // A count of 2^63 steps exceeds every budget, so the result of the cast is negative enough.
        let left = self.chunk.get().wrapping_sub(n.min(i64::MAX as u64) as i64);
        self.chunk.set(left);
        if left < 0 { self.refill() } else { Ok(()) }
    }

    /// Charges the steps for an operation that produces `bytes` bytes.
    ///
    /// # Errors
    /// Those of [`Budget::charge_steps`].
    #[inline(always)]
    pub fn step_bytes(&self, bytes: usize) -> Result<()> {
        self.charge_steps(1 + (bytes as u64 >> 6))
    }

    /// Charges `n` steps where no error can be returned. If the limit is exceeded, the next
    /// [`Budget::charge_steps`] fails.
    #[inline]
    pub fn owe_steps(&self, n: u64) {
        // The next step returns the same error again.
        let _ = self.charge_steps(n);
    }

    /// Charges for hashing or comparing `text` where no error can be returned.
    #[inline]
    pub(crate) fn owe_text(&self, text: &str) {
        if text.len() >= 64 {
            self.owe_steps(text.len() as u64 >> 6);
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&self) -> Result<()> {
        let owed = self.chunk.get().unsigned_abs();
        let reserve = self.reserve.get();
        if owed > reserve {
            self.chunk.set(0);
            self.reserve.set(0);
            return Err(Error::limit_reached(
                LimitKind::Steps,
                format!("the template takes more than {} steps", self.limits.steps),
            )
            .with_hint("make the loop smaller, or raise the limit `steps`"));
        }
        let rest = reserve - owed;
        let chunk = rest.min(CHUNK as u64);
        self.chunk.set(chunk as i64);
        self.reserve.set(rest - chunk);
        self.check_outside()
    }

    /// Checks the clock and the cancellation flag now.
    ///
    /// # Errors
    /// The deadline has passed, or the run was cancelled.
    pub fn check_outside(&self) -> Result<()> {
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Err(Error::new(ErrorKind::Cancelled, "the render was cancelled"));
        }
        if let (Some(timer), Some(deadline)) = (&self.timer, self.limits.deadline)
            && timer.has_passed(deadline)
        {
            return Err(Error::new(
                ErrorKind::Deadline,
                format!("the render took longer than {} ms", deadline.as_millis()),
            ));
        }
        Ok(())
    }

    /// Processor time since its creation and of earlier runs. Zero without a deadline.
    #[must_use]
    pub fn time_used(&self) -> Duration {
        self.timer.as_ref().map_or(Duration::ZERO, RunTimer::time_used)
    }

    /// Steps charged so far.
    #[must_use]
    pub fn steps_used(&self) -> u64 {
        self.limits.steps - self.reserve.get() - self.chunk.get().max(0).unsigned_abs()
    }

    /// Charges `n` bytes of memory that is about to be allocated.
    ///
    /// # Errors
    /// More bytes would be in use than the limit allows. Nothing is charged.
    #[inline]
    pub fn charge_bytes(&self, n: usize) -> Result<()> {
        match self.bytes.get().checked_add(n) {
            Some(alive) if alive <= self.limits.bytes => {
                self.set_alive(alive);
                Ok(())
            }
            _ => Err(self.bytes_exceeded(n)),
        }
    }

    #[inline]
    fn set_alive(&self, alive: usize) {
        self.bytes.set(alive);
        if alive > self.peak.get() {
            self.peak.set(alive);
        }
    }

    /// Charges `n` bytes that are already allocated, even if they exceed the limit.
    pub(crate) fn charge_allocated(&self, n: usize) -> Result<()> {
        let result = self.charge_bytes(n);
        if result.is_err() {
            self.set_alive(self.bytes.get().saturating_add(n));
        }
        result
    }

    #[cold]
    #[inline(never)]
    fn bytes_exceeded(&self, n: usize) -> Error {
        Error::limit_reached(
            LimitKind::Bytes,
            format!(
                "values of the template need {n} more bytes; {} of {} are in use",
                self.bytes.get(),
                self.limits.bytes
            ),
        )
        .with_hint("keep less in variables, or raise the limit `bytes`")
    }

    /// The error if the machine has no memory for `n` bytes that the limit would allow.
    #[cold]
    #[inline(never)]
    pub(crate) fn out_of_memory(&self, n: usize) -> Error {
        Error::limit_reached(LimitKind::Bytes, format!("cannot allocate {n} more bytes"))
            .with_hint("keep less in variables; the limit `bytes` exceeds the memory of this machine")
    }

    /// Releases `n` charged bytes.
    #[inline]
    pub fn release_bytes(&self, n: usize) {
        debug_assert!(n <= self.bytes.get(), "released more than was charged");
        self.bytes.set(self.bytes.get().saturating_sub(n));
    }

    /// Bytes in use now.
    #[must_use]
    pub fn bytes_alive(&self) -> usize {
        self.bytes.get()
    }

    /// Maximum of the bytes in use.
    #[must_use]
    pub fn bytes_peak(&self) -> usize {
        self.peak.get()
    }

    /// Checks that there is enough stack for one more level of recursion.
    ///
    /// The parser bounds the nesting of a source, so a run does not count it. Calls multiply the nesting; this
    /// bounds the product by the stack in use.
    ///
    /// # Errors
    /// The run has used more stack than [`Limits::stack`].
    #[inline]
    pub fn check_stack(&self) -> Result<()> {
        if stack_address().abs_diff(self.stack_base) > self.limits.stack {
            return Err(self.stack_exceeded());
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn stack_exceeded(&self) -> Error {
        Error::limit_reached(
            LimitKind::Stack,
            format!("nested calls and blocks need more than {} bytes of stack", self.limits.stack),
        )
        .with_hint("reduce the depth of calls or of nested blocks")
    }

    /// Enters a nesting level while parsing or compiling. Dropping the guard leaves it.
    ///
    /// # Errors
    /// Expressions and blocks are nested deeper than [`Limits::nesting`], or the stack is used up.
    #[inline]
    pub fn enter_level(&self) -> Result<Level<'_>> {
        let level = self.levels.get() + 1;
        if level > self.limits.nesting {
            return Err(Error::limit_reached(
                LimitKind::Nesting,
                format!("expressions and blocks are nested more than {} deep", self.limits.nesting),
            ));
        }
        self.check_stack()?;
        self.levels.set(level);
        Ok(Level(&self.levels))
    }

    /// Enters a call, a macro, a block or an include. Dropping the guard leaves it.
    ///
    /// # Errors
    /// Calls are deeper than [`Limits::calls`], or the stack is used up.
    #[inline]
    pub fn enter_call(&self) -> Result<Level<'_>> {
        let level = self.calls.get() + 1;
        if level > self.limits.calls {
            return Err(Error::limit_reached(
                LimitKind::Calls,
                format!("calls and includes are more than {} deep", self.limits.calls),
            )
            .with_hint("does a macro or a template call itself?"));
        }
        self.check_stack()?;
        self.calls.set(level);
        Ok(Level(&self.calls))
    }

    /// The current depth of calls and includes.
    #[must_use]
    pub fn call_depth(&self) -> u32 {
        self.calls.get()
    }

    /// Checks that a repeat, pad or indent produces at most [`Limits::fill`] bytes, and charges its steps. Call
    /// it before allocating.
    ///
    /// # Errors
    /// `bytes` exceeds the limit, or the steps are used up.
    pub fn check_fill(&self, bytes: usize) -> Result<()> {
        if bytes > self.limits.fill {
            return Err(Error::limit_reached(
                LimitKind::Fill,
                format!("one operation would produce {bytes} bytes; the limit is {}", self.limits.fill),
            ));
        }
        self.step_bytes(bytes)
    }

    /// Checks that a `range` has at most [`Limits::range_items`] items.
    ///
    /// # Errors
    /// `items` exceeds the limit.
    pub fn check_range(&self, items: u64) -> Result<()> {
        if items > self.limits.range_items {
            return Err(Error::limit_reached(
                LimitKind::RangeItems,
                format!("a range of {items} items; the limit is {}", self.limits.range_items),
            ));
        }
        Ok(())
    }
}

/// One level of depth. Dropping it leaves the level.
#[derive(Debug)]
pub struct Level<'b>(&'b Cell<u32>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// An address in the current stack frame.
///
/// The used stack is the only measure of depth that is valid for every mix of frames, in debug and release
/// builds.
#[inline(always)]
fn stack_address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(n: u64) -> Budget {
        Budget::new(Limits { steps: n, ..Limits::default() })
    }

    #[test]
    fn a_run_is_stopped_when_its_guard_is_dropped() {
        let cancel = Cancel::default();
        let guard = CancelOnDrop::new(cancel.clone());
        assert!(!cancel.is_cancelled());
        drop(guard);
        assert!(cancel.is_cancelled());
    }

    #[test]
    fn exactly_the_steps_of_the_limit_can_be_taken() {
        for total in [0, 1, 4095, 4096, 4097, 10_000] {
            let budget = steps(total);
            for _ in 0..total {
                budget.charge_steps(1).expect("within the limit");
            }
            assert_eq!(budget.steps_used(), total);
            let error = budget.charge_steps(1).expect_err("one more");
            assert_eq!(error.limit(), Some(LimitKind::Steps));
        }
    }

    #[test]
    fn what_runs_before_used_is_not_there_any_more() {
        for (total, before) in [(10_000, 4_000), (10_000, 9_999), (5_000, 5_000), (5_000, 6_000)] {
            let budget = steps(total).with_spent(before, Duration::ZERO);
            for _ in before..total {
                budget.charge_steps(1).expect("within the limit");
            }
            let error = budget.charge_steps(1).expect_err("one more");
            assert!(
                error.message().ends_with(&format!("{total} steps")),
                "the whole limit is named: {error}"
            );
            assert_eq!(budget.steps_used(), total);
        }
        let limits = Limits { deadline: Some(Duration::from_secs(3_600)), ..Limits::default() };
        let budget = Budget::new(limits).with_spent(0, Duration::from_secs(3_600));
        assert_eq!(budget.check_outside().expect_err("used up").kind(), ErrorKind::Deadline);
    }

    #[test]
    fn a_huge_step_is_refused_and_so_is_everything_after_it() {
        let budget = steps(1_000_000);
        assert!(budget.charge_steps(u64::MAX).is_err());
        assert!(budget.charge_steps(1).is_err());
    }

    #[test]
    fn bytes_over_the_limit_are_not_charged() {
        let budget = Budget::new(Limits { bytes: 100, ..Limits::default() });
        budget.charge_bytes(60).expect("fits");
        assert_eq!(budget.charge_bytes(41).expect_err("over").limit(), Some(LimitKind::Bytes));
        assert_eq!(budget.bytes_alive(), 60);
        assert!(budget.charge_bytes(usize::MAX).is_err());
        budget.release_bytes(60);
        assert_eq!((budget.bytes_alive(), budget.bytes_peak()), (0, 60));
    }

    #[test]
    fn a_cancelled_run_stops() {
        let cancel = Cancel::default();
        let budget = Budget::new(Limits::default()).with_cancel(cancel.clone());
        cancel.cancel();
        let error = (0..10_000).find_map(|_| budget.charge_steps(1).err()).expect("stops soon");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn whoever_waits_is_woken_by_a_cancel() {
        struct Noted(AtomicBool);
        impl std::task::Wake for Noted {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let noted = Arc::new(Noted(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&noted));
        let (cancel, cx) = (Cancel::default(), Context::from_waker(&waker));
        assert!(cancel.poll_cancelled(&cx).is_pending() && cancel.poll_cancelled(&cx).is_pending());
        cancel.clone().cancel();
        assert!(noted.0.load(Ordering::Relaxed) && cancel.poll_cancelled(&cx).is_ready());
    }

    #[test]
    fn waiting_for_a_core_does_not_count() {
        let limits = Limits { deadline: Some(Duration::from_millis(20)), ..Limits::default() };
        let budget = Budget::new(limits);
        budget.charge_steps(CHUNK as u64 + 1).expect("has time");
        // A thread that sleeps uses its core as little as one that waits for it.
        std::thread::park_timeout(Duration::from_millis(60));
        budget.check_outside().expect("the run used no processor time meanwhile");
        assert!(budget.time_used() < Duration::from_millis(20));
    }

    #[test]
    fn a_passed_deadline_stops_a_run() {
        let budget = Budget::new(Limits { deadline: Some(Duration::ZERO), ..Limits::default() });
        let error = (0..10_000).find_map(|_| budget.charge_steps(1).err()).expect("stops soon");
        assert_eq!(error.kind(), ErrorKind::Deadline);
    }

    #[test]
    fn endless_recursion_ends_before_the_stack_does() {
        fn descend(budget: &Budget, level: u64) -> Result<u64> {
            budget.check_stack()?;
            let frame = std::hint::black_box([level; 64]);
            Ok(descend(budget, level + 1)? + frame[1])
        }
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        let error = thread
            .spawn(|| descend(&Budget::new(Limits::default()), 0).expect_err("ends").limit())
            .expect("a thread starts")
            .join()
            .expect("no overflow");
        assert_eq!(error, Some(LimitKind::Stack));
    }

    #[test]
    fn leaving_a_call_gives_its_level_back() {
        let budget = Budget::new(Limits { calls: 2, ..Limits::default() });
        for _ in 0..10 {
            let _outer = budget.enter_call().expect("first");
            let _inner = budget.enter_call().expect("second");
            assert_eq!(budget.enter_call().expect_err("third").limit(), Some(LimitKind::Calls));
        }
        assert_eq!(budget.call_depth(), 0);
    }
}
