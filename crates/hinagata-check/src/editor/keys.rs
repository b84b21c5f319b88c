//! The keys that files of a workspace may have, each with what it is for.

use hinagata_workspace::settings::SETTINGS;

use super::{complete::CompletionItem, region::DocumentFile};
use crate::editor::CompletionKind;

/// A key, and what it is for.
type Key = (&'static str, &'static str);

/// What each key of a prompt is for.
const PROMPT: &[Key] = &[
    ("prompt_id", "a label; the directory names the prompt"),
    ("id", "a label; the directory names the prompt"),
    ("name", "the name of the prompt"),
    ("title", "the title that lists show"),
    ("description", "what the prompt is for"),
    ("version", "the version, such as `1.2.0`"),
    ("type", "the kind of prompt"),
    ("tags", "search terms"),
    ("author", "who wrote it"),
    ("expose", "whether it is served over MCP"),
    ("extends", "the prompt whose parameters and body this one inherits"),
    ("template", "the file with the template"),
    ("engine", "the template language: `jinja` or `go`"),
    ("undefined", "how undefined variables behave"),
    ("on_error", "what a failed tool call does to the render"),
    ("inputs", "the variables"),
    ("variables", "the variables"),
    (
        "parameters",
        "the variables: by name, as a list, or in the classes `required`, `optional` and `custom`",
    ),
    ("messages", "the messages, each with `role` and `content`"),
    ("userPrompt", "the template of one text"),
    ("prompt", "the template of one text"),
    ("permissions", "what hooks may do"),
    ("limits", "limits of a render"),
    ("output", "what the answer has to look like"),
    ("model", "the model that the prompt is written for"),
    ("config", "options of the model"),
    ("returns", "a JSON Schema for the answer"),
    ("supports", "what the model has to support"),
    ("languages", "the languages that the prompt is written for"),
    ("role", "the role of the one message"),
    ("locked", "sections of a module that others cannot change"),
    ("metadata", "further data, which is kept and shown"),
    ("layout", "what happens to white space around messages"),
    ("empty_messages", "whether messages of white space are kept: `keep` or `drop`"),
    ("imported", "the foreign file that the prompt was made from"),
];

/// What each key of a parameter is for.
const PARAMETER: &[Key] = &[
    ("name", "the name in templates"),
    ("type", "`string`, `integer`, `number`, `boolean`, `list`, `object`, `file` or `any`"),
    ("default", "the value if none is passed"),
    ("description", "what it is for"),
    ("required", "whether every call has to pass it"),
    ("source", "where its value comes from if none is passed"),
    ("from", "its name in that source"),
    ("secret", "whether its value must never be shown"),
    ("schema", "a JSON Schema for its value"),
    ("enum", "the values that it can have"),
    ("complete", "values to propose"),
    ("aliases", "other names that a caller may use"),
    ("untrusted", "whether its value comes from strangers: system messages that print it are reported"),
];

/// What each key of `pack.json` is for.
const MANIFEST: &[Key] = &[
    ("pack_id", "the id of the pack"),
    ("name", "its name"),
    ("version", "its version"),
    ("description", "what it is for"),
    ("kind", "what kind of pack it is"),
    ("type", "what kind of pack it is"),
    ("prompts", "the prompts that it brings"),
    ("variable_providers", "its Python that provides variables"),
    ("replaces", "the prompts of others that it offers to replace"),
    ("requires", "the packs that it needs, with ranges of their versions"),
];

/// What each key of `agent.json` is for.
const AGENT: &[Key] = &[
    ("agent_id", "the id of the agent"),
    ("name", "its name"),
    ("model", "its model"),
    ("prompt_id", "the prompt that it uses"),
    ("prompt_variables", "its variables for that prompt"),
];

/// What a key of a prompt or of a parameter is for.
#[must_use]
pub fn describe_key(name: &str) -> Option<&'static str> {
    PROMPT.iter().chain(PARAMETER).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The keys that can stand at `offset` of a file, if a key can stand there: what a key replaces, and the keys.
