//! A resource declared in the settings.

use std::{collections::BTreeMap, path::Path};

use hinagata::{Error, Rendered, Result, media};
use hinagata_agent::{Profile, Project};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Map, Value, json};

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

pub(crate) fn resource_error(place: usize, problem: &str) -> Error {
    Error::definition("settings", format!("invalid resource {place} in the settings: {problem}"))
        .with("setting", "resources")
        .with_hint("write `[[resources]]` with `uri`, `name`, and one of text, file, blob, prompt or context")
}

impl DeclaredResource {
    pub(crate) fn from_value(place: usize, written: &Value, root: &Path, profile: Profile) -> Result<Self> {
        let Some(fields) = written.as_object() else { return Err(resource_error(place, "expected a table")) };
        if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            let near = hinagata_value::near_names(unknown, FIELDS);
            return Err(resource_error(place, &format!("unknown field `{unknown}`")).with_near(near));
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let uri = text("uri").unwrap_or_default();
        let template =
            UriTemplate::parse(&uri).ok_or_else(|| resource_error(place, "invalid placeholder in `uri`"))?;
        if !media::is_uri(&uri.replace(['{', '}'], "")) {
            return Err(resource_error(place, "invalid `uri`"));
        }
        let mime_type = text("mime_type");
        if mime_type.as_deref().is_some_and(|kind| !media::is_type(kind)) {
            return Err(resource_error(
                place,
                "invalid `mime_type`; expected a media type such as text/plain",
            ));
        }
        let content = ResourceSource::from_fields(place, fields, root, profile)?;
        if matches!(content, ResourceSource::Blob(_) | ResourceSource::Context(_))
            && template.has_placeholders()
        {
            return Err(resource_error(place, "this content does not support placeholders in `uri`"));
        }
        let name = text("name").filter(|name| !name.is_empty()).unwrap_or_else(|| uri.clone());
        let complete = read_completions(place, fields, &template)?;
        Ok(Self {
            uri,
            template,
            name,
            title: text("title"),
            description: text("description"),
            mime_type,
            content,
            complete,
        })
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
            ResourceSource::File(file) => media::of_name(file).map(str::to_owned),
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
    pub(crate) fn prompt_contents(&self, mut rendered: Rendered, uri: &str) -> ResourceContents {
        let warnings = std::mem::take(&mut rendered.warnings);
        with_warnings(self.with_declared_type(ResourceContents::text(rendered.into_text(), uri)), &warnings)
    }
}

impl ResourceSource {
    fn from_fields(place: usize, fields: &Map<String, Value>, root: &Path, profile: Profile) -> Result<Self> {
        let given: Vec<&str> = CONTENT_FIELDS.into_iter().filter(|name| fields.contains_key(*name)).collect();
        let [name] = given.as_slice() else {
            return Err(resource_error(
                place,
                "expected exactly one of text, file, blob, prompt and context",
            ));
        };
        if *name == "context" {
            return read_context(place, &fields["context"], root, profile);
        }
        let Some(text) = fields[*name].as_str().map(str::to_owned) else {
            return Err(resource_error(place, &format!("`{name}` must be a string")));
        };
        Ok(match *name {
            "text" => Self::Text(text),
            "file" => Self::File(text),
            "prompt" => Self::Prompt(text),
            _ if media::is_base64(&text) => Self::Blob(text),
            _ => return Err(resource_error(place, "`blob` must be base64")),
        })
    }
}

/// Reads the files to pack, in the form of the section `context` of the settings. They must be inside the workspace.
fn read_context(place: usize, written: &Value, root: &Path, profile: Profile) -> Result<ResourceSource> {
    let project = Project::read(&json!({"context": written}), root, profile)?;
    if let Some(odd) = project.diagnostics.first() {
        return Err(resource_error(place, odd.error.message()).with_near(odd.error.near().to_vec()));
    }
    let rules = project.context.rules;
    if profile == Profile::Untrusted && !(rules.secrets && rules.ignore_files) {
        return Err(resource_error(place, "an untrusted workspace cannot include secrets or ignored files")
            .with_hint("review its settings, then run `hina trust`"));
    }
    if let Some(path) = project.outside(root) {
        return Err(resource_error(place, &format!("`{path}` is outside the workspace")));
    }
    Ok(ResourceSource::Context(Box::new(project)))
}

fn read_completions(
    place: usize,
    fields: &Map<String, Value>,
    template: &UriTemplate,
) -> Result<BTreeMap<String, Vec<String>>> {
    let Some(written) = fields.get("complete") else { return Ok(BTreeMap::new()) };
    let lists = written
        .as_object()
        .ok_or_else(|| resource_error(place, "`complete` must be a table of string lists"))?;
    let mut all = BTreeMap::new();
    for (name, list) in lists {
        if !template.placeholder_names().contains(&name.as_str()) {
            return Err(resource_error(place, &format!("`uri` has no placeholder `{{{name}}}`")));
        }
        let texts: Option<Vec<String>> = list
            .as_array()
            .and_then(|list| list.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        all.insert(
            name.clone(),
            texts.ok_or_else(|| resource_error(place, "`complete` must be a table of string lists"))?,
        );
    }
    Ok(all)
}
