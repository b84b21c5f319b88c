//! The description of a route, without its handler: what the gate, the metrics and the documents need.

use hyper::{HeaderMap, header};

use crate::access::Scope;

/// The parameters of a path: their names in the route table, and their values.
pub(crate) type PathParams = Vec<(&'static str, String)>;

/// A route, without its handler.
pub(crate) struct RouteSpec {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The scope that a caller needs; `None` for open routes.
    pub(crate) scope: Option<Scope>,
    pub(crate) error_format: ErrorFormat,
    pub(crate) time_limit: TimeLimit,
    /// The group of the route in the documents.
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    /// Query parameters: name and description.
    pub(crate) query_params: &'static [(&'static str, &'static str)],
    /// The schema of the body, and whether it is required.
    pub(crate) body: Option<(&'static str, bool)>,
    /// The successful responses.
    pub(crate) responses: &'static [ResponseSpec],
}

/// A successful response.
pub(crate) struct ResponseSpec {
    pub(crate) status: u16,
    /// The media type; empty for a response without a body.
    pub(crate) media: &'static str,
    /// The name of the schema.
    pub(crate) schema: &'static str,
    pub(crate) description: &'static str,
}

/// The format of error responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    /// Problem details.
    Problem,
    /// The format of the legacy daemon.
    Legacy,
    /// The legacy format, unless the caller accepts problem details.
    Negotiated,
    /// The format of OpenAI's APIs.
    OpenAi,
    /// The format of Anthropic's API.
    Anthropic,
    /// The format of Anthropic's API for its clients, that of OpenAI's for others.
    ByClient,
}

impl ErrorFormat {
    /// The format for a caller, which is one of the fixed ones.
    pub(crate) fn for_caller(self, headers: &HeaderMap) -> Self {
        match self {
            Self::Negotiated if accepts_problem(headers) => Self::Problem,
            Self::Negotiated => Self::Legacy,
            Self::ByClient if headers.contains_key("anthropic-version") => Self::Anthropic,
            Self::ByClient => Self::OpenAi,
            fixed => fixed,
        }
    }

    /// Whether callers have a client of OpenAI or Anthropic.
    pub(crate) const fn is_virtual(self) -> bool {
        matches!(self, Self::OpenAi | Self::Anthropic | Self::ByClient)
    }

    /// The error format for a path that matches no route.
    pub(crate) fn for_path(path: &str) -> Self {
        let legacy =
            path.starts_with("/api/prompts/") && (path.ends_with("/render") || path.ends_with("/chat"));
        match path {
            _ if path.starts_with("/v1/") => Self::ByClient,
            _ if legacy => Self::Legacy,
            _ => Self::Problem,
        }
    }
}

/// Whether the caller accepts problem details.
fn accepts_problem(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter();
    accepts.filter_map(|value| value.to_str().ok()).any(|value| value.contains("problem+json"))
}

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// The setting `server.request_timeout`.
    Configured,
    /// The handler sets its own limits, such as the timeout of a model.
    ByHandler,
    /// No limit: the caller decides. The request occupies no slot.
    Unlimited,
}
