//! Builds elements from the entries of a module file and the values of a call.

use std::sync::Arc;

use hinagata_document::{Code, Error, Place, Reason, Result};
use hinagata_module::{
    Attachment, Chunk, Content, Elements, JsonContent, JsonElement, Material, Message, MessageReader, Role,
    Text, Texts, ToolCall, ToolValue, Yielded, escape_headings, read_messages,
};
use hinagata_value::ValueType;
use serde_json::{Map, Value, json};

use super::spec::{
    AttachmentSpec, AttachmentsSpec, BodySpec, ChunkSpec, MaterialSpec, MessageSpec, NumberSpec, PathUse,
    RoleSpec, TextSpec, ValueSpec,
};

/// The values that a render provides.
pub(crate) trait Values {
    /// The text of the template with this number.
    fn template(&mut self, number: usize) -> Result<Text>;

    /// The value at a path, if any.
    fn value(&self, path: &PathUse) -> Result<Option<&Value>>;

    /// The value at a path that an element requires.
    fn required_value(&self, path: &PathUse) -> Result<Option<&Value>>;

    /// Whether texts and data are to be noted.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Notes texts that were read from the value at a path, in the order of the value.
    fn note_texts(&mut self, path: &PathUse, texts: &[Text]) {
        let _ = (path, texts);
    }

    /// Notes the paths and templates that data was made of.
    fn note_data(&mut self, data: &Arc<Value>, paths: &[&PathUse], templates: &[usize]) {
        let _ = (data, paths, templates);
    }

    /// Counts produced bytes, so that a loop over much data cannot exceed the output limit.
    fn charge(&mut self, bytes: usize) -> Result<()>;
}

/// No values, for fixed entries.
pub(super) struct NoValues;

impl Values for NoValues {
    fn template(&mut self, _number: usize) -> Result<Text> {
        Err(Error::new(Code::Definition, "a fixed entry contains a template"))
    }

    fn value(&self, path: &PathUse) -> Result<Option<&Value>> {
        Err(Error::new(Code::Definition, "a fixed entry contains a path").at(path.place.clone()))
    }

    fn required_value(&self, path: &PathUse) -> Result<Option<&Value>> {
        self.value(path)
    }

    fn charge(&mut self, _bytes: usize) -> Result<()> {
        Ok(())
    }
}

/// Whether a value is true as in Jinja: undefined, zero and empty values are false.
pub(crate) fn is_true(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(entries)) => !entries.is_empty(),
    }
}

/// Adds the elements of `body`.
pub(crate) fn build_elements(body: &BodySpec, values: &mut dyn Values, all: &mut Elements) -> Result<()> {
    let before = all.len();
    add(body, values, all)?;
    values.charge(all[before..].iter().map(weight).sum())
}

fn add(body: &BodySpec, values: &mut dyn Values, all: &mut Elements) -> Result<()> {
    match body {
        BodySpec::Text(TextSpec::Path(path)) => {
            let texts = texts_at(path, values)?;
            values.note_texts(path, &texts);
            all.extend(texts.into_iter().map(Yielded::Text));
        }
        BodySpec::Text(spec) => all.push(Yielded::Text(text(spec, values)?)),
        BodySpec::Message(spec) => all.push(Yielded::Element(message(spec, values)?.into())),
        BodySpec::Conversation(path) => {
            let messages = conversation(path, values)?;
            all.extend(messages.into_iter().map(|message| Yielded::Element(message.into())));
        }
        BodySpec::Material(spec) => all.push(Yielded::Element(material(spec, values)?.into())),
        BodySpec::Chunk(spec) => all.push(Yielded::Element(chunk(spec, values)?.into())),
        BodySpec::Json(spec) => {
            let element = match spec {
                ValueSpec::Text(TextSpec::Fixed(text)) => JsonElement::text(text.clone()),
                spec => JsonElement::new(value(spec, values)?),
            };
            if let (true, JsonContent::Value(data)) = (values.is_recorded(), &element.content) {
                let (mut paths, mut templates) = (Vec::new(), Vec::new());
                spec.collect_inputs(&mut paths, &mut templates);
                values.note_data(data, &paths, &templates);
            }
            all.push(Yielded::Element(element.into()));
        }
    }
    Ok(())
}

/// Adds the texts of `body`; the grammar allows only texts under a heading.
pub(crate) fn build_texts(body: &BodySpec, values: &mut dyn Values, all: &mut Texts) -> Result<()> {
    let mut elements = Elements::new();
    build_elements(body, values, &mut elements)?;
    for yielded in elements {
        match yielded {
            Yielded::Text(text) => all.texts.push(text),
            Yielded::Element(_) => all.left_out.push("an element".to_owned()),
        }
    }
    Ok(())
}

