//! A prompt as clients see it.

use hinagata::{
    Catalog, Code, Engine, Reason, Result,
    definition::{Body, Definition, Inherited, Origin, Parameter, Part, ValueType},
};
use rmcp::model::{Icon, MetaObject, Prompt, PromptArgument};
use serde_json::{Map, Value, json};

use crate::names::public_name;

/// Maximum icons of a prompt.
const MAX_ICONS: usize = 8;

/// Maximum enumeration values in a description.
const MAX_VALUES: usize = 20;

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
        let undeclared: Vec<String> =
            reads.into_iter().filter(|name| inherited.parameters.get(name).is_none()).collect();
        let version = prompt_version(&catalog, id, &inherited.definition);
        let name = public_name(id);
        let listed = list_entry(id, &name, &version, &inherited, &undeclared);
        Ok(Self { id: id.to_owned(), name, version, listed, inherited, undeclared, engine: None })
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

    /// The required parameters.
    pub(crate) fn required_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.inherited.parameters.iter().filter(|parameter| parameter.must_be_passed())
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
        let Ok(owner) = self.inherited.body_definition() else { return Vec::new() };
        let Body::Messages(messages) = &owner.body else { return Vec::new() };
        let parts = messages.iter().flat_map(|message| &message.parts);
        let fixed =
            |value: &Value| !value.as_str().is_some_and(|text| text.contains("{{") || text.contains("{%"));
        parts
            .filter_map(|part| match part {
                Part::Other { kind, fields } if kind == "resource" => Some(fields),
                _ => None,
            })
            .filter(|fields| fields.values().all(fixed) && fields.contains_key("uri"))
            .collect()
    }
}

fn prompt_version(catalog: &Catalog, id: &str, definition: &Definition) -> String {
    let chosen = catalog.choose(id).map(|choice| catalog.version_of(&choice.entry));
    chosen.unwrap_or_else(|_| definition.metadata.version.clone())
}

fn list_entry(id: &str, name: &str, version: &str, inherited: &Inherited, undeclared: &[String]) -> Prompt {
    let definition = &inherited.definition;
    let metadata = &definition.metadata;
    let (required, optional): (Vec<&Parameter>, Vec<&Parameter>) =
        inherited.parameters.iter().partition(|parameter| parameter.must_be_passed());
    let declared = required.iter().chain(&optional).map(|parameter| argument(parameter));
    let more = undeclared.iter().map(|name| PromptArgument::new(name).with_required(false));
    let arguments: Vec<PromptArgument> = declared.chain(more).collect();
    let mut prompt = Prompt::new(
        name,
        Some(description(name, definition, &arguments)),
        (!arguments.is_empty()).then_some(arguments),
    );
    prompt.title = metadata.title.clone().or_else(|| (name != id).then(|| id.to_owned()));
    prompt.icons = icons(definition);
    let meta = json!({
        "hinagata/id": id,
        "hinagata/version": version,
        "hinagata/type": metadata.kind,
        "hinagata/tags": metadata.tags,
        "hinagata/source": definition.source,
    });
    prompt.meta = meta.as_object().cloned().map(MetaObject);
    prompt
}

fn description(name: &str, definition: &Definition, arguments: &[PromptArgument]) -> String {
    let metadata = &definition.metadata;
    let own = metadata.description.as_deref().or(metadata.title.as_deref()).map(str::trim);
    let mut text =
        own.filter(|text| !text.is_empty()).map_or_else(|| format!("The prompt `{name}`"), str::to_owned);
    if !arguments.is_empty() {
        let usage: Vec<String> = arguments
            .iter()
            .map(|argument| match argument.required {
                Some(true) => format!("{}=…", argument.name),
                _ => format!("[{}=…]", argument.name),
            })
            .collect();
        text.push_str(&format!("\n\nUsage: {name} {}", usage.join(" ")));
    }
    text
}

fn argument(parameter: &Parameter) -> PromptArgument {
    let mut argument = PromptArgument::new(&parameter.name).with_required(parameter.must_be_passed());
    let mut notes = Vec::new();
    if !matches!(parameter.kind, ValueType::String | ValueType::Any) {
        notes.push(match parameter.kind {
            ValueType::List | ValueType::Object => format!("{} as JSON", parameter.kind.name()),
            ValueType::File => "file name".to_owned(),
            kind => kind.name().to_owned(),
        });
    }
    if let Some(values) = enum_values(parameter) {
        let listed: Vec<String> = values.iter().take(MAX_VALUES).map(value_text).collect();
        let more = if values.len() > MAX_VALUES { ", …" } else { "" };
        notes.push(format!("one of {}{more}", listed.join(", ")));
    }
    if let Some(default) =
        parameter.default.as_ref().filter(|_| !parameter.secret && !parameter.must_be_passed())
    {
        let text: String = value_text(default).chars().take(80).collect();
        if !text.is_empty() {
            notes.push(format!("default: {text}"));
        }
    }
    let own = parameter.description.as_deref().unwrap_or_default();
    let text = match (own.is_empty(), notes.is_empty()) {
        (_, true) => own.to_owned(),
        (true, false) => notes.join("; "),
        (false, false) => format!("{own} ({})", notes.join("; ")),
    };
    if !text.is_empty() {
        argument.description = Some(text);
    }
    argument
}

/// The values of an enumeration.
pub(crate) fn enum_values(parameter: &Parameter) -> Option<&Vec<Value>> {
    parameter.schema.as_ref()?.get("enum")?.as_array().filter(|values| !values.is_empty())
}

/// A value as a caller would type it.
pub(crate) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The icons of a definition: URLs or `{src, mimeType, sizes}`. Only https and data URLs are kept.
fn icons(definition: &Definition) -> Option<Vec<Icon>> {
    let written = definition.unknown.get("icons").or_else(|| definition.metadata.more.get("icons"))?;
    let is_safe = |src: &str| src.starts_with("https://") || src.starts_with("data:image/");
    let icon = |value: &Value| {
        let src = value.as_str().or_else(|| value.get("src")?.as_str()).filter(|src| is_safe(src))?;
        let mut icon = Icon::new(src);
        icon.mime_type = value.get("mimeType").and_then(Value::as_str).map(str::to_owned);
        let sizes = value.get("sizes").and_then(Value::as_array);
        icon.sizes = sizes.map(|sizes| sizes.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Some(icon)
    };
    let icons: Vec<Icon> = match written {
        Value::Array(all) => all.iter().take(MAX_ICONS).filter_map(icon).collect(),
        one => icon(one).into_iter().collect(),
    };
    (!icons.is_empty()).then_some(icons)
}
