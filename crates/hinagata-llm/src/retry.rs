//! When a request is retried.

use std::time::{Duration, SystemTime};

use hyper::header::HeaderValue;

/// The policy for retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retries {
    /// The wait before each retry.
    pub(crate) waits: Vec<Duration>,
    /// The longest wait that a provider may request.
    pub(crate) longest: Duration,
}

impl Retries {
    /// How long to wait after `failed` attempts; `None` after the last one.
    ///
    /// A longer wait that the provider requests replaces ours; a wait that is too long ends the retries.
    pub(crate) fn wait_after(&self, failed: usize, asked: Option<Duration>) -> Option<Duration> {
        let own = *self.waits.get(failed.checked_sub(1)?)?;
        match asked {
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(own.max(asked)),
            None => Some(own),
        }
    }
}

/// Whether a response with this status may succeed when it is retried.
pub(crate) const fn is_transient(status: u16) -> bool {
    status == 429 || status >= 500
}

/// The wait that a `Retry-After` header requests: in seconds, or until a date.
pub(crate) fn parse_retry_after(header: Option<&HeaderValue>, now: SystemTime) -> Option<Duration> {
    let text = header?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment = jiff::fmt::rfc2822::parse(text).ok()?;
    // A date in the past requests no wait.
    Some(SystemTime::from(moment.timestamp()).duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn waits_follow_the_policy() {
        let retries = Retries { waits: vec![ms(100), ms(300)], longest: ms(2000) };
        assert_eq!(
            [1, 2, 3].map(|failed| retries.wait_after(failed, None)),
            [Some(ms(100)), Some(ms(300)), None]
        );
        assert_eq!(retries.wait_after(1, Some(ms(2000))), Some(ms(2000)), "as long as allowed");
        assert_eq!(retries.wait_after(1, Some(ms(2001))), None, "longer ends the retries");
        assert_eq!(retries.wait_after(2, Some(ms(0))), Some(ms(300)));
        let once = Retries { waits: Vec::new(), ..retries };
        assert_eq!(once.wait_after(1, Some(ms(1))), None);
    }

    #[test]
    fn a_provider_asks_in_seconds_or_by_a_moment() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let read =
            |text: &str| parse_retry_after(Some(&HeaderValue::from_str(text).expect("is a header")), now);
        assert_eq!(read("2"), Some(ms(2000)));
        assert_eq!(read(" 0.5 "), Some(ms(500)));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:38 GMT"), Some(ms(1000)));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:36 GMT"), Some(ms(0)), "it has passed");
        assert_eq!([read("soon"), read("-1"), read("NaN"), read("1e300")], [None; 4]);
        assert_eq!(parse_retry_after(None, now), None);
    }

    #[test]
    fn what_the_caller_did_wrong_stays_wrong() {
        assert!([429, 500, 502, 503, 529].into_iter().all(is_transient));
        assert!(![400, 401, 403, 404, 408, 422, 301].into_iter().any(is_transient));
    }
}
