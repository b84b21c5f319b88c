//! The values that a `prompt.py` has only after it was run.

use hinagata_document::Node;
use serde_json::{Map, Value};

use super::{model::Hook, python::Module};

/// The constants and hooks of a `prompt.py` after it was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    constants: Map<String, Value>,
    hooks: Vec<String>,
}

impl Computed {
    /// The answer of the hook port to `Stage::Load`: `constants` by name, and the names of `hooks`.
    #[must_use]
    pub fn from_answer(answer: &Value) -> Option<Self> {
        let constants = answer.get("constants")?.as_object()?.clone();
        let hooks = answer.get("hooks")?.as_array()?;
        let hooks = hooks.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        Some(Self { constants, hooks })
    }

    /// Replaces the computed constants and hooks of `module` by the values after the run.
    pub(super) fn fill_module(&self, module: &mut Module) {
        for (name, at) in std::mem::take(&mut module.computed) {
            if let Some(value) = self.constants.get(name) {
                module.constants.insert(name, Node::from_value_at(value, at));
            }
        }
        let present = |name: &str, known: Option<Hook>| {
            self.hooks.iter().any(|hook| hook == name).then(|| known.unwrap_or(Hook::Assigned))
        };
        module.pre_render = present("pre_render", module.pre_render);
        module.post_render = present("post_render", module.post_render);
    }
}
