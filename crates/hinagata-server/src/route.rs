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
    pub(crate) dialect: Dialect,
    pub(crate) time: Time,
    /// The part of the documentation that it is in.
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    /// Names in the query, and what they do.
    pub(crate) query: &'static [(&'static str, &'static str)],
    /// The schema of the body that it takes, and whether it needs one.
    pub(crate) body: Option<(&'static str, bool)>,
    /// What it gives when it works.
    pub(crate) gives: &'static [Gives],
}

/// An answer that is no failure.
pub(crate) struct Gives {
    pub(crate) status: u16,
    /// The media type; empty for an answer without a body.
    pub(crate) media: &'static str,
    /// The name of the schema.
    pub(crate) schema: &'static str,
    pub(crate) meaning: &'static str,
}

/// How failures are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As problem details.
    Ours,
    /// As the second dialect has it.
    Second,
    /// As the second dialect has it, unless problem details are asked for.
    Shared,
}

impl Dialect {
    pub(crate) fn is_old(self, wants_problem: bool) -> bool {
        match self {
            Self::Ours => false,
            Self::Second => true,
            Self::Shared => !wants_problem,
        }
    }

    /// The dialect of a path that leads nowhere.
    pub(crate) fn of_path(path: &str) -> Self {
        let second =
            path.starts_with("/api/prompts/") && (path.ends_with("/render") || path.ends_with("/chat"));
        if second { Self::Second } else { Self::Ours }
    }
}

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// As long as the settings allow.
    Bounded,
    /// As long as what it waits for may take.
    Own,
    /// For as long as the caller stays; it is not counted as work.
    Unbounded,
}
