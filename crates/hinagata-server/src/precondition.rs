//! Conditional writes: `If-Match` and `If-None-Match` (RFC 9110, section 13.1).

use hyper::{
    HeaderMap, StatusCode,
    header::{HeaderName, IF_MATCH, IF_NONE_MATCH},
};

use crate::problem::Problem;

/// What a request requires of the document that it changes.
#[derive(Debug)]
pub(crate) struct Precondition {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

/// The ETags of a header.
#[derive(Debug)]
enum Tags {
    /// `*`: every document.
    Any,
    Some(Vec<String>),
}

impl Tags {
    fn from_header(headers: &HeaderMap, name: &HeaderName) -> Option<Self> {
        headers.contains_key(name).then(|| {
            let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
            let tags: Vec<String> =
                values.flat_map(|value| value.split(',')).map(|tag| tag.trim().to_owned()).collect();
            if tags.iter().any(|tag| tag == "*") { Self::Any } else { Self::Some(tags) }
        })
    }

    /// Whether a document with this ETag is meant; `None` for a document that does not exist. A weak tag never matches:
    /// a write requires the same bytes.
    fn has_tag(&self, tag: Option<&str>) -> bool {
        tag.is_some_and(|tag| match self {
            Self::Any => true,
            Self::Some(tags) => tags.iter().any(|known| known == tag),
        })
    }
}

impl Precondition {
    /// The precondition of a request; `None` without one.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let if_match = Tags::from_header(headers, &IF_MATCH);
        let if_none_match = Tags::from_header(headers, &IF_NONE_MATCH);
        (if_match.is_some() || if_none_match.is_some()).then_some(Self { if_match, if_none_match })
    }

    /// Checks the ETag of the current document; `None` if there is no document.
    pub(crate) fn check_tag(&self, now: Option<&str>) -> Result<(), Problem> {
        let is_changed = self.if_match.as_ref().is_some_and(|tags| !tags.has_tag(now));
        let is_known = self.if_none_match.as_ref().is_some_and(|tags| tags.has_tag(now));
        let message = match (is_changed, now) {
            (true, Some(_)) => "the document has changed since it was read",
            (true, None) => "the document does not exist",
            (false, _) if is_known => "the document exists already",
            (false, _) => return Ok(()),
        };
        let problem = Problem::new(StatusCode::PRECONDITION_FAILED, "precondition", message).with_hint(
            "read the document again, apply the change to it, and send its new ETag in `If-Match`",
        );
        Err(match now {
            Some(tag) => problem.with_member("etag", tag),
            None => problem,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_met(headers: &[(&'static str, &str)], now: Option<&str>) -> bool {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, value.parse().expect("is a value"));
        }
        Precondition::from_headers(&all).is_none_or(|precondition| precondition.check_tag(now).is_ok())
    }

    #[test]
    fn a_document_must_be_as_the_request_requires() {
        let now = Some("\"a\"");
        assert!(is_met(&[], now) && is_met(&[], None));
        assert!(is_met(&[("if-match", "\"a\"")], now) && is_met(&[("if-match", "\"b\", \"a\"")], now));
        assert!(is_met(&[("if-match", "*")], now) && !is_met(&[("if-match", "*")], None));
        assert!(!is_met(&[("if-match", "\"b\"")], now) && !is_met(&[("if-match", "\"a\"")], None));
        assert!(!is_met(&[("if-match", "W/\"a\"")], now) && !is_met(&[("if-match", "")], now));
        assert!(is_met(&[("if-none-match", "*")], None) && !is_met(&[("if-none-match", "*")], now));
        assert!(!is_met(&[("if-none-match", "\"a\"")], now) && is_met(&[("if-none-match", "\"b\"")], now));
    }
}
