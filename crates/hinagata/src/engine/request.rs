//! A call of the engine.

use std::{path::PathBuf, time::Instant};

use hinagata_value::Cancel;
use serde_json::{Map, Value};

use crate::definition::UndefinedMode;

/// A call: prompt, variables and context.
///
/// ```
/// use hinagata::{Engine, Request};
/// use serde_json::json;
///
/// let engine = Engine::open("no/such/workspace");
/// let variables = json!({"task": "Paint the tower"});
/// let request = Request::new("planning_task_decomposition").with_variables(&variables);
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
    pub(super) is_mapped: bool,
}

static NO_VARIABLES: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
static NO_CONTEXT: std::sync::LazyLock<Context> = std::sync::LazyLock::new(Context::default);

impl<'a> Request<'a> {
    /// A call of the prompt `prompt`, in any spelling, without variables.
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
            is_mapped: true,
        }
    }

    /// Sets the variables from a JSON object; any other value has no effect.
    #[must_use]
    pub fn with_variables(self, variables: &'a Value) -> Self {
        match variables {
            Value::Object(map) => self.with_variable_map(map),
            _ => self,
        }
    }

    /// Sets the variables.
    #[must_use]
    pub fn with_variable_map(mut self, variables: &'a Map<String, Value>) -> Self {
        self.variables = variables;
        self
    }

    /// Sets the context.
    #[must_use]
    pub fn with_context(mut self, context: &'a Context) -> Self {
        self.context = context;
        self
    }

    /// Sets how undefined variables behave.
    #[must_use]
    pub fn with_undefined(mut self, mode: UndefinedMode) -> Self {
        self.undefined = Some(mode);
        self
    }

    /// Skips the check against the declarations of the prompt: missing variables are undefined.
    #[must_use]
    pub fn without_checks(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Leaves the source map out of an explanation.
    #[must_use]
    pub fn without_map(mut self) -> Self {
        self.is_mapped = false;
        self
    }

    /// Sets a handle that stops the render: templates, hooks and tools.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets the deadline: a hook that has no free process by then, or still runs, fails with an error that says so.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

/// Facts about the caller.
///
/// A door that serves strangers has to check `workspace_path`, because prompts can read files beneath it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The id of the agent.
    pub agent_id: Option<String>,
    /// The model that gets the result.
    pub model: Option<String>,
    /// The language of the response.
    pub language: Option<String>,
    /// The directory that the caller works on.
    pub workspace_path: Option<String>,
    /// The project directory of the caller: the caller can name files beneath it, and parameters can take values from it.
    /// No field of a JSON context sets it: a door decides.
    pub project: Option<PathBuf>,
    /// The session, which hooks can read. Its `session_id`, `agent_id` and `model` are used too.
    pub session: Map<String, Value>,
    /// The state of the session, which prompts with the permission `session_state` can read.
    pub session_state: Map<String, Value>,
}

impl Context {
    /// Reads a context from JSON. Ignores unknown keys and values of other types.
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
            project: None,
            session,
            session_state: object("session_state"),
        }
    }

    fn of_session(&self, key: &str) -> Option<&str> {
        self.session.get(key).and_then(Value::as_str)
    }

    /// The id of the agent, from the context or the session.
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
