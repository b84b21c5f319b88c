//! `defaults.json`: declarations and limits that apply to every prompt of a workspace.

use hinagata_document::{Error, Fields, Reason, Result, json};
use hinagata_workspace::Settings;
use serde_json::{Map, Number, Value};

use crate::definition::{Inherited, Parameters, PromptLimits, RenderLimits, read_limits, read_parameters};

/// The name of the file.
pub(crate) const FILE: &str = "defaults.json";

/// Largest `defaults.json`, in bytes.
pub(crate) const LARGEST: u64 = 1 << 20;

const EXECUTION_TIME: u64 = 5;
const OUTPUT_SIZE: u64 = 50_000;

/// Defaults for every prompt of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// Declarations below those of every prompt.
    pub parameters: Parameters,
    /// Limits of prompts without their own.
    pub limits: PromptLimits,
    /// The largest limits that a prompt can have.
    pub caps: PromptLimits,
    /// Unknown keys.
    pub unknown: Map<String, Value>,
    /// Warnings about likely mistakes, such as misspelled keys.
    pub warnings: Vec<Error>,
}

/// The known keys of the file.
const KEYS: [&str; 3] = ["variables", "limits", "caps"];

impl Defaults {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// Code `definition`, with all invalid fields at once. An unknown cap is an error, because it would not limit
    /// anything.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let node = json::parse(file, text)?;
        let mut fields = Fields::new(file, text);
        let Some(entries) = node.as_map() else {
            return Err(Error::definition(
                Reason::Type,
                format!("defaults.json must be an object, not {}", node.kind()),
            )
            .at(fields.place(&node)));
        };
        let mut defaults = Self::default();
        for (key, value) in entries {
            let known = fields.warning_count();
            match key.as_str() {
                "variables" => defaults.parameters = read_parameters(&mut fields, key, value),
                "limits" => defaults.limits = read_limits(&mut fields, key, value),
                "caps" => {
                    defaults.caps = read_limits(&mut fields, key, value);
                    fields.refuse_warnings(known);
                }
                _ => {
                    defaults.unknown.insert(key.clone(), value.to_value());
                    fields.warn_of_typo(key, value, key, &KEYS);
                    if hinagata_value::close_names(key, ["caps"]).len() == 1 {
                        fields.refuse_warnings(known);
                    }
                }
            }
        }
        defaults.warnings = fields.take_warnings();
        fields.finish()?;
        Ok(defaults)
    }

    /// The limits of a prompt: its own, else those of the workspace, else 5 s and 50 000 characters; bounded
    /// by the caps.
    #[must_use]
    pub fn limits(&self, own: &PromptLimits) -> RenderLimits {
        self.limits_within(own, &PromptLimits::default(), &PromptLimits::default())
    }

    /// The limits that a prompt renders with under these settings.
    #[must_use]
    pub fn limits_of(&self, found: &Inherited, settings: &Settings) -> RenderLimits {
        let configured = PromptLimits::from_settings(settings);
        let below =
            found.body_definition().map_or_else(|_| configured.clone(), |with| with.body.limits(&configured));
        self.limits_within(&found.definition.limits, &below, &PromptLimits::caps_from_settings(settings))
    }

    /// Like [`Defaults::limits`], with fallback limits `below` those of the workspace, and further `caps`.
    #[must_use]
    pub fn limits_within(
        &self,
        own: &PromptLimits,
        below: &PromptLimits,
        caps: &PromptLimits,
    ) -> RenderLimits {
        let layers = [own, &self.limits, below];
        let time = layers.iter().find_map(|limits| limits.max_execution_time.clone());
        let size = layers.iter().find_map(|limits| limits.max_output_size);
        let caps = [&self.caps, caps];
        RenderLimits {
            max_execution_time: caps
                .iter()
                .filter_map(|caps| caps.max_execution_time.clone())
                .fold(time.unwrap_or_else(|| EXECUTION_TIME.into()), shorter),
            max_output_size: caps
                .iter()
                .filter_map(|caps| caps.max_output_size)
                .fold(size.unwrap_or(OUTPUT_SIZE), u64::min),
        }
    }
}

fn shorter(time: Number, cap: Number) -> Number {
    if cap.as_f64() < time.as_f64() { cap } else { time }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_limits_beat_those_of_the_workspace_and_caps_bound_both() {
        let defaults = Defaults::parse(
            "defaults.json",
            r#"{"limits": {"max_execution_time": 2.5}, "caps": {"max_execution_time": 30, "max_output_size": 200}}"#,
        )
        .expect("reads");
        let own = |time: Option<u64>, size| PromptLimits {
            max_execution_time: time.map(Number::from),
            max_output_size: size,
            ..PromptLimits::default()
        };
        let shown = |limits: RenderLimits| (limits.max_execution_time.to_string(), limits.max_output_size);
        assert_eq!(shown(defaults.limits(&own(None, None))), ("2.5".into(), 200));
        assert_eq!(shown(defaults.limits(&own(Some(60), Some(12)))), ("30".into(), 12));
        assert_eq!(shown(Defaults::default().limits(&own(None, None))), ("5".into(), 50_000));
        let within = |below: PromptLimits, caps: PromptLimits| {
            shown(defaults.limits_within(&own(None, None), &below, &caps))
        };
        assert_eq!(within(own(Some(9), Some(100)), own(Some(1), None)), ("1".into(), 100));
        assert_eq!(within(own(None, Some(100)), own(None, Some(50))), ("2.5".into(), 50));
    }

    #[test]
    fn an_unknown_cap_is_an_error_and_other_misspelled_keys_are_reported() {
        for text in
            [r#"{"caps": {"max_outputsize": 5}}"#, r#"{"cap": {"max_output_size": 5}}"#, r#"{"Caps": {}}"#]
        {
            let error = Defaults::parse("defaults.json", text).expect_err(text);
            assert!(!error.near().is_empty() && error.place().is_some(), "{error:?}");
        }
        let warning_count = |text: &str| Defaults::parse("defaults.json", text).expect(text).warnings.len();
        assert_eq!(warning_count(r#"{"limits": {"max_outputsize": 5}, "caps": {"max_output_size": 5}}"#), 1);
        assert_eq!(warning_count(r#"{"varables": {}}"#), 1);
        assert_eq!(warning_count(r#"{"$schema": "x", "comment": "y"}"#), 0);
    }

    #[test]
    fn broken_files_are_errors() {
        for text in ["[]", "{", r#"{"limits": {"max_output_size": "many"}}"#, r#"{"variables": 5}"#] {
            assert!(Defaults::parse("defaults.json", text).is_err(), "{text}");
        }
    }
}
