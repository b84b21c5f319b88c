//! Reads the rules for secrets, and the exceptions from them.

use hinagata_document::{Diagnostic, Error, Node, Reason};
use hinagata_secrets::{Allowance, OwnRule, RuleProblem, SecretAction, SecretPolicy, Secrets};
use hinagata_value::near_names;
use serde_json::Value;

use super::{Settings, kind::InvalidValue, layers::Problems};
use crate::layout::SETTINGS_FILE;

/// Most rules, and most exceptions, of all layers together.
const MOST: usize = 200;

/// The fields of a rule.
const RULE_FIELDS: [&str; 3] = ["name", "pattern", "keywords"];

/// The fields of an exception.
const EXCEPTION_FIELDS: [&str; 2] = ["rule", "path"];

/// A problem of a rule or an exception: its path below the setting, such as `[1].pattern`, and the message.
pub type SecretProblem = (String, String);

impl Settings {
    /// The rules for secrets, and what is done with those that they find. Comments that allow secrets count only if the
    /// user trusts the workspace; exceptions of an untrusted workspace are not in the settings.
    #[must_use]
    pub fn secret_policy(&self, trusted: bool) -> SecretPolicy {
        let value = |name: &str| self.get(name).map(|found| &found.value);
        let policy =
            read_secret_policy(value("context.secret_rules"), value("context.secret_allow"), trusted);
        let policy = policy.expect("settings are checked when they are resolved");
        policy.with_action(match self.text("context.secrets") {
            _ if self.is_on("context.include_secrets") => SecretAction::Include,
            Some("omit") => SecretAction::Omit,
            _ => SecretAction::Redact,
        })
    }
}

impl Settings {
    /// Adds problems of the joined lists: too many items, and exceptions for rules that do not exist.
    pub(super) fn check_secret_settings(&self, problems: &mut Problems) {
        for name in ["context.secret_rules", "context.secret_allow"] {
            let Some(found) = self.get(name) else { continue };
            if let Err(invalid) = read_items(&Node::from_value(&found.value)) {
                problems.add_invalid(name, invalid, found.origin.place().cloned(), found.origin.as_str());
                return;
            }
        }
        let Some(found) = self.get("context.secret_allow") else { return };
        let allowed = read_exceptions(&Node::from_value(&found.value)).unwrap_or_default();
        if allowed.iter().all(|allowance| allowance.rule().is_none()) {
            return;
        }
        let policy = self.secret_policy(false);
        let known: Vec<&str> = policy.rules().rule_names().collect();
        for rule in allowed.iter().filter_map(Allowance::rule).filter(|rule| !known.contains(rule)) {
            let error = Error::definition(
                Reason::Settings,
                format!("`context.secret_allow` names the unknown rule `{rule}`"),
            )
            .with("setting", "context.secret_allow")
            .with_near(near_names(rule, known.iter().copied()));
            let error = found.origin.place().cloned().into_iter().fold(error, Error::at);
            problems.add_warning(Diagnostic::warning(SETTINGS_FILE, error));
        }
    }
}

/// The policy of a configuration with these rules and exceptions; `comments` says whether comments count.
///
/// # Errors
/// The first problem, and whether it is one of the exceptions.
pub fn read_secret_policy(
    rules: Option<&Value>,
    exceptions: Option<&Value>,
    comments: bool,
) -> Result<SecretPolicy, (bool, SecretProblem)> {
    let problem =
        |is_exception: bool| move |invalid: InvalidValue| (is_exception, (invalid.within, invalid.message));
    let rules = rules.map_or_else(|| Ok(Vec::new()), |rules| read_rules(&Node::from_value(rules)));
    let rules = rules.map_err(problem(false))?;
    let allowed = exceptions.map_or_else(|| Ok(Vec::new()), |all| read_exceptions(&Node::from_value(all)));
    let allowed = allowed.map_err(problem(true))?;
    SecretPolicy::new(&rules, allowed, comments)
        .map_err(|(place, found)| (false, (field_path(place, &found.field), found.message)))
}

