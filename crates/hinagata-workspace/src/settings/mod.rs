//! Settings of a workspace, each value with its origin. A prompt or a call may override them.
//!
//! | layer, later wins | |
//! |---|---|
//! | default | the [registry](SETTINGS) |
//! | user | the user's own file, see [`UserConfig`] |
//! | workspace | `hinagata.toml` at the workspace root, or one of its other names |
//! | environment | `HINAGATA_SECTION_KEY` |
//! | flag | `section.key=value` of a call |
//!
//! The workspace overrides the user: a project's settings apply to everybody who works in it, so its prompts are found
//! and rendered in the same way for all, and the user's file has the defaults for all projects. For exceptions there
//! are the environment and flags. A cloned project must not gain control by this order, so a setting that runs
//! programs, opens connections or sends data takes effect from a workspace only if the user trusts it; see [`Power`].

mod amount;
mod files;
pub(crate) mod formats;
mod guard;
mod kind;
mod layers;
mod models;
mod origin;
mod registry;
mod secrets;
mod typed;

use std::collections::BTreeMap;

use hinagata_document::{Diagnostic, Result};
use serde_json::Value;

pub use amount::group_digits;
pub use files::{CONFIG_VARIABLE, SettingsFile, SettingsSources, UserConfig};
pub use formats::{Merging, place_in_config, read_config, snake_case};
pub use kind::Kind;
pub use layers::unknown_setting;
pub use models::{ConfiguredModel, ModelNames};
pub use origin::Origin;
pub use registry::{Power, SETTINGS, Setting, setting};
pub use secrets::{SecretProblem, read_secret_policy};

use layers::{LayerValue, Problems, collect_values};

/// The value of a setting, its origin, and the values that it overrides.
#[derive(Clone, Debug)]
pub struct ResolvedSetting {
    /// The setting.
    pub setting: &'static Setting,
    /// The value; `null` if there is none.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
    /// The overridden values of lower layers, the highest layer first.
    pub overridden: Vec<(Value, Origin)>,
}

/// All settings of a call.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<String, ResolvedSetting>,
    diagnostics: Vec<Diagnostic>,
}

impl Default for Settings {
    /// The defaults.
    fn default() -> Self {
        let entry = |setting: &'static Setting| {
            let value = setting.default_value();
            let resolved =
                ResolvedSetting { setting, value, origin: Origin::Default, overridden: Vec::new() };
            (setting.name.to_owned(), resolved)
        };
        let own = registry::SETTINGS.iter().filter(|setting| !setting.is_section());
        Self { values: own.map(entry).collect(), diagnostics: Vec::new() }
    }
}

impl Settings {
    /// Resolves the settings of `sources`; `trusted` says whether the user trusts the workspace.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, with all problems: syntax errors, values of a wrong type and flags that do
    /// not name a setting.
    pub fn resolve(sources: &SettingsSources, trusted: bool) -> Result<Self> {
        let mut settings = Self::default();
        let mut problems = Problems::default();
        let layer_values = collect_values(sources, &mut problems);
        let merging =
            Merging::for_profile(layer_values.iter().rev().find(|layer_value| layer_value.name == "compat"));
        for layer_value in layer_values {
            settings.put_value(layer_value, trusted, merging, &mut problems);
        }
        settings.check_secret_settings(&mut problems);
        settings.diagnostics = problems.finish()?;
        Ok(settings)
    }

    /// Overrides the values of lower layers, unless trust is missing.
    fn put_value(
        &mut self,
        layer_value: LayerValue,
        trusted: bool,
        merging: Merging,
        problems: &mut Problems,
    ) {
        let untrusted = !trusted && matches!(layer_value.origin, Origin::Workspace(_));
        let value = match untrusted {
            true => self.allowed_value(&layer_value, problems),
            false => Some(layer_value.value.clone()),
        };
        let Some(value) = value else { return };
        let LayerValue { name, setting, origin, .. } = layer_value;
        match self.values.get_mut(&name) {
            Some(resolved) => {
                // Maps of different layers always merge; for the files of a workspace, the profile decides.
                let within =
                    matches!((&resolved.origin, &origin), (Origin::Workspace(_), Origin::Workspace(_)));
                let merging = if within { merging } else { Merging::Deep };
                let value = match setting.merges && !merging.replaces(setting.name) {
                    true => merge_over(&resolved.value, value, merging),
                    false => value,
                };
                let previous = std::mem::replace(&mut resolved.value, value);
                let from = std::mem::replace(&mut resolved.origin, origin);
                resolved.overridden.insert(0, (previous, from));
            }
            None => {
                self.values.insert(name, ResolvedSetting { setting, value, origin, overridden: Vec::new() });
            }
        }
    }

