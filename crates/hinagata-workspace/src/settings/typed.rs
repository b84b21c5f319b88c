//! Settings as the engine uses them.

use std::time::Duration;

use hinagata_document::{Error, Reason, Result};
use hinagata_value::Limits;
use serde_json::{Map, Value};

use super::{Settings, amount};

impl Settings {
    /// The string of the setting `name`; `None` if it has none.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.value.as_str()
    }

    /// Whether the setting `name` is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|found| found.value == true)
    }

    /// The strings of the setting `name`.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.get(name).and_then(|found| found.value.as_array());
        items.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// The time of the setting `name`; `None` if it has none.
    #[must_use]
    pub fn time(&self, name: &str) -> Option<Duration> {
        Duration::try_from_secs_f64(self.get(name)?.value.as_f64()?).ok()
    }

    /// The times that the setting `name` lists.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, if an entry is not a time.
    pub fn times(&self, name: &str) -> Result<Vec<Duration>> {
        let time = |text: String| {
            let seconds =
                amount::parse_seconds(&text).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            seconds.ok_or_else(|| {
                Error::definition(
                    Reason::Settings,
                    format!("`{name}` must be a list of times, but contains `{text}`"),
                )
                .with("setting", name)
                .with_hint("write times such as `100ms` or `2s`, separated by commas")
            })
        };
        self.texts(name).into_iter().map(time).collect()
    }

    /// The count or the number of bytes of the setting `name`; `None` if it has none.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.value.as_u64()
    }

    /// The entries of the section `name`, such as `mcp_servers`.
    #[must_use]
    pub fn section(&self, name: &str) -> Map<String, Value> {
        let entry = |(full, resolved): (&str, &super::ResolvedSetting)| {
            let key = full.strip_prefix(name)?.strip_prefix('.')?;
            Some((key.to_owned(), resolved.value.clone()))
        };
        self.iter().filter_map(entry).collect()
    }

    /// Additional directories with prompts, relative to the workspace root.
    #[must_use]
    pub fn catalog_paths(&self) -> Vec<String> {
        self.texts("catalog.paths")
    }

    /// Places with prompts of other formats, relative to the workspace root: the path and the format, if it is not to be
    /// told by the files.
    #[must_use]
    pub fn foreign_places(&self) -> Vec<(String, Option<String>)> {
        let places = self.get("catalog.foreign").and_then(|found| found.value.as_array());
        let place = |place: &Value| {
            let text = |key: &str| place.get(key).and_then(Value::as_str);
            Some((text("path")?.to_owned(), text("format").filter(|name| *name != "auto").map(str::to_owned)))
        };
        places.into_iter().flatten().filter_map(place).collect()
    }

    /// The roots of other workspaces whose prompts are used, too, as they are written.
    #[must_use]
    pub fn library_roots(&self) -> Vec<String> {
        self.texts("catalog.libraries")
    }

    /// How undefined variables behave unless the prompt decides; `None` is the default of the source.
    #[must_use]
    pub fn undefined(&self) -> Option<&str> {
        self.text("render.undefined")
    }

    /// The value of `system.language`, if it is set.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        self.text("render.language")
    }

    /// The time zone of `system.datetime`, if it is set.
    #[must_use]
    pub fn timezone(&self) -> Option<&str> {
        self.text("render.timezone")
    }

    /// The limits of templates.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let count = |key: &str| self.count(&format!("limits.{key}"));
        let whole = |key: &str| count(key).unwrap_or_default();
        let size = |key: &str| usize::try_from(whole(key)).unwrap_or(usize::MAX);
        let small = |key: &str| u32::try_from(whole(key)).unwrap_or(u32::MAX);
        Limits {
            steps: whole("steps"),
            bytes: size("bytes"),
            output: count("output").map(|output| usize::try_from(output).unwrap_or(usize::MAX)),
            calls: small("calls"),
            nesting: small("nesting"),
            value_depth: size("value_depth"),
            stack: size("stack"),
            range_items: whole("range_items"),
            fill: size("fill"),
            source: size("source"),
            templates: size("templates"),
            passes: small("passes"),
            requests: size("requests"),
            deadline: self.time("limits.deadline"),
        }
    }

    /// Maximum number of compiled templates in the cache.
    #[must_use]
    pub fn template_cache(&self) -> usize {
        usize::try_from(self.count("cache.templates").unwrap_or_default()).unwrap_or(usize::MAX)
    }
}
