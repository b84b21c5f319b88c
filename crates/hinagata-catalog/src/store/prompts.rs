//! The prompts in the documents of a store.

use std::{collections::BTreeMap, sync::Arc};

use hinagata_document::{Diagnostic, Error, Reason, Result};
use hinagata_template::Language;
use serde_json::Value;

use super::{
    StoreKind, StoreSnapshot, Stored,
    change::check_templates,
    extension::{Extension, Finding},
};
use crate::{
    PromptId,
    definition::{self, Body, Definition, FileRead, Part, Role},
};

/// The prefix of the source of a prompt of the store.
pub(crate) const PREFIX: &str = "store:";

/// The detail of an error that lists the prompts that cannot be used because of it.
pub(crate) const HIDDEN_PROMPTS: &str = "prompts";

/// A prompt of the store.
#[derive(Clone, Debug)]
pub struct StorePrompt {
    /// The id.
    pub id: PromptId,
    /// The name, as spelled.
    pub name: String,
    /// `store:` and the key of the document that contains it.
    pub source: String,
    document: Arc<Value>,
    /// Its index in the extension; `None` for a template.
    place: Option<usize>,
    version: Option<String>,
    languages: Vec<String>,
}

impl StorePrompt {
    /// The document of the prompt.
    #[must_use]
    pub fn document(&self) -> &Value {
        match self.place {
            None => &self.document,
            Some(index) => &self.document["contributes"]["prompts"][index],
        }
    }

    /// Whether it is one of several that an extension contributes.
    #[must_use]
    pub fn is_contributed(&self) -> bool {
        self.place.is_some()
    }

    /// Its definition.
    ///
    /// # Errors
    /// Code `definition`.
    pub(crate) fn definition(&self) -> Result<Definition> {
        let mut definition =
            definition::definition_from_json(&self.id, &self.source, self.document(), Language::Go)?;
        name_templates(&mut definition.body, &self.source);
        let text = serde_json::to_string(self.document()).unwrap_or_default();
        definition.files = vec![FileRead { file: format!("{}#", self.source), text: text.into() }];
        definition.metadata.name.clone_from(&self.name);
        if let (false, Some(version)) = (definition.metadata.has_version, &self.version) {
            definition.metadata.version.clone_from(version);
            definition.metadata.has_version = true;
        }
        if definition.settings.languages.is_empty() {
            definition.settings.languages.clone_from(&self.languages);
        }
        Ok(definition)
    }

    /// Checks that it can be read and its templates can be parsed.
    ///
    /// # Errors
    /// Codes `definition` and `render.syntax`.
    pub fn check(&self) -> Result<()> {
        check_templates(&self.definition()?)
    }

    /// Whether both are the same prompt of the same document.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.source == other.source
            && self.place == other.place
            && self.name == other.name
            && Arc::ptr_eq(&self.document, &other.document)
    }
}

/// All prompts of one snapshot of the store, by id.
#[derive(Debug, Default)]
pub struct StorePrompts {
    /// The prompts of each id by source.
    pub prompts: BTreeMap<PromptId, Vec<StorePrompt>>,
    /// Diagnostics of documents whose prompts cannot be used.
    pub diagnostics: Vec<Diagnostic>,
}

impl StorePrompts {
    /// The prompts of `snapshot`.
    #[must_use]
    pub fn from_snapshot(snapshot: &StoreSnapshot) -> Self {
        let mut all = Self::default();
        for (id, stored) in &*snapshot.templates {
            all.template(id, stored);
        }
        for stored in snapshot.extensions.values() {
            all.extension(stored, snapshot);
        }
        all
    }

    /// The prompts of one document among the others of `snapshot`, with the warnings of their definitions.
    #[must_use]
    pub fn from_document(kind: StoreKind, id: &str, stored: &Stored, snapshot: &StoreSnapshot) -> Self {
        let mut all = Self::default();
        match kind {
            StoreKind::Template => all.template(id, stored),
            StoreKind::Extension => all.extension(stored, snapshot),
            StoreKind::Environ | StoreKind::Tool => {}
        }
        let prompts = all.prompts.values().flatten();
        let warnings = prompts.filter_map(|prompt| Some((prompt, prompt.definition().ok()?.warnings)));
        let warnings = warnings.flat_map(|(prompt, found)| {
            found.into_iter().map(|error| Diagnostic::warning(&prompt.source, error))
        });
        let warnings: Vec<Diagnostic> = warnings.collect();
        all.diagnostics.extend(warnings);
        all
    }

