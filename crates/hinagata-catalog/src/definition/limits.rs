//! Limits on the run time of Python and on the size of the result.

use hinagata_workspace::Settings;
use serde_json::{Map, Number, Value};

/// The limits that a prompt sets for itself; `None` for limits that it does not set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptLimits {
    /// Seconds that all its Python may run.
    pub max_execution_time: Option<Number>,
    /// Unicode characters of its result.
    pub max_output_size: Option<u64>,
    /// Other limits, by name.
    pub other: Map<String, Value>,
}

impl PromptLimits {
    /// The limits that the engine knows.
    pub const NAMES: [&'static str; 2] = ["max_execution_time", "max_output_size"];

    /// The setting `limits`, for prompts without their own limits.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self::from_section(settings, "limits")
    }

    /// The setting `caps`, which no prompt can exceed.
    #[must_use]
    pub fn caps_from_settings(settings: &Settings) -> Self {
        Self::from_section(settings, "caps")
    }

    fn from_section(settings: &Settings, section: &str) -> Self {
        let time = settings.get(&format!("{section}.max_execution_time"));
        let time = time.and_then(|found| found.value.as_number().cloned());
        let size = settings.count(&format!("{section}.max_output_size"));
        Self { max_execution_time: time, max_output_size: size, other: Map::new() }
    }
}

/// The limits of a render.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderLimits {
    /// Seconds that all Python of a render may run.
    pub max_execution_time: Number,
    /// Unicode characters of the result.
    pub max_output_size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_any_source_prompts_have_five_seconds_and_at_most_sixty() {
        let settings = Settings::default();
        let limits = PromptLimits::from_settings(&settings);
        assert_eq!((limits.max_execution_time, limits.max_output_size), (Some(5.into()), None));
        let caps = PromptLimits::caps_from_settings(&settings);
        assert_eq!((caps.max_execution_time, caps.max_output_size), (Some(60.into()), None));
    }
}
