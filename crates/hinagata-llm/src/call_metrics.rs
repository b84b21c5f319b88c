//! The metrics of calls to a provider.

use std::{sync::Arc, time::Duration};

use metrics::{Counter, Histogram, SharedString};

/// The metrics of the calls to one provider. Those of successful calls are looked up once. A recorder that the process
/// installs after the first call does not count them.
pub(crate) struct CallMetrics {
    provider: SharedString,
    ok: Counter,
    time: Histogram,
}

impl std::fmt::Debug for CallMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallMetrics").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl CallMetrics {
    pub(crate) fn new(provider: &Arc<str>) -> Self {
        let provider = SharedString::from_shared(Arc::clone(provider));
        let ok = call_counter(provider.clone(), "ok");
        let time = metrics::histogram!("hinagata_model_call_seconds", "provider" => provider.clone());
        Self { provider, ok, time }
    }

    /// Records a call; `failure` is why it failed.
    pub(crate) fn record_call(&self, time: Duration, failure: Option<&'static str>) {
        self.time.record(time.as_secs_f64());
        match failure {
            None => self.ok.increment(1),
            Some(why) => call_counter(self.provider.clone(), why).increment(1),
        }
    }
}

fn call_counter(provider: SharedString, outcome: &'static str) -> Counter {
    metrics::counter!("hinagata_model_calls_total", "provider" => provider, "outcome" => outcome)
}