/// The rules of a list.
pub(super) fn read_rules(node: &Node) -> Result<Vec<OwnRule>, InvalidValue> {
    let items = read_items(node)?;
    items.iter().enumerate().map(|(place, item)| read_rule(place, item)).collect()
}

fn read_rule(place: usize, item: &Node) -> Result<OwnRule, InvalidValue> {
    check_fields(place, item, &RULE_FIELDS)?;
    let rule = OwnRule {
        name: read_text(place, item, "name")?,
        pattern: read_text(place, item, "pattern")?,
        keywords: read_words(place, item)?,
    };
    Secrets::check_rule(&rule).map_err(|problem| invalid_field(place, item, &problem))?;
    Ok(rule)
}

/// The exceptions of a list.
pub(super) fn read_exceptions(node: &Node) -> Result<Vec<Allowance>, InvalidValue> {
    let items = read_items(node)?;
    items.iter().enumerate().map(|(place, item)| read_exception(place, item)).collect()
}

fn read_exception(place: usize, item: &Node) -> Result<Allowance, InvalidValue> {
    let allowance = match item.as_str() {
        Some(hash) => Allowance::from_hash(hash),
        None => {
            check_fields(place, item, &EXCEPTION_FIELDS)?;
            let (rule, path) = (read_text(place, item, "rule")?, read_text(place, item, "path")?);
            Allowance::for_rule(&rule, &path)
        }
    };
    allowance.map_err(|problem| invalid_field(place, item, &problem))
}

/// The items of a list; one item need not be in a list.
fn read_items(node: &Node) -> Result<&[Node], InvalidValue> {
    let items = match node.as_list() {
        Some(items) => items,
        None if node.is_null() => &[],
        None => std::slice::from_ref(node),
    };
    match items.len() <= MOST {
        true => Ok(items),
        false => {
            Err(InvalidValue::new(format!("must have at most {MOST} items, those of all files together")))
        }
    }
}

/// Checks that an item is a map with no other fields.
fn check_fields(place: usize, item: &Node, fields: &[&str]) -> Result<(), InvalidValue> {
    let Some(entries) = item.as_map() else {
        let message = format!("must be a map with {}, not {}", fields.join(", "), item.kind());
        return Err(InvalidValue::new(message).within(field_path(place, ""), item.at));
    };
    match entries.iter().find(|(key, _)| !fields.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, value)) => {
            let near = near_names(key, fields.iter().copied());
            let invalid = InvalidValue { near, ..InvalidValue::new("is not a known field".to_owned()) };
            Err(invalid.within(field_path(place, key), value.at))
        }
    }
}

fn read_text(place: usize, item: &Node, field: &str) -> Result<String, InvalidValue> {
    let problem = |message: &str, node: &Node| {
        Err(InvalidValue::new(message.to_owned()).within(field_path(place, field), node.at))
    };
    match item.get(field) {
        None => problem("is missing", item),
        Some(node) => match node.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => problem(&format!("must be a string, not {}", node.kind()), node),
        },
    }
}

fn read_words(place: usize, item: &Node) -> Result<Vec<String>, InvalidValue> {
    let Some(node) = item.get("keywords") else { return Ok(Vec::new()) };
    let words =
        node.as_list().and_then(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    words.ok_or_else(|| {
        InvalidValue::new("must be a list of strings".to_owned())
            .within(field_path(place, "keywords"), node.at)
    })
}

fn invalid_field(place: usize, item: &Node, problem: &RuleProblem) -> InvalidValue {
    let node = item.get(&problem.field).unwrap_or(item);
    InvalidValue::new(problem.message.clone()).within(field_path(place, &problem.field), node.at)
}

fn field_path(place: usize, field: &str) -> String {
    if field.is_empty() { format!("[{place}]") } else { format!("[{place}].{field}") }
}
