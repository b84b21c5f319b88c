//! Servers reached over Streamable HTTP.

use std::collections::HashMap;

use hinagata::{Reason, Result};
use reqwest::Url;
use rmcp::{
    ServiceExt,
    transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig},
};

use super::{
    Client,
    bounded_client::{BoundedClient, LastRefusal},
};
use crate::{
    failure::{tool_error, with_causes},
    http::HttpClients,
    settings::SecretHeaders,
};

/// Bytes of a message in addition to its result.
const MESSAGE_OVERHEAD: usize = 64 << 10;

/// Connects to the server at `url`.
pub(super) async fn connect_url(
    url: &str,
    headers: &SecretHeaders,
    clients: &HttpClients,
    max_answer: usize,
) -> Result<(Client, LastRefusal)> {
    let parsed = Url::parse(url)
        .map_err(|error| tool_error(Reason::Definition, format!("invalid URL `{url}`: {error}")))?;
    let client = clients.get(&parsed)?;
    let headers: HashMap<_, _> =
        headers.to_header_map()?.into_iter().filter_map(|(name, value)| Some((name?, value))).collect();
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    config.max_sse_event_size = max_answer.saturating_mul(2).saturating_add(MESSAGE_OVERHEAD);
    config.max_concurrent_requests = 64;
    let refusal = LastRefusal::default();
    let most = config.max_sse_event_size;
    let bounded = BoundedClient { client, most, refusal: refusal.clone() };
    let transport = StreamableHttpClientTransport::with_client(bounded, config);
    let client = ().serve(transport).await.map_err(|error| {
        let handshake_error =
            || tool_error(Reason::Connect, format!("MCP handshake failed: {}", with_causes(&error)));
        refusal.take().unwrap_or_else(handshake_error)
    })?;
    Ok((client, refusal))
}
