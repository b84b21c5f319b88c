//! Agents: identities with their own variables for a prompt.

use hinagata_document::{Error, Fields, Reason, Result, json};
use serde_json::{Map, Value};

use crate::PromptId;

/// Largest `agent.json`, in bytes.
pub(crate) const LARGEST: u64 = 1 << 20;

/// The content of an `agent.json`.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The name of its directory.
    pub id: String,
    /// The path of `agent.json` from the workspace root.
    pub source: String,
    /// The `agent_id` in the file.
    pub label: Option<String>,
    /// A display name.
    pub name: Option<String>,
    /// The model that it uses.
    pub model: Option<String>,
    /// The name of the prompt that its variables are for, as written.
    pub prompt_id: Option<String>,
    /// The variables for that prompt.
    pub prompt_variables: Map<String, Value>,
    /// Unknown keys.
    pub unknown: Map<String, Value>,
    /// Warnings about likely mistakes, such as misspelled keys.
    pub warnings: Vec<Error>,
}

/// The known keys.
pub const AGENT_KEYS: [&str; 5] = ["agent_id", "name", "model", "prompt_id", "prompt_variables"];

impl Agent {
    /// Reads `text`, the content of `source`, of the agent in the directory `id`.
    ///
    /// # Errors
    /// Code `definition`, with all invalid fields at once.
    pub fn parse(id: &str, source: &str, text: &str) -> Result<Self> {
        let node = json::parse(source, text)?;
        let mut fields = Fields::new(source, text);
        let Some(entries) = node.as_map() else {
            return Err(Error::definition(
                Reason::Type,
                format!("agent.json must be an object, not {}", node.kind()),
            )
            .at(fields.place(&node)));
        };
        let mut agent = Self {
            id: id.to_owned(),
            source: source.to_owned(),
            label: None,
            name: None,
            model: None,
            prompt_id: None,
            prompt_variables: Map::new(),
            unknown: Map::new(),
            warnings: Vec::new(),
        };
        for (key, value) in entries {
            match key.as_str() {
                "agent_id" => agent.label = fields.optional_string(key, value),
                "name" => agent.name = fields.optional_string(key, value),
                "model" => agent.model = fields.optional_string(key, value),
                "prompt_id" => agent.prompt_id = fields.optional_string(key, value),
                "prompt_variables" => {
                    let entries = fields.map(key, value);
                    agent.prompt_variables =
                        entries.iter().map(|(name, node)| (name.clone(), node.to_value())).collect();
                }
                _ => {
                    agent.unknown.insert(key.clone(), value.to_value());
                    fields.warn_of_typo(key, value, key, &AGENT_KEYS);
                }
            }
        }
        agent.warnings = fields.take_warnings();
        fields.finish()?;
        Ok(agent)
    }

    /// The variables of the agent if `id` is its prompt.
    #[must_use]
    pub fn variables_for(&self, id: &PromptId) -> Option<&Map<String, Value>> {
        let own = PromptId::new(self.prompt_id.as_deref()?).ok()?;
        (own == *id).then_some(&self.prompt_variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_apply_to_the_prompt_that_the_agent_names() {
        let text = r#"{"agent_id": "a", "model": "m", "prompt_id": "Coding-System", "prompt_variables": {"x": 1}, "z": 2}"#;
        let agent = Agent::parse("a", "agents/a/agent.json", text).expect("reads");
        let id = |name| PromptId::new(name).expect("is an id");
        assert_eq!(agent.variables_for(&id("coding_system")).map(Map::len), Some(1));
        assert_eq!(agent.variables_for(&id("other")), None);
        assert_eq!(agent.unknown.get("z"), Some(&Value::from(2)));
        assert!(Agent::parse("a", "f", r#"{"prompt_variables": []}"#).is_err());
    }

    #[test]
    fn a_misspelled_key_is_reported_and_other_keys_are_kept() {
        let agent = Agent::parse("a", "f", r#"{"prompt_varibles": {"x": 1}, "tools": []}"#).expect("reads");
        let similar: Vec<_> = agent.warnings.iter().map(|warning| warning.near().to_vec()).collect();
        assert_eq!(similar, [["prompt_variables"]]);
        assert_eq!(agent.unknown.len(), 2);
    }
}
