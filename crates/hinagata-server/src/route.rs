//! The description of a route, without its handler: what the gate, the metrics and the documents need.

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
}

impl ErrorFormat {
    pub(crate) fn is_legacy(self, wants_problem: bool) -> bool {
        match self {
            Self::Problem => false,
            Self::Legacy => true,
            Self::Negotiated => !wants_problem,
        }
    }

    /// The error format for a path that matches no route.
    pub(crate) fn for_path(path: &str) -> Self {
        let legacy =
            path.starts_with("/api/prompts/") && (path.ends_with("/render") || path.ends_with("/chat"));
        if legacy { Self::Legacy } else { Self::Problem }
    }
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
