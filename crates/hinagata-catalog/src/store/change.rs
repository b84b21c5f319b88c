//! Changes of the store, and their checks.

use hinagata_document::{Error, Reason, Result};
use hinagata_template::{Options, Template};
use hinagata_value::{Closure, Functions, Limits, Value as Data};
use serde_json::Value;

use super::{StoreKind, StorePrompts, StoreSnapshot, Stored, StoredMap, check_shape};
use crate::definition::{Body, Definition, Part, Role, TemplateText};

/// Writes or deletes a document of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreChange {
    /// The kind of the document.
    pub kind: StoreKind,
    /// Its id.
    pub id: String,
    /// The new content; `None` deletes the document.
    pub value: Option<Value>,
}

impl StoreChange {
    /// Writes `value` to the document `id`.
    #[must_use]
    pub fn set(kind: StoreKind, id: impl Into<String>, value: Value) -> Self {
        Self { kind, id: id.into(), value: Some(value) }
    }

    /// Deletes the document `id`.
    #[must_use]
    pub fn delete(kind: StoreKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into(), value: None }
    }
}

/// Checks a change: the id and the shape of the document are valid, and its prompts and templates can be parsed.
///
/// # Errors
/// Codes `id`, `validation`, `definition` and `render.syntax`.
pub fn check_change(change: &StoreChange) -> Result<()> {
    let StoreChange { kind, id, value } = change;
    kind.check_id(id)?;
    let Some(value) = value else { return Ok(()) };
    check_shape(*kind, id, value)?;
    match kind {
        StoreKind::Extension | StoreKind::Template => check_prompts(*kind, id, value),
        StoreKind::Environ | StoreKind::Tool => Ok(()),
    }
}

/// Reads the prompts of a document as they would be read from the store.
fn check_prompts(kind: StoreKind, id: &str, value: &Value) -> Result<()> {
    let read_prompts = |value: Value| {
        let alone = StoredMap::from([(id.into(), Stored::new(id, value))]);
        StorePrompts::from_snapshot(&StoreSnapshot::default().with_documents(kind, alone))
    };
    let found = read_prompts(value.clone());
    // Missing dependences of an extension may be added later; errors in its own content remain.
    let own = |error: &Error| {
        !matches!(error.reason(), Some(Reason::Dependence | Reason::Engines | Reason::ExtensionType))
    };
    if let Some(problem) = found.diagnostics.iter().map(|found| &found.error).find(|error| own(error)) {
        return Err(problem.clone());
    }
    // What is missing hides the prompts. Their templates are checked all the same.
    let found = if found.diagnostics.is_empty() { found } else { read_prompts(without_requirements(value)) };
    for prompt in found.prompts.values().flatten() {
        prompt.check()?;
    }
    Ok(())
}

/// An extension without what it requires of others.
fn without_requirements(extension: &Value) -> Value {
    let mut extension = extension.clone();
    if let Some(members) = extension.as_object_mut() {
        members.remove("engines");
    }
    if let Some(contributes) = extension.get_mut("contributes").and_then(Value::as_object_mut) {
        contributes.remove("dependences");
    }
    extension
}

/// Checks that all templates of a prompt can be parsed.
pub(super) fn check_templates(definition: &Definition) -> Result<()> {
    match &definition.body {
        Body::Text(text) => check_template(text),
        Body::Messages(messages) => messages.iter().try_for_each(|message| {
            if let Role::Template(text) = &message.role {
                check_template(text)?;
            }
            message.parts.iter().try_for_each(|part| match part {
                Part::Text(text) => check_template(text),
                Part::Other { .. } => Ok(()),
            })
        }),
        _ => Ok(()),
    }
}

/// Checks that a template can be parsed. Unknown functions may be tools that are added later.
fn check_template(text: &TemplateText) -> Result<()> {
    /// Most unknown functions of one template.
    const MOST: usize = 100;
    let mut tools = Functions::new();
    loop {
        let options = Options::default().with_functions(&tools);
        let Err(error) = Template::compile(text.engine, &text.file, &text.text, &options, &Limits::default())
        else {
            return Ok(());
        };
        let unknown = error.subject().filter(|name| tools.get(name).is_none()).map(str::to_owned);
        match unknown.filter(|_| tools.names().count() < MOST) {
            Some(name) => tools.insert(Closure::new(name.as_str(), |_, _| Ok(Data::None))),
            None => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_of_a_hidden_extension_are_checked() {
        let check = |template: &str| {
            let extension = json!({"name": "e", "engines": {"name": "other"}, "contributes": {
                "prompts": [{"name": "p", "prompt": template}],
                "dependences": [{"name": "missing", "version": "^1"}],
            }});
            check_change(&StoreChange::set(StoreKind::Extension, "e", extension))
        };
        check("{{if .x}}y{{end}}").expect("what is missing may be added later");
        let error = check("{{if}}").expect_err("never works");
        assert_eq!(error.reason(), Some(Reason::Syntax), "{error}");
    }
}
