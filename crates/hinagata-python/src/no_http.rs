//! `http_request` of a program without a client.

use hinagata::{Code, Error};
use serde_json::Value;

use crate::{message::HttpCall, options::HookOptions};

/// Makes no requests.
pub(crate) struct HookHttp;

impl HookHttp {
    pub(crate) fn new(_options: &HookOptions) -> Self {
        Self
    }

    pub(crate) async fn send_request(&self, _call: HttpCall) -> Result<Value, Error> {
        Err(Error::new(Code::Tool, "http_request is not part of this program"))
    }
}
