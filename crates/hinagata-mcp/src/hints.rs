//! Hints as an MCP client can follow them.

use hinagata::Hint;

/// The text of a hint.
pub(crate) fn hint_text(hint: &Hint) -> String {
    hint.to_text(method_text)
}

/// The step with its method; `None` where the common wording says enough.
fn method_text(step: &Hint) -> Option<String> {
    Some(match step {
        Hint::PassVariable { name, .. } => format!("pass the argument `{name}`"),
        Hint::ListPrompts => "`prompts/list` lists the prompts".to_owned(),
        _ => return None,
    })
}
