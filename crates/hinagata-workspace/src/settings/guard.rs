//! Checks that stop a daemon from starting without settings that protect it.
//!
//! A command continues without a setting that is ignored or unknown, and prints a warning, which a person reads. A
//! daemon that continues without its keys is open to everybody, and nobody reads its log, so it must not start.

use hinagata_document::{Code, Error, Hint, Reason, Result};

use super::{Origin, Settings, layers::combine_errors};

impl Settings {
    /// Checks that no setting of the workspace in these sections is ignored. If the user's own file, the environment or
    /// a flag sets one, the user has decided, so the value of the workspace does not matter.
    ///
    /// # Errors
    /// Code `approval`, reason `untrusted`, with the ignored settings.
    pub fn check_left_out(&self, sections: &[&str]) -> Result<()> {
        let is_decided = |name: &str| {
            let origin = self.get(name).map(|found| &found.origin);
            matches!(origin, Some(Origin::User(_) | Origin::Environment(_) | Origin::Flag))
        };
        let untrusted = self.diagnostics().iter().map(|found| &found.error);
        let untrusted = untrusted.filter(|error| error.reason() == Some(Reason::Untrusted));
        let named = untrusted.filter_map(|error| Some((error.details().get("setting")?.as_str()?, error)));
        let left_out: Vec<(&str, &Error)> =
            named.filter(|(name, _)| is_in_sections(name, sections) && !is_decided(name)).collect();
        let Some((_, first)) = left_out.first() else { return Ok(()) };
        let mut names: Vec<&str> = left_out.iter().map(|(name, _)| *name).collect();
        names.dedup();
        let (listed, verb) = (names.join("`, `"), if names.len() == 1 { "is" } else { "are" });
        let error = Error::new(
            Code::Approval,
            format!("this workspace is not trusted, so its `{listed}` {verb} ignored"),
        )
        .with_reason(Reason::Untrusted)
        .with("settings", names)
        .with_hint(Hint::TrustWorkspace.then("or set them in your own settings or in the environment"));
        Err(first.place().cloned().into_iter().fold(error, Error::at))
    }

    /// Checks that every name in these sections, in files and in the environment, is a setting. `None` checks all
    /// sections but `context` and `agents`, which protect nothing; the calls that use those report their typos.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, with all unknown names.
    pub fn check_names(&self, sections: Option<&[&str]>) -> Result<()> {
        let is_checked_name = |name: &str| match sections {
            Some(sections) => is_in_sections(name, sections),
            None => !is_in_sections(name, &["context", "agents"]),
        };
        let is_unknown_name = |error: &&Error| {
            let text = |key: &str| error.details().get(key).and_then(|name| name.as_str());
            let variable = |name: &str| {
                let name = name.trim_start_matches("HINAGATA_").to_lowercase().replace('_', ".");
                is_checked_name(&name)
            };
            error.reason() == Some(Reason::Settings)
                && (text("variable").is_some_and(variable) || text("setting").is_some_and(is_checked_name))
        };
        let unknown: Vec<Error> =
            self.diagnostics().iter().map(|found| &found.error).filter(is_unknown_name).cloned().collect();
        combine_errors(&unknown).map_or(Ok(()), Err)
    }
}

/// Whether the setting is in one of the sections.
fn is_in_sections(name: &str, sections: &[&str]) -> bool {
    sections.contains(&name.split('.').next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::super::{SettingsFile, SettingsSources};
    use super::*;

    fn settings(text: &str, trusted: bool, environment: &[(&str, &str)], flags: &[&str]) -> Settings {
        let sources = SettingsSources {
            workspace: Some(SettingsFile { name: "hinagata.toml".to_owned(), text: text.to_owned() }),
            environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..SettingsSources::default()
        };
        Settings::resolve(&sources, trusted).expect("can be read")
    }

    const SECTIONS: &[&str] = &["server", "keys", "store"];

    #[test]
    fn ignored_settings_are_an_error_unless_the_user_decided() {
        let text = "hooks.timeout = '1s'\n[server]\nlisten = ':1'\n[[keys]]\nname = 'a'\n";
        let error = settings(text, false, &[], &[]).check_left_out(SECTIONS).expect_err("is left out");
        assert_eq!((error.code(), error.exit_code()), (Code::Approval, 6));
        assert_eq!(error.details()["settings"], serde_json::json!(["keys", "server.listen"]));
        assert_eq!(error.place().map(|place| place.line), Some(4));
        assert!(settings(text, true, &[], &[]).check_left_out(SECTIONS).is_ok());
        let decided = settings(text, false, &[("HINAGATA_SERVER_LISTEN", ":2")], &["keys=-"]);
        assert!(decided.check_left_out(SECTIONS).is_ok());
        assert!(settings("hooks.timeout = '1s'", false, &[], &[]).check_left_out(SECTIONS).is_ok());
    }

    #[test]
    fn unknown_names_are_reported_with_similar_ones() {
        let found = settings("[[key]]\nname = 'a'\n", true, &[("HINAGATA_SERVER_LISEN", ":1")], &[]);
        let error = found.check_names(None).expect_err("are none");
        assert_eq!((error.exit_code(), error.near()), (2, ["keys".to_owned()].as_slice()));
        assert!(error.message().contains("1 more problem"), "{error}");
        let error = found.check_names(Some(&["server"])).expect_err("is none");
        assert_eq!(error.near().first().map(String::as_str), Some("HINAGATA_SERVER_LISTEN"));
        assert!(found.check_names(Some(&["store"])).is_ok());
    }
}
