//! `pack.json`: the manifest of a pack.

use std::collections::BTreeMap;

use hinagata_document::{Error, Fields, Node, Reason, Result, json, truncate_for_display};
use serde::Serialize;
use serde_json::{Map, Value};

/// Largest `pack.json`, in bytes.
pub const LARGEST_MANIFEST: u64 = 1 << 20;

/// The main content of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PackKind {
    /// System prompts of agents.
    System,
    /// Prompts for internal work such as compression, memory and planning.
    Utility,
    /// Partials that other prompts include.
    Partial,
    /// Whole agents.
    Agent,
}

impl PackKind {
    /// The kind called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "system" => Self::System,
            "utility" => Self::Utility,
            "partial" => Self::Partial,
            "agent" => Self::Agent,
            _ => return None,
        })
    }
}

/// The content of a `pack.json`.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The `pack_id` in the file; the id of the pack is the name of its directory.
    pub label: Option<String>,
    /// A display name.
    pub name: Option<String>,
    /// The version, `0.0.0` unless given.
    pub version: String,
    /// The kind, if declared.
    pub kind: Option<PackKind>,
    /// The description.
    pub description: Option<String>,
    /// The prompts that it lists.
    pub prompts: Vec<String>,
    /// Its variable providers.
    pub providers: Vec<VariableProvider>,
    /// The replacements that it proposes.
    pub replaces: Replaces,
    /// The packs that it requires, each with a range of versions such as `1.2`.
    pub requires: BTreeMap<String, String>,
    /// Unknown keys.
    pub extra: Map<String, Value>,
    /// Warnings about likely mistakes, such as misspelled keys.
    pub warnings: Vec<Error>,
}

/// The known keys.
pub const MANIFEST_KEYS: [&str; 10] = [
    "pack_id",
    "name",
    "version",
    "description",
    "kind",
    "type",
    "prompts",
    "variable_providers",
    "replaces",
    "requires",
];

/// The kinds of replacements that a pack can propose.
const REPLACEABLE: [&str; 3] = ["prompts", "tools", "flows"];

/// Python of a pack that provides variables.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableProvider {
    /// The file, beneath the pack.
    pub file: String,
    /// The name of its variables in templates.
    pub namespace: String,
    /// The description.
    pub description: Option<String>,
    /// The declared permissions; [`VariableProvider::permissions`] returns the effective ones.
    pub permissions: BTreeMap<String, bool>,
    /// Unknown keys.
    pub extra: Map<String, Value>,
}

impl VariableProvider {
    /// The default permissions of providers: a typical one runs a program to inspect the workspace.
    const USUAL: [&'static str; 2] = ["read_file", "subprocess"];

    /// The effective permissions: the defaults, minus those declared as false, plus those declared as true. All code
    /// that shows or grants permissions of a provider uses this function.
    #[must_use]
    pub fn permissions(&self) -> Vec<&str> {
        let usual = Self::USUAL.into_iter().filter(|name| self.permissions.get(*name) != Some(&false));
        let declared = self.permissions.iter().filter(|(_, used)| **used).map(|(name, _)| name.as_str());
        usual.chain(declared.filter(|name| !Self::USUAL.contains(name))).collect()
    }
}

/// The replacements that a pack proposes. Without a resolution they have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaces {
    /// Prompts: the replaced id and the id in the pack.
    pub prompts: BTreeMap<String, String>,
    /// Tools.
    pub tools: BTreeMap<String, String>,
    /// Flows, kept and shown.
    pub flows: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// Code `definition`, with all invalid fields at once.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let node = json::parse(file, text)?;
        let mut fields = Fields::new(file, text);
        let Some(entries) = node.as_map() else {
            return Err(Error::definition(
                Reason::Type,
                format!("pack.json must be an object, not {}", node.kind()),
            )
            .at(fields.place(&node)));
        };
        let mut manifest = Self { version: "0.0.0".to_owned(), ..Self::default() };
        for (key, value) in entries {
            manifest.read_key(&mut fields, key, value);
        }
        manifest.warnings = fields.take_warnings();
        fields.finish()?;
        Ok(manifest)
    }

    fn read_key(&mut self, fields: &mut Fields<'_>, key: &str, node: &Node) {
        match key {
            "pack_id" => self.label = fields.optional_string(key, node),
            "name" => self.name = fields.optional_string(key, node),
            "version" => self.version = fields.string(key, node).unwrap_or_default(),
            "description" => self.description = fields.optional_string(key, node),
            "kind" => {
                self.kind =
                    fields.one_of(key, node, &["system", "utility", "partial", "agent"], PackKind::from_name);
            }
            // The type is usually `prompt_pack`, but some packs declare their kind there.
            "type" => {
                self.kind = self.kind.or(node.as_str().and_then(PackKind::from_name));
                self.extra.insert(key.to_owned(), node.to_value());
            }
            "prompts" => self.prompts = fields.strings(key, node),
            "variable_providers" => self.providers = providers(fields, node),
            "requires" => self.requires = names(fields, key, node),
            "replaces" => {
                for (what, value) in fields.map(key, node) {
                    let names = names(fields, &format!("replaces.{what}"), value);
                    match what.as_str() {
                        "prompts" => self.replaces.prompts = names,
                        "tools" => self.replaces.tools = names,
                        "flows" => self.replaces.flows = names,
                        _ => {
                            let message =
                                format!("`replaces` cannot contain `{}`", truncate_for_display(what));
                            fields.warn_of_unknown("replaces", value, (what, &message), &REPLACEABLE);
                        }
                    }
                }
            }
            _ => {
                self.extra.insert(key.to_owned(), node.to_value());
                fields.warn_of_typo(key, node, key, &MANIFEST_KEYS);
            }
        }
    }
}

