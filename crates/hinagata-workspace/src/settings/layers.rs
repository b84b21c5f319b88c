//! Collects the values of files, environment and flags into one list, the lowest layer first.

use std::{collections::BTreeMap, ffi::OsStr};

use hinagata_document::{Data, Diagnostic, Error, Hint, LineColumn, Node, Place, Reason, Result};
use hinagata_value::near_names;
use serde_json::{Value, json};

use super::{
    Origin, Power, SETTINGS, Setting, SettingsFile, SettingsSources, formats, kind::InvalidValue, setting,
};
use crate::layout::{SETTINGS_FILE, is_foreign_settings};

const PREFIX: &str = "HINAGATA_";

/// The value of a setting in one layer.
#[derive(Clone, Debug)]
pub(super) struct LayerValue {
    pub(super) name: String,
    pub(super) setting: &'static Setting,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// All values in `sources`, the lowest layer first.
pub(super) fn collect_values(sources: &SettingsSources, problems: &mut Problems) -> Vec<LayerValue> {
    let mut values = Vec::new();
    if let Some(file) = &sources.user {
        Reader { file, origin: Origin::User, values: &mut values, problems }.read();
    }
    for file in &sources.extended {
        Reader { file, origin: Origin::Workspace, values: &mut values, problems }.read();
    }
    if let Some(file) = &sources.workspace {
        values.extend(profile_from_name(file));
        Reader { file, origin: Origin::Workspace, values: &mut values, problems }.read();
    }
    read_environment(sources, &mut values, problems);
    for flag in &sources.flags {
        values.extend(parse_flag(flag, problems));
    }
    values
}

/// The settings of the workspace files that need trust, by name; if several files set one, the last value.
pub(super) fn privileged_values(sources: &SettingsSources) -> BTreeMap<String, Value> {
    let (mut values, mut problems) = (Vec::new(), Problems::default());
    for file in sources.extended.iter().chain(&sources.workspace) {
        Reader { file, origin: Origin::Workspace, values: &mut values, problems: &mut problems }.read();
    }
    let counts = values.into_iter().filter(|layer_value| layer_value.setting.power != Power::Harmless);
    counts.map(|layer_value| (layer_value.name, layer_value.value)).collect()
}

/// The compatibility profile that the name of `file` selects. It applies in every workspace, so it must not grant
/// anything that needs trust.
fn profile_from_name(file: &SettingsFile) -> Option<LayerValue> {
    let setting = setting("compat").filter(|_| is_foreign_settings(&file.name))?;
    let origin = Origin::FileName(file.name.clone());
    Some(LayerValue { name: "compat".to_owned(), setting, value: "eddie".into(), origin })
}

/// Reads one file.
struct Reader<'a> {
    file: &'a SettingsFile,
    origin: fn(Place) -> Origin,
    values: &'a mut Vec<LayerValue>,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    fn read(mut self) {
        match formats::parse(&self.file.name, &self.file.text) {
            Ok(node) => self.section("", &node),
            Err(errors) => {
                for (message, place) in errors {
                    self.problems.add_syntax_error(&self.file.name, message, place);
                }
            }
        }
    }

    fn section(&mut self, path: &str, node: &Node) {
        for (key, value) in node.as_map().unwrap_or_default() {
            if path.is_empty() && key == "extends" {
                continue;
            }
            self.entry(&known_name(path, key), value);
        }
    }

    fn entry(&mut self, name: &str, node: &Node) {
        match setting(name) {
            Some(setting) => self.value(name, setting, node),
            None if is_section(name) && node.as_map().is_some() => self.section(name, node),
            // `store = "redis://…"` is short for its `url`.
            None if node.as_str().is_some() && setting(&format!("{name}.url")).is_some() => {
                self.entry(&format!("{name}.url"), node);
            }
            None if is_section(name) => {
                let invalid = InvalidValue::new(format!("must be a section, not {}", node.kind()))
                    .with_hint(format!("write [{name}] on a line of its own, and its settings below"));
                self.problems.add_invalid(name, invalid, Some(self.place(node)), &self.file.name);
            }
            // In files of other programs, only unknown names in the sections that we share are typos.
            None if is_foreign_settings(&self.file.name) && !is_project_setting(name) => {}
            None => {
                let error = unknown_setting(name).at(self.place(node));
                self.problems.warnings.push(Diagnostic::warning(&self.file.name, error));
            }
        }
    }

    fn value(&mut self, name: &str, setting: &'static Setting, node: &Node) {
        // An empty key in these sections sets nothing, as in the format of the other program.
        if node.is_null() && is_project_setting(name) {
            return;
        }
        let none = setting.optional && matches!(&node.data, Data::String(text) if text.trim() == "-");
        let read = if none { Ok(Value::Null) } else { setting.kind.read_node(node) };
        match read {
            Ok(value) => {
                let origin = (self.origin)(self.place(node));
                self.values.push(LayerValue { name: name.to_owned(), setting, value, origin });
            }
            Err(invalid) => {
                let place = self.place_at(invalid.at.unwrap_or(node.at));
                self.problems.add_invalid(name, invalid, Some(place), &self.file.name);
            }
        }
    }

    fn place(&self, node: &Node) -> Place {
        self.place_at(node.at)
    }

    fn place_at(&self, at: LineColumn) -> Place {
        Place::at_line(&self.file.name, &self.file.text, at.line, at.column)
    }
}

