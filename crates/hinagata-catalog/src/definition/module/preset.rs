//! Compiled-in modules that every workspace can use, print and override.

macro_rules! presets {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../presets/", $name, ".yaml")))),*]
    };
}

/// The names of the presets with their module files, in order.
pub const PRESETS: &[(&str, &str)] = presets!["dialogue", "json-answer", "materials", "stream", "summarize"];

/// The module file of the preset called `name`.
#[must_use]
pub fn preset(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
