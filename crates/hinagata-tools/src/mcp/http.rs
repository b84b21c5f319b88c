//! Servers that are reached over Streamable HTTP.

use std::collections::HashMap;

use hinagata::Result;
use reqwest::Url;
use rmcp::{
    ServiceExt,
    transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig},
};

use super::Client;
use crate::{
    failure::{failed, with_causes},
    http::Clients,
    reach::own_error,
    settings::Headers,
};

/// Connects to the server at `url`.
pub(super) async fn connect(
    url: &str,
    headers: &Headers,
    clients: &Clients,
    max_answer: usize,
) -> Result<Client> {
    let parsed =
        Url::parse(url).map_err(|error| failed("definition", format!("`{url}` is no address: {error}")))?;
    let client = clients.get(&parsed)?;
    let headers: HashMap<_, _> =
        headers.read()?.into_iter().filter_map(|(name, value)| Some((name?, value))).collect();
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    config.max_sse_event_size = max_answer.saturating_mul(2).max(64 << 10);
    config.max_concurrent_requests = 64;
    let transport = StreamableHttpClientTransport::with_client(client, config);
    ().serve(transport).await.map_err(|error| {
        let told = || failed("connect", format!("it does not talk MCP: {}", with_causes(&error)));
        own_error(&error).unwrap_or_else(told)
    })
}
