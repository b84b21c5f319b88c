//! Inheritance: a prompt inherits the declarations of its parents, and their body unless it has its own.

use std::sync::Arc;

use hinagata_document::{Code, Error, Reason, Result};

use super::model::{Body, Definition};
use super::parameter::Parameters;

/// Most parents of a prompt.
const MOST_PARENTS: usize = 32;

/// A definition together with what it inherits.
#[derive(Clone, Debug)]
pub struct Inherited {
    /// The prompt itself.
    pub definition: Arc<Definition>,
    /// Its parents, nearest first.
    pub parents: Vec<Arc<Definition>>,
    /// The declarations of all of them and of the workspace's defaults: parents first, a child replaces by name.
    pub parameters: Parameters,
}

impl Inherited {
    /// The definition whose body is rendered: the prompt itself, or the nearest parent that has one.
    ///
    /// # Errors
    /// Code `definition` when none of them has a body.
    pub fn body_definition(&self) -> Result<&Arc<Definition>> {
        std::iter::once(&self.definition)
            .chain(&self.parents)
            .find(|definition| !matches!(definition.body, Body::Inherited))
            .ok_or_else(|| {
                Error::definition(
                    Reason::NoBody,
                    format!("neither `{}` nor its parents have a template", self.definition.id),
                )
                .with("prompt_id", self.definition.id.as_str())
            })
    }

    /// The ids from the prompt to its last parent.
    #[must_use]
    pub fn chain(&self) -> Vec<&str> {
        std::iter::once(&self.definition)
            .chain(&self.parents)
            .map(|definition| definition.id.as_str())
            .collect()
    }
}

/// Follows `extends` from `definition`; `find` returns the definition for a name.
///
/// Hooks, permissions and limits are not inherited.
pub(crate) fn resolve_inheritance(
    definition: Arc<Definition>,
    defaults: &Parameters,
    mut find: impl FnMut(&str) -> Result<Arc<Definition>>,
) -> Result<Inherited> {
    let mut parents: Vec<Arc<Definition>> = Vec::new();
    let mut chain = vec![definition.id.as_str().to_owned()];
    loop {
        let last = parents.last().unwrap_or(&definition);
        let Some(name) = last.metadata.extends.clone() else { break };
        let parent = find(&name).map_err(|error| missing_parent(&definition, last, &name, error))?;
        chain.push(parent.id.as_str().to_owned());
        let known = std::iter::once(&definition).chain(&parents).any(|known| known.source == parent.source);
        if known || parents.len() == MOST_PARENTS {
            return Err(chain_error(&definition, chain, known));
        }
        parents.push(parent);
    }
    let mut parameters = defaults.clone();
    for ancestor in parents.iter().rev() {
        parameters = parameters.overlaid_by(&ancestor.parameters);
    }
    parameters = parameters.overlaid_by(&definition.parameters);
    Ok(Inherited { definition, parents, parameters })
}

fn chain_error(definition: &Definition, chain: Vec<String>, cycle: bool) -> Error {
    let (reason, message) = match cycle {
        true => {
            (Reason::ExtendsCycle, format!("prompts extend each other in a circle: {}", chain.join(" -> ")))
        }
        false => (Reason::ExtendsDepth, format!("`{}` has more than {MOST_PARENTS} parents", definition.id)),
    };
    Error::definition(reason, message).with("prompt_id", definition.id.as_str()).with("chain", chain)
}

/// The error for a missing parent. Other errors, such as a conflict or a broken parent, are returned unchanged.
fn missing_parent(definition: &Definition, child: &Definition, name: &str, error: Error) -> Error {
    if !matches!(error.code(), Code::NotFound | Code::Id) {
        return error;
    }
    Error::definition(
        Reason::ExtendsNotFound,
        format!("`{}` extends `{name}`, which does not exist", child.id),
    )
    .with("prompt_id", definition.id.as_str())
    .with("extends", name)
    .with_near(error.near().to_vec())
    .with_source(error)
}
