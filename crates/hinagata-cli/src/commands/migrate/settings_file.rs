//! The settings file that replaces a `config.yaml`.

use std::{collections::BTreeMap, fs::OpenOptions, io::Write as _, path::Path};

use hinagata_server::legacy_config::LegacyConfig;
use serde_json::{Value, json};

use crate::failure::Failure;

/// The carried settings as TOML, with `url` as the store. Hosts of tools stay a comment: allowing them is a decision.
pub(super) fn settings_text(
    config: &LegacyConfig,
    url: &str,
    limits: &[(&'static str, &'static str)],
    hosts: &[String],
) -> String {
    let mut sections: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut add = |name: &'static str, value: &Value| {
        let (section, key) = name.rsplit_once('.').unwrap_or(("", name));
        sections.entry(section).or_default().push(format!("{key} = {value}"));
    };
    add("store.url", &json!(url));
    for carried in config.carried.iter().filter(|carried| carried.setting != "store.url") {
        add(carried.setting, &json!(carried.value));
    }
    for (name, value) in limits {
        add(name, &value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number)));
    }
    for (name, value) in &config.environment {
        match *name {
            "OPENAI_BASE_URL" => add("llm.providers.openai.base_url", &json!(value)),
            // Settings name the variable of a key and never contain the key.
            variable => add("llm.providers.openai.key_env", &json!(variable)),
        }
    }
    let mut text = "# Written by `hina migrate`. Keys of models are environment variables.\n".to_owned();
    for (section, lines) in sections {
        text.push_str(&format!("\n[{section}]\n{}\n", lines.join("\n")));
    }
    if !hosts.is_empty() {
        text.push_str(&format!("\n[tools]\n# allowed_hosts = {}\n", json!(hosts)));
    }
    text
}

/// Writes a new file that only its owner can read: the address of Redis may contain a password.
pub(super) fn write_settings(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::usage_error(format!("{} exists and is not overwritten", path.display()))
                .with_hint("pass the name of a new file, and merge the two")
        }
        _ => Failure::system_error(format!("cannot write {}: {error}", path.display())),
    })?;
    file.write_all(text.as_bytes())
        .map_err(|error| Failure::system_error(format!("cannot write {}: {error}", path.display())))
}
