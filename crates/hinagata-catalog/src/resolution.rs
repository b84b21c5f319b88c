//! `resolution.json`: the user's recorded choices between candidates.
//!
//! Several processes may write one workspace. A writer holds the lock, reads the file again, changes one entry and
//! replaces the file. A replaced resolution is appended to `resolution.history.jsonl`.

use std::{collections::BTreeMap, path::Path, time::SystemTime};

use hinagata_document::{Diagnostic, Error, Node, Place, Reason, Result, json};
use hinagata_workspace::{
    format_utc,
    write::{Readers, Writer},
};
use serde_json::{Map, Value, json};

use crate::PromptId;

/// The name of the file.
pub(crate) const FILE: &str = "resolution.json";
const HISTORY: &str = "resolution.history.jsonl";
const LOCK: &str = ".resolution.lock";

/// Largest file, in bytes.
pub(crate) const LARGEST: u64 = 4 << 20;

/// A recorded choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// The directory that was chosen, as a path from the workspace root.
    pub source: String,
    /// The time of the choice, in UTC.
    pub resolved_at: Option<String>,
    /// The candidates at that time.
    pub candidates: Vec<String>,
    /// Other keys, such as `replaced_by`.
    pub unknown: Map<String, Value>,
}

/// The prefix of keys of choices between tools.
const TOOL: &str = "tool:";

/// All recorded choices.
#[derive(Clone, Debug, Default)]
pub struct Resolutions {
    prompts: BTreeMap<PromptId, Resolution>,
    tools: BTreeMap<String, Resolution>,
    /// Why the whole file is ignored.
    problem: Option<Error>,
    /// Why the entry of a prompt is ignored.
    broken: BTreeMap<PromptId, Error>,
}

impl Resolutions {
    /// The resolutions of a file that cannot be read: none.
    pub(crate) fn from_problem(problem: Error) -> Self {
        Self { problem: Some(problem), ..Self::default() }
    }

    /// Why the whole file is ignored.
    #[must_use]
    pub fn problem(&self) -> Option<&Error> {
        self.problem.as_ref()
    }

    /// Why a resolution of `id` may exist and is ignored.
    #[must_use]
    pub fn problem_of(&self, id: &PromptId) -> Option<&Error> {
        self.problem.as_ref().or_else(|| self.broken.get(id))
    }

    /// Reads `text`, the content of `file`. An invalid entry is reported and ignored.
    pub fn parse(file: &str, text: &str) -> (Self, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let whole = |error: Error| (Self::from_problem(error.clone()), vec![Diagnostic::error(file, error)]);
        let node = match json::parse(file, text) {
            Ok(node) => node,
            Err(error) => return whole(error),
        };
        let at = |node: &Node| Place::at_line(file, text, node.at.line, node.at.column);
        if node.as_map().is_none() {
            let message = format!("resolutions must be an object by prompt id, not {}", node.kind());
            return whole(Error::definition(Reason::Type, message).at(at(&node)));
        }
        let mut all = Self::default();
        for (name, value) in node.as_map().unwrap_or_default() {
            if let (Some(tool), Some(resolution)) = (name.strip_prefix(TOOL), resolution(value)) {
                all.tools.insert(tool.to_owned(), resolution);
                continue;
            }
            match (PromptId::from_store_name(name.strip_prefix(TOOL).unwrap_or(name)), resolution(value)) {
                (Ok(id), Some(resolution)) => {
                    all.prompts.insert(id, resolution);
                }
                (Err(error), _) => found.push(Diagnostic::warning(file, error.at(at(value)))),
                (Ok(id), None) => {
                    let message = format!("the resolution of `{name}` has no `source`");
                    let error = Error::definition(Reason::Resolution, message).at(at(value));
                    found.push(Diagnostic::warning(file, error.clone()));
                    all.broken.insert(id, error);
                }
            }
        }
        (all, found)
    }

    /// The choice for `id`.
    #[must_use]
    pub fn get(&self, id: &PromptId) -> Option<&Resolution> {
        self.prompts.get(id)
    }

    /// All choices by id.
    pub fn iter(&self) -> impl Iterator<Item = (&PromptId, &Resolution)> {
        self.prompts.iter()
    }

    /// The choices between tools by id: each names the file that replaces the tool.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &Resolution)> {
        self.tools.iter().map(|(id, resolution)| (id.as_str(), resolution))
    }
}

