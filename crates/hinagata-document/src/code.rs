//! The kinds of errors: each with its name and the numbers that every door answers with.

use std::fmt;

/// What went wrong, as a stable name. HTTP status, JSON-RPC code and exit code follow from it and from the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// The text is not a prompt id.
    Id,
    /// No prompt, agent or file has that name.
    NotFound,
    /// Several candidates match, and nothing decides between them.
    Conflict,
    /// Variables are missing or of the wrong type.
    Validation,
    /// A prompt, pack or setting is invalid.
    Definition,
    /// A template does not parse.
    RenderSyntax,
    /// A template reads an undefined variable.
    RenderUndefined,
    /// A template uses a template that does not exist.
    RenderTemplateNotFound,
    /// A template does what templates may not do.
    RenderSecurity,
    /// A template fails while it runs.
    RenderRuntime,
    /// A template uses more than its limits allow.
    RenderLimit,
    /// The text is longer than allowed.
    OutputLimit,
    /// The deadline has passed.
    Deadline,
    /// A hook failed.
    Hook,
    /// A hook took too long.
    HookTimeout,
    /// Something is not approved or trusted.
    Approval,
    /// The workspace differs from its lock.
    Lock,
    /// A pack cannot be fetched from its source.
    Fetch,
    /// The store, or a file of the workspace, cannot be read or written.
    Store,
    /// A tool failed.
    Tool,
    /// A model failed.
    Model,
    /// The answer of a model does not follow its schema.
    Answer,
    /// A file has no known prompt format.
    ExchangeUnknown,
    /// A file has more than one prompt format.
    ExchangeAmbiguous,
    /// The operating system refused: a taken TCP port, a thread, random bytes, a watch.
    System,
}

/// What a [`Code`] means at every door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSpec {
    /// The name that every door uses.
    pub name: &'static str,
    /// A title for people.
    pub title: &'static str,
    /// The status of an HTTP answer.
    pub http: u16,
    /// The code of a JSON-RPC answer.
    pub rpc: i32,
    /// The exit code of a command.
    pub exit: u8,
}

/// The code of JSON-RPC for invalid parameters.
const PARAMS: i32 = -32602;

/// The code of JSON-RPC for an internal error.
const INTERNAL: i32 = -32603;

const fn spec(name: &'static str, title: &'static str, http: u16, rpc: i32, exit: u8) -> CodeSpec {
    CodeSpec { name, title, http, rpc, exit }
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 25] = [
        Self::Id,
        Self::NotFound,
        Self::Conflict,
        Self::Validation,
        Self::Definition,
        Self::RenderSyntax,
        Self::RenderUndefined,
        Self::RenderTemplateNotFound,
        Self::RenderSecurity,
        Self::RenderRuntime,
        Self::RenderLimit,
        Self::OutputLimit,
        Self::Deadline,
        Self::Hook,
        Self::HookTimeout,
        Self::Approval,
        Self::Lock,
        Self::Fetch,
        Self::Store,
        Self::Tool,
        Self::Model,
        Self::Answer,
        Self::ExchangeUnknown,
        Self::ExchangeAmbiguous,
        Self::System,
    ];

    /// What the code means at every door.
    #[must_use]
    pub const fn spec(self) -> CodeSpec {
        match self {
            Self::Id => spec("id", "Invalid id", 400, PARAMS, 2),
            Self::NotFound => spec("not_found", "Not found", 404, PARAMS, 3),
            Self::Conflict => spec("conflict", "Several prompts match this name", 409, PARAMS, 4),
            Self::Validation => spec("validation", "Invalid input", 400, PARAMS, 1),
            Self::Definition => spec("definition", "Invalid definition", 500, INTERNAL, 1),
            Self::RenderSyntax => spec("render.syntax", "Template syntax error", 400, INTERNAL, 1),
            Self::RenderUndefined => spec("render.undefined", "Undefined variable", 400, INTERNAL, 1),
            Self::RenderTemplateNotFound => {
                spec("render.template_not_found", "Template not found", 500, INTERNAL, 1)
            }
            Self::RenderSecurity => {
                spec("render.security", "Operation not allowed in templates", 500, INTERNAL, 1)
            }
            Self::RenderRuntime => spec("render.runtime", "Template failed", 500, INTERNAL, 1),
            Self::RenderLimit => spec("render.limit", "Template limit exceeded", 500, INTERNAL, 7),
            Self::OutputLimit => spec("output_limit", "Output limit exceeded", 500, INTERNAL, 7),
            Self::Deadline => spec("deadline", "Deadline exceeded", 503, INTERNAL, 7),
            Self::Hook => spec("hook", "Hook failed", 500, INTERNAL, 1),
            Self::HookTimeout => spec("hook_timeout", "Hook timed out", 503, INTERNAL, 7),
            Self::Approval => spec("approval", "Approval required", 403, INTERNAL, 6),
            Self::Lock => spec("lock", "Differs from the lock", 409, INTERNAL, 6),
            Self::Fetch => spec("fetch", "Pack cannot be fetched", 502, INTERNAL, 5),
            Self::Store => spec("store", "Store unavailable", 503, INTERNAL, 5),
            Self::Tool => spec("tool", "Tool failed", 502, INTERNAL, 5),
            Self::Model => spec("model", "Model failed", 502, INTERNAL, 5),
            Self::Answer => spec("answer", "Answer does not follow its schema", 502, INTERNAL, 1),
            Self::ExchangeUnknown => spec("exchange.unknown", "Unknown prompt format", 400, PARAMS, 2),
            Self::ExchangeAmbiguous => spec("exchange.ambiguous", "Ambiguous prompt format", 400, PARAMS, 2),
            Self::System => spec("system", "System error", 500, INTERNAL, 1),
        }
    }

    /// The code called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == name)
    }

    /// The name that every door uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.spec().name
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_name() {
        for code in Code::ALL {
            assert_eq!(Code::from_name(code.as_str()), Some(code));
        }
        assert_eq!(Code::from_name("no"), None);
    }

    #[test]
    fn a_mistake_of_the_caller_is_one_at_every_door() {
        let mistakes = [
            Code::Id,
            Code::NotFound,
            Code::Conflict,
            Code::Validation,
            Code::ExchangeUnknown,
            Code::ExchangeAmbiguous,
        ];
        for spec in Code::ALL.map(Code::spec) {
            let is_mistake = mistakes.iter().any(|code| code.as_str() == spec.name);
            assert_eq!(spec.rpc == PARAMS, is_mistake, "{}", spec.name);
            assert!((400..=503).contains(&spec.http) && (1..=7).contains(&spec.exit), "{}", spec.name);
        }
    }
}