/// The texts at a path: one, or a list of them. They are data, which cannot open headings.
fn texts_at(path: &PathUse, values: &mut dyn Values) -> Result<Vec<Text>> {
    let data = |value: &Value| {
        let text = plain(value, path)?;
        Ok(escape_headings(&text, |_| true).map_or(text, Text::from))
    };
    match values.value(path)? {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(data).collect(),
        Some(one) => Ok(vec![data(one)?]),
    }
}

/// A value as text; objects and lists are errors.
fn plain(value: &Value, path: &PathUse) -> Result<Text> {
    match value {
        Value::String(text) => Ok(Text::from(text)),
        Value::Number(number) => {
            Ok(Text::from(hinagata_module::json::to_compact_string(&Value::Number(number.clone()))))
        }
        Value::Bool(value) => Ok(Text::from(if *value { "true" } else { "false" })),
        Value::Null => Ok(Text::default()),
        Value::Array(_) | Value::Object(_) => Err(type_error(path, ValueType::String.noun(), value)),
    }
}

fn text(spec: &TextSpec, values: &mut dyn Values) -> Result<Text> {
    match spec {
        TextSpec::Fixed(text) => Ok(text.clone()),
        TextSpec::Template(number) => values.template(*number),
        TextSpec::Path(path) => {
            let text = values.value(path)?.map_or_else(|| Ok(Text::default()), |value| plain(value, path))?;
            Ok(noted(text, path, values))
        }
    }
}

/// A text that was read from the value at a path.
fn noted(text: Text, path: &PathUse, values: &mut dyn Values) -> Text {
    values.note_texts(path, std::slice::from_ref(&text));
    text
}

/// Notes every text of messages and attachments that were read from the value at a path.
fn note_all(path: &PathUse, values: &mut dyn Values, visit: impl FnOnce(&mut dyn FnMut(&Text))) {
    if values.is_recorded() {
        let mut texts = Vec::new();
        visit(&mut |text| texts.push(text.clone()));
        values.note_texts(path, &texts);
    }
}

/// A text that an element requires: an error if it is undefined and undefined values are errors.
fn required_text(spec: &TextSpec, values: &mut dyn Values) -> Result<Text> {
    match spec {
        TextSpec::Path(path) => {
            let found = values.required_value(path)?;
            let text = found.map_or_else(|| Ok(Text::default()), |value| plain(value, path))?;
            Ok(noted(text, path, values))
        }
        spec => text(spec, values),
    }
}

/// A text that an element may lack.
fn optional_text(spec: Option<&TextSpec>, values: &mut dyn Values) -> Result<Option<Text>> {
    match spec {
        None => Ok(None),
        Some(TextSpec::Path(path)) => match values.value(path)? {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let text = plain(value, path)?;
                Ok(Some(noted(text, path, values)))
            }
        },
        Some(spec) => text(spec, values).map(Some),
    }
}

fn number(spec: Option<&NumberSpec>, values: &mut dyn Values) -> Result<Option<u64>> {
    match spec {
        None => Ok(None),
        Some(NumberSpec::Fixed(number)) => Ok(Some(*number)),
        Some(NumberSpec::Path(path)) => match values.value(path)? {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(type_error(path, "a whole number", value)),
            },
        },
    }
}

fn value(spec: &ValueSpec, values: &mut dyn Values) -> Result<Value> {
    Ok(match spec {
        ValueSpec::Fixed(fixed) => {
            values.charge(size(fixed))?;
            fixed.clone()
        }
        ValueSpec::Text(TextSpec::Path(path)) => {
            let bytes = values.value(path)?.map_or(0, size);
            values.charge(bytes)?;
            values.value(path)?.cloned().unwrap_or_default()
        }
        ValueSpec::Text(spec) => Value::from(text(spec, values)?.as_str()),
        ValueSpec::List(items) => {
            Value::Array(items.iter().map(|item| value(item, values)).collect::<Result<_>>()?)
        }
        ValueSpec::Map(entries) => {
            let mut all = Map::new();
            for (key, spec) in entries {
                all.insert(key.clone(), value(spec, values)?);
            }
            Value::Object(all)
        }
    })
}

fn content(spec: &TextSpec, attached: &AttachmentsSpec, values: &mut dyn Values) -> Result<Content> {
    let text = Content::from(text(spec, values)?);
    Ok(attachments(attached, values)?.into_iter().fold(text, Content::with_attachment))
}

