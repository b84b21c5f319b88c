//! `[packs]` in the settings: which packs a workspace wants.

use std::{collections::BTreeMap, path::Path};

use hinagata_document::{Error, Reason, Result};
use hinagata_workspace::{
    Settings,
    layout::SETTINGS_FILE,
    settings::Origin,
    write::{Writer, read_text},
};
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use crate::location::{PackLocation, WantedPack, check_address};

/// Largest settings file that is edited, in bytes.
const LARGEST: u64 = 4 << 20;

/// Names in `[packs]` that are settings and not packs.
const RESERVED: [&str; 4] = ["index", "signatures", "keys", "allowed_hosts"];

/// The packs that a workspace wants, and the index of those that have a range of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedPacks {
    /// The packs by id.
    pub packs: BTreeMap<String, WantedPack>,
    /// The index: an address, or a path relative to the workspace root.
    pub index: Option<String>,
}

impl WantedPacks {
    /// The packs of `[packs]`.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid entry.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let mut packs = BTreeMap::new();
        for (name, value) in settings.section("packs") {
            if RESERVED.contains(&name.as_str()) {
                continue;
            }
            let full = format!("packs.{name}");
            // The lock belongs to the workspace, so what it locks does too.
            if let Some(Origin::User(place)) = settings.get(&full).map(|found| &found.origin) {
                let message = format!("`{full}` is in your own settings; packs are wanted by workspaces");
                return Err(Error::definition(Reason::Settings, message)
                    .with("setting", full)
                    .at(place.clone()));
            }
            let read = check_key(&name).and_then(|()| WantedPack::from_value(&value));
            let wanted = read.map_err(|error| {
                let error =
                    error.map_message(|message| format!("`{full}`: {message}")).with("setting", &*full);
                match settings.get(&full).map(|found| &found.origin) {
                    Some(Origin::Workspace(place)) => error.at(place.clone()),
                    _ => error,
                }
            })?;
            packs.insert(name, wanted);
        }
        let index = settings.text("packs.index").map(str::to_owned);
        if let Some(index) = index.as_ref().filter(|index| index.contains("://")) {
            check_address("packs.index", index.clone())?;
        }
        Ok(Self { packs, index })
    }
}

/// Checks that a pack can be named in `[packs]`.
///
/// # Errors
/// Code `definition`.
pub(crate) fn check_key(name: &str) -> Result<()> {
    let invalid = |message: String| {
        Err(Error::definition(Reason::Settings, message)
            .with_hint("install it without `[packs]`, from a directory or an archive"))
    };
    if RESERVED.contains(&name) {
        return invalid(format!(
            "`packs.{name}` is a setting, so a pack of that name cannot be in `[packs]`"
        ));
    }
    if name.contains('.') {
        return invalid(format!("the name `{name}` contains a dot, so it cannot be in `[packs]`"));
    }
    crate::unpack::check_pack_name(name)
}

/// Writes `wanted` into the settings file of the workspace at `root`, and leaves the rest of the file as it is. `None`
/// removes the entry.
///
/// # Errors
/// Code `definition` if the file cannot be edited; code `store` if it cannot be written.
pub(crate) fn write_wanted(lock: &Writer, root: &Path, id: &str, wanted: Option<&WantedPack>) -> Result<()> {
    check_key(id)?;
    let before = read_text(&root.join(SETTINGS_FILE), LARGEST)?.unwrap_or_default();
    let after = edit_wanted(&before, id, wanted)?;
    match before == after {
        true => Ok(()),
        false => lock.replace_in(root, SETTINGS_FILE, after.as_bytes()),
    }
}

fn edit_wanted(text: &str, id: &str, wanted: Option<&WantedPack>) -> Result<String> {
    let invalid = |message: String| {
        Error::definition(Reason::Settings, format!("{SETTINGS_FILE} cannot be edited: {message}"))
            .with("path", SETTINGS_FILE)
            .with_hint("correct the file, or add the pack to `[packs]` by hand")
    };
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| invalid(error.message().to_owned()))?;
    if document.is_empty() && !text.trim().is_empty() {
        // A table would be written before comments that stand alone.
        let end = if text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{end}{}", edit_wanted("", id, wanted)?));
    }
    let packs = document.entry("packs").or_insert_with(|| Item::Table(Table::new()));
    let packs = packs.as_table_like_mut().ok_or_else(|| invalid("`packs` is not a table".to_owned()))?;
    match wanted {
        Some(wanted) => drop(packs.insert(id, Item::Value(to_value(wanted)))),
        None => drop(packs.remove(id)),
    }
    let edited = document.to_string();
    // A file with lines of Windows keeps them.
    Ok(match text.contains("\r\n") {
        true => edited.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => edited,
    })
}

fn to_value(wanted: &WantedPack) -> Value {
    match wanted {
        WantedPack::Range(range) => range.to_string().into(),
        WantedPack::Location(location) => to_table(location).into(),
    }
}

fn to_table(location: &PackLocation) -> InlineTable {
    location.fields().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(value: &serde_json::Value) -> WantedPack {
        WantedPack::from_value(value).expect("is valid")
    }

    #[test]
    fn an_entry_is_written_among_what_the_user_wrote() {
        let text = "# mine\n[server]\nlisten = \"127.0.0.1:1\" # here\n\n[packs]\n# first\na = \"1\"\n";
        let git = wanted(&json!({"git": "https://example.com/a.git", "tag": "v1"}));
        let edited = edit_wanted(text, "b", Some(&git)).expect("edits");
        assert_eq!(edited, format!("{text}b = {{ git = \"https://example.com/a.git\", tag = \"v1\" }}\n"));
        let again = edit_wanted(&edited, "b", Some(&wanted(&json!("1.2")))).expect("edits");
        assert_eq!(again, format!("{text}b = \"1.2\"\n"));
        assert_eq!(edit_wanted(&again, "b", None).expect("edits"), text);
        let fresh = edit_wanted("", "b", Some(&wanted(&json!({"dir": "../b"})))).expect("edits");
        assert_eq!(fresh, "[packs]\nb = { dir = \"../b\" }\n");
        let commented = edit_wanted("# mine\n", "b", Some(&wanted(&json!("1")))).expect("edits");
        assert_eq!(commented, "# mine\n[packs]\nb = \"1\"\n");
        let windows =
            edit_wanted(&text.replace('\n', "\r\n"), "b", Some(&wanted(&json!("1")))).expect("edits");
        assert!(windows.ends_with("a = \"1\"\r\nb = \"1\"\r\n") && !windows.contains("\r\r"));
        assert!(
            edit_wanted("packs = 1\n", "b", Some(&git)).is_err()
                && edit_wanted("[", "b", Some(&git)).is_err()
        );
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in ["index", "keys", "a.b", "../a"] {
            assert!(check_key(name).is_err(), "{name}");
        }
        assert!(check_key("git_toolkit").is_ok());
    }
}