fn names(fields: &mut Fields<'_>, field: &str, node: &Node) -> BTreeMap<String, String> {
    let entries = fields.map(field, node);
    entries
        .iter()
        .filter_map(|(old, new)| Some((old.clone(), fields.string(&format!("{field}.{old}"), new)?)))
        .collect()
}

fn providers(fields: &mut Fields<'_>, node: &Node) -> Vec<VariableProvider> {
    let items = fields.list("variable_providers", node);
    items.iter().enumerate().filter_map(|(index, item)| provider(fields, index, item)).collect()
}

fn provider(fields: &mut Fields<'_>, index: usize, node: &Node) -> Option<VariableProvider> {
    let path = format!("variable_providers[{index}]");
    let mut text = |key: &str| match node.get(key) {
        Some(value) => fields.string(&format!("{path}.{key}"), value),
        None => {
            fields.problem(&path, node, format!("`{path}` has no `{key}`"));
            None
        }
    };
    let (file, namespace) = (text("file"), text("namespace"));
    let description = node.get("description").and_then(|value| fields.optional_string(&path, value));
    let permissions = node.get("permissions").map(|value| declared_permissions(fields, &path, value));
    let known = ["file", "namespace", "description", "permissions"];
    let others = node.as_map().unwrap_or_default().iter().filter(|(key, _)| !known.contains(&key.as_str()));
    let others = others.inspect(|(key, value)| {
        let warnings_before = fields.warning_count();
        fields.warn_of_typo(&path, value, key, &["file", "namespace", "description", "permissions"]);
        // A misspelled `permissions` could deny default permissions, so it is an error.
        if !hinagata_value::close_names(key, ["permissions"]).is_empty() {
            fields.refuse_warnings(warnings_before);
        }
    });
    let extra = others.map(|(key, value)| (key.clone(), value.to_value())).collect();
    Some(VariableProvider {
        file: file?,
        namespace: namespace?,
        description,
        permissions: permissions.unwrap_or_default(),
        extra,
    })
}

fn declared_permissions(fields: &mut Fields<'_>, path: &str, node: &Node) -> BTreeMap<String, bool> {
    let path = format!("{path}.permissions");
    let entries = fields.map(&path, node);
    let used = |(name, value): &(String, Node)| {
        Some((name.clone(), fields.boolean(&format!("{path}.{name}"), value)?))
    };
    entries.iter().filter_map(used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read() {
        let manifest = Manifest::parse(
            "pack.json",
            r#"{"pack_id": "p", "version": "2.0.0", "type": "prompt_pack", "prompts": ["a"], "license": "MIT",
                "variable_providers": [{"file": "v/x.py", "namespace": "x", "permissions": {"subprocess": false, "http_request": true}, "since": 3}],
                "replaces": {"prompts": {"old": "a"}, "tools": {"t": "u"}, "flows": {"f": "g"}}}"#,
        )
        .expect("reads");
        assert_eq!((manifest.version.as_str(), manifest.kind), ("2.0.0", None));
        assert_eq!(manifest.replaces.prompts["old"], "a");
        assert_eq!(
            (manifest.replaces.tools["t"].as_str(), manifest.replaces.flows["f"].as_str()),
            ("u", "g")
        );
        assert_eq!(manifest.providers[0].namespace, "x");
        assert_eq!(manifest.providers[0].permissions(), ["read_file", "http_request"]);
        assert!(manifest.providers[0].extra.contains_key("since") && manifest.extra.contains_key("license"));
    }

    #[test]
    fn misspelled_keys_are_reported_and_one_that_would_widen_permissions_is_an_error() {
        let text = r#"{"verison": "1", "license": "MIT", "replaces": {"prompt": {"a": "b"}},
            "variable_providers": [{"file": "a.py", "namespace": "a", "descripton": "x"}]}"#;
        let warnings = Manifest::parse("pack.json", text).expect("reads").warnings;
        let near: Vec<&str> = warnings.iter().map(|warning| warning.near()[0].as_str()).collect();
        assert_eq!(near, ["version", "prompts", "description"]);
        let text = r#"{"variable_providers": [{"file": "a.py", "namespace": "a", "permisions": {"subprocess": false}}]}"#;
        assert_eq!(Manifest::parse("pack.json", text).expect_err("is wrong").near(), ["permissions"]);
    }

    #[test]
    fn every_invalid_field_is_reported() {
        let error = Manifest::parse(
            "pack.json",
            r#"{"version": 2, "variable_providers": [{"file": 1, "permissions": {"llm_call": 1}}], "replaces": []}"#,
        )
        .expect_err("is wrong");
        assert_eq!(error.details()["problems"].as_array().map(Vec::len), Some(5));
        assert!(Manifest::parse("pack.json", "[]").is_err() && Manifest::parse("pack.json", "{").is_err());
    }
}