fn attachments(spec: &AttachmentsSpec, values: &mut dyn Values) -> Result<Vec<Attachment>> {
    match spec {
        AttachmentsSpec::Listed(all) => all
            .iter()
            .map(|one| {
                Ok(match one {
                    AttachmentSpec::Text(spec) => Attachment::Text(text(spec, values)?),
                    AttachmentSpec::Image(spec) => Attachment::image(text(spec, values)?),
                    AttachmentSpec::File { path, mime_type, name } => Attachment::File {
                        path: text(path, values)?,
                        mime_type: text(mime_type, values)?,
                        name: optional_text(name.as_ref(), values)?,
                    },
                })
            })
            .collect(),
        AttachmentsSpec::Path(path) => match values.value(path)? {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(given) => {
                let all = attachments_of(given, path)?;
                note_all(path, values, |visit| all.iter().for_each(|one| one.visit_texts(visit)));
                Ok(all)
            }
        },
    }
}

/// The attachments of a list in data.
fn attachments_of(list: &Value, path: &PathUse) -> Result<Vec<Attachment>> {
    Attachment::read_list(list).map_err(|error| shape_error(path, &error))
}

fn material(spec: &MaterialSpec, values: &mut dyn Values) -> Result<Material> {
    let (id, title) = (required_text(&spec.id, values)?, required_text(&spec.title, values)?);
    let material = Material::new(id, title, content(&spec.content, &spec.attachments, values)?);
    Ok(match number(spec.usage.as_ref(), values)? {
        Some(usage) => material.with_usage(usage),
        None => material,
    })
}

fn chunk(spec: &ChunkSpec, values: &mut dyn Values) -> Result<Chunk> {
    let part_of = required_text(&spec.part_of, values)?;
    let mut chunk = Chunk::new(part_of, content(&spec.content, &spec.attachments, values)?);
    chunk.index = number(spec.index.as_ref(), values)?;
    chunk.total = number(spec.total.as_ref(), values)?;
    Ok(match number(spec.usage.as_ref(), values)? {
        Some(usage) => chunk.with_usage(usage),
        None => chunk,
    })
}

fn message(spec: &MessageSpec, values: &mut dyn Values) -> Result<Message> {
    let role = role(&spec.role, values)?;
    let attached = attachments(&spec.attachments, values)?;
    let name = optional_text(spec.name.as_ref(), values)?;
    let call_id = optional_text(spec.tool_call_id.as_ref(), values)?;
    let calls = tool_calls(spec, values)?;
    if !calls.is_empty() && role != Role::Assistant {
        return Err(role_error(spec, role, "toolCalls", "only the assistant calls tools"));
    }
    if matches!(spec.tool_call_id, Some(TextSpec::Path(_))) && call_id.is_some() && role != Role::Tool {
        return Err(role_error(spec, role, "toolCallId", "only a tool answers a call"));
    }
    let content =
        attached.into_iter().fold(message_content(&spec.content, values)?, Content::with_attachment);
    let mut message = match role {
        Role::System => Message::system(content),
        Role::User => Message::user(content),
        Role::Assistant => Message::assistant_with_calls(content, calls),
        Role::Tool => {
            let Some(call_id) = call_id else { return Err(missing_call_id(&spec.place)) };
            let value = match content {
                Content::Text(answer) => ToolValue::Text(answer),
                Content::Parts(parts) => ToolValue::Parts { parts, is_error: false },
            };
            Message::tool(call_id, name.clone().unwrap_or_default(), value)
        }
    };
    if let Some(name) = name {
        message = message.with_name(name);
    }
    Ok(match number(spec.usage.as_ref(), values)? {
        Some(usage) => message.with_usage(usage),
        None => message,
    })
}

/// The content of a message: a text, or a list of parts from data.
fn message_content(spec: &TextSpec, values: &mut dyn Values) -> Result<Content> {
    let TextSpec::Path(path) = spec else { return text(spec, values).map(Content::from) };
    match values.value(path)? {
        Some(parts @ Value::Array(_)) => {
            let parts = attachments_of(parts, path)?;
            note_all(path, values, |visit| parts.iter().for_each(|one| one.visit_texts(visit)));
            Ok(Content::Parts(parts))
        }
        None => Ok(Content::default()),
        Some(value) => {
            let text = plain(value, path)?;
            Ok(Content::from(noted(text, path, values)))
        }
    }
}

/// The messages at a path: one, or a list of them, in the format of any provider.
fn conversation(path: &PathUse, values: &mut dyn Values) -> Result<Vec<Message>> {
    let bytes = values.value(path)?.map_or(0, size);
    values.charge(bytes)?;
    let messages = match values.value(path)? {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(list @ Value::Array(_)) => read_messages(list),
        Some(one) => MessageReader::new().read_message(one).map(|message| vec![message]),
    };
    let messages = messages.map_err(|error| shape_error(path, &error))?;
    note_all(path, values, |visit| messages.iter().for_each(|one| one.visit_texts(visit)));
    match messages.iter().any(|message| message.role() == Role::System) {
        true => Err(data_role_error(Role::System.name(), path)),
        false => Ok(messages),
    }
}

