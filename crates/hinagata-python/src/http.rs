//! `http_request`: the engine sends the request, because hooks have no network.

use std::time::Duration;

use hinagata::{Code, Error, Reason};
use hinagata_http::{AllowedHosts, HttpClient, HttpError, HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};

use crate::{message::HttpCall, options::HookOptions};

/// Maximum bytes of a response. As text in a frame it can be several times as long.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Sends HTTP requests for hooks.
pub(crate) struct HookHttp {
    client: Result<HttpClient, HttpError>,
    timeout: Duration,
}

impl HookHttp {
    pub(crate) fn new(options: &HookOptions) -> Self {
        let client = AllowedHosts::parse(&options.allowed_hosts).map(HttpClient::new);
        Self { client, timeout: options.http_timeout }
    }

    pub(crate) async fn send_request(&self, call: HttpCall) -> Result<Value, Error> {
        let client = self.client.as_ref().map_err(list_error)?;
        let content_type = match (&call.body, call.json) {
            (None, _) => None,
            (Some(_), true) => Some("application/json"),
            (Some(_), false) => Some("text/plain; charset=utf-8"),
        };
        let request = HttpRequest {
            headers: call.headers.into_iter().collect(),
            body: call.body.map(String::into_bytes),
            content_type,
            timeout: effective_timeout(call.timeout, self.timeout)?,
            max_bytes: MAX_RESPONSE_BYTES,
            ..HttpRequest::new(call.method, call.url)
        };
        client.send_request(request).await.map(response_json).map_err(|error| request_error(&error))
    }
}

/// The requested timeout, capped at `most`.
fn effective_timeout(wanted: Option<f64>, most: Duration) -> Result<Duration, Error> {
    let Some(seconds) = wanted else { return Ok(most) };
    let wanted = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    wanted.map(|time| time.min(most)).ok_or_else(|| {
        let message = format!("invalid timeout: {seconds}");
        Error::new(Code::Validation, message).with_reason(Reason::Arguments)
    })
}

fn response_json(response: HttpResponse) -> Value {
    let headers: Map<String, Value> =
        response.headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    json!({
        "status": response.status,
        "headers": headers,
        "body": String::from_utf8_lossy(&response.body),
    })
}

fn request_error(error: &HttpError) -> Error {
    let (code, reason, more) = match error {
        HttpError::Forbidden(_) => (Code::Tool, Reason::Forbidden, "; see `hooks.allowed_hosts`"),
        HttpError::Invalid(_) => (Code::Validation, Reason::Arguments, ""),
        HttpError::Timeout(_) => (Code::Deadline, Reason::Timeout, ""),
        HttpError::Connection(_) => (Code::Tool, Reason::Connection, ""),
        HttpError::TooLarge(_) => (Code::Validation, Reason::Size, ""),
    };
    Error::new(code, format!("{error}{more}")).with_reason(reason)
}

fn list_error(error: &HttpError) -> Error {
    Error::new(Code::Tool, format!("invalid `hooks.allowed_hosts`: {error}"))
}
