//! What models can do, as far as the settings or the table here say it. What neither says is unknown and gives no finding.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use hinagata_tokens::TokenCounter;
use hinagata_workspace::{
    Settings,
    settings::{ConfiguredModel, ModelNames},
};
use serde_json::Value as Json;

/// The month of the table, which messages name: providers change models.
pub(crate) const TABLE_DATE: &str = "August 2025";

/// What a prompt may ask of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Capability {
    /// Calls of tools.
    Tools,
    /// Pictures in messages.
    Images,
    /// Sound in messages.
    Audio,
    /// Answers that follow a JSON Schema.
    Schema,
}

impl Capability {
    /// All capabilities with their names in the settings.
    const NAMES: [(Self, &'static str); 4] =
        [(Self::Tools, "tools"), (Self::Images, "images"), (Self::Audio, "audio"), (Self::Schema, "schema")];

    /// What a model without it lacks, in words.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Tools => "calls of tools",
            Self::Images => "pictures",
            Self::Audio => "sound",
            Self::Schema => "answers with a schema",
        }
    }
}

/// Models with the same limits, in the table.
struct Known {
    /// How the names at the provider start. What follows may only be a date or a number of a version.
    names: &'static [&'static str],
    /// Most tokens of a request.
    context: u64,
    /// What they cannot do.
    lacks: &'static [Capability],
}

const fn known(names: &'static [&'static str], context: u64, lacks: &'static [Capability]) -> Known {
    Known { names, context, lacks }
}

use Capability::{Audio, Images, Schema, Tools};

/// Models whose limits their providers publish.
static TABLE: &[Known] = &[
    known(&["gpt-3.5-turbo"], 16_385, &[Images, Audio, Schema]),
    known(&["gpt-4", "gpt-4-0613"], 8_192, &[Images, Audio, Schema]),
    known(&["gpt-4-turbo"], 128_000, &[Audio, Schema]),
    known(&["gpt-4o", "gpt-4o-mini"], 128_000, &[Audio]),
    known(&["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"], 1_047_576, &[Audio]),
    known(&["gpt-5", "gpt-5-mini", "gpt-5-nano"], 400_000, &[Audio]),
    known(&["o1", "o3", "o4-mini"], 200_000, &[Audio]),
    known(&["o3-mini"], 200_000, &[Images, Audio]),
    known(&["o1-mini", "o1-preview"], 128_000, &[Tools, Images, Audio, Schema]),
    known(&["claude-3-haiku", "claude-3-sonnet", "claude-3-opus"], 200_000, &[Audio]),
    known(&["claude-3-5-haiku", "claude-3-5-sonnet", "claude-3-7-sonnet"], 200_000, &[Audio]),
    known(&["claude-opus-4", "claude-opus-4-1"], 200_000, &[Audio]),
    known(&["claude-sonnet-4"], 1_000_000, &[Audio]),
    known(&["gemini-1.5-pro"], 2_097_152, &[]),
    known(&["gemini-1.5-flash", "gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro"], 1_048_576, &[]),
];

/// What is known about a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelFacts {
    /// The name at the provider.
    model: String,
    /// Most tokens of a request.
    pub(crate) context: Option<u64>,
    /// What it can do, if the settings say so.
    can: Option<Vec<Capability>>,
    /// What it cannot do, if the table says so.
    lacks: Vec<Capability>,
    /// The file with its tokenizer.
    tokenizer: Option<PathBuf>,
}

impl ModelFacts {
    /// Why the model certainly lacks a capability; `None` if it has it, or if nothing is known.
    pub(crate) fn reason_to_lack(&self, capability: Capability) -> Option<String> {
        match &self.can {
            Some(can) => {
                (!can.contains(&capability)).then(|| "`capabilities` in the settings does not list it".into())
            }
            None => self.lacks.contains(&capability).then(|| format!("as of {TABLE_DATE}")),
        }
    }

    /// The tokens that a text has at least. A tokenizer file that cannot be read leaves the estimate.
    pub(crate) fn least_tokens(&self, text: &str) -> u64 {
        let of_file =
            self.tokenizer.as_ref().and_then(|path| TokenCounter::from_file(&self.model, path).ok());
        let counter = of_file.unwrap_or_else(|| TokenCounter::for_model(&self.model));
        let count = counter.count_tokens(text);
        let error = u64::from(count.error_percent.unwrap_or(0)).min(100);
        count.tokens as u64 * (100 - error) / 100
    }
}

/// The models of the settings.
#[derive(Clone, Debug, Default)]
pub struct Models {
    names: ModelNames,
    configured: BTreeMap<String, ModelFacts>,
}

