//! A prompt as clients see it.

use std::{path::Path, sync::OnceLock};

use hinagata::{
    Catalog, Code, Engine, Place, Reason, Result,
    definition::{Body, Definition, Inherited, Origin, Parameter, Part, ValueType},
};
use rmcp::model::Prompt;
use serde_json::{Map, Value};

use crate::{
    host::{HostView, PROFILES},
    listing::{host_entry, list_entry},
    names::public_name,
};

/// A prompt as clients see it.
#[derive(Clone, Debug)]
pub(crate) struct PublicPrompt {
    pub(crate) id: String,
    /// The name in the protocol.
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its entry in the list.
    pub(crate) listed: Prompt,
    pub(crate) inherited: Inherited,
    /// Variables that its templates read and that are not declared.
    pub(crate) undeclared: Vec<String>,
    /// The engine of its last good state, if it is broken now.
    pub(crate) engine: Option<Engine>,
    /// Its entries for hosts that differ from the protocol, with and without forms. Made on first use.
    host_entries: [OnceLock<Box<Prompt>>; 2 * PROFILES.len()],
}

impl PublicPrompt {
    /// Reads the prompt `id`, if it can be rendered.
    pub(crate) fn from_engine(engine: &Engine, id: &str) -> Result<Self> {
        let catalog = engine.catalog();
        let inherited = engine.definition(id)?;
        let reads = match engine.template_variables(id) {
            Ok(reads) => reads,
            // Only running it shows what it reads, which happens when it is rendered.
            Err(error) if error.code() == Code::Hook && error.reason() == Some(Reason::Unavailable) => {
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        check_fixed_files(engine, id, &inherited)?;
        let undeclared: Vec<String> =
            reads.into_iter().filter(|name| inherited.parameters.get(name).is_none()).collect();
        let version = prompt_version(&catalog, id, &inherited.definition);
        let name = public_name(id);
        let source = public_source(engine, &inherited.definition.source);
        let listed = list_entry(id, &name, &version, &source, &inherited, &undeclared);
        Ok(Self {
            id: id.to_owned(),
            name,
            version,
            listed,
            inherited,
            undeclared,
            engine: None,
            host_entries: Default::default(),
        })
    }

    /// Its entry in the list for a client.
    pub(crate) fn entry_for(&self, view: HostView) -> &Prompt {
        let HostView { profile, forms, .. } = view;
        if !profile.changes_list() {
            return &self.listed;
        }
        self.host_entries[2 * profile.index + usize::from(forms)].get_or_init(|| {
            let host = (profile, forms);
            Box::new(host_entry(&self.listed, &self.id, &self.inherited, &self.undeclared, host))
        })
    }

    /// Whether it has an argument of that name.
    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.inherited.parameters.get(name).is_some() || self.undeclared.iter().any(|known| known == name)
    }

    /// Whether it was read from the same files as `definition`, including all parents.
    pub(crate) fn is_unchanged(&self, engine: &Engine, definition: &std::sync::Arc<Definition>) -> bool {
        if self.inherited.parents.is_empty() && definition.metadata.extends.is_none() {
            return std::sync::Arc::ptr_eq(&self.inherited.definition, definition);
        }
        let Ok(now) = engine.definition(&self.id) else { return false };
        let chain = |found: &Inherited| -> Vec<*const Definition> {
            std::iter::once(&found.definition).chain(&found.parents).map(std::sync::Arc::as_ptr).collect()
        };
        chain(&now) == chain(&self.inherited)
    }

    /// The same prompt, rendered by `engine`.
    pub(crate) fn with_engine(&self, engine: Engine) -> Self {
        Self { engine: Some(engine), ..self.clone() }
    }

    /// Whether a render of it may read the project directory.
    pub(crate) fn needs_project(&self) -> bool {
        let reads = |parameter: &Parameter| {
            parameter.kind == ValueType::File || matches!(parameter.origin, Origin::Project(_))
        };
        self.inherited.parameters.iter().any(reads)
    }

    /// The resources that its messages embed literally, without placeholders.
    pub(crate) fn embedded_resources(&self) -> Vec<&Map<String, Value>> {
        fixed_parts(&self.inherited)
            .filter(|(kind, fields)| *kind == "resource" && fields.contains_key("uri"))
            .map(|(_, fields)| fields)
            .collect()
    }

    /// Whether its messages name files, which may change when the definition does not.
    pub(crate) fn has_fixed_files(&self) -> bool {
        fixed_parts(&self.inherited).any(|(_, fields)| fields.contains_key("file"))
    }
}

/// The source of a prompt without directories of this machine: that of a library is absolute.
fn public_source(engine: &Engine, source: &str) -> String {
    let hidden =
        Path::new(source).is_absolute().then(|| engine.local_places().hide_in_text(source)).flatten();
    hidden.unwrap_or_else(|| source.to_owned())
}

/// The parts of a prompt's messages that are no texts and have no placeholders, with their types.
fn fixed_parts(inherited: &Inherited) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
    let messages = match inherited.body_definition().map(|owner| &owner.body) {
        Ok(Body::Messages(messages)) => messages.as_slice(),
        _ => &[],
    };
    let fixed =
        |value: &Value| !value.as_str().is_some_and(|text| text.contains("{{") || text.contains("{%"));
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::Other { kind, fields } => Some((kind.as_str(), fields)),
            Part::Text(_) => None,
        })
        .filter(move |(_, fields)| fields.values().all(fixed))
}

/// Checks the files that the messages of a prompt name: without them, it cannot be rendered.
fn check_fixed_files(engine: &Engine, id: &str, inherited: &Inherited) -> Result<()> {
    for (kind, fields) in fixed_parts(inherited) {
        let Some(name) = fields.get("file").and_then(Value::as_str) else { continue };
        engine.filled_part(id, kind, fields.clone()).map_err(|error| match place_of(inherited, name) {
            Some(place) if error.place().is_none() => error.at(place),
            _ => error,
        })?;
    }
    Ok(())
}

/// Where the files of a definition have this text.
fn place_of(inherited: &Inherited, text: &str) -> Option<Place> {
    let owner = inherited.body_definition().ok()?;
    owner.files.iter().find_map(|read| Some(Place::in_text(&read.file, &read.text, read.text.find(text)?)))
}

fn prompt_version(catalog: &Catalog, id: &str, definition: &Definition) -> String {
    let chosen = catalog.choose(id).map(|choice| catalog.version_of(&choice.entry));
    chosen.unwrap_or_else(|_| definition.metadata.version.clone())
}
