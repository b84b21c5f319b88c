//! `http_request` in a build without an HTTP client.

use hinagata::{Code, Error};
use serde_json::Value;

use crate::{message::HttpCall, options::HookOptions};

/// Rejects every request.
pub(crate) struct HookHttp;

impl HookHttp {
    pub(crate) fn new(_options: &HookOptions) -> Self {
        Self
    }

    pub(crate) async fn send_request(&self, _call: HttpCall) -> Result<Value, Error> {
        Err(Error::new(Code::Tool, "this build does not support `http_request`"))
    }
}
