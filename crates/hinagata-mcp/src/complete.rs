//! Completion of arguments.

use std::{collections::HashMap, path::Path};

use hinagata::{
    Engine,
    definition::{Parameter, Proposals, ValueType},
};
use hinagata_context::{ContextOptions, Packer};
use rmcp::{
    ErrorData,
    model::{CompleteResult, CompletionInfo},
};
use serde_json::Value;

use crate::{
    failure::{invalid_params, truncate_for_display},
    parameters::{enum_values, value_text},
    prompt::PublicPrompt,
};

/// The argument whose values are proposed.
pub(crate) struct AskedArgument<'a> {
    pub(crate) name: &'a str,
    /// What the user typed so far.
    pub(crate) typed: &'a str,
    /// The other arguments.
    pub(crate) given: &'a HashMap<String, String>,
}

/// The values proposed for an argument of a prompt. Paths of files are beneath `project`.
pub(crate) fn proposed_values(
    engine: &Engine,
    prompt: &PublicPrompt,
    asked: &AskedArgument<'_>,
    project: Option<&Path>,
) -> Result<Vec<String>, ErrorData> {
    let Some(parameter) = prompt.inherited.parameters.get(asked.name) else {
        return if prompt.undeclared.iter().any(|name| name == asked.name) {
            Ok(Vec::new())
        } else {
            Err(invalid_params(format!(
                "`{}` has no argument `{}`",
                prompt.name,
                truncate_for_display(asked.name)
            )))
        };
    };
    Ok(parameter_values(engine, parameter, asked, project))
}

/// The values that the author of a prompt proposes for a parameter, and those of its type.
fn parameter_values(
    engine: &Engine,
    parameter: &Parameter,
    asked: &AskedArgument<'_>,
    project: Option<&Path>,
) -> Vec<String> {
    let project = project.filter(|_| parameter.kind == ValueType::File);
    match (&parameter.proposals, project) {
        (Some(proposals), _) => values_from_proposals(engine, proposals, asked.given, project),
        (None, Some(project)) => paths_with_prefix(project, asked.typed),
        (None, None) => values_from_type(parameter),
    }
}

/// Values proposed for a parameter, best first, at most a hundred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedValues {
    /// The best values.
    pub values: Vec<String>,
    /// How many values match.
    pub total: usize,
}

/// The values proposed for `parameter` that match `typed`, for callers without a project: files are those of the
/// workspace. `given` are the other arguments. It may read files and blocks.
#[must_use]
pub fn propose_values(
    engine: &Engine,
    parameter: &Parameter,
    typed: &str,
    given: &HashMap<String, String>,
) -> ProposedValues {
    let asked = AskedArgument { name: &parameter.name, typed, given };
    match_values(parameter_values(engine, parameter, &asked, None), typed)
}

fn values_from_type(parameter: &Parameter) -> Vec<String> {
    if let Some(values) = enum_values(parameter) {
        return values.iter().map(value_text).collect();
    }
    match parameter.kind {
        ValueType::Boolean => vec!["true".to_owned(), "false".to_owned()],
        _ => Vec::new(),
    }
}

fn values_from_proposals(
    engine: &Engine,
    proposals: &Proposals,
    given: &HashMap<String, String>,
    project: Option<&Path>,
) -> Vec<String> {
    match proposals {
        Proposals::List(values) => values.clone(),
        Proposals::Files(pattern) => {
            let root = engine.root();
            let places = project.into_iter().chain([root.as_path()]);
            places.flat_map(|place| matching_files(place, pattern)).collect()
        }
        Proposals::Environ(path) => environ_values(engine, path),
        Proposals::By { parameter, values } => {
            let chosen =
                given.get(parameter).and_then(|value| values.iter().find(|(known, _)| known == value));
            match chosen {
                Some((_, values)) => values.clone(),
                // No value is chosen yet, so every value is possible.
                None => values.iter().flat_map(|(_, values)| values.iter().cloned()).collect(),
            }
        }
    }
}

/// The files beneath `root` that match `pattern`, without ignored and secret files.
fn matching_files(root: &Path, pattern: &str) -> Vec<String> {
    if pattern.contains("..") || pattern.starts_with('/') {
        return Vec::new();
    }
    let options = ContextOptions { include: vec![pattern.to_owned()], ..ContextOptions::new(root) };
    Packer::new(&options).list_paths().unwrap_or_else(|error| {
        tracing::warn!(pattern, %error, "cannot propose files");
        Vec::new()
    })
}

/// The paths beneath `project` that start with `typed`, up to the next slash, without ignored and secret files.
fn paths_with_prefix(project: &Path, typed: &str) -> Vec<String> {
    let directory = typed.rsplit_once('/').map_or("", |(directory, _)| directory);
    let options = ContextOptions::new(project);
    let mut listed = Packer::new(&options).list_directory(directory).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot propose files");
        Vec::new()
    });
    let lower = typed.to_lowercase();
    listed.retain(|path| path.to_lowercase().starts_with(&lower));
    listed
}

fn environ_values(engine: &Engine, path: &str) -> Vec<String> {
    let store = engine.store();
    match store.as_ref().and_then(|store| store.environ(path)) {
        Some(Value::Array(items)) => items.iter().map(value_text).collect(),
        Some(Value::Object(map)) => map.keys().cloned().collect(),
        Some(other) => vec![value_text(other)],
        None => Vec::new(),
    }
}

/// The values that match what was typed, best first, at most a hundred.
fn match_values(values: Vec<String>, typed: &str) -> ProposedValues {
    let lower = typed.to_lowercase();
    let rank = |value: &str| {
        let small = value.to_lowercase();
        match () {
            () if value == typed => Some(0),
            () if value.starts_with(typed) => Some(1),
            () if small.starts_with(&lower) => Some(2),
            () if small.contains(&lower) => Some(3),
            () => None,
        }
    };
    let mut found: Vec<(u8, String)> =
        values.into_iter().filter_map(|value| Some((rank(&value)?, value))).collect();
    // Values of equal rank keep the author's order.
    found.sort_by_key(|(rank, _)| *rank);
    let mut seen = std::collections::HashSet::new();
    found.retain(|(_, value)| seen.insert(value.clone()));
    let total = found.len();
    let values = found.into_iter().take(CompletionInfo::MAX_VALUES).map(|(_, value)| value).collect();
    ProposedValues { values, total }
}

/// The same as an answer of the protocol.
pub(crate) fn rank_values(values: Vec<String>, typed: &str) -> Result<CompleteResult, ErrorData> {
    let ProposedValues { values, total } = match_values(values, typed);
    let more = total > values.len();
    let total = u32::try_from(total).unwrap_or(u32::MAX);
    CompletionInfo::with_pagination(values, Some(total), more)
        .map(CompleteResult::new)
        .map_err(|error| ErrorData::internal_error(error, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_matches_come_first_up_to_a_hundred() {
        let values = ["apart", "Park", "paris", "par", "london", "par"].map(str::to_owned).to_vec();
        let found = rank_values(values, "par").expect("ranks").completion;
        assert_eq!(found.values, ["par", "paris", "Park", "apart"]);
        assert_eq!((found.total, found.has_more), (Some(4), Some(false)));
        let many = (0..250).map(|number| format!("v{number}")).collect();
        let found = rank_values(many, "").expect("ranks").completion;
        assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(250), Some(true)));
    }
}
