//! The web page. Its files hold no data, so they load without a key.

use std::{io::Read as _, path::Path};

use bytes::Bytes;
use flate2::read::GzDecoder;
use hyper::{
    HeaderMap, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use crate::{
    answer,
    body::Response,
    call::{Answer, Call},
    problem::Problem,
};

/// The name that stands for the hash where the files come from a directory.
const DEVELOPMENT: &str = "dev";

/// The headers of the page, besides those of every response.
const PAGE_HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, hinagata_page::CONTENT_SECURITY_POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// `GET /`
pub(super) async fn get_page(call: Call) -> Answer {
    let mut response = file_response(&call, hinagata_page::INDEX).await?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// `GET /page/{hash}/{file}`
pub(super) async fn get_page_file(call: Call) -> Answer {
    let (hash, file) = (call.path_param("hash")?, call.path_param("file")?.to_owned());
    let current = if call.app.page_directory.is_some() { DEVELOPMENT } else { hinagata_page::files_hash() };
    if hash != current || file == hinagata_page::INDEX {
        // The page of another version of the daemon is still open.
        return Err(missing_file(&file));
    }
    let is_kept = call.app.page_directory.is_none();
    let mut response = file_response(&call, &file).await?;
    let cache = if is_kept { "public, max-age=31536000, immutable" } else { "no-store" };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    Ok(response)
}

async fn file_response(call: &Call, name: &str) -> Answer {
    let media = hinagata_page::media_type(name).ok_or_else(|| missing_file(name))?;
    let (content, is_gzipped) = match &call.app.page_directory {
        Some(directory) => (read_development_file(directory, name).await?, false),
        None => {
            let content = hinagata_page::find_file(name).ok_or_else(|| missing_file(name))?;
            match accepts_gzip(&call.parts.headers) {
                true => (Bytes::from_static(content), true),
                false => (Bytes::from(unpack_file(content)?), false),
            }
        }
    };
    let mut response: Response = answer::bytes_response(StatusCode::OK, media, content);
    let headers = response.headers_mut();
    for (header, value) in PAGE_HEADERS {
        headers.insert(header, HeaderValue::from_static(value));
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_gzipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// Reads a file of the directory that replaces the page: a plain name, never a path.
async fn read_development_file(directory: &Path, name: &str) -> Result<Bytes, Problem> {
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(missing_file(name));
    }
    let path = directory.join(name);
    let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
    match read {
        Ok(Ok(content)) => Ok(content.into()),
        _ => Err(missing_file(name)),
    }
}

fn missing_file(name: &str) -> Problem {
    let name: String = name.chars().take(200).collect();
    Problem::not_found(format!("the page of this daemon has no file `{name}`"))
        .with_hint("load the page again")
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0")
    })
}

/// For the few clients that accept no compression.
fn unpack_file(content: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    match GzDecoder::new(content).read_to_end(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", error.to_string())),
    }
}
