//! Responses that several routes share: JSON with an ETag, pages of lists.

use bytes::Bytes;
use hinagata::{Digest, PromptFilter};
use hinagata_value::encoding::{decode_hex, encode_hex, encode_percent};
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
    http::request::Parts,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    body::{Body, Response},
    call::{Answer, Call},
    problem::Problem,
};

/// The largest page, whatever `limit` requests.
const MAX_PAGE_SIZE: usize = 10_000;

/// A response with `value` as JSON.
pub(crate) fn json_response(value: &impl Serialize) -> Answer {
    json_with_status(StatusCode::OK, value)
}

/// A response with `value` as JSON and with `status`.
pub(crate) fn json_with_status(status: StatusCode, value: &impl Serialize) -> Answer {
    Ok(bytes_response(status, "application/json", to_json_bytes(value)?.into()))
}

fn to_json_bytes(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", error.to_string()))
}

/// A response with these bytes.
pub(crate) fn bytes_response(status: StatusCode, media: &'static str, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// A response without a body.
pub(crate) fn no_content() -> Response {
    empty_response(StatusCode::NO_CONTENT)
}

pub(crate) fn empty_response(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The ETag of a response with `value` as JSON.
pub(crate) fn json_etag(value: &impl Serialize) -> Result<String, Problem> {
    Ok(etag_of(&to_json_bytes(value)?))
}

fn etag_of(text: &[u8]) -> String {
    format!("\"{}\"", &Digest::sha256(text).to_string()[..32])
}

/// A response with `value` as JSON and an ETag, or 304 where the caller has this version.
pub(crate) fn json_with_etag(parts: &Parts, value: &impl Serialize) -> Answer {
    let text = to_json_bytes(value)?;
    let tag = etag_of(&text);
    let mut response = if has_etag(parts, &tag) {
        empty_response(StatusCode::NOT_MODIFIED)
    } else {
        bytes_response(StatusCode::OK, "application/json", text.into())
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Whether `If-None-Match` of the request matches `tag`.
pub(crate) fn has_etag(parts: &Parts, tag: &str) -> bool {
    let known = parts.headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// The query of a request for a list.
#[derive(Debug, Default)]
pub(crate) struct ListQuery {
    pub(crate) full: bool,
    pub(crate) text: Option<String>,
    pub(crate) filter: PromptFilter,
    limit: Option<usize>,
    cursor: Option<String>,
    /// All query parameters but the cursor.
    rest: Vec<(String, String)>,
}

impl ListQuery {
    /// Reads the query. Parameters that are not in `known` are errors.
    pub(crate) fn from_call(call: &Call, known: &[&str]) -> Result<Self, Problem> {
        let mut list_query = Self::default();
        for (name, value) in call.query_pairs() {
            if !known.contains(&name.as_str()) {
                let near = hinagata_value::near_names(&name, known.iter().copied());
                return Err(Problem::bad_request(format!("unknown query parameter `{name}`"))
                    .with_member("near", near)
                    .with_hint(format!("known parameters: {}", known.join(", "))));
            }
            match name.as_str() {
                "view" => list_query.full = parse_view(&value)?,
                "q" => list_query.text = Some(value.to_lowercase()),
                "type" => list_query.filter.kind = Some(value.clone()),
                "tag" => list_query.filter.tags.push(value.clone()),
                "supports" => list_query.filter.supports = Some(value.clone()),
                "language" => list_query.filter.language = Some(value.clone()),
                "limit" => list_query.limit = Some(parse_limit(&value)?),
                _ => {
                    list_query.cursor = Some(decode_cursor(&value)?);
                    continue;
                }
            }
            list_query.rest.push((name, value));
        }
        Ok(list_query)
    }

    /// Whether one of `texts` contains the search text.
    pub(crate) fn matches_text<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        let Some(text_wanted) = &self.text else { return true };
        texts.into_iter().any(|text| text.to_lowercase().contains(text_wanted))
    }

    /// Takes the requested page out of `all`, which is sorted by id, and the id after which the next page starts.
    pub(crate) fn take_page<T>(&self, all: Vec<(String, T)>) -> (Vec<(String, T)>, Option<String>) {
        let behind = |(id, _): &(String, T)| self.cursor.as_ref().is_none_or(|cursor| id > cursor);
        let mut page: Vec<(String, T)> = all.into_iter().filter(behind).collect();
        let limit = self.limit.unwrap_or(MAX_PAGE_SIZE);
        let next = (page.len() > limit).then(|| page[limit - 1].0.clone());
        page.truncate(limit);
        (page, next)
    }

    /// A response with a page, and a `Link` header to the next one.
    pub(crate) fn page_response(&self, call: &Call, entries: &[Value], next: Option<&str>) -> Answer {
        let mut response = json_with_etag(&call.parts, &entries)?;
        if let Some(next) = next {
            let cursor = ("cursor".to_owned(), encode_cursor(next));
            let query: Vec<String> = self
                .rest
                .iter()
                .chain([&cursor])
                .map(|(name, value)| format!("{}={}", encode_percent(name), encode_percent(value)))
                .collect();
            let link = format!("<{}?{}>; rel=\"next\"", call.parts.uri.path(), query.join("&"));
            if let Ok(link) = HeaderValue::from_str(&link) {
                response.headers_mut().insert(header::LINK, link);
            }
        }
        Ok(response)
    }
}

fn parse_view(value: &str) -> Result<bool, Problem> {
    match value {
        "full" => Ok(true),
        "ids" => Ok(false),
        other => {
            Err(Problem::bad_request(format!("unknown view `{other}`")).with_hint("use `full` or `ids`"))
        }
    }
}

fn parse_limit(value: &str) -> Result<usize, Problem> {
    let limit = value.parse::<usize>().ok().filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit));
    limit.ok_or_else(|| {
        Problem::bad_request(format!("`limit` must be a number from 1 to {MAX_PAGE_SIZE}, not `{value}`"))
    })
}

/// Encodes an id as an opaque cursor.
fn encode_cursor(id: &str) -> String {
    encode_hex(id.bytes())
}

fn decode_cursor(cursor: &str) -> Result<String, Problem> {
    let id = decode_hex(cursor).and_then(|bytes| String::from_utf8(bytes).ok());
    id.ok_or_else(|| {
        Problem::bad_request("invalid cursor")
            .with_hint("use the cursor in the header `Link` of the previous page")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let all = || ["a", "b", "c", "d", "e"].map(|id| (id.to_owned(), ())).to_vec();
        let mut list_query = ListQuery { limit: Some(2), ..ListQuery::default() };
        let mut seen = Vec::new();
        loop {
            let (page, next) = list_query.take_page(all());
            seen.push(page.into_iter().map(|(id, ())| id).collect::<String>());
            let Some(next) = next else { break };
            list_query.cursor = Some(decode_cursor(&encode_cursor(&next)).expect("is ours"));
        }
        assert_eq!(seen, ["ab", "cd", "e"]);
        assert!(decode_cursor("xyz").is_err() && decode_cursor("a").is_err() && decode_cursor("ff").is_err());
    }
}
