//! `hina config`: all settings and their origins.

use hinagata::settings::{Origin, ResolvedSetting, setting, unknown_setting};
use hinagata_host::mask_password;
use serde_json::{Value, json};

use crate::{
    completion,
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Print all settings and their origins
///
/// From weakest to strongest: default, your own settings file, hinagata.toml of the workspace, HINAGATA_SECTION_KEY,
/// --set.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Print one setting and the values it overrides; `path` prints the settings files
    #[arg(add = completion::complete_settings())]
    key: Option<String>,

    /// Print only settings that differ from their defaults
    #[arg(long, conflicts_with = "key")]
    changed: bool,
}

const EXAMPLES: &str = "Examples:
  hina config                      every setting
  hina config --changed            settings that differ from their defaults
  hina config render.language      one setting and the values it overrides
  hina config path                 the settings files
  HINAGATA_RENDER_LANGUAGE=ja hina config render.language";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open_quietly(globals)?;
    workspace.host.settings.diagnostics().iter().for_each(|found| workspace.print_warning(found));
    match arguments.key.as_deref() {
        Some("path") => print_paths(&workspace, globals),
        Some(key) => print_one(&workspace, key, globals),
        None => print_all(&workspace, arguments.changed, globals),
    }
}

fn print_all(workspace: &Workspace, changed: bool, globals: &Globals) -> Result<(), Failure> {
    let wanted = |found: &ResolvedSetting| !changed || found.origin != Origin::Default;
    let all = workspace.host.settings.iter().filter(|(_, found)| wanted(found));
    match Format::from_globals(globals) {
        Format::Text => {
            let row = |(name, found): (&str, &ResolvedSetting)| {
                let value = mask_password(&found.setting.kind.format_value(&found.value));
                vec![name.to_owned(), value, found.origin.to_string()]
            };
            output::print_text(&output::format_table(
                &["SETTING", "VALUE", "FROM"],
                &all.map(row).collect::<Vec<_>>(),
            ))
        }
        Format::Json => {
            let settings: Value =
                all.map(|(name, found)| (name.to_owned(), setting_to_json(found))).collect();
            let found = workspace.host.settings.diagnostics().iter();
            let warnings: Vec<Value> = found.map(|found| workspace.to_diagnostic(found).to_json()).collect();
            output::print_json(&json!({"settings": settings, "warnings": warnings}))
        }
    }
}

fn print_one(workspace: &Workspace, key: &str, globals: &Globals) -> Result<(), Failure> {
    let Some(found) = workspace.host.settings.get(key) else {
        // An unset entry of a section is not a typo.
        return Err(match setting(key) {
            Some(_) => Failure::not_found(format!("`{key}` is not set")),
            None => unknown_setting(key).into(),
        });
    };
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&setting_to_json(found)),
        Format::Text => {
            let text = |value: &Value| {
                output::sanitize_text(&mask_password(&found.setting.kind.format_value(value)))
            };
            let mut rows = vec![vec![text(&found.value), found.origin.to_string()]];
            rows.extend(
                found
                    .overridden
                    .iter()
                    .map(|(value, origin)| vec![text(value), format!("{origin} (overridden)")]),
            );
            output::print_text(&format!("{}\n\n{}", found.setting.meaning, output::align_columns(&rows)))
        }
    }
}

fn setting_to_json(found: &ResolvedSetting) -> Value {
    let layer = |value: &Value, origin: &Origin| {
        json!({
            "value": value.as_str().map_or_else(|| value.clone(), |text| mask_password(text).into()),
            "layer": origin.as_str(),
            "origin": origin.to_string(),
        })
    };
    let mut all = layer(&found.value, &found.origin);
    all["meaning"] = found.setting.meaning.into();
    all["default"] = found.setting.default_value();
    all["lost"] = found.overridden.iter().map(|(value, origin)| layer(value, origin)).collect();
    all
}

fn print_paths(workspace: &Workspace, globals: &Globals) -> Result<(), Failure> {
    let own = workspace.host.root.path.join(hinagata::SETTINGS_FILE);
    let files = [("user", workspace.host.user_config.path.clone()), ("workspace", Some(own))];
    match Format::from_globals(globals) {
        Format::Text => {
            let row = |(layer, path): &(&str, Option<std::path::PathBuf>)| {
                let path = path.as_ref()?;
                let there = if path.is_file() { "" } else { "(missing)" };
                Some(vec![(*layer).to_owned(), path.display().to_string(), there.to_owned()])
            };
            output::print_text(&output::align_columns(&files.iter().filter_map(row).collect::<Vec<_>>()))
        }
        Format::Json => {
            let file = |(layer, path): &(&str, Option<std::path::PathBuf>)| {
                let there = path.as_ref().is_some_and(|path| path.is_file());
                ((*layer).to_owned(), json!({"path": path, "exists": there}))
            };
            output::print_json(&files.iter().map(file).collect::<Value>())
        }
    }
}
