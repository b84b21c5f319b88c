//! What a route is, apart from the handler behind it: all that the gate, the metrics and the documents need.

use crate::access::Scope;

/// What a path names: the name in the table of routes, and what stood there.
pub(crate) type PathParams = Vec<(&'static str, String)>;

/// One route, without its handler.
pub(crate) struct RouteSpec {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// What a caller needs; `None` for what everybody may ask.
    pub(crate) scope: Option<Scope>,
    pub(crate) error_format: ErrorFormat,
    pub(crate) time_limit: TimeLimit,
    /// The part of the documentation that it is in.
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    /// Names in the query, and what they do.
    pub(crate) query_params: &'static [(&'static str, &'static str)],
    /// The schema of the body that it takes, and whether it needs one.
    pub(crate) body: Option<(&'static str, bool)>,
    /// What it gives when it works.
    pub(crate) responses: &'static [ResponseSpec],
}

/// An answer that is no failure.
pub(crate) struct ResponseSpec {
    pub(crate) status: u16,
    /// The media type; empty for an answer without a body.
    pub(crate) media: &'static str,
    /// The name of the schema.
    pub(crate) schema: &'static str,
    pub(crate) description: &'static str,
}

/// How failures are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    /// As problem details.
    Problem,
    /// As the second dialect has it.
    Legacy,
    /// As the second dialect has it, unless problem details are asked for.
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

    /// The dialect of a path that leads nowhere.
    pub(crate) fn for_path(path: &str) -> Self {
        let legacy =
            path.starts_with("/api/prompts/") && (path.ends_with("/render") || path.ends_with("/chat"));
        if legacy { Self::Legacy } else { Self::Problem }
    }
}

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// As long as the settings allow.
    Configured,
    /// As long as what it waits for may take.
    ByHandler,
    /// For as long as the caller stays; it is not counted as work.
    Unlimited,
}