impl Models {
    /// The models of the settings of the workspace at `root`, and what is wrong with their capabilities, as sentences.
    #[must_use]
    pub fn from_settings(settings: &Settings, root: &Path) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut configured = BTreeMap::new();
        for (name, value) in settings.section("models") {
            let Json::Object(fields) = value else { continue };
            // A model that cannot be used is reported when the settings are read.
            let Ok(found) = ConfiguredModel::from_settings(settings, root, &name) else { continue };
            let facts = ModelFacts {
                model: found.model,
                context: fields.get("context").and_then(Json::as_u64),
                can: fields.get("capabilities").map(|list| read_capabilities(&name, list, &mut problems)),
                lacks: Vec::new(),
                tokenizer: found.tokenizer,
            };
            configured.insert(name, facts);
        }
        // Aliases that contradict each other are reported when the settings are read.
        let names = ModelNames::from_settings(settings).unwrap_or_default();
        (Self { names, configured }, problems)
    }

    /// What is known about the model that a prompt calls `name`; `None` if that is nothing.
    pub(crate) fn find_model(&self, name: &str) -> Option<ModelFacts> {
        let target = self.names.resolve_name(name).unwrap_or(name);
        let mut facts = self.configured.get(target).cloned().unwrap_or_default();
        if facts.model.is_empty() {
            target.clone_into(&mut facts.model);
        }
        if let Some(known) = find_known(&facts.model) {
            facts.context = facts.context.or(Some(known.context));
            facts.lacks = known.lacks.to_vec();
        }
        (facts.context.is_some() || facts.can.is_some() || !facts.lacks.is_empty()).then_some(facts)
    }
}

fn read_capabilities(model: &str, list: &Json, problems: &mut Vec<String>) -> Vec<Capability> {
    let names = || Capability::NAMES.map(|(_, name)| name);
    let Some(items) = list.as_array() else {
        problems.push(format!("`models.{model}.capabilities` must be a list: use {}", names().join(", ")));
        return Capability::NAMES.map(|(capability, _)| capability).to_vec();
    };
    let mut found = Vec::new();
    for item in items {
        let name = item.as_str().unwrap_or_default();
        match Capability::NAMES.iter().find(|(_, known)| *known == name) {
            Some((capability, _)) => found.push(*capability),
            None => problems.push(format!(
                "unknown capability {item} in `models.{model}.capabilities`: use {}",
                names().join(", ")
            )),
        }
    }
    found
}

/// The row of a model: its name at the provider, perhaps behind the name of the provider, and before a date.
fn find_known(model: &str) -> Option<&'static Known> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let fits = |start: &&&str| {
        let rest = name.strip_prefix(**start);
        rest.is_some_and(|rest| rest.is_empty() || rest == "-latest" || is_date(rest))
    };
    TABLE.iter().find(|known| known.names.iter().any(|start| fits(&start)))
}

/// Whether what follows a name is a date: `-20240620`, `-2024-08-06`, `-0125`, or a number of three digits.
fn is_date(rest: &str) -> bool {
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    rest.starts_with('-') && digits >= 3 && rest.chars().all(|c| c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_date_is_in_the_table_and_another_model_is_not() {
        let context = |name: &str| find_known(name).map(|known| known.context);
        assert_eq!(context("gpt-4o-2024-08-06"), Some(128_000));
        assert_eq!(context("openai/gpt-4"), Some(8_192));
        assert_eq!(context("gpt-3.5-turbo-0125"), Some(16_385));
        assert_eq!(context("claude-3-5-sonnet-latest"), Some(200_000));
        assert_eq!(context("gemini-1.5-pro-002"), Some(2_097_152));
        for name in ["gpt-4o-audio-preview", "gpt-4-32k", "gpt-5.6", "my-gpt-4o", "claude-opus-4-8", ""] {
            assert_eq!(context(name), None, "{name}");
        }
    }

    #[test]
    fn a_wrong_capability_is_reported_and_none_is_invented() {
        let mut problems = Vec::new();
        let found = read_capabilities("m", &serde_json::json!(["tools", "vision", 3]), &mut problems);
        assert_eq!(found, [Tools]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("use tools, images, audio, schema"), "{problems:?}");
        read_capabilities("m", &serde_json::json!("tools"), &mut problems);
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn a_text_has_at_least_so_many_tokens() {
        let facts = Models::default().find_model("gpt-4o").expect("is in the table");
        let least = facts.least_tokens("Write plainly. ".repeat(100).as_str());
        assert!((100..=500).contains(&least), "{least}");
    }
}