/// The name of the setting at `key` of the section `path`; `key` may be in camelCase or snake_case.
fn known_name(path: &str, key: &str) -> String {
    let joined = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let (written, snake) = (joined(key), joined(&formats::snake_case(key)));
    match setting(&written).is_none() && (setting(&snake).is_some() || is_section(&snake)) {
        true => snake,
        false => written,
    }
}

/// Whether a setting is in a section that settings files of other programs have too: packed files and agents.
fn is_project_setting(name: &str) -> bool {
    ["context.", "agents."].iter().any(|section| name.starts_with(section))
}

/// Whether `name` is a section of settings.
fn is_section(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

fn read_environment(sources: &SettingsSources, values: &mut Vec<LayerValue>, problems: &mut Problems) {
    let mut variables: Vec<_> = sources.environment.iter().collect();
    variables.sort_unstable();
    // Variables of other programs rank below our own.
    for setting in SETTINGS {
        let Some(variable) = setting.variable else { continue };
        if let Some((_, value)) = variables.iter().find(|(name, value)| name == variable && !value.is_empty())
        {
            push_text_value(
                setting.name.to_owned(),
                setting,
                value,
                Origin::Environment(variable.to_owned()),
                values,
                problems,
            );
        }
    }
    for (variable, value) in variables {
        let Some(variable) = variable.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let origin = Origin::Environment(variable.to_owned());
        match setting_for_variable(variable) {
            Some((name, setting)) => push_text_value(name, setting, value, origin, values, problems),
            None if !is_foreign_variable(variable) => {
                let error = unknown_variable(variable);
                problems.warnings.push(Diagnostic::warning(variable, error));
            }
            None => {}
        }
    }
}

/// The setting that an environment variable names.
fn setting_for_variable(variable: &str) -> Option<(String, &'static Setting)> {
    let own = |setting: &&Setting| !setting.is_section() && setting.own_variable() == variable;
    if let Some(setting) = SETTINGS.iter().find(own) {
        return Some((setting.name.to_owned(), setting));
    }
    SETTINGS.iter().filter(|setting| setting.is_section()).find_map(|setting| {
        let key = variable.strip_prefix(&setting.own_variable()).filter(|key| !key.is_empty())?;
        Some((format!("{}.{}", setting.stem(), key.to_lowercase()), setting))
    })
}

/// Variables of Hinagata that are not settings.
const OTHER_VARIABLES: [&str; 4] =
    [crate::root::ROOT_VARIABLE, super::CONFIG_VARIABLE, crate::StateDir::VARIABLE, "HINAGATA_COMPLETE"];

/// Prefixes of variables that the scripts and tests of this project use.
const TEST_VARIABLES: [&str; 4] =
    ["HINAGATA_CACHE", "HINAGATA_TEST_", "HINAGATA_BLESS", "HINAGATA_DIFFERENTIAL"];

/// Whether a variable with our prefix is not meant as a setting: another variable of Hinagata, or one that a container
/// system such as Kubernetes sets for a service named `hinagata`.
fn is_foreign_variable(variable: &str) -> bool {
    let rest = &variable[PREFIX.len()..];
    let is_port = |rest: &str| {
        rest.strip_prefix("PORT_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    OTHER_VARIABLES.contains(&variable)
        || TEST_VARIABLES.iter().any(|start| variable.starts_with(start))
        || SETTINGS.iter().any(|setting| setting.variable == Some(variable))
        || ["PORT", "SERVICE_HOST", "SERVICE_PORT"].contains(&rest)
        || rest.starts_with("SERVICE_PORT_")
        || is_port(rest)
}

fn unknown_variable(variable: &str) -> Error {
    let known: Vec<String> = SETTINGS.iter().map(Setting::own_variable).collect();
    let near = near_names(variable, known.iter().map(String::as_str).chain(OTHER_VARIABLES));
    Error::definition(
        Reason::Settings,
        format!("the environment variable `{variable}` does not name a setting"),
    )
    .with("variable", variable)
    .with_near(near)
    .with_hint(Hint::ListSettings)
}

fn push_text_value(
    name: String,
    setting: &'static Setting,
    value: &OsStr,
    origin: Origin,
    values: &mut Vec<LayerValue>,
    problems: &mut Problems,
) {
    let read = match value.to_str() {
        Some(text) => setting.read_text(text),
        None => Err(InvalidValue::new("must be UTF-8 text".to_owned())),
    };
    match read {
        Ok(value) => values.push(LayerValue { name, setting, value, origin }),
        Err(invalid) => problems.add_invalid(&name, invalid, None, &origin.to_string()),
    }
}

fn parse_flag(flag: &str, problems: &mut Problems) -> Option<LayerValue> {
    let Some((name, text)) = flag.split_once('=') else {
        problems.push(
            Error::definition(Reason::Settings, format!("`--set {flag}` has no value"))
                .with_hint("write --set section.key=value"),
        );
        return None;
    };
    let Some(setting) = setting(name) else {
        problems.push(unknown_setting(name));
        return None;
    };
    match setting.read_text(text) {
        Ok(value) => Some(LayerValue { name: name.to_owned(), setting, value, origin: Origin::Flag }),
        Err(invalid) => {
            problems.add_invalid(name, invalid, None, "--set");
            None
        }
    }
}

/// The error for an unknown setting, with similar names.
#[must_use]
pub fn unknown_setting(name: &str) -> Error {
    let names = SETTINGS.iter().map(Setting::stem);
    let mut near = near_names(name, names);
    if near.is_empty() && !name.contains('.') {
        near = near_names(name, SETTINGS.iter().filter_map(|setting| Some(setting.name.split_once('.')?.0)));
        near.dedup();
    }
    Error::definition(Reason::Settings, format!("unknown setting `{name}`"))
        .with("setting", name)
        .with_near(near)
        .with_hint(Hint::ListSettings)
}

/// The problems of the sources.
#[derive(Debug, Default)]
pub(super) struct Problems {
    /// Problems that make the settings unusable.
    errors: Vec<Error>,
    /// Problems that do not.
    warnings: Vec<Diagnostic>,
}

impl Problems {
    fn push(&mut self, error: Error) {
        self.errors.push(error);
    }

    fn add_syntax_error(&mut self, file: &str, message: String, place: Option<Place>) {
        let error = Error::definition(Reason::Settings, message).with("file", file);
        self.push(place.into_iter().fold(error, Error::at));
    }

    /// Adds an error for an invalid value; `source` is the file, variable or flag that has it.
    pub(super) fn add_invalid(
        &mut self,
        name: &str,
        invalid: InvalidValue,
        place: Option<Place>,
        source: &str,
    ) {
        let InvalidValue { message, near, hint, within, .. } = invalid;
        let sentence = match place {
            Some(_) => format!("`{name}{within}` {message}"),
            None => format!("`{name}{within}` {message} ({source})"),
        };
        let error = Error::definition(Reason::Settings, sentence).with("setting", name).with_near(near);
        let error = place.into_iter().fold(error, Error::at);
        self.push(hint.into_iter().fold(error, Error::with_hint));
    }

    pub(super) fn add_warning(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    /// Adds a warning about an ignored value of a workspace.
    pub(super) fn add_ignored(&mut self, layer_value: &LayerValue, message: String) {
        let error = Error::definition(Reason::Untrusted, message)
            .with("setting", layer_value.name.as_str())
            .with_hint(Hint::TrustWorkspace.then("or set it in your own settings"));
        let error = layer_value.origin.place().cloned().into_iter().fold(error, Error::at);
        self.warnings.push(Diagnostic::warning(SETTINGS_FILE, error));
    }

    /// Returns the warnings, or one error that lists all errors, with the place of the first.
    pub(super) fn finish(self) -> Result<Vec<Diagnostic>> {
        combine_errors(&self.errors).map_or(Ok(self.warnings), Err)
    }
}

/// One error that lists all of `errors`, with the place of the first; `None` if there are none.
pub(super) fn combine_errors(errors: &[Error]) -> Option<Error> {
    let first = errors.first().cloned()?;
    let problem = |error: &Error| {
        json!({
            "setting": error.details().get("setting"), "message": error.message(), "hint": error.hint(),
            "file": error.place().map(|place| &place.file),
            "line": error.place().map(|place| place.line),
            "column": error.place().map(|place| place.column),
        })
    };
    let problems: Vec<Value> = errors.iter().map(problem).collect();
    let combined = match errors.len() {
        1 => first,
        2 => first.map_message(|message| format!("{message}, and 1 more problem")),
        count => first.map_message(|message| format!("{message}, and {} more problems", count - 1)),
    };
    Some(combined.with("problems", problems))
}
