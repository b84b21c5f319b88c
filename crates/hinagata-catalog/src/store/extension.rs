//! Extensions: documents of the store that contribute prompts.

use hinagata_document::{Code, Error, Reason};
use semver::Version;
use serde_json::Value;

use super::{StoredMap, range::Range};

/// The name and major version of the original daemon, which this engine is compatible with.
const ORIGINAL_ENGINE: (&str, u64) = ("ai-prompt-shell", 1);
const OWN_ENGINE: &str = "hinagata";

/// An extension, as far as the engine uses it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension<'a> {
    document: &'a Value,
    pub(super) name: &'a str,
}

/// A problem of an extension.
#[derive(Debug)]
pub(super) enum Finding {
    /// Its prompts cannot be used.
    Blocking(Error),
    /// Its prompts can be used.
    Warning(Error),
}

impl<'a> Extension<'a> {
    /// Reads a document.
    ///
    /// # Errors
    /// Code `definition` when it is not an extension.
    pub(super) fn read(document: &'a Value) -> Result<Self, Error> {
        let invalid = |message: &str, hint: &str| {
            Error::definition(Reason::Extension, message.to_owned()).with_hint(hint.to_owned())
        };
        if !document.is_object() {
            return Err(invalid(
                "an extension must be an object",
                "write an object with `name` and its prompts",
            ));
        }
        let name = document.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            invalid("the extension has no `name`", "its prompts are found as `<name>.<name of the prompt>`")
        })?;
        Ok(Self { document, name })
    }

    pub(super) fn version(&self) -> Option<&'a str> {
        self.document.get("version")?.as_str()
    }

    /// The documents of its prompts.
    pub(super) fn prompts(&self) -> impl Iterator<Item = &'a Value> {
        let prompts = self.contributes("prompts").and_then(Value::as_array);
        prompts.into_iter().flatten()
    }

    /// The programming languages that its prompts are for.
    pub(super) fn languages(&self) -> Vec<String> {
        let all = self.contributes("languages").and_then(Value::as_array);
        all.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    }

    fn contributes(&self, key: &str) -> Option<&'a Value> {
        self.document.get("contributes")?.get(key)
    }

    /// The problems of the extension among the `others` of the store.
    pub(super) fn findings(&self, others: &StoredMap) -> Vec<Finding> {
        let mut found: Vec<Finding> =
            self.kind().into_iter().chain(self.engines()).map(Finding::Blocking).collect();
        let dependences = self.contributes("dependences").and_then(Value::as_array);
        found.extend(dependences.into_iter().flatten().filter_map(|item| self.dependence(item, others)));
        found
    }

    fn kind(&self) -> Option<Error> {
        let kind = self.document.get("extensionType").and_then(Value::as_str).unwrap_or("prompt");
        (kind != "prompt").then(|| {
            let message =
                format!("extensions of type `{kind}` such as `{}` contribute no prompts", self.name);
            Error::definition(Reason::ExtensionType, message).with("extensionType", kind)
        })
    }

    fn engines(&self) -> Option<Error> {
        let engines = self.document.get("engines")?;
        let text = |key: &str| engines.get(key).and_then(Value::as_str);
        let (name, range) = (text("name")?, text("version").unwrap_or("*"));
        let engine_error = |message: String| {
            Error::definition(Reason::Engines, message)
                .with("engine", name)
                .with("range", range)
                .with_hint(format!("`engines.name` is `{OWN_ENGINE}` or `{}`", ORIGINAL_ENGINE.0))
        };
        let Some(wanted) = Range::parse(range) else {
            return Some(engine_error(format!(
                "`{}` requires an invalid range of engine versions: `{range}`",
                self.name
            )));
        };
        let met = match name {
            OWN_ENGINE => own_version().is_some_and(|version| wanted.contains(&version)),
            _ if name == ORIGINAL_ENGINE.0 => wanted.reaches_major(ORIGINAL_ENGINE.1),
            _ => return Some(engine_error(format!("`{}` requires another engine, `{name}`", self.name))),
        };
        (!met).then(|| {
            engine_error(format!(
                "`{}` requires `{name}` {range}, which this engine does not match",
                self.name
            ))
        })
    }

    fn dependence(&self, item: &Value, others: &StoredMap) -> Option<Finding> {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let name = text("name")?;
        let range = text("version").unwrap_or("*");
        let problem = unmet_reason(name, range, others)?;
        let message = format!("`{}` needs the extension `{name}` {range}: {problem}", self.name);
        let error =
            Error::new(Code::NotFound, message).with_reason(Reason::Dependence).with("dependence", name);
        Some(match text("failStrategy") {
            Some("ignore") => Finding::Warning(error),
            _ => Finding::Blocking(
                error.with_hint("add it to the store, or set `failStrategy: ignore` for the dependence"),
            ),
        })
    }
}

fn own_version() -> Option<Version> {
    Version::parse(env!("CARGO_PKG_VERSION")).ok()
}

/// Why no extension called `name` has a version in `range`; `None` if one has.
fn unmet_reason(name: &str, range: &str, others: &StoredMap) -> Option<String> {
    let Some(wanted) = Range::parse(range) else {
        return Some(format!("`{range}` is not a range of versions"));
    };
    let named = others.values().filter_map(|stored| Extension::read(&stored.value).ok());
    let mut versions = named.filter(|other| other.name == name).map(|other| other.version()).peekable();
    if versions.peek().is_none() {
        return Some("it is not in the store".to_owned());
    }
    let mut seen = Vec::new();
    for version in versions.map(|version| version.unwrap_or("0.0.0")) {
        if Version::parse(version).is_ok_and(|version| wanted.contains(&version)) {
            return None;
        }
        seen.push(version);
    }
    Some(format!("the store has {}", seen.join(", ")))
}