fn resolution(node: &Node) -> Option<Resolution> {
    let Value::Object(mut fields) = node.to_value() else { return None };
    let source = fields.remove("source")?.as_str()?.trim_end_matches('/').to_owned();
    let resolved_at = fields.remove("resolved_at").and_then(|value| value.as_str().map(str::to_owned));
    let candidates = match fields.remove("candidates") {
        Some(Value::Array(items)) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    Some(Resolution { source, resolved_at, candidates, unknown: fields })
}

impl Resolution {
    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("source".into(), self.source.clone().into());
        if let Some(time) = &self.resolved_at {
            fields.insert("resolved_at".into(), time.clone().into());
        }
        fields.insert("candidates".into(), self.candidates.clone().into());
        fields.extend(self.unknown.clone());
        Value::Object(fields)
    }
}

/// Records `resolution` for `id` in the directory of the user's prompts; `None` removes the record.
///
/// # Errors
/// Code `store` when the file cannot be written; code `definition` when the existing file is broken. A broken file is
/// not changed.
pub fn record_resolution(
    directory: &Path,
    id: &PromptId,
    resolution: Option<&Resolution>,
    now: SystemTime,
) -> Result<()> {
    let is_it = |key: &str| PromptId::from_store_name(key).is_ok_and(|known| known == *id);
    record_key(directory, (id.as_str(), &is_it), resolution, now)
}

/// Like [`record_resolution`], for the tool with the id `tool`.
pub(crate) fn record_tool(
    directory: &Path,
    tool: &str,
    resolution: Option<&Resolution>,
    now: SystemTime,
) -> Result<()> {
    let key = format!("{TOOL}{tool}");
    record_key(directory, (&key, &|other| other == key), resolution, now)
}

/// Records a choice under the key of an earlier choice for the same id, else under a new key.
fn record_key(
    directory: &Path,
    (new, is_it): (&str, &dyn Fn(&str) -> bool),
    resolution: Option<&Resolution>,
    now: SystemTime,
) -> Result<()> {
    let with_id = |error: Error| error.with_default("prompt_id", new);
    let writer = Writer::lock(directory, LOCK, Readers::AsUsual).map_err(with_id)?;
    let mut all = read_for_change(&writer)?;
    let key = all.keys().find(|key| is_it(key)).cloned();
    let previous = key.as_ref().and_then(|key| all.get(key).cloned());
    match resolution {
        Some(resolution) => {
            all.insert(key.unwrap_or_else(|| new.to_owned()), resolution.to_value());
        }
        None => {
            all.shift_remove(key.as_deref().unwrap_or_default());
        }
    }
    // The first choice is recorded too: that it replaced nothing is what undoing it has to know.
    if previous.is_some() || resolution.is_some() {
        let line = json!({"prompt_id": new, "replaced_at": format_utc(now), "resolution": previous});
        writer.append_line(HISTORY, &line.to_string()).map_err(with_id)?;
    }
    writer.replace_json(FILE, &all).map_err(with_id)
}

/// The choice that the present one of `id` replaced: `None` if nothing is recorded, `Some(None)` if there was no choice.
/// `present` is the present one.
///
/// # Errors
/// Code `store` when the history cannot be read.
pub(crate) fn previous_choice(
    directory: &Path,
    id: &PromptId,
    present: Option<&Resolution>,
) -> Result<Option<Option<Resolution>>> {
    let text = hinagata_workspace::write::read_text(&directory.join(HISTORY), LARGEST)?.unwrap_or_default();
    let mut of_prompt = text.lines().rev().filter_map(|line| {
        let node = json::parse(HISTORY, line).ok()?;
        let line = node.to_value();
        let is_it =
            PromptId::from_store_name(line.get("prompt_id")?.as_str()?).is_ok_and(|known| known == *id);
        is_it.then_some((line.get("replaced_at")?.as_str()?.to_owned(), line))
    });
    let last = of_prompt.next();
    let replaced = match present {
        // A choice and the record of the one before it have the same time. Files that others wrote may have no record.
        Some(choice) => last.filter(|(time, _)| choice.resolved_at.as_ref() == Some(time)),
        None => last,
    };
    let source = |line: &Value| line.get("resolution")?.get("source")?.as_str().map(str::to_owned);
    let choice = replaced.and_then(|(_, line)| {
        Some(Resolution {
            source: source(&line)?,
            resolved_at: None,
            candidates: Vec::new(),
            unknown: Map::new(),
        })
    });
    Ok(match (present, choice) {
        (None, None) => None,
        (_, choice) => Some(choice),
    })
}

