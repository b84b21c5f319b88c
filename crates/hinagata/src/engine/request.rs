//! What a caller asks for.

use std::time::Instant;

use hinagata_value::Cancel;
use serde_json::{Map, Value};

use crate::definition::UndefinedMode;

/// A call: which prompt, with which variables, for whom.
///
/// ```
/// use hinagata::{Engine, Request};
/// use serde_json::json;
///
/// let engine = Engine::open("no/such/workspace");
/// let variables = json!({"task": "Paint the tower"});
/// let request = Request::new("planning_task_decomposition").variables(&variables);
/// assert!(engine.render_blocking(&request)?.text().contains("Paint the tower"));
/// # Ok::<(), hinagata::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub(super) prompt: &'a str,
    pub(super) variables: &'a Map<String, Value>,
    pub(super) context: &'a Context,
    pub(super) undefined: Option<UndefinedMode>,
    pub(super) cancel: Option<Cancel>,
    pub(super) deadline: Option<Instant>,
    pub(super) unchecked: bool,
}

static NO_VARIABLES: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
static NO_CONTEXT: std::sync::LazyLock<Context> = std::sync::LazyLock::new(Context::default);

impl<'a> Request<'a> {
    /// The prompt called `prompt`, however it is spelled, without variables.
    #[must_use]
    pub fn new(prompt: &'a str) -> Self {
        Self {
            prompt,
            variables: &NO_VARIABLES,
            context: &NO_CONTEXT,
            undefined: None,
            cancel: None,
            deadline: None,
            unchecked: false,
        }
    }

    /// The same with the entries of a JSON object as variables; anything else has none.
    #[must_use]
    pub fn variables(self, variables: &'a Value) -> Self {
        match variables {
            Value::Object(map) => self.variable_map(map),
            _ => self,
        }
    }

    /// The same with these variables.
    #[must_use]
    pub fn variable_map(mut self, variables: &'a Map<String, Value>) -> Self {
        self.variables = variables;
        self
    }

    /// The same for this caller.
    #[must_use]
    pub fn context(mut self, context: &'a Context) -> Self {
        self.context = context;
        self
    }

    /// The same with another answer to variables that are not there.
    #[must_use]
    pub fn undefined(mut self, mode: UndefinedMode) -> Self {
        self.undefined = Some(mode);
        self
    }

    /// The same without a look at whether the variables are what the prompt declares: what is missing is not there.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// The same, watching a handle that stops it: templates, and whatever is waited for, such as hooks and tools.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The same for somebody who waits until `deadline`: a hook that found no free process by then, or is not done,
    /// is told as such.
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

/// Who asks, and from where.
///
/// A door that serves strangers decides itself which `workspace_path` it passes on: files beneath it can be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The agent that asks.
    pub agent_id: Option<String>,
    /// The model that the result is meant for.
    pub model: Option<String>,
    /// The language to answer in.
    pub language: Option<String>,
    /// The project that is worked on.
    pub workspace_path: Option<String>,
    /// The session, as hooks see it; `session_id`, `agent_id` and `model` in it count too.
    pub session: Map<String, Value>,
    /// State of the session that a prompt may read if it declares so.
    pub session_state: Map<String, Value>,
}

impl Context {
    /// Reads a context as callers write it: unknown keys are ignored, and so are values that are no text.
    #[must_use]
    pub fn from_map(map: &Map<String, Value>) -> Self {
        let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
        let object = |key: &str| map.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut session = object("session");
        if let (Some(id), false) = (map.get("session_id"), session.contains_key("session_id")) {
            session.insert("session_id".to_owned(), id.clone());
        }
        Self {
            agent_id: text("agent_id"),
            model: text("model"),
            language: text("language"),
            workspace_path: text("workspace_path"),
            session,
            session_state: object("session_state"),
        }
    }

    fn of_session(&self, key: &str) -> Option<&str> {
        self.session.get(key).and_then(Value::as_str)
    }

    /// The agent: named by the context, else by the session.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent_id.as_deref().or_else(|| self.of_session("agent_id"))
    }

    pub(super) fn named_model(&self) -> Option<&str> {
        self.model.as_deref().or_else(|| self.of_session("model"))
    }

    pub(super) fn session_id(&self) -> Option<&str> {
        self.of_session("session_id")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_context_names_before_the_session() {
        let map = json!({"session": {"agent_id": "of session", "model": "m"}, "session_id": "s1", "agent_id": "own"});
        let context = Context::from_map(map.as_object().expect("is a map"));
        assert_eq!((context.agent(), context.named_model()), (Some("own"), Some("m")));
        assert_eq!(context.session_id(), Some("s1"));
        let other = Context { agent_id: None, ..context };
        assert_eq!(other.agent(), Some("of session"));
    }
}
