//! Which prompts render fast enough to run on the thread that serves the client.
//!
//! A process that serves one client has one such thread: two would wake each other at every message, which takes a third of
//! the time of a request. A long render must not keep the thread from other messages. A template does not show its cost, so
//! while a prompt renders, other messages move to another thread, until a render of it was fast.

use std::{
    future::poll_fn,
    pin::pin,
    time::{Duration, Instant},
};

use hinagata::{RenderJob, Rendered, Result};
use hinagata_value::BoundedCache;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// The longest that a quick prompt may keep the thread.
const QUICK_MAX: Duration = Duration::from_millis(1);

/// Prompts that are remembered.
const CAPACITY: usize = 1_024;

/// The prompts whose last render was quick, by the names that callers used.
#[derive(Debug)]
pub(crate) struct QuickPrompts(BoundedCache<Box<str>, ()>);

impl Default for QuickPrompts {
    fn default() -> Self {
        Self(BoundedCache::new(CAPACITY))
    }
}

impl QuickPrompts {
    /// Renders a prompt. Unless it is quick, other tasks go on meanwhile.
    pub(crate) async fn render_prompt(&self, job: &RenderJob) -> Result<Rendered> {
        let is_quick = self.is_quick(&job.prompt);
        let mut longest = Duration::ZERO;
        let mut render = pin!(job.render());
        let rendered = poll_fn(|context| {
            let started = Instant::now();
            let mut poll = || render.as_mut().poll(context);
            let polled = if is_quick { poll() } else { run_beside(poll) };
            longest = longest.max(started.elapsed());
            polled
        })
        .await;
        self.record_time(&job.prompt, longest, rendered.is_ok());
        rendered
    }

    fn is_quick(&self, prompt: &str) -> bool {
        self.0.get(prompt).is_some()
    }

    /// Records how long a render kept the thread. A failed one says nothing about how fast others are.
    fn record_time(&self, prompt: &str, longest: Duration, is_ok: bool) {
        let is_quick = longest <= QUICK_MAX;
        if is_quick == self.is_quick(prompt) {
            return;
        }
        if !is_quick {
            self.0.remove_if(&prompt.into(), |()| true);
        } else if is_ok {
            self.0.insert(prompt.into(), ());
        }
    }
}

/// Runs `work` while other tasks of this thread go on, where the runtime can move them to another one.
fn run_beside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_prompt_is_quick_as_long_as_its_renders_are() {
        let prompts = QuickPrompts::default();
        assert!(!prompts.is_quick("p"), "nothing is known yet");
        prompts.record_time("p", Duration::ZERO, false);
        assert!(!prompts.is_quick("p"), "it failed early");
        prompts.record_time("p", QUICK_MAX, true);
        assert!(prompts.is_quick("p") && !prompts.is_quick("other"));
        prompts.record_time("p", Duration::ZERO, false);
        assert!(prompts.is_quick("p"));
        prompts.record_time("p", QUICK_MAX * 2, true);
        assert!(!prompts.is_quick("p"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_while_a_prompt_renders() {
        let (sender, receiver) = mpsc::channel();
        let waiting = tokio::spawn(async move {
            let sending = tokio::spawn(async move { sender.send(()) });
            run_beside(|| receiver.recv()).expect("the other task sends");
            sending.await.expect("ends").expect("is received");
        });
        waiting.await.expect("ends");
    }

    #[tokio::test]
    async fn a_runtime_without_threads_renders_in_place() {
        assert_eq!(run_beside(|| 1), 1);
    }
}
