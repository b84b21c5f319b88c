//! Responses of providers, decompressed.

use std::io;

use async_compression::tokio::bufread::GzipDecoder;
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
    http::response::Parts,
};
use tokio::io::{AsyncBufRead, AsyncReadExt as _};
use tokio_util::io::StreamReader;

use crate::plain_connections::ResponseBody;

/// Most bytes of a decompressed chunk.
const CHUNK: usize = 16 << 10;

/// Why the rest of a body does not arrive.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A response whose body is still to be read.
pub(crate) struct ProviderResponse {
    head: Parts,
    body: DecodedBody,
}

enum DecodedBody {
    Plain(ResponseBody),
    Gzip(Box<GzipDecoder<Box<dyn AsyncBufRead + Send + Unpin>>>),
}

impl ProviderResponse {
    /// The response that the client received. Requests do not ask for compression; gateways compress all the same.
    pub(crate) fn from_http(response: hyper::Response<ResponseBody>) -> Self {
        let (head, body) = response.into_parts();
        let is_gzip = |name: &str| ["gzip", "x-gzip"].iter().any(|gzip| name.eq_ignore_ascii_case(gzip));
        let body = if encoding(&head.headers).is_some_and(is_gzip) {
            let pieces = body.into_data_stream().map_err(io::Error::other);
            DecodedBody::Gzip(Box::new(GzipDecoder::new(Box::new(StreamReader::new(pieces)))))
        } else {
            DecodedBody::Plain(body)
        };
        Self { head, body }
    }

    /// The status.
    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The media type of the body.
    pub(crate) fn content_type(&self) -> Option<&str> {
        self.head.headers.get(CONTENT_TYPE)?.to_str().ok()
    }

    /// The compression of the body, if it stays compressed because nobody here knows it.
    pub(crate) fn unknown_encoding(&self) -> Option<&str> {
        match (&self.body, encoding(&self.head.headers)) {
            (DecodedBody::Plain(_), Some(other)) if !other.eq_ignore_ascii_case("identity") => Some(other),
            _ => None,
        }
    }

    /// The next bytes of the body; `None` after the last ones.
    pub(crate) async fn next_chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        match &mut self.body {
            DecodedBody::Plain(body) => {
                while let Some(frame) = body.frame().await {
                    // Anything else are trailers.
                    if let Ok(data) = frame?.into_data() {
                        return Ok(Some(data));
                    }
                }
                Ok(None)
            }
            DecodedBody::Gzip(decoder) => {
                let mut chunk = BytesMut::with_capacity(CHUNK);
                let count = decoder.read_buf(&mut chunk).await?;
                Ok((count > 0).then(|| chunk.freeze()))
            }
        }
    }
}

fn encoding(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_ENCODING)?.to_str().ok().map(str::trim)
}
