//! Providers that hooks request by name. Each runs once for a render.

use std::{
    future::{Future, poll_fn},
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use serde_json::Value;

use super::rendered::Warning;

/// The values of the providers of one render.
#[derive(Default)]
pub(super) struct Provided(Mutex<State>);

#[derive(Default)]
struct State {
    entries: Vec<(String, Entry)>,
    warnings: Vec<Warning>,
}

enum Entry {
    /// It runs; these tasks wait for it.
    Running(Vec<Waker>),
    Done(Value),
}

impl Provided {
    /// The lock is held for a few lines at a time, and none of them can panic halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a namespace. The first request runs `provide`; the others wait for it.
    pub(super) async fn get(
        &self,
        namespace: &str,
        provide: impl Future<Output = (Value, Option<Warning>)>,
    ) -> Value {
        if let Some(value) = self.known(namespace).await {
            return value;
        }
        let turn = Turn { provided: self, namespace };
        let (value, warning) = provide.await;
        let mut state = self.state();
        state.warnings.extend(warning);
        turn.finish(&mut state, Some(value.clone()));
        value
    }

    /// Waits for the value of a running provider; `None` if the caller has to run it.
    async fn known(&self, namespace: &str) -> Option<Value> {
        poll_fn(|cx| {
            let mut state = self.state();
            match state.entries.iter_mut().find(|(name, _)| name == namespace) {
                Some((_, Entry::Done(value))) => Poll::Ready(Some(value.clone())),
                Some((_, Entry::Running(wakers))) => {
                    wakers.push(cx.waker().clone());
                    Poll::Pending
                }
                None => {
                    state.entries.push((namespace.to_owned(), Entry::Running(Vec::new())));
                    Poll::Ready(None)
                }
            }
        })
        .await
    }

    /// The value of a namespace that was requested before.
    pub(super) fn known_value(&self, namespace: &str) -> Option<Value> {
        self.state().entries.iter().find_map(|(name, entry)| match entry {
            Entry::Done(value) if name == namespace => Some(value.clone()),
            _ => None,
        })
    }

    /// Takes the warnings of failed providers.
    pub(super) fn take_warnings(&self) -> Vec<Warning> {
        std::mem::take(&mut self.state().warnings)
    }
}

/// A run of a provider. If it is dropped early, the next request runs the provider.
struct Turn<'p> {
    provided: &'p Provided,
    namespace: &'p str,
}

impl Turn<'_> {
    fn finish(&self, state: &mut State, value: Option<Value>) {
        let Some(place) = state.entries.iter().position(|(name, _)| name == self.namespace) else { return };
        if matches!(state.entries[place].1, Entry::Done(_)) {
            return;
        }
        let (name, entry) = state.entries.swap_remove(place);
        if let Some(value) = value {
            state.entries.push((name, Entry::Done(value)));
        }
        if let Entry::Running(wakers) = entry {
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.provided.state();
        self.finish(&mut state, None);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::atomic::{AtomicUsize, Ordering},
        task::Context,
    };

    use serde_json::json;

    use super::{super::wait::block_on, *};

    #[test]
    fn a_provider_runs_once_and_everybody_has_its_value() {
        let (provided, runs) = (Provided::default(), AtomicUsize::new(0));
        let provide = || async {
            runs.fetch_add(1, Ordering::Relaxed);
            (json!({"a": 1}), None)
        };
        for _ in 0..3 {
            assert_eq!(block_on(provided.get("git", provide())), json!({"a": 1}));
        }
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn who_waits_takes_over_from_one_who_leaves() {
        let provided = Provided::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = Box::pin(provided.get("git", std::future::pending()));
        let mut second = pin!(provided.get("git", async { (json!(2), None) }));
        assert!(first.as_mut().poll(&mut cx).is_pending());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        drop(first);
        assert_eq!(second.as_mut().poll(&mut cx), Poll::Ready(json!(2)));
    }
}
