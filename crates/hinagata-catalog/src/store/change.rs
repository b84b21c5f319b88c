//! Changes of the store, and whether they may be made.

use hinagata_document::{Error, Reason, Result};
use hinagata_template::{Options, Template};
use hinagata_value::{Closure, Functions, Limits, Value as Data};
use serde_json::Value;

use super::{StoreKind, StorePrompts, StoreSnapshot, Stored, StoredMap, check_shape};
use crate::definition::{Body, Definition, Part, Role, TemplateText};

/// Puts a document into the store, or takes it out.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreChange {
    /// Of which kind it is.
    pub kind: StoreKind,
    /// Its id.
    pub id: String,
    /// What it says from now on; `None` takes it out.
    pub value: Option<Value>,
}

impl StoreChange {
    /// Puts `value` in the place of the document `id`.
    #[must_use]
    pub fn set(kind: StoreKind, id: impl Into<String>, value: Value) -> Self {
        Self { kind, id: id.into(), value: Some(value) }
    }

    /// Takes the document `id` out.
    #[must_use]
    pub fn delete(kind: StoreKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into(), value: None }
    }
}

/// Whether a change may be made: the id is one, the document has its shape, its prompts can be read and their
/// templates parse.
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
    let alone = StoredMap::from([(id.into(), Stored::new(id, value.clone()))]);
    let found = StorePrompts::from_snapshot(&StoreSnapshot::default().with_documents(kind, alone));
    // What an extension lacks of its surroundings may come later; what it is itself does not change.
    let own = |error: &Error| {
        !matches!(error.reason(), Some(Reason::Dependence | Reason::Engines | Reason::ExtensionType))
    };
    if let Some(problem) = found.diagnostics.into_iter().map(|found| found.error).find(own) {
        return Err(problem);
    }
    for prompt in found.prompts.values().flatten() {
        prompt.check()?;
    }
    Ok(())
}

/// Whether all templates of a prompt parse.
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

/// Whether a template parses. Functions that nobody knows may be tools that come later.
fn check_template(text: &TemplateText) -> Result<()> {
    /// Functions of one template that are taken for tools.
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
