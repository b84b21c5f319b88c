//! The page about settings lists every setting as the registry has it.

use hinagata::settings::{Kind, Power, SETTINGS, Setting};

/// The rows of the table, one line each.
fn table() -> String {
    let row = |setting: &Setting| {
        let Setting { name, meaning, .. } = setting;
        format!("| `{name}` | {} | {} | {meaning} | {} |\n", kind(setting), default(setting), power(setting))
    };
    SETTINGS.iter().map(row).collect()
}

fn kind(setting: &Setting) -> String {
    match setting.kind {
        Kind::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        kind => kind.describe().trim_start_matches("a ").to_owned(),
    }
}

fn default(setting: &Setting) -> String {
    match setting.kind.format_value(&setting.default_value()) {
        text if text.is_empty() || setting.is_section() => String::new(),
        text => format!("`{text}`"),
    }
}

const fn power(setting: &Setting) -> &'static str {
    match setting.power {
        Power::Harmless => "counts",
        Power::Reaching => "counts inside the workspace",
        Power::Raising if matches!(setting.kind, Kind::Word(_)) => "counts if it is stricter",
        Power::Raising => "counts if it is lower",
        Power::Widening => "is ignored",
    }
}

#[test]
fn the_page_lists_every_setting_as_it_is() {
    let page = include_str!("../../../../docs/reference/settings.md");
    assert!(page.contains(&table()), "the table of docs/reference/settings.md should be\n{}", table());
}