    /// The part of a value that an untrusted workspace may set.
    fn allowed_value(&self, layer_value: &LayerValue, problems: &mut Problems) -> Option<Value> {
        let name = &layer_value.name;
        match layer_value.setting.power {
            Power::Harmless => Some(layer_value.value.clone()),
            Power::Widening => {
                problems.add_ignored(
                    layer_value,
                    format!("`{name}` of this workspace is ignored: the workspace is not trusted"),
                );
                None
            }
            Power::Raising => {
                let now = self.values.get(name).map_or(&Value::Null, |resolved| &resolved.value);
                if is_above(layer_value.setting.kind, &layer_value.value, now) {
                    let now = layer_value.setting.kind.format_value(now);
                    let message = format!("`{name}` stays {now}: an untrusted workspace cannot raise it");
                    problems.add_ignored(layer_value, message);
                    return None;
                }
                Some(layer_value.value.clone())
            }
            Power::Reaching => {
                let (outside, inside): (Vec<_>, Vec<_>) = layer_value
                    .value
                    .as_array()
                    .cloned()
                    .unwrap_or_default()
                    .into_iter()
                    .partition(leads_out);
                for path in outside {
                    let path = path.get("path").unwrap_or(&path).as_str().unwrap_or_default().to_owned();
                    let message = format!(
                        "`{path}` of `{name}` is ignored: it is outside of this workspace, which is not trusted"
                    );
                    problems.add_ignored(layer_value, message);
                }
                Some(inside.into())
            }
        }
    }

    /// The setting `name`; `None` for an unknown name, and for an entry of a section that is not set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ResolvedSetting> {
        self.values.get(name)
    }

    /// All settings in the order of the registry; the entries of a section are sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ResolvedSetting)> {
        registry::SETTINGS.iter().flat_map(|setting| {
            // Without its `*`, the name of a section ends with a dot and is the prefix of its entries.
            let start = setting.name.trim_end_matches('*');
            let own =
                move |name: &str| if setting.is_section() { name.starts_with(start) } else { name == start };
            let from = self.values.range(start.to_owned()..).take_while(move |(name, _)| own(name));
            from.map(|(name, resolved)| (name.as_str(), resolved))
        })
    }

    /// Warnings about ignored values and unknown names.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// `base` overridden by `over`; maps merge, and lists are joined.
fn merge_over(base: &Value, over: Value, merging: Merging) -> Value {
    let mut merged = base.clone();
    if let (Value::Array(items), Value::Array(more)) = (&mut merged, &over) {
        items.extend(more.iter().cloned());
        return merged;
    }
    formats::merge_into(&mut merged, over, merging);
    merged
}

/// Whether the limit `value` is higher than `now`; no limit is the highest, and of words the last one.
fn is_above(kind: Kind, value: &Value, now: &Value) -> bool {
    if let Kind::Word(words) = kind {
        let place = |value: &Value| words.iter().position(|word| value == word);
        return place(value) > place(now);
    }
    match (value.as_f64(), now.as_f64()) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(value), Some(now)) => value > now,
    }
}

/// Whether a path points outside of the workspace by its text alone; links are checked when it is opened.
fn leads_out(path: &Value) -> bool {
    use std::path::{Component, Path};
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = path.get("path").unwrap_or(path);
    !path.as_str().is_some_and(|path| Path::new(path).components().all(inside))
}

#[cfg(test)]
mod tests;
