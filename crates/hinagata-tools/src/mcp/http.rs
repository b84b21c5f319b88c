//! Servers that are reached over Streamable HTTP.

use std::collections::HashMap;

use hinagata::Result;
use reqwest::Url;
use rmcp::{
    ServiceExt,
    transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig},
};

use super::{
    Client,
    bounded::{Bounded, Refusal},
};
use crate::{
    failure::{failed, with_causes},
    http::Clients,
    settings::Headers,
};

/// Room around an answer in the message that carries it, in bytes.
const AROUND: usize = 64 << 10;

/// Connects to the server at `url`.
pub(super) async fn connect(
    url: &str,
    headers: &Headers,
    clients: &Clients,
    max_answer: usize,
) -> Result<(Client, Refusal)> {
    let parsed =
        Url::parse(url).map_err(|error| failed("definition", format!("`{url}` is no address: {error}")))?;
    let client = clients.get(&parsed)?;
    let headers: HashMap<_, _> =
        headers.read()?.into_iter().filter_map(|(name, value)| Some((name?, value))).collect();
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    config.max_sse_event_size = max_answer.saturating_mul(2).saturating_add(AROUND);
    config.max_concurrent_requests = 64;
    let refusal = Refusal::default();
    let most = config.max_sse_event_size;
    let bounded = Bounded { client, most, refusal: refusal.clone() };
    let transport = StreamableHttpClientTransport::with_client(bounded, config);
    let client = ().serve(transport).await.map_err(|error| {
        let told = || failed("connect", format!("it does not talk MCP: {}", with_causes(&error)));
        refusal.take().unwrap_or_else(told)
    })?;
    Ok((client, refusal))
}
