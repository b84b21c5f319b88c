//! A resource declared in the settings.

use std::{collections::BTreeMap, path::Path};

use hinagata::{Error, LocalPlaces, Rendered, Result, media};
use hinagata_agent::{Profile, Project};
use hinagata_context::SecretPolicy;
use hinagata_document::{Fields, Hint, Node, Reason};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::{messages::with_warnings, uri_template::UriTemplate};

/// The fields of a declared resource.
const FIELDS: [&str; 11] = [
    "uri",
    "name",
    "title",
    "description",
    "mime_type",
    "text",
    "file",
    "blob",
    "prompt",
    "context",
    "complete",
];

/// The fields that hold the content.
pub(crate) const CONTENT_FIELDS: [&str; 5] = ["text", "file", "blob", "prompt", "context"];

/// A resource declared in the settings.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredResource {
    pub(crate) uri: String,
    pub(crate) template: UriTemplate,
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    pub(crate) content: ResourceSource,
    /// The values proposed for placeholders of the URI.
    pub(crate) complete: BTreeMap<String, Vec<String>>,
}

/// The content of a resource.
#[derive(Clone, Debug)]
pub(crate) enum ResourceSource {
    Text(String),
    File(String),
    Blob(String),
    Prompt(String),
    Context(Box<Project>),
}

pub(crate) fn resource_error(number: usize, problem: &str) -> Error {
    Error::definition(Reason::Settings, format!("invalid resource {number} in the settings: {problem}"))
        .with("setting", "resources")
        .with_hint("write `[[resources]]` with `uri`, `name`, and one of text, file, blob, prompt or context")
}

impl DeclaredResource {
    /// Reads the declaration `number` of the settings, counted from 1.
    pub(crate) fn from_value(number: usize, written: &Value, root: &Path, profile: Profile) -> Result<Self> {
        let declared = Declaration::read(number, written)?;
        let uri = declared.uri.unwrap_or_default();
        let template =
            UriTemplate::parse(&uri).ok_or_else(|| resource_error(number, "invalid placeholder in `uri`"))?;
        if !media::is_uri(&uri.replace(['{', '}'], "")) {
            return Err(resource_error(number, "invalid `uri`"));
        }
        if declared.mime_type.as_deref().is_some_and(|kind| !media::is_type(kind)) {
            return Err(resource_error(
                number,
                "invalid `mime_type`; expected a media type such as text/plain",
            ));
        }
        let content = ResourceSource::from_content(number, declared.content, root, profile)?;
        if matches!(content, ResourceSource::Blob(_) | ResourceSource::Context(_))
            && template.has_placeholders()
        {
            return Err(resource_error(number, "this content does not support placeholders in `uri`"));
        }
        let names = template.placeholder_names();
        if let Some(name) = declared.complete.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(resource_error(number, &format!("`uri` has no placeholder `{{{name}}}`")));
        }
        Ok(Self {
            name: declared.name.filter(|name| !name.is_empty()).unwrap_or_else(|| uri.clone()),
            uri,
            template,
            title: declared.title,
            description: declared.description,
            mime_type: declared.mime_type,
            content,
            complete: declared.complete,
        })
    }

    /// The same resource; packed files follow the rules of `secrets`, too.
    pub(crate) fn with_secrets(mut self, secrets: &SecretPolicy) -> Self {
        if let ResourceSource::Context(project) = &mut self.content {
            project.context.secrets = project.context.secrets.join(secrets);
        }
        self
    }

    pub(crate) fn with_declared_type(&self, contents: ResourceContents) -> ResourceContents {
        match &self.mime_type {
            Some(kind) => contents.with_mime_type(kind),
            None => contents,
        }
    }

    /// Its entry in the list.
    pub(crate) fn list_entry(&self) -> Resource {
        let mut resource = Resource::new(&self.uri, &self.name);
        resource.title.clone_from(&self.title);
        resource.description.clone_from(&self.description);
        resource.mime_type = self.mime_type.clone().or_else(|| match &self.content {
            ResourceSource::Text(_) | ResourceSource::Context(_) | ResourceSource::Prompt(_) => {
                Some("text/plain".to_owned())
            }
            ResourceSource::File(file) => media::type_of_name(file).map(str::to_owned),
            ResourceSource::Blob(_) => None,
        });
        resource
    }

    /// Its entry in the list of templates.
    pub(crate) fn template_entry(&self) -> ResourceTemplate {
        let mut template = ResourceTemplate::new(&self.uri, &self.name);
        template.title.clone_from(&self.title);
        template.description.clone_from(&self.description);
        template.mime_type.clone_from(&self.mime_type);
        template
    }

    /// The text of a rendered prompt as contents.
    pub(crate) fn prompt_contents(
        &self,
        mut rendered: Rendered,
        uri: &str,
        places: &LocalPlaces,
    ) -> ResourceContents {
        let warnings = std::mem::take(&mut rendered.warnings);
        let contents = self.with_declared_type(ResourceContents::text(rendered.into_text(), uri));
        with_warnings(contents, &warnings, places)
    }
}

