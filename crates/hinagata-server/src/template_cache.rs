//! Reports how well the cache of templates serves: in the metrics, and in the log when it is too small.
//!
//! A cache that drops what was used longest ago serves nothing at all once prompts are used in turn and one more is in
//! use than it holds. Renders then take several times as long, without any error.

use std::time::{Duration, Instant};

use hinagata::PlanCacheStats;

/// The time over which evictions are counted.
const INTERVAL: Duration = Duration::from_secs(60);

/// How long a warning is not repeated.
const SILENCE: Duration = Duration::from_secs(3_600);

/// Sets the metrics of the cache.
pub(crate) fn record_metrics(stats: &PlanCacheStats) {
    let gauge = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    metrics::gauge!("hinagata_template_cache_entries").set(gauge(stats.entries));
    metrics::gauge!("hinagata_template_cache_limit").set(gauge(stats.limit));
    metrics::counter!("hinagata_template_cache_hits_total").absolute(stats.hits);
    metrics::counter!("hinagata_template_cache_misses_total").absolute(stats.misses);
    metrics::counter!("hinagata_template_cache_evictions_total").absolute(stats.evictions);
}

/// Warns when prompts keep displacing each other.
#[derive(Debug)]
pub(crate) struct TemplateCacheWatch {
    interval_start: Instant,
    evictions_before: u64,
    last_warning: Option<Instant>,
}

impl TemplateCacheWatch {
    pub(crate) fn new(now: Instant) -> Self {
        Self { interval_start: now, evictions_before: 0, last_warning: None }
    }

    /// Logs a warning if as many prompts were displaced within the last interval as the cache holds.
    pub(crate) fn check_cache(&mut self, stats: &PlanCacheStats, now: Instant) {
        if let Some(evictions) = self.count_evictions(stats, now) {
            tracing::warn!(
                evictions,
                limit = stats.limit,
                "more prompts are in use than the cache holds, so renders compile templates again; \
                 raise the setting `cache.templates`"
            );
        }
    }

    /// The number of evictions to warn about.
    fn count_evictions(&mut self, stats: &PlanCacheStats, now: Instant) -> Option<u64> {
        if now.duration_since(self.interval_start) < INTERVAL {
            return None;
        }
        let evictions = stats.evictions.saturating_sub(self.evictions_before);
        (self.interval_start, self.evictions_before) = (now, stats.evictions);
        let is_silent = self.last_warning.is_some_and(|last| now.duration_since(last) < SILENCE);
        if is_silent || evictions < stats.limit as u64 {
            return None;
        }
        self.last_warning = Some(now);
        Some(evictions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_keeps_dropping_prompts_is_reported_once_an_hour() {
        let start = Instant::now();
        let mut watch = TemplateCacheWatch::new(start);
        let mut check = |seconds: u64, evictions: u64| {
            let stats = PlanCacheStats { entries: 100, limit: 100, hits: 0, misses: 0, evictions };
            watch.count_evictions(&stats, start + Duration::from_secs(seconds))
        };
        assert_eq!(check(5, 500), None, "the interval has not ended");
        assert_eq!(check(60, 500), Some(500));
        assert_eq!(check(120, 1_000), None, "it was reported");
        assert_eq!(check(3_600 + 60, 1_099), None, "a few new prompts displace old ones");
        assert_eq!(check(3_600 + 120, 1_199), Some(100));
    }
}
