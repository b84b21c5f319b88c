//! Resources: declared in the settings, embedded in prompts, and the sources of prompts.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use hinagata::{Code, Error, Rendered, Result, Settings, Warning, media, source::Directory};
use hinagata_agent::{Profile, Project, of_context};
use hinagata_context::{Guard, Packer};
use rmcp::model::{MetaObject, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Map, Value, json};

use crate::{
    messages::warnings_meta,
    prompt::PublicPrompt,
    uri_template::{UriTemplate, fill_placeholders},
};

/// Maximum bytes of a file resource.
const MAX_FILE_BYTES: u64 = 8 << 20;

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
const CONTENT_FIELDS: [&str; 5] = ["text", "file", "blob", "prompt", "context"];

/// The resources declared in the settings.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    root: PathBuf,
    guard: Guard,
    trusted: bool,
    declared: Vec<DeclaredResource>,
}

/// A resource declared in the settings.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredResource {
    pub(crate) uri: String,
    template: UriTemplate,
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

impl Resources {
    /// Reads the setting `resources` of the workspace at `root`.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid declaration.
    pub fn from_settings(settings: &Settings, root: &Path, trusted: bool) -> Result<Self> {
        let profile = if trusted { Profile::Own } else { Profile::Untrusted };
        let written = settings.get("resources").map(|found| &found.value);
        let declared: Vec<DeclaredResource> = match written {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(all)) => all
                .iter()
                .enumerate()
                .map(|(place, one)| DeclaredResource::from_value(place + 1, one, root, profile))
                .collect::<Result<_>>()?,
            Some(_) => return Err(resource_error(1, "expected a list, written as `[[resources]]`")),
        };
        for (place, resource) in declared.iter().enumerate() {
            if declared[..place].iter().any(|other| other.uri == resource.uri) {
                return Err(resource_error(place + 1, &format!("duplicate `uri` `{}`", resource.uri)));
            }
        }
        Ok(Self { root: root.to_owned(), guard: Guard::new(profile.rules(), root), trusted, declared })
    }

    /// The files to watch, each with the URI of its resource.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        let file = |resource: &DeclaredResource| match &resource.content {
            ResourceSource::File(file) if !resource.template.has_placeholders() => {
                Some((self.root.join(file), resource.uri.clone()))
            }
            _ => None,
        };
        self.declared.iter().filter_map(file).collect()
    }

    pub(crate) fn fixed_resources(&self) -> impl Iterator<Item = &DeclaredResource> {
        self.declared.iter().filter(|resource| !resource.template.has_placeholders())
    }

    pub(crate) fn resource_templates(&self) -> impl Iterator<Item = &DeclaredResource> {
        self.declared.iter().filter(|resource| resource.template.has_placeholders())
    }

    /// The resource at `uri`, with the values of its placeholders.
    pub(crate) fn find_resource(&self, uri: &str) -> Option<(&DeclaredResource, BTreeMap<String, String>)> {
        let exact =
            self.fixed_resources().find(|resource| resource.uri == uri).map(|found| (found, BTreeMap::new()));
        exact.or_else(|| {
            self.resource_templates().find_map(|found| Some((found, found.template.match_uri(uri)?)))
        })
    }

    /// The content of a resource that is not a prompt, or `None` for a missing file.
    pub(crate) fn read_content(
        &self,
        resource: &DeclaredResource,
        uri: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<Option<ResourceContents>> {
        let contents = match &resource.content {
            ResourceSource::Text(text) => ResourceContents::text(fill_placeholders(text, values), uri),
            ResourceSource::Blob(blob) => ResourceContents::blob(blob.as_str(), uri),
            ResourceSource::File(file) => {
                let name = fill_placeholders(file, values);
                let Some(root) = Directory::open(&self.root)? else { return Ok(None) };
                match root.read_bytes(&name, MAX_FILE_BYTES)? {
                    Some(bytes) => {
                        self.check_secrets(resource, &name, &bytes)?;
                        contents_from_bytes(&name, bytes, uri)
                    }
                    None => return Ok(None),
                }
            }
            ResourceSource::Context(project) => {
                let packed = Packer::new(&project.context).pack().map_err(of_context)?;
                let warnings = project.warnings(&packed.report);
                with_warnings(ResourceContents::text(packed.text, uri), &warnings)
            }
            ResourceSource::Prompt(_) => return Ok(None),
        };
        Ok(Some(resource.with_declared_type(contents)))
    }
}

