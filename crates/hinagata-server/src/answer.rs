//! Answers that several routes give: JSON with an ETag, pages of lists.

use bytes::Bytes;
use hinagata::{Digest, PromptFilter};
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
    query::encoded,
};

/// Most entries of a page, whatever is asked.
const LARGEST_PAGE: usize = 10_000;

/// `value` as JSON.
pub(crate) fn json(value: &impl Serialize) -> Answer {
    json_with(StatusCode::OK, value)
}

/// `value` as JSON, with another status.
pub(crate) fn json_with(status: StatusCode, value: &impl Serialize) -> Answer {
    Ok(bytes(status, "application/json", text(value)?.into()))
}

fn text(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", error.to_string()))
}

/// An answer of these bytes.
pub(crate) fn bytes(status: StatusCode, media: &'static str, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// An answer without a body.
pub(crate) fn done() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// `value` as JSON with an ETag; nothing where the caller has it already.
pub(crate) fn tagged(parts: &Parts, value: &impl Serialize) -> Answer {
    let text = text(value)?;
    let tag = format!("\"{}\"", &Digest::of(&text).to_string()[..32]);
    let mut response = match is_known(parts, &tag) {
        false => bytes(StatusCode::OK, "application/json", text.into()),
        true => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Whether the caller has what `tag` stands for.
fn is_known(parts: &Parts, tag: &str) -> bool {
    let known = parts.headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// How a list is asked for.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) full: bool,
    pub(crate) text: Option<String>,
    pub(crate) filter: PromptFilter,
    limit: Option<usize>,
    cursor: Option<String>,
    /// The query without the cursor.
    rest: Vec<(String, String)>,
}

impl Wanted {
    /// What the query asks for; only names of `known` are allowed.
    pub(crate) fn read(call: &Call, known: &[&str]) -> Result<Self, Problem> {
        let mut wanted = Self::default();
        for (name, value) in call.query() {
            if !known.contains(&name.as_str()) {
                let near = hinagata_value::near_names(&name, known.iter().copied());
                return Err(Problem::bad_request(format!("this list takes no `{name}`"))
                    .with("near", near)
                    .hint(format!("it takes {}", known.join(", "))));
            }
            match name.as_str() {
                "view" => wanted.full = view(&value)?,
                "q" => wanted.text = Some(value.to_lowercase()),
                "type" => wanted.filter.kind = Some(value.clone()),
                "tag" => wanted.filter.tags.push(value.clone()),
                "supports" => wanted.filter.supports = Some(value.clone()),
                "language" => wanted.filter.language = Some(value.clone()),
                "limit" => wanted.limit = Some(limit(&value)?),
                _ => {
                    wanted.cursor = Some(uncursor(&value)?);
                    continue;
                }
            }
            wanted.rest.push((name, value));
        }
        Ok(wanted)
    }

    /// Whether the text that is looked for is in one of `texts`.
    pub(crate) fn has_text<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        let Some(wanted) = &self.text else { return true };
        texts.into_iter().any(|text| text.to_lowercase().contains(wanted))
    }

    /// The page of `ids`, which are in order, and the id that the next one starts behind.
    pub(crate) fn page<T>(&self, all: Vec<(String, T)>) -> (Vec<(String, T)>, Option<String>) {
        let behind = |(id, _): &(String, T)| self.cursor.as_ref().is_none_or(|cursor| id > cursor);
        let mut page: Vec<(String, T)> = all.into_iter().filter(behind).collect();
        let limit = self.limit.unwrap_or(LARGEST_PAGE);
        let next = (page.len() > limit).then(|| page[limit - 1].0.clone());
        page.truncate(limit);
        (page, next)
    }

    /// The answer with a page, and where the next one is.
    pub(crate) fn answer(&self, call: &Call, entries: &[Value], next: Option<&str>) -> Answer {
        let mut response = tagged(&call.parts, &entries)?;
        if let Some(next) = next {
            let cursor = ("cursor".to_owned(), cursor(next));
            let query: Vec<String> = self
                .rest
                .iter()
                .chain([&cursor])
                .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
                .collect();
            let link = format!("<{}?{}>; rel=\"next\"", call.parts.uri.path(), query.join("&"));
            if let Ok(link) = HeaderValue::from_str(&link) {
                response.headers_mut().insert(header::LINK, link);
            }
        }
        Ok(response)
    }
}

fn view(value: &str) -> Result<bool, Problem> {
    match value {
        "full" => Ok(true),
        "ids" => Ok(false),
        other => Err(Problem::bad_request(format!("there is no view `{other}`")).hint("`full` or `ids`")),
    }
}

fn limit(value: &str) -> Result<usize, Problem> {
    let limit = value.parse::<usize>().ok().filter(|limit| (1..=LARGEST_PAGE).contains(limit));
    limit.ok_or_else(|| {
        Problem::bad_request(format!("`limit` is a number from 1 to {LARGEST_PAGE}, not `{value}`"))
    })
}

/// An id as a cursor: nobody is to read it.
fn cursor(id: &str) -> String {
    id.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn uncursor(cursor: &str) -> Result<String, Problem> {
    let digits: Option<Vec<u8>> = cursor.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let bytes = digits
        .filter(|digits| digits.len() % 2 == 0)
        .map(|digits| digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect::<Vec<u8>>());
    let id = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    id.ok_or_else(|| Problem::bad_request("this cursor is none of ours").hint("take it from `Link`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let all = || ["a", "b", "c", "d", "e"].map(|id| (id.to_owned(), ())).to_vec();
        let mut wanted = Wanted { limit: Some(2), ..Wanted::default() };
        let mut seen = Vec::new();
        loop {
            let (page, next) = wanted.page(all());
            seen.push(page.into_iter().map(|(id, ())| id).collect::<String>());
            let Some(next) = next else { break };
            wanted.cursor = Some(uncursor(&cursor(&next)).expect("is ours"));
        }
        assert_eq!(seen, ["ab", "cd", "e"]);
        assert!(uncursor("xyz").is_err() && uncursor("a").is_err() && uncursor("ff").is_err());
    }
}