pub(super) fn complete_keys(path: &str, text: &str, offset: usize) -> Option<(usize, Vec<CompletionItem>)> {
    let before = text.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = &before[line_start..];
    let word = line.trim_start_matches([' ', '\t', '-', '"', '\'', '{', ',']);
    if !word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) {
        return None;
    }
    let is_indented = line.starts_with([' ', '\t']) && !path.ends_with(".json");
    let kind = DocumentFile::from_path(path)?;
    let keys: Vec<CompletionItem> = match kind {
        DocumentFile::Template if in_front_matter(before) => prompt_keys(before, is_indented),
        DocumentFile::Definition => prompt_keys(before, is_indented),
        DocumentFile::Pack => items(MANIFEST),
        DocumentFile::Agent => items(AGENT),
        DocumentFile::Settings => setting_keys(before),
        _ => return None,
    };
    Some((offset - word.len(), keys))
}

pub(super) fn in_front_matter(before: &str) -> bool {
    let first = before.lines().next().unwrap_or_default();
    first.trim_end() == "---" && before.lines().skip(1).all(|line| line.trim_end() != "---")
}

fn prompt_keys(before: &str, is_indented: bool) -> Vec<CompletionItem> {
    if !is_indented {
        return items(PROMPT);
    }
    let is_heading = |line: &&str| !line.starts_with([' ', '\t', '-']) && line.contains(':');
    let heading = before.lines().rfind(is_heading).unwrap_or_default();
    match heading.split(':').next().unwrap_or_default().trim_matches(['"', '\'']) {
        "parameters" | "inputs" | "required" | "optional" | "custom" => items(PARAMETER),
        "messages" => items(&[
            ("role", "who says it"),
            ("content", "its text"),
            ("history", "the variable with earlier messages"),
        ]),
        "check" => items(&[("allow", "codes of findings")]),
        _ => Vec::new(),
    }
}

fn setting_keys(before: &str) -> Vec<CompletionItem> {
    let section = before.lines().rfind(|line| line.starts_with('[')).unwrap_or_default();
    let section = section.trim_matches(['[', ']', ' ']);
    let settings = SETTINGS.iter();
    settings
        .filter_map(|setting| {
            let label = match section {
                "" => setting.name,
                _ => setting.name.strip_prefix(section)?.strip_prefix('.')?,
            };
            Some(CompletionItem::new(label, CompletionKind::Key).with_detail(setting.meaning))
        })
        .collect()
}

fn items(keys: &[Key]) -> Vec<CompletionItem> {
    let item = |(name, text): &Key| CompletionItem::new(*name, CompletionKind::Key).with_detail(*text);
    keys.iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use hinagata_catalog::{
        AGENT_KEYS,
        definition::{PARAMETER_KEYS, PROMPT_KEYS},
        pack::MANIFEST_KEYS,
    };

    use super::*;

    #[test]
    fn every_known_key_is_described() {
        let names = |keys: &[Key]| keys.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(PROMPT), PROMPT_KEYS);
        assert_eq!(names(PARAMETER), PARAMETER_KEYS);
        assert_eq!(names(MANIFEST), MANIFEST_KEYS);
        assert_eq!(names(AGENT), AGENT_KEYS);
    }

    #[test]
    fn the_schemas_for_editors_describe_the_same_keys() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode/schemas");
        for (file, keys) in [("prompt", PROMPT), ("pack", MANIFEST), ("agent", AGENT)] {
            let text =
                std::fs::read_to_string(format!("{directory}/{file}.json")).expect("the schema is there");
            let schema: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
            let properties = schema["properties"].as_object().expect("has properties");
            let described: Vec<(&str, &str)> = properties
                .iter()
                .map(|(name, of)| (&**name, of["description"].as_str().unwrap_or_default()))
                .collect();
            assert_eq!(described, keys, "{file}");
        }
    }
}
