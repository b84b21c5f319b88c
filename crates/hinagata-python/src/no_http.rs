//! `http_request` of a program without a client.

use hinagata::{Code, Error};
use serde_json::Value;

use crate::{message::HttpAsk, options::Options};

/// Makes no requests.
pub(crate) struct Http;

impl Http {
    pub(crate) fn new(_options: &Options) -> Self {
        Self
    }

    pub(crate) async fn request(&self, _ask: HttpAsk) -> Result<Value, Error> {
        Err(Error::new(Code::Tool, "http_request is not part of this program"))
    }
}
