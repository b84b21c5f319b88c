//! What a caller of a daemon asks to pack, beneath the directory of the project.

use hinagata::{Code, Error, Reason, Result, Settings, Warning, settings::snake_case};
use hinagata_context::{ContextOptions, leads_out};
use hinagata_value::near_names;
use serde_json::{Map, Value};

use crate::{
    context::{choose_model, read_context},
    project::Project,
    shape::{Section, Shape},
};

/// What a caller asks to pack. A caller cannot change the rules about secrets and ignored files, nor the directory, and
/// can lower limits only.
#[derive(Clone, Debug)]
pub struct PackRequest {
    fields: Map<String, Value>,
}

/// Applies a field of a request.
type Apply = fn(&mut ContextOptions, ContextOptions);

/// The fields of a request, and what they change.
const FIELDS: &[(&str, Apply)] = &[
    ("compress", |options, asked| options.form.compress = asked.form.compress),
    ("diff", |options, asked| options.sections.diff = asked.sections.diff),
    ("encoding", |options, asked| options.encoding = asked.encoding),
    ("exclude", |options, asked| options.exclude.extend(asked.exclude)),
    ("focus", |options, asked| options.focus.extend(asked.focus)),
    ("format", |options, asked| options.frame = asked.frame),
    ("header_text", |options, asked| options.sections.header = asked.sections.header),
    ("include", |options, asked| {
        options.include = asked.include;
        options.resources.clear();
    }),
    ("include_diffs", |options, asked| options.sections.diffs = asked.sections.diffs),
    ("include_logs", |options, asked| options.sections.logs = asked.sections.logs),
    ("kinds", |options, asked| options.kinds = asked.kinds),
    ("line_numbers", |options, asked| options.form.line_numbers = asked.form.line_numbers),
    ("max_bytes", |options, asked| options.max_bytes = least(asked.max_bytes, options.max_bytes)),
    ("max_files", |options, asked| options.max_files = least(asked.max_files, options.max_files)),
    ("max_tokens", |options, asked| options.tokens.max = least(asked.tokens.max, options.tokens.max)),
    // The settings say what the name means, see below.
    ("model", |_, _| {}),
    ("remove_empty_lines", |options, asked| options.form.remove_empty_lines = asked.form.remove_empty_lines),
    ("tree", |options, asked| options.sections.tree = asked.sections.tree),
    ("truncate_base64", |options, asked| options.form.truncate_base64 = asked.form.truncate_base64),
];

impl PackRequest {
    /// Reads a request; a field that is null counts as missing.
    ///
    /// # Errors
    /// Code `validation`: an unknown field, with similar ones in `near`, or a pattern that leads out of the directory.
    pub fn from_fields(fields: Map<String, Value>) -> Result<Self> {
        let fields: Map<String, Value> = fields
            .into_iter()
            .map(|(key, value)| (snake_case(&key), value))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let known = || FIELDS.iter().map(|(name, _)| *name);
        if let Some(unknown) = fields.keys().find(|key| !known().any(|name| name == key.as_str())) {
            return Err(invalid(format!("unknown field `{unknown}`"))
                .with_near(near_names(unknown, known()))
                .with_hint(format!("known fields: {}", known().collect::<Vec<_>>().join(", "))));
        }
        for name in ["include", "exclude", "focus"] {
            let patterns =
                fields.get(name).map(|patterns| patterns.as_array().map_or(&[][..], Vec::as_slice));
            let is_inside = |pattern: &Value| {
                pattern.as_str().is_some_and(|text| !leads_out(text) && !text.contains(".."))
            };
            if patterns.is_some_and(|patterns| !patterns.iter().all(is_inside)) {
                return Err(invalid(format!(
                    "`{name}` must be a list of patterns inside the packed directory"
                )));
            }
            if fields.get(name).is_some_and(|patterns| !patterns.is_array()) {
                return Err(invalid(format!("`{name}` must be a list of patterns")));
            }
        }
        Ok(Self { fields })
    }

    /// The options of `project`, changed by the request, and warnings for limits that the settings lower. The settings
    /// say what the name of a model means.
    ///
    /// # Errors
    /// Code `validation`: a field has the wrong type or value; `definition`: the settings of the model are invalid.
    pub fn apply_to(&self, project: &Project, settings: &Settings) -> Result<(ContextOptions, Vec<Warning>)> {
        let mut shape = Shape::default();
        let config = Value::Object(self.fields.clone());
        let section = Section::root(&config, &mut shape);
        let asked = read_context(&section, &project.directory, project.profile, &mut shape);
        shape.finish(&|_| None).map_err(|error| invalid(error.to_string()))?;
        let mut options = project.context.clone();
        let warnings = self.limit_warnings(&asked, &options);
        for (_, apply) in FIELDS.iter().filter(|(name, _)| self.fields.contains_key(*name)) {
            apply(&mut options, asked.clone());
        }
        if let Some(model) = self.fields.get("model").and_then(Value::as_str) {
            choose_model(&mut options, settings, &project.directory, model)?;
        }
        options.tokens.count = true;
        Ok((options, warnings))
    }

    /// Warnings for requested limits that exceed the settings.
    fn limit_warnings(&self, asked: &ContextOptions, options: &ContextOptions) -> Vec<Warning> {
        let number = |most: Option<usize>| most.map(|most| most as u64);
        let limits = [
            ("max_bytes", asked.max_bytes, options.max_bytes),
            ("max_files", number(asked.max_files), number(options.max_files)),
            ("max_tokens", number(asked.tokens.max), number(options.tokens.max)),
        ];
        let lowered = |(name, asked, most): (&str, Option<u64>, Option<u64>)| {
            let most = most
                .filter(|most| self.fields.contains_key(name) && asked.is_none_or(|asked| asked > *most))?;
            let asked = asked.map_or_else(|| "no limit".to_owned(), |asked| asked.to_string());
            let message = format!("`{name}` is limited to {most} by the settings, {asked} was requested");
            let error =
                Error::definition(Reason::Settings, message).with("setting", format!("context.{name}"));
            Some(Warning { about: name.to_owned(), error })
        };
        limits.into_iter().filter_map(lowered).collect()
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::Validation, message).with_reason(Reason::Arguments)
}

/// The lower one of two limits.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