fn read_for_change(writer: &Writer) -> Result<Map<String, Value>> {
    let Some(text) = writer.read(FILE, LARGEST)? else { return Ok(Map::new()) };
    let node = json::parse(FILE, &text)?;
    match node.to_value() {
        Value::Object(all) => Ok(all),
        _ => Err(Error::definition(Reason::Type, format!("{FILE} must be an object, not {}", node.kind()))
            .with_hint("correct or remove the file, then choose again")),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::UNIX_EPOCH};

    use super::*;

    fn choice(source: &str) -> Resolution {
        Resolution {
            source: source.into(),
            resolved_at: Some("t".into()),
            candidates: vec!["a".into()],
            unknown: Map::new(),
        }
    }

    fn read(directory: &Path) -> Resolutions {
        let text = fs::read_to_string(directory.join(FILE)).expect("is there");
        let (all, found) = Resolutions::parse(FILE, &text);
        assert!(found.is_empty(), "{found:?}");
        all
    }

    #[test]
    fn replaced_resolutions_are_in_the_history() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let directory = place.path().join("prompts");
        let id = PromptId::new("code_review").expect("is an id");
        record_resolution(&directory, &id, Some(&choice("one")), UNIX_EPOCH).expect("writes");
        record_resolution(&directory, &id, Some(&choice("two")), UNIX_EPOCH).expect("writes");
        assert_eq!(read(&directory).get(&id).map(|found| found.source.as_str()), Some("two"));
        record_resolution(&directory, &id, None, UNIX_EPOCH).expect("writes");
        assert!(read(&directory).get(&id).is_none());
        let history = fs::read_to_string(directory.join(HISTORY)).expect("is there");
        let sources: Vec<Value> = history
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("is JSON")["resolution"]["source"].clone())
            .collect();
        assert_eq!(sources, [Value::Null, "one".into(), "two".into()]);
        let left: Vec<_> = fs::read_dir(&directory)
            .expect("is there")
            .map(|entry| entry.expect("readable").file_name())
            .collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }

    #[test]
    fn a_choice_in_the_second_of_a_removal_replaces_nothing() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let id = PromptId::new("code_review").expect("is an id");
        let two = Resolution { resolved_at: Some(format_utc(UNIX_EPOCH)), ..choice("two") };
        for made in [Some(&choice("one")), None, Some(&two)] {
            record_resolution(place.path(), &id, made, UNIX_EPOCH).expect("writes");
        }
        let replaced = previous_choice(place.path(), &id, Some(&two)).expect("is read");
        assert!(matches!(replaced, Some(None)), "{replaced:?}");
    }

    #[test]
    fn other_entries_stay_as_they_are() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let text = r#"{"z": {"source": "s", "mine": [1]}, "Code-Review": {"source": "old"}, "odd": 5}"#;
        fs::write(place.path().join(FILE), text).expect("written");
        let id = PromptId::new("code_review").expect("is an id");
        record_resolution(place.path(), &id, Some(&choice("new")), UNIX_EPOCH).expect("writes");
        let after: Value =
            serde_json::from_str(&fs::read_to_string(place.path().join(FILE)).expect("is there"))
                .expect("is JSON");
        assert_eq!(after["z"], json!({"source": "s", "mine": [1]}));
        assert_eq!((after["Code-Review"]["source"].as_str(), after["odd"].as_i64()), (Some("new"), Some(5)));
    }

    #[test]
    fn a_broken_file_is_not_overwritten() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let id = PromptId::new("a").expect("is an id");
        for text in ["{\"a\": ", "[]"] {
            fs::write(place.path().join(FILE), text).expect("written");
            assert!(record_resolution(place.path(), &id, Some(&choice("x")), UNIX_EPOCH).is_err());
            assert_eq!(fs::read_to_string(place.path().join(FILE)).expect("is there"), text);
        }
    }

    #[test]
    fn invalid_entries_are_reported() {
        let (all, found) =
            Resolutions::parse(FILE, r#"{"a": {"source": "x/"}, "b": {}, "..": {"source": "x"}, "c": 1}"#);
        assert_eq!((all.iter().count(), found.len()), (1, 3));
        assert_eq!(all.iter().next().map(|(_, found)| found.source.as_str()), Some("x"));
        assert_eq!(Resolutions::parse(FILE, "[]").1.len(), 1);
        assert_eq!(Resolutions::parse(FILE, "{").1.len(), 1);
    }
}
