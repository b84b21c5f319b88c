//! Request ids: one name for a request in its response, the log and the audit log.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicU64, Ordering},
};

use hinagata_value::encoding::encode_hex;
use hyper::{HeaderMap, header::HeaderValue};

/// The header of the request and of the response.
pub(crate) const REQUEST_ID: &str = "x-request-id";

/// The longest id that is taken over from a caller.
const LONGEST: usize = 128;

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    /// The id in the headers of a request if it is well formed, else a new one.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        match given.filter(|id| is_well_formed(id)) {
            Some(id) => Self(id.into()),
            None => Self::new_unique(),
        }
    }

    /// A new id: random for each process, then counted, so that a request costs no system call.
    fn new_unique() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| {
            let mut bytes = [0; 8];
            // Without random bytes, ids differ within this process at least.
            let _ = getrandom::fill(&mut bytes);
            u64::from_le_bytes(bytes)
        });
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = (u128::from(*PROCESS) << 64) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
        Self(encode_hex(id.to_be_bytes()).into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// The id as the value of a header.
    pub(crate) fn to_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

/// Whether an id of a caller may appear in logs: short, and without characters that a log or a shell interprets.
fn is_well_formed(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+/=@".contains(&byte);
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(given: &str) -> RequestId {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, given.parse().expect("is a value"));
        RequestId::from_headers(&headers)
    }

    #[test]
    fn a_well_formed_id_is_kept_and_any_other_replaced() {
        for good in ["a", "7f3c-11", "Root=1-67891233-abcdef012345678912345678", &"x".repeat(128)] {
            assert_eq!(id_for(good).as_str(), good);
        }
        for bad in ["", "a b", "a\"b", "a;b", "a,b", &"x".repeat(129)] {
            let made = id_for(bad);
            assert!(made.as_str() != bad && made.as_str().len() == 32, "{bad}: {made:?}");
        }
        let none = HeaderMap::new();
        assert_ne!(RequestId::from_headers(&none), RequestId::from_headers(&none));
    }
}
