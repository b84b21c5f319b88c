//! The product's prompt engine, answering recorded calls.

use hinagata::definition::{Class, Inherited};
use hinagata::{Approval, Catalog, CatalogOptions, Code, Error, Result};
use serde_json::{Map, Value, json};

use crate::kinds::rumi::{Call, Engine, Operation, Outcome};

/// The engine as the product ships it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rumi;

impl Rumi {
    /// Whether this build has the engine.
    pub const READY: bool = true;
}

impl Engine for Rumi {
    fn answer(&self, call: &Call) -> Outcome {
        let catalog = open(call);
        let answer = match call.operation {
            Operation::ResolveId => catalog.resolve_id(&call.prompt_id).map(|id| json!({"prompt_id": id})),
            Operation::Candidates => {
                catalog.candidates(&call.prompt_id).map(|candidates| json!({"candidates": candidates}))
            }
            Operation::Definition => definition(&catalog, &call.prompt_id),
            Operation::Render | Operation::Validate => {
                return Outcome::Unavailable("this build has no pipeline".into());
            }
        };
        match answer {
            Ok(Value::Object(answer)) => Outcome::Answer(answer),
            Ok(other) => Outcome::Answer(Map::from_iter([("answer".to_owned(), other)])),
            Err(error) => failure(&error),
        }
    }
}

fn open(call: &Call) -> Catalog {
    let state = |(name, state): (&String, &String)| {
        let state = match state.as_str() {
            "approved" => Approval::Approved,
            "modified" => Approval::Modified,
            _ => Approval::Pending,
        };
        (name.clone(), state)
    };
    let approvals = call.approvals.iter().map(state).collect();
    Catalog::open(CatalogOptions { approvals, ..CatalogOptions::new(&call.root) })
}

fn definition(catalog: &Catalog, name: &str) -> Result<Value> {
    let choice = catalog.choose(name)?;
    let found = catalog.inherited(&choice)?;
    let Inherited { definition, parameters, .. } = &found;
    let limits = catalog.defaults().limits(&definition.limits);
    let names = |class: Class| parameters.names(class);
    Ok(json!({"definition": {
        "prompt_id": choice.id,
        "source": definition.source,
        "type": definition.metadata.kind,
        "version": definition.metadata.version,
        "extends": definition.metadata.extends,
        "variables": {
            "required": names(Class::Required), "optional": names(Class::Optional), "custom": names(Class::Custom),
        },
        "permissions": definition.permissions.granted().collect::<Vec<_>>(),
        "limits": {
            "max_execution_time": limits.max_execution_time, "max_output_size": limits.max_output_size,
        },
    }}))
}

fn failure(error: &Error) -> Outcome {
    let kind = match error.code() {
        Code::Id => "PromptIdError",
        Code::NotFound => "PromptNotFoundError",
        Code::Conflict => "PromptConflictError",
        Code::Validation => "PromptValidationError",
        Code::Definition => "PromptDefinitionError",
        Code::OutputLimit => "PromptLimitError",
        Code::Hook => "PromptHookError",
        Code::HookTimeout => "PromptTimeoutError",
        _ => "PromptRenderError",
    };
    Outcome::Error { kind: kind.into(), message: error.to_string(), details: error.details().clone() }
}
