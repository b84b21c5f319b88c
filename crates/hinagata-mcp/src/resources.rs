//! Resources: declared in the settings, embedded in prompts, and the sources of prompts.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use hinagata::{Code, Error, Hint, LocalPlaces, Result, Settings, media, source::Directory};
use hinagata_agent::{Profile, context_error, left_out_reason, redaction_warnings};
use hinagata_context::{Guard, Packer, SecretAction, SecretPolicy, leads_out};
use rmcp::model::{Resource, ResourceContents};
use serde_json::{Map, Value};

use crate::{
    declared_resource::{CONTENT_FIELDS, DeclaredResource, ResourceSource, resource_error},
    messages::with_warnings,
    prompt::PublicPrompt,
    uri_template::fill_placeholders,
};

/// Maximum bytes of a file resource.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// The resources declared in the settings.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    root: PathBuf,
    guard: Guard,
    trusted: bool,
    declared: Vec<DeclaredResource>,
    problems: Vec<Error>,
}

impl Resources {
    /// Reads the setting `resources` of the workspace at `root`. Invalid declarations are left out;
    /// [`Resources::problems`] reports them.
    #[must_use]
    pub fn from_settings(settings: &Settings, root: &Path, trusted: bool) -> Self {
        let profile = if trusted { Profile::Own } else { Profile::Untrusted };
        let secrets = settings.secret_policy(trusted);
        let written = settings.get("resources").map(|found| &found.value);
        let guard = Guard::new(profile.rules(), root).with_secrets(redacting(secrets.clone()));
        let mut resources =
            Self { root: root.to_owned(), guard, trusted, declared: Vec::new(), problems: Vec::new() };
        let written = match written {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(all)) => all,
            Some(_) => {
                resources.problems.push(resource_error(1, "expected a list, written as `[[resources]]`"));
                &[]
            }
        };
        for (index, one) in written.iter().enumerate() {
            let declared = DeclaredResource::from_value(index + 1, one, root, profile);
            match declared.and_then(|declared| resources.check_unique(index + 1, declared)) {
                Ok(declared) => resources.declared.push(declared.with_secrets(&secrets)),
                Err(problem) => resources.problems.push(problem),
            }
        }
        resources
    }

    fn check_unique(&self, number: usize, declared: DeclaredResource) -> Result<DeclaredResource> {
        match self.declared.iter().any(|other| other.uri == declared.uri) {
            true => Err(resource_error(number, &format!("duplicate `uri` `{}`", declared.uri))),
            false => Ok(declared),
        }
    }

    /// What is wrong with declarations that were left out.
    #[must_use]
    pub fn problems(&self) -> &[Error] {
        &self.problems
    }

    /// The path of a file resource, if it cannot lead out of the workspace.
    pub(crate) fn file_path(
        &self,
        resource: &DeclaredResource,
        values: &BTreeMap<String, String>,
    ) -> Option<PathBuf> {
        let ResourceSource::File(file) = &resource.content else { return None };
        let name = fill_placeholders(file, values);
        (!leads_out(&name)).then(|| self.root.join(name))
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
        places: &LocalPlaces,
    ) -> Result<Option<ResourceContents>> {
        let contents = match &resource.content {
            ResourceSource::Text(text) => ResourceContents::text(fill_placeholders(text, values), uri),
            ResourceSource::Blob(blob) => ResourceContents::blob(blob.as_str(), uri),
            ResourceSource::File(file) => {
                let name = fill_placeholders(file, values);
                let Some(root) = Directory::open(&self.root)? else { return Ok(None) };
                match root.read_bytes(&name, MAX_FILE_BYTES)? {
                    Some(bytes) => self.redact_file(resource, &name, bytes, uri, places)?,
                    None => return Ok(None),
                }
            }
            ResourceSource::Context(project) => {
                let packed = Packer::new(&project.context).pack().map_err(context_error)?;
                let warnings = project.warnings(&packed.report);
                with_warnings(ResourceContents::text(packed.text, uri), &warnings, places)
            }
            ResourceSource::Prompt(_) => return Ok(None),
        };
        Ok(Some(resource.with_declared_type(contents)))
    }
}

impl Resources {
    /// The content of a file. Secrets are redacted in files that a client chooses, and in every file of an untrusted
    /// workspace.
    fn redact_file(
        &self,
        resource: &DeclaredResource,
        name: &str,
        bytes: Vec<u8>,
        uri: &str,
        places: &LocalPlaces,
    ) -> Result<ResourceContents> {
        if self.trusted && !resource.template.has_placeholders() {
            return Ok(contents_from_bytes(name, bytes, uri));
        }
        let guard = self.guard.for_output();
        let bytes = guard.redact_file(&self.root.join(name), bytes).map_err(|(reason, detail)| {
            Error::new(Code::Approval, format!("`{name}` is withheld: {detail}"))
                .with_reason(left_out_reason(reason))
                .with_hint(Hint::TrustWorkspace)
        })?;
        let warnings = redaction_warnings(&guard.redactor().take_redacted());
        Ok(with_warnings(contents_from_bytes(name, bytes, uri), &warnings, places))
    }
}

/// The policy without permission to include secrets, which is for packing: a client may choose the file.
fn redacting(policy: SecretPolicy) -> SecretPolicy {
    match policy.action() {
        SecretAction::Include => policy.with_action(SecretAction::Redact),
        _ => policy,
    }
}

/// The content of a file, as text if it is text.
fn contents_from_bytes(name: &str, bytes: Vec<u8>, uri: &str) -> ResourceContents {
    let kind = media::type_of_file(name, &bytes);
    match media::into_text(bytes) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(bytes) => ResourceContents::blob(media::encode_base64(&bytes), uri),
    }
    .with_mime_type(kind)
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
    media::type_of_name(file).unwrap_or("text/plain")
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
    resource.mime_type = text("mime_type")
        .map(str::to_owned)
        .or_else(|| media::type_of_name(text("file")?).map(str::to_owned));
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