/// The fields of a declaration, each of the right type.
#[derive(Default)]
struct Declaration {
    uri: Option<String>,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    /// Each field of [`CONTENT_FIELDS`] that is present.
    content: Vec<(&'static str, Value)>,
    complete: BTreeMap<String, Vec<String>>,
}

impl Declaration {
    fn read(number: usize, written: &Value) -> Result<Self> {
        let node = Node::from_value(written);
        let mut fields = Fields::new("settings", "");
        for (key, value) in fields.map("resources", &node) {
            if !FIELDS.contains(&key.as_str()) {
                fields.unknown_key("resources", value, key, &FIELDS);
            }
        }
        let mut string = |name: &str| node.get(name).and_then(|value| fields.optional_string(name, value));
        let mut declared = Self {
            uri: string("uri"),
            name: string("name"),
            title: string("title"),
            description: string("description"),
            mime_type: string("mime_type"),
            ..Self::default()
        };
        for (name, value) in CONTENT_FIELDS.into_iter().filter_map(|name| Some((name, node.get(name)?))) {
            if name != "context" {
                fields.string(name, value);
            }
            declared.content.push((name, value.to_value()));
        }
        for (name, list) in node.get("complete").map_or(&[][..], |value| fields.map("complete", value)) {
            let field = format!("complete.{name}");
            let values = fields.list(&field, list).iter().filter_map(|item| fields.string(&field, item));
            declared.complete.insert(name.clone(), values.collect());
        }
        fields
            .finish()
            .map_err(|error| resource_error(number, error.message()).with_near(error.near().to_vec()))?;
        Ok(declared)
    }
}

impl ResourceSource {
    fn from_content(
        number: usize,
        content: Vec<(&'static str, Value)>,
        root: &Path,
        profile: Profile,
    ) -> Result<Self> {
        let content = <[(&str, Value); 1]>::try_from(content);
        let Ok([(name, value)]) = content else {
            return Err(resource_error(
                number,
                "expected exactly one of text, file, blob, prompt and context",
            ));
        };
        Ok(match (name, value) {
            ("text", Value::String(text)) => Self::Text(text),
            ("file", Value::String(file)) => Self::File(file),
            ("prompt", Value::String(prompt)) => Self::Prompt(prompt),
            ("blob", Value::String(blob)) if media::is_base64(&blob) => Self::Blob(blob),
            ("blob", _) => return Err(resource_error(number, "`blob` must be base64")),
            (_, context) => return read_context(number, &context, root, profile),
        })
    }
}

/// Reads the files to pack, in the form of the section `context` of the settings. They must be inside the workspace.
fn read_context(number: usize, written: &Value, root: &Path, profile: Profile) -> Result<ResourceSource> {
    let project = Project::read(&json!({"context": written}), root, profile)?;
    if let Some(odd) = project.diagnostics.first() {
        return Err(resource_error(number, odd.error.message()).with_near(odd.error.near().to_vec()));
    }
    let rules = project.context.rules;
    if profile == Profile::Untrusted && !(rules.secrets && rules.ignore_files) {
        return Err(resource_error(number, "an untrusted workspace cannot include secrets or ignored files")
            .with_hint(Hint::TrustWorkspace));
    }
    if let Some(path) = project.first_path_outside(root) {
        return Err(resource_error(number, &format!("`{path}` is outside the workspace")));
    }
    Ok(ResourceSource::Context(Box::new(project)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &Value) -> Result<DeclaredResource> {
        DeclaredResource::from_value(1, written, Path::new("/no/such/root"), Profile::Own)
    }

    #[test]
    fn every_invalid_field_of_a_declaration_is_reported() {
        let error = read(&json!({"titel": "x", "uri": 5, "text": "a"})).expect_err("is invalid");
        assert_eq!(
            (error.reason(), &error.details()["setting"]),
            (Some(Reason::Settings), &json!("resources"))
        );
        assert!(error.message().contains("`titel`") && error.message().contains("1 more"), "{error}");
        assert_eq!(error.near(), ["title"]);
    }

    #[test]
    fn a_declaration_has_exactly_one_content_and_completions_of_its_placeholders() {
        let uri = "a://{id}";
        let declared = read(&json!({"uri": uri, "text": "{id}", "complete": {"id": ["1", "2"]}}));
        assert_eq!(declared.expect("is valid").complete["id"], ["1", "2"]);
        for invalid in [
            json!({"uri": uri}),
            json!({"uri": uri, "text": "a", "file": "b"}),
            json!({"uri": uri, "text": 5}),
            json!({"uri": uri, "blob": "QUJD"}),
            json!({"uri": uri, "text": "a", "complete": {"other": []}}),
            json!({"uri": uri, "text": "a", "complete": {"id": [5]}}),
            json!("text"),
        ] {
            assert_eq!(read(&invalid).expect_err("is invalid").reason(), Some(Reason::Settings), "{invalid}");
        }
    }
}
