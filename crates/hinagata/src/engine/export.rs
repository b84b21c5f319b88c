//! Prompts in the formats of other programs: a definition with everything that it inherits and includes.

use hinagata_catalog::{
    definition::{
        Body, Definition, Inherited, Message, Origin, Parameter, ParameterClass, Part, Role, TemplateText,
        UndefinedMode, ValueType,
    },
    source::Entry,
};
use hinagata_document::LineColumn;
use hinagata_exchange::{
    ExportOptions, ExportedPrompt, Format, Loss, LossCode, PortableBody, PortableLayout, PortableMessage,
    PortableParameter, PortablePart, PortablePrompt,
};
use hinagata_template::{Language, MessageLayout};
use serde_json::{Map, Value, json};

use super::Engine;
use crate::{Code, Error, Result};

/// Most files, and most bytes of a file, that are written beside a skill.
const MOST_FILES: usize = 2_000;
const LARGEST_FILE: u64 = 10 << 20;

impl Engine {
    /// The prompt in the format of another program. Parents and included templates become part of it; what the format
    /// cannot express is in the report.
    ///
    /// # Errors
    /// Those of [`Engine::definition`]; code `validation` for a prompt that is not a Jinja template or a list of them,
    /// or that breaks a rule of the format.
    pub fn export_prompt(&self, prompt: &str, options: &ExportOptions) -> Result<ExportedPrompt> {
        let inherited = self.definition(prompt)?;
        let catalog = self.catalog();
        let entry = catalog.choose(prompt)?.entry;
        let mut portable = to_portable(&inherited)?;
        let mut unread = Vec::new();
        if options.format == Format::Skill {
            (portable.files, unread) = files_beside(&entry, &inherited.definition);
        }
        let root = catalog.root_of(&inherited.body_definition()?.source);
        let include = |name: &str| {
            let found = catalog.template(root.as_ref()?, name).ok().flatten()?;
            (found.text.engine == Language::Jinja).then(|| found.text.text.to_string())
        };
        let mut exported = hinagata_exchange::export_prompt(&portable, &include, options)?;
        if !options.is_live {
            lose_programs(&inherited, &mut exported);
            lose_media_fields(inherited.body_definition()?, &mut exported);
        }
        for (name, reason) in unread {
            add_loss(
                &mut exported,
                &inherited.definition,
                LossCode::Part,
                format!("`{name}`: {reason}"),
                None,
            );
        }
        Ok(exported)
    }
}

type NamedTexts = Vec<(String, String)>;

/// Reports what only this program can do.
fn lose_programs(inherited: &Inherited, exported: &mut ExportedPrompt) {
    let definition = &inherited.definition;
    let mut lose = |code, what, at| add_loss(exported, definition, code, what, at);
    if definition.hooks.has_any() {
        lose(LossCode::Code, "the Python of the prompt".to_owned(), None);
    }
    for parameter in inherited.parameters.iter().filter(|parameter| parameter.origin != Origin::Default) {
        let what = format!("the source of `{}`, which callers have to pass now", parameter.name);
        let place = parameter.place.as_ref();
        lose(LossCode::Data, what, place.map(|at| LineColumn { line: at.line, column: at.column }));
    }
}

/// Reports the fields of media in lists of messages that no format has a place for.
fn lose_media_fields(body: &Definition, exported: &mut ExportedPrompt) {
    let Body::Messages(messages) = &body.body else { return };
    for part in messages.iter().flat_map(|message| &message.parts) {
        let Part::Other { fields, .. } = part else { continue };
        for field in fields.keys().filter(|field| !matches!(field.as_str(), "type" | "url")) {
            add_loss(exported, body, LossCode::Part, format!("`{field}` of a media part"), None);
        }
    }
}

fn add_loss(
    exported: &mut ExportedPrompt,
    definition: &Definition,
    code: LossCode,
    what: String,
    at: Option<LineColumn>,
) {
    let at = at.unwrap_or(LineColumn { line: 1, column: 1 });
    let file = definition.source.clone();
    exported.report.push(Loss { code, file, at, excerpt: String::new(), what, instead: String::new() });
}

fn to_portable(inherited: &Inherited) -> Result<PortablePrompt> {
    let definition = &inherited.definition;
    let body = inherited.body_definition()?;
    let (kept, format) = kept_keys(definition);
    let mut portable = PortablePrompt::new(definition.id.to_string(), format, &body.source);
    portable.kept = kept;
    portable.header = header_of(definition);
    portable.parameters = inherited.parameters.iter().map(portable_parameter).collect();
    portable.undefined = definition.undefined.map(UndefinedMode::as_str);
    portable.layout = match body.layout {
        MessageLayout::Trim => PortableLayout::Trim,
        MessageLayout::Keep => PortableLayout::Keep,
        MessageLayout::Lines => PortableLayout::Lines,
        MessageLayout::Strip => PortableLayout::Strip,
    };
    portable.drops_empty = body.drops_empty;
    portable.body = match &body.body {
        Body::Text(text) => PortableBody::Text(jinja_text(text)?),
        Body::Messages(messages) => {
            PortableBody::Messages(messages.iter().map(portable_message).collect::<Result<_>>()?)
        }
        Body::Module(_) => return Err(not_exported(body, "a module")),
        Body::Inherited | Body::NeedsLoading => return Err(not_exported(body, "computed by Python")),
    };
    Ok(portable)
}