impl Resources {
    /// Rejects files with secrets: files that a client chooses, and every file in an untrusted workspace.
    fn check_secrets(&self, resource: &DeclaredResource, name: &str, bytes: &[u8]) -> Result<()> {
        if self.trusted && !resource.template.has_placeholders() {
            return Ok(());
        }
        let Some((reason, detail)) = self.guard.refuses_file(&self.root.join(name), bytes) else {
            return Ok(());
        };
        Err(Error::new(Code::Approval, format!("`{name}` is withheld: {detail}"))
            .with("reason", reason.as_str())
            .with_hint("review the settings of this workspace, then run `hina trust`"))
    }
}

/// Adds the warnings to the `_meta` of the contents.
fn with_warnings(contents: ResourceContents, warnings: &[Warning]) -> ResourceContents {
    match warnings_meta(warnings) {
        Some(meta) => contents.with_meta(MetaObject(meta)),
        None => contents,
    }
}

/// The content of a file, as text if it is UTF-8.
fn contents_from_bytes(name: &str, bytes: Vec<u8>, uri: &str) -> ResourceContents {
    let kind = media::of_file(name, &bytes);
    match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(error) => ResourceContents::blob(media::base64(error.as_bytes()), uri),
    }
    .with_mime_type(kind)
}

fn resource_error(place: usize, problem: &str) -> Error {
    Error::definition("settings", format!("invalid resource {place} in the settings: {problem}"))
        .with("setting", "resources")
        .with_hint("write `[[resources]]` with `uri`, `name`, and one of text, file, blob, prompt or context")
}

impl DeclaredResource {
    fn from_value(place: usize, written: &Value, root: &Path, profile: Profile) -> Result<Self> {
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

    fn with_declared_type(&self, contents: ResourceContents) -> ResourceContents {
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

/// The URI of a prompt's source.
pub(crate) fn prompt_uri(prompt: &PublicPrompt) -> String {
    format!("prompt://{}", prompt.name)
}

/// The list entry of a prompt's source.
pub(crate) fn prompt_entry(prompt: &PublicPrompt) -> Resource {
    let mut resource = Resource::new(prompt_uri(prompt), &prompt.name);
    resource.title = prompt.listed.title.clone();
    resource.description = Some(format!("The source of the prompt `{}`", prompt.name));
    let files = &prompt.inherited.definition.files;
    resource.mime_type =
        Some(files.first().map_or("text/plain", |file| media_type_of(&file.file)).to_owned());
    resource
}

fn media_type_of(file: &str) -> &'static str {
    media::of_name(file).unwrap_or("text/plain")
}

/// The files of a prompt.
pub(crate) fn prompt_source(prompt: &PublicPrompt) -> Vec<ResourceContents> {
    let uri = prompt_uri(prompt);
    let file = |(place, read): (usize, &hinagata::definition::FileRead)| {
        let name = read.file.rsplit('/').next().unwrap_or(&read.file);
        let uri = if place == 0 { uri.clone() } else { format!("{uri}#{name}") };
        ResourceContents::text(&*read.text, uri).with_mime_type(media_type_of(&read.file))
    };
    prompt.inherited.definition.files.iter().enumerate().map(file).collect()
}

/// The list entry of a resource that a prompt embeds.
pub(crate) fn embedded_entry(fields: &Map<String, Value>) -> Option<Resource> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let uri = text("uri").filter(|uri| media::is_uri(uri))?;
    CONTENT_FIELDS[..3].iter().find(|name| fields.contains_key(**name))?;
    let last = uri.rsplit(['/', ':']).find(|part| !part.is_empty()).unwrap_or(uri);
    let mut resource = Resource::new(uri, text("name").unwrap_or(last));
    resource.mime_type =
        text("mime_type").map(str::to_owned).or_else(|| media::of_name(text("file")?).map(str::to_owned));
    Some(resource)
}

/// The content of a resource part after rendering.
pub(crate) fn embedded_content(fields: &Value) -> Result<ResourceContents> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let uri = text("uri").unwrap_or_default();
    let contents = match (text("text"), text("blob")) {
        (Some(said), _) => ResourceContents::text(said, uri),
        (None, Some(blob)) => ResourceContents::blob(blob, uri),
        (None, None) => return Err(Error::new(Code::NotFound, format!("resource `{uri}` not found"))),
    };
    Ok(match text("mime_type") {
        Some(kind) => contents.with_mime_type(kind),
        None => contents,
    })
}