/// The error for a field that a message of this role cannot have; the field would be lost.
fn role_error(spec: &MessageSpec, role: Role, key: &str, hint: &str) -> Error {
    Error::new(Code::RenderRuntime, format!("a message of role {role} cannot have `{key}`"))
        .with_reason(Reason::Runtime)
        .with_hint(hint)
        .at(spec.place.clone())
}

fn missing_call_id(place: &Place) -> Error {
    Error::new(Code::RenderRuntime, "a tool message does not name the call that it answers")
        .with_reason(Reason::Runtime)
        .with_hint("add `toolCallId` to the message")
        .at(place.clone())
}

/// The role of a message; data may set user, assistant or tool.
fn role(spec: &RoleSpec, values: &mut dyn Values) -> Result<Role> {
    let path = match spec {
        RoleSpec::Fixed(role) => return Ok(*role),
        RoleSpec::Bound(path) => path,
    };
    let given = values.value(path)?;
    let allowed = |name: &str| hinagata_value::Role::from_data(name).ok();
    let found =
        given.and_then(Value::as_str).and_then(allowed).and_then(|role| Role::from_name(role.as_str()));
    found.ok_or_else(|| {
        let shown: String = match given {
            Some(Value::String(text)) => text.chars().take(40).collect(),
            Some(other) => hinagata_module::json::to_compact_string(other).chars().take(40).collect(),
            None => "nothing".to_owned(),
        };
        data_role_error(&shown, path)
    })
}

fn data_role_error(shown: &str, path: &PathUse) -> Error {
    Error::new(
        Code::RenderSecurity,
        format!("a role from data must be user, assistant or tool, not `{shown}`"),
    )
    .with_reason(Reason::Security)
    .with_hint("write the role into the module to use another one")
    .at(path.place.clone())
}

fn tool_calls(spec: &MessageSpec, values: &mut dyn Values) -> Result<Vec<ToolCall>> {
    let Some(calls) = &spec.tool_calls else { return Ok(Vec::new()) };
    let calls = match value(calls, values)? {
        Value::Null => return Ok(Vec::new()),
        calls => calls,
    };
    let document = json!({"role": "assistant", "content": null, "toolCalls": calls});
    let message = MessageReader::new().read_message(&document).map_err(|error| {
        Error::new(Code::RenderRuntime, format!("`toolCalls` has an invalid shape: {error}"))
            .with_reason(Reason::Runtime)
            .at(spec.place.clone())
    })?;
    Ok(message.tool_calls().cloned().collect())
}

fn type_error(path: &PathUse, wanted: &str, value: &Value) -> Error {
    let found = ValueType::of_value(value).noun();
    Error::new(Code::RenderRuntime, format!("`{}` must be {wanted} here, not {found}", path.path))
        .with_reason(Reason::Runtime)
        .with("path", path.path.as_str())
        .at(path.place.clone())
}

/// The error for a value that is not a list.
pub(crate) fn list_expected(path: &PathUse, value: &Value) -> Error {
    type_error(path, ValueType::List.noun(), value)
}

/// The error for a value that is not a non-negative integer.
pub(crate) fn number_expected(path: &PathUse, value: &Value) -> Error {
    type_error(path, "a whole number", value)
}

fn shape_error(path: &PathUse, error: &hinagata_module::Error) -> Error {
    Error::new(Code::RenderRuntime, format!("`{}` has an invalid shape: {error}", path.path))
        .with_reason(Reason::Runtime)
        .with("path", path.path.as_str())
        .at(path.place.clone())
}

/// The bytes of the texts in a value, plus some for each part.
fn size(value: &Value) -> usize {
    8 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.iter().map(|(key, value)| key.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The bytes of an element, plus some for the element itself.
fn weight(yielded: &Yielded) -> usize {
    use hinagata_module::DynamicElement as E;
    let content = |content: &Content| content.texts().map(str::len).sum::<usize>();
    let body = match yielded {
        Yielded::Text(text) => text.len(),
        Yielded::Element(E::Text(element)) => content(&element.content),
        Yielded::Element(E::Message(message)) => message.texts().map(str::len).sum(),
        Yielded::Element(E::Material(material)) => {
            content(&material.content) + material.title.len() + material.id.len()
        }
        Yielded::Element(E::Chunk(chunk)) => content(&chunk.content) + chunk.part_of.len(),
        // Its data was counted when it was built.
        Yielded::Element(E::Json(_)) => 0,
    };
    body + 16
}