fn not_exported(definition: &Definition, what: &str) -> Error {
    let message = format!("`{}` is {what}, which other formats cannot express", definition.id);
    Error::new(Code::Validation, message)
        .with("prompt_id", definition.id.as_str())
        .with_hint("export a skill with `--live`, which calls this program for the text")
}

/// The keys that an import kept, and the format they came from.
fn kept_keys(definition: &Definition) -> (Map<String, Value>, Format) {
    let named = definition.unknown.iter().find_map(|(key, value)| {
        let format = Format::from_name(key.strip_prefix("x-")?)?;
        Some((value.as_object()?.clone(), format))
    });
    named.unwrap_or_else(|| {
        let imported = definition.unknown.get("imported").and_then(|record| record.get("format")?.as_str());
        (Map::new(), imported.and_then(Format::from_name).unwrap_or(Format::Dotprompt))
    })
}

fn header_of(definition: &Definition) -> Map<String, Value> {
    let (metadata, settings) = (&definition.metadata, &definition.settings);
    let directory = definition.source.rsplit('/').next().unwrap_or_default();
    let is_named = metadata.name != directory && metadata.name != definition.id.as_str();
    let text = |text: &Option<String>| text.clone().map(Value::String);
    let fields = [
        ("name", is_named.then(|| json!(metadata.name))),
        ("title", text(&metadata.title)),
        ("description", text(&metadata.description)),
        ("version", metadata.has_version.then(|| json!(metadata.version))),
        ("tags", (!metadata.tags.is_empty()).then(|| json!(metadata.tags))),
        ("author", text(&metadata.author)),
        ("model", settings.model.clone()),
        ("config", settings.config.clone()),
        ("output", settings.output.clone()),
        ("metadata", (!metadata.more.is_empty()).then(|| Value::Object(metadata.more.clone()))),
    ];
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn portable_parameter(parameter: &Parameter) -> PortableParameter {
    PortableParameter {
        name: parameter.name.clone(),
        aliases: parameter.aliases.clone(),
        required: parameter.class == ParameterClass::Required,
        kind: (parameter.kind != ValueType::Any).then(|| parameter.kind.name()),
        default: parameter.default.clone().filter(|_| !parameter.secret),
        description: parameter.description.clone(),
        schema: parameter.schema.clone(),
    }
}

fn jinja_text(text: &TemplateText) -> Result<String> {
    match text.engine {
        Language::Jinja => Ok(text.text.to_string()),
        Language::Go => {
            let message = format!("`{}` is a Go template, which other formats cannot express", text.file);
            Err(Error::new(Code::Validation, message))
        }
    }
}

fn portable_message(message: &Message) -> Result<PortableMessage> {
    if let Some(history) = &message.history {
        return Ok(PortableMessage::History(history.clone()));
    }
    if let Role::Template(_) = &message.role {
        return Err(Error::new(Code::Validation, "a role taken from data cannot be exported"));
    }
    let mut parts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => parts.push(PortablePart::Text(jinja_text(text)?)),
            Part::Other { kind, fields } => {
                match (kind.as_str(), fields.get("url").and_then(Value::as_str)) {
                    ("media", Some(url)) => parts.push(PortablePart::Media(url.to_owned())),
                    _ => {
                        let message = format!("a part of type `{kind}` cannot be exported");
                        return Err(Error::new(Code::Validation, message));
                    }
                }
            }
        }
    }
    Ok(PortableMessage::Message { role: message.role_name().to_owned(), parts })
}

/// The text files of the directory that are not part of the definition, and the reasons why others cannot be carried;
/// each with its name.
fn files_beside(entry: &Entry, definition: &Definition) -> (NamedTexts, NamedTexts) {
    let own =
        |name: &str| definition.files.iter().any(|read| read.file == format!("{}/{name}", definition.source));
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    for name in entry.list_files(MOST_FILES).into_iter().filter(|name| !own(name)) {
        match entry.file(&name, LARGEST_FILE) {
            Ok(Some(text)) => files.push((name, text.to_string())),
            Ok(None) => {}
            Err(error) => unread.push((name, error.message().to_owned())),
        }
    }
    (files, unread)
}
