//! The models of the settings by name: which model an alias refers to, and where its tokenizer is.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use hinagata_document::{Error, Reason, Result};
use serde_json::Value;

use super::{Origin, Settings};

/// Longest chain of aliases.
const LONGEST_CHAIN: usize = 8;

/// The names of the models in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNames {
    configured: BTreeSet<String>,
    aliases: BTreeMap<String, String>,
}

impl ModelNames {
    /// The names in the section `models`.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, if two models have the same alias, or aliases are not strings.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let mut names = Self::default();
        for (name, value) in settings.section("models") {
            if let Value::String(target) = value {
                names.add_alias(&name, &target)?;
                continue;
            }
            for alias in value.get("aliases").map_or(&[][..], list_items) {
                let setting = format!("models.{name}");
                let alias = alias.as_str().ok_or_else(|| {
                    setting_error(&setting, format!("the aliases of `{setting}` must be a list of strings"))
                })?;
                names.add_alias(alias, &name)?;
            }
            names.configured.insert(name);
        }
        Ok(names)
    }

    fn add_alias(&mut self, alias: &str, target: &str) -> Result<()> {
        match self.aliases.insert(alias.to_owned(), target.to_owned()) {
            None => Ok(()),
            Some(other) => {
                let message = format!("`{alias}` is also an alias of `{other}`");
                Err(setting_error(&format!("models.{target}"), message)
                    .with_hint("use each alias for one model"))
            }
        }
    }

    /// The model that `name` refers to: a name of the settings, or one that a provider knows.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, if aliases refer to each other in a circle.
    pub fn resolve_name<'n>(&'n self, name: &'n str) -> Result<&'n str> {
        let mut target = name;
        for _ in 0..LONGEST_CHAIN {
            match self.aliases.get(target).filter(|_| !self.configured.contains(target)) {
                Some(next) => target = next,
                None => return Ok(target),
            }
        }
        let setting = format!("models.{name}");
        let message = format!("`{setting}` is part of a cycle of aliases, or of a chain that is too long");
        Err(setting_error(&setting, message))
    }

    /// All aliases, sorted.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.aliases.keys().map(String::as_str)
    }
}

/// What the settings say about a model and the files that come with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredModel {
    /// The name at the provider.
    pub model: String,
    /// The file with its tokenizer.
    pub tokenizer: Option<PathBuf>,
    /// The file or directory with its chat template.
    pub chat_template: Option<PathBuf>,
}

impl ConfiguredModel {
    /// The model that `name` refers to, configured or not. A relative path starts at the directory of the user's own
    /// file, at the workspace `root`, or for flags and the environment at the current directory.
    ///
    /// # Errors
    /// Those of [`ModelNames`]; code `definition`, reason `settings`, if a path is not a string.
    pub fn from_settings(settings: &Settings, root: &Path, name: &str) -> Result<Self> {
        let names = ModelNames::from_settings(settings)?;
        let key = names.resolve_name(name)?;
        let setting = format!("models.{key}");
        let Some(entry) = settings.get(&setting) else {
            return Ok(Self { model: key.to_owned(), tokenizer: None, chat_template: None });
        };
        let model = entry.value.get("model").and_then(Value::as_str).unwrap_or(key).to_owned();
        let path = |field: &str| match entry.value.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(file)) => Ok(Some(base_directory(&entry.origin, root).join(file))),
            Some(_) => {
                let message = format!("`{setting}.{field}` must be the path of a file");
                let error = setting_error(&setting, message);
                Err(entry.origin.place().cloned().into_iter().fold(error, Error::at))
            }
        };
        Ok(Self { model, tokenizer: path("tokenizer")?, chat_template: path("chat_template")? })
    }
}

/// The directory that relative paths in a value start at.
fn base_directory(origin: &Origin, root: &Path) -> PathBuf {
    match origin {
        Origin::User(place) => Path::new(&place.file).parent().unwrap_or(Path::new("")).to_owned(),
        Origin::Workspace(_) => root.to_owned(),
        Origin::Default | Origin::FileName(_) | Origin::Environment(_) | Origin::Flag => PathBuf::new(),
    }
}

fn list_items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        other => std::slice::from_ref(other),
    }
}

fn setting_error(setting: &str, message: String) -> Error {
    Error::definition(Reason::Settings, message).with("setting", setting)
}