    /// Replaces each prompt that is now invalid by its version in `before`.
    pub(crate) fn keep_usable(&mut self, before: impl Fn(&PromptId) -> Vec<StorePrompt>) {
        for (id, prompts) in &mut self.prompts {
            for prompt in prompts {
                let known = before(id).into_iter().find(|known| known.source == prompt.source);
                let Some(known) = known.filter(|known| !known.is_same(prompt)) else { continue };
                if let Err(error) = prompt.check() {
                    let message = format!("{error}; the previous version of the prompt is served");
                    let stale = Error::new(error.code(), message).with("stale", true);
                    self.diagnostics.push(Diagnostic::error(&prompt.source, stale));
                    *prompt = known;
                }
            }
        }
    }

    fn template(&mut self, id: &str, stored: &Stored) {
        let source = format!("{PREFIX}{}", stored.key);
        match PromptId::from_store_name(id) {
            Ok(prompt) => self.add(StorePrompt {
                id: prompt,
                name: id.to_owned(),
                source,
                document: Arc::clone(&stored.value),
                place: None,
                version: None,
                languages: Vec::new(),
            }),
            Err(error) => self.diagnostics.push(Diagnostic::error(source, error)),
        }
    }

    fn extension(&mut self, stored: &Stored, snapshot: &StoreSnapshot) {
        let source = format!("{PREFIX}{}", stored.key);
        let extension = match Extension::read(&stored.value) {
            Ok(extension) => extension,
            Err(error) => return self.diagnostics.push(Diagnostic::error(source, error)),
        };
        let mut hidden = false;
        let ids = || -> Vec<String> {
            let named = extension.prompts().enumerate();
            let named =
                named.filter_map(|(place, document)| contributed_name(extension.name, place, document).ok());
            named.map(|(id, _)| id.to_string()).collect()
        };
        for finding in extension.findings(&snapshot.extensions) {
            self.diagnostics.push(match finding {
                Finding::Warning(error) => Diagnostic::warning(&source, error),
                Finding::Blocking(error) => {
                    hidden = true;
                    Diagnostic::error(&source, error.with(HIDDEN_PROMPTS, ids()))
                }
            });
        }
        if hidden {
            return;
        }
        for (place, document) in extension.prompts().enumerate() {
            let named = contributed_name(extension.name, place, document);
            match named {
                Ok((id, name)) => self.add(StorePrompt {
                    id,
                    name,
                    source: source.clone(),
                    document: Arc::clone(&stored.value),
                    place: Some(place),
                    version: extension.version().map(str::to_owned),
                    languages: extension.languages(),
                }),
                Err(error) => self.diagnostics.push(Diagnostic::error(&source, error)),
            }
        }
    }

    /// Adds a prompt; a template hides the prompts with its id that extensions contribute.
    fn add(&mut self, prompt: StorePrompt) {
        let known = self.prompts.entry(prompt.id.clone()).or_default();
        let is_settled = known.iter().any(|other| other.place.is_none()) && prompt.place.is_some();
        if !is_settled {
            known.push(prompt);
        }
    }
}

/// Names each template after its place in the document.
fn name_templates(body: &mut Body, source: &str) {
    match body {
        Body::Text(text) => text.file = format!("{source}#prompt"),
        Body::Messages(messages) => {
            for (index, message) in messages.iter_mut().enumerate() {
                if let Role::Template(text) = &mut message.role {
                    text.file = format!("{source}#messages[{index}].role");
                }
                for (part, of_message) in message.parts.iter_mut().enumerate() {
                    if let Part::Text(text) = of_message {
                        text.file = format!("{source}#messages[{index}].content[{part}]");
                    }
                }
            }
        }
        _ => {}
    }
}

/// The id and the name of a prompt of an extension.
fn contributed_name(extension: &str, place: usize, document: &Value) -> Result<(PromptId, String)> {
    let name = document.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
        Error::definition(
            Reason::Extension,
            format!("contributes.prompts[{place}] of `{extension}` has no `name`"),
        )
    })?;
    let full = format!("{extension}.{name}");
    Ok((PromptId::from_store_name(&full)?, full))
}
