//! The functions that add structure to the output: `role`, `media` and `resource`.
//!
//! They return an object with a part. Printing it adds a mark outside of the text, so no text can have the
//! same effect, wherever it comes from.
//!
//! The reasons are in `docs/design/message-marks.md`.

use std::sync::{Arc, LazyLock};

use hinagata_value::{
    Arguments, Closure, Error, Functions, Host, Kind, Object, Part, Result, Role, Text, Value,
};
use serde_json::{Map, Value as Json};

/// The names of the functions, in order.
pub(crate) const NAMES: [&str; 3] = ["media", "resource", "role"];

/// The kind of the part that starts a message.
pub(crate) const ROLE: &str = "role";
/// The kind of the part that ends a message.
pub(crate) const ROLE_END: &str = "role_end";

/// The functions that add structure to the output. Callers may add more.
///
/// | call | result |
/// |---|---|
/// | `role(name)` | the start of a message of that role |
/// | `media(url, type)`, `media(data=…, type=…)` | an image, a sound or a document |
/// | `resource(uri)` | a resource by its URI |
#[must_use]
pub fn structure_functions() -> Functions {
    let mut functions = Functions::new();
    functions.insert(Closure::new("role", role));
    functions.insert(Closure::new("media", media));
    functions.insert(Closure::new("resource", resource));
    functions
}

/// Whether `name` is reserved by one of the languages or by Hinagata, so that no tool can have it.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    NAMES.contains(&name) || hinagata_jinja::is_reserved(name) || hinagata_gotemplate::is_reserved(name)
}

/// The functions of a render without its own.
pub(crate) fn default_functions() -> &'static Functions {
    static FUNCTIONS: LazyLock<Functions> = LazyLock::new(structure_functions);
    &FUNCTIONS
}

fn role<'a>(host: &Host<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [name] = named_arguments(arguments, "role", ["name"])?;
    let name = name.ok_or_else(|| Error::runtime("role needs the name of a role"))?;
    if name.is_empty() {
        return Err(Error::runtime("the role name is empty"));
    }
    if !host.literal {
        Role::from_data(name)?;
    }
    part(host, ROLE, Json::String(name.to_owned()))
}

fn media<'a>(host: &Host<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [url, kind, data] = named_arguments(arguments, "media", ["url", "type", "data"])?;
    match (url, data, kind) {
        (Some(_), None, _) | (None, Some(_), Some(_)) => {}
        (None, Some(_), None) => {
            return Err(Error::runtime("media with `data` needs a `type`, such as image/png"));
        }
        _ => return Err(Error::runtime("media needs either a `url` or `data`")),
    }
    let entries = [("url", url), ("data", data), ("type", kind)];
    part(host, "media", object(entries))
}

fn resource<'a>(host: &Host<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [uri] = named_arguments(arguments, "resource", ["uri"])?;
    let uri = uri.ok_or_else(|| Error::runtime("resource needs a URI"))?;
    part(host, "resource", object([("uri", Some(uri))]))
}

/// Fails for a part that starts a message, in an output that is the content of one message.
pub(crate) fn refuse_roles(part: &Part) -> Result<()> {
    match (part.kind.as_str(), &part.content) {
        (ROLE, Json::String(role)) => Err(Error::runtime(format!(
            "a message with the role '{role}' starts inside another message: the messages of this prompt are \
             declared in its list"
        ))
        .with_hint("add a message to the list, or write the whole prompt as one template")),
        _ => Ok(()),
    }
}

/// The arguments by name. Each is a string, or missing if it is not passed or none.
fn named_arguments<'r, const N: usize>(
    arguments: &Arguments<'r, '_>,
    function: &str,
    names: [&str; N],
) -> Result<[Option<&'r str>; N]> {
    if arguments.positional.len() > N {
        return Err(Error::runtime(format!("{function} takes at most {N} arguments")));
    }
    if let Some((unknown, _)) = arguments.named.iter().find(|(name, _)| !names.contains(name)) {
        let near = hinagata_value::near_names(unknown, names);
        return Err(Error::runtime(format!("{function} has no argument `{unknown}`")).with_near(near));
    }
    let mut found = [None; N];
    for (index, name) in names.into_iter().enumerate() {
        found[index] = match arguments.get(index, name) {
            None => None,
            Some(value) if value.is_pending() => return Err(Error::suspended()),
            Some(value) if matches!(value.kind(), Kind::None | Kind::Undefined) => None,
            Some(value) => Some(value.as_str().ok_or_else(|| {
                Error::runtime(format!("the argument `{name}` of {function} must be a string"))
            })?),
        };
    }
    Ok(found)
}

fn object<const N: usize>(entries: [(&str, Option<&str>); N]) -> Json {
    let given = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
    Json::Object(given.collect::<Map<_, _>>())
}

/// A part as a value. Its content is charged until the render ends.
fn part<'a>(host: &Host<'_, 'a>, kind: &str, content: Json) -> Result<Value<'a>> {
    let bytes = match &content {
        Json::String(text) => text.len(),
        Json::Object(entries) => entries.values().filter_map(Json::as_str).map(str::len).sum(),
        _ => 0,
    };
    host.budget().step_bytes(bytes)?;
    host.budget().charge_bytes(bytes)?;
    host.heap.host_object(PartObject(Arc::new(Part { kind: kind.to_owned(), content })))
}

/// A value that adds its part to the output when it is printed.
#[derive(Debug)]
struct PartObject(Arc<Part>);

impl Object for PartObject {
    fn type_name(&self) -> &str {
        &self.0.kind
    }

    /// Inside a string, the part would be lost.
    fn print(&self, _text: &mut Text<'_>) -> Result<()> {
        Err(Error::runtime(format!("a {} is not text and cannot be part of a string", self.0.kind))
            .with_hint("print it by itself"))
    }

    fn part(&self) -> Option<Arc<Part>> {
        Some(self.0.clone())
    }
}
