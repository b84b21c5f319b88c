//! `http_request`.

use hinagata::{Code, Error};
use serde_json::Value;

use crate::{message::HttpAsk, options::Options};

/// Makes requests for hooks.
pub(crate) struct Http;

impl Http {
    pub(crate) fn new(_options: &Options) -> Self {
        Self
    }

    pub(crate) async fn request(&self, _request: HttpAsk) -> Result<Value, Error> {
        Err(Error::new(Code::Tool, "http_request is not offered"))
    }
}
