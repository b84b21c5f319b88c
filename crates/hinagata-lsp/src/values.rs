//! The values of variables that hovers show: those of the last preview of a prompt, else those of its first test case.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use hinagata_check::editor::{Project, variable_path};
use hinagata_test::find_cases;
use serde_json::{Map, Value};

/// The longest value that is shown, in characters.
const LONGEST: usize = 200;
/// The most prompts whose values are shown for a template that they share.
const MOST_PROMPTS: usize = 8;
/// What takes the place of a secret.
const MASK: &str = "•••";

/// The variables of the last preview of each prompt, by its source. Secrets in them are masked.
#[derive(Clone, Default)]
pub(crate) struct PreviewValues(Arc<RwLock<HashMap<String, Map<String, Value>>>>);

impl PreviewValues {
    /// Keeps the variables of the answer to a preview. A prompt that cannot be rendered keeps those that it had.
    pub(crate) fn keep_values(&self, preview: &Value) {
        let Some(source) = preview.get("source").and_then(Value::as_str) else { return };
        let traced = preview.pointer("/trace/variables").and_then(Value::as_array);
        let variable = |traced: &Value| {
            let value = traced.get("value").filter(|value| !value.is_null())?;
            Some((traced.get("name")?.as_str()?.to_owned(), value.clone()))
        };
        let variables = traced.into_iter().flatten().filter_map(variable).collect();
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(source.to_owned(), variables);
    }

    fn find_value(&self, source: &str, path: &[String]) -> Option<Value> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let variables = all.get(source)?;
        // System variables are traced by their whole path.
        variables.get(&path.join(".")).cloned().or_else(|| value_at(variables, path))
    }
}

/// The values of the variable at the byte `offset` of the document `file`, in the prompts that use it, as Markdown.
pub(crate) fn describe_values(
    project: &Project,
    previews: &PreviewValues,
    (file, text): (&str, &str),
    offset: usize,
) -> Option<String> {
    let path = variable_path(project, file, text, offset)?;
    let users = project.users_of(file);
    let value_line = |source: &String| {
        let (value, origin) = match previews.find_value(source, &path) {
            Some(value) => (value, "in the last preview".to_owned()),
            None => first_case_value(project, source, &path)?,
        };
        let of = if users.len() > 1 { format!(" of `{source}`") } else { String::new() };
        let shown = if is_secret(project, source, &path[0]) { MASK.to_owned() } else { show_value(&value) };
        Some(format!("value{of}: {shown} {origin}"))
    };
    let lines: Vec<String> = users.iter().take(MOST_PROMPTS).filter_map(value_line).collect();
    (!lines.is_empty()).then(|| lines.join("\n\n"))
}

/// The value in the first test case of a prompt, and which one that is. A test file with problems has no cases.
fn first_case_value(project: &Project, source: &str, path: &[String]) -> Option<(Value, String)> {
    let found = find_cases(project.catalog.as_ref()?, |candidate| candidate == source);
    let (file, case) = found.files.iter().find_map(|file| Some((file, file.cases.first()?)))?;
    let value = value_at(&case.variables, path)?;
    Some((value, format!("in the test case `{}` of `{}`", case.name, file.file)))
}

fn is_secret(project: &Project, source: &str, name: &str) -> bool {
    let declared = project.variables_of(source);
    declared.is_none_or(|(inherited, _)| inherited.parameters.get(name).is_some_and(|found| found.secret))
}

/// The value at a path of names and numbers.
fn value_at(variables: &Map<String, Value>, path: &[String]) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    let step = |value: &'_ Value, name: &String| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?).cloned(),
        other => other.get(name).cloned(),
    };
    rest.iter().try_fold(variables.get(first)?.clone(), |value, name| step(&value, name))
}

/// A value as JSON in one line, as code.
fn show_value(value: &Value) -> String {
    let whole = value.to_string();
    let mut shown: String = whole.chars().take(LONGEST).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    // Two backticks around a text that may contain one.
    if shown.contains('`') { format!("`` {shown} ``") } else { format!("`{shown}`") }
}
