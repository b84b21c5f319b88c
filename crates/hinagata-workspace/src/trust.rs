//! The workspaces that the user trusts, whose settings may give a render more permissions.
//!
//! A cloned repository must not be able to run anything, so trust is recorded in the user's state directory, for the
//! values of the settings that need it. If one of them changes, the workspace is untrusted until the user confirms
//! again.
//!
//! The reasons are in `docs/design/trust-by-value.md`.

use std::{collections::BTreeMap, path::Path, time::SystemTime};

use hinagata_document::{Digest, Result};
use serde::{Deserialize, Serialize};

use crate::{
    StateDir,
    layout::TRUST_FILE,
    state::{self, real_path},
    time::format_utc,
    write::{Readers, Writer},
};

const LOCK: &str = ".trust.lock";
const MAX_BYTES: u64 = 16 << 20;

/// Permissions that Python gets only in a trusted workspace.
const NEEDS_TRUST: [&str; 3] = ["http_request", "llm_call", "subprocess"];

/// Those of `permissions` that Python gets only in a trusted workspace.
pub fn permissions_needing_trust<'p>(permissions: impl IntoIterator<Item = &'p str>) -> Vec<&'p str> {
    permissions.into_iter().filter(|name| NEEDS_TRUST.contains(name)).collect()
}

/// The record of trusted workspaces.
#[derive(Clone, Debug)]
pub struct Trust {
    state: StateDir,
}

/// Whether the settings of a workspace that need trust take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum TrustState {
    /// They take effect.
    Trusted,
    /// They are ignored.
    Untrusted {
        /// Why not.
        reason: Distrust,
    },
}

impl TrustState {
    /// Whether it is trusted.
    #[must_use]
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}

/// Why a workspace is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distrust {
    /// The user never trusted it.
    Never,
    /// Its settings have changed since the user trusted it.
    Changed,
}

/// A workspace that the user trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedWorkspace {
    /// The path for display; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The SHA-256 of the values of its settings that need trust; `None` if it had none.
    pub settings: Option<Digest>,
    /// The time of the decision, in UTC.
    pub trusted_at: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Records {
    /// By a hash of the path, because a path may not be UTF-8.
    workspaces: BTreeMap<String, TrustedWorkspace>,
}

impl Trust {
    /// The record in `state`.
    #[must_use]
    pub fn new(state: &StateDir) -> Self {
        Self { state: state.clone() }
    }

    /// Whether the workspace at `root` is trusted with these settings, which
    /// [`SettingsSources::privileged_text`](crate::settings::SettingsSources::privileged_text) returns.
    ///
    /// # Errors
    /// Code `store` if the record cannot be read. The caller must then trust nothing.
    pub fn state(&self, root: &Path, settings: Option<&str>) -> Result<TrustState> {
        let found = self.read()?.workspaces.remove(&workspace_key(root));
        Ok(match found {
            Some(found) if found.settings == settings_digest(settings) => TrustState::Trusted,
            Some(_) => TrustState::Untrusted { reason: Distrust::Changed },
            None => TrustState::Untrusted { reason: Distrust::Never },
        })
    }

    /// Records that the workspace at `root` is trusted with these settings.
    ///
    /// # Errors
    /// Code `store` if the record cannot be written.
    pub fn record(&self, root: &Path, settings: Option<&str>, now: SystemTime) -> Result<()> {
        self.change(|records| {
            let workspace = TrustedWorkspace {
                path: real_path(root).to_string_lossy().into_owned(),
                settings: settings_digest(settings),
                trusted_at: format_utc(now),
            };
            records.workspaces.insert(workspace_key(root), workspace);
        })
    }

    /// Removes the trust in the workspace at `root` and returns whether there was any.
    ///
    /// # Errors
    /// Code `store` if the record cannot be written.
    pub fn revoke(&self, root: &Path) -> Result<bool> {
        self.change(|records| records.workspaces.remove(&workspace_key(root)).is_some())
    }

    /// All recorded workspaces, sorted by path.
    ///
    /// # Errors
    /// Code `store` if the record cannot be read.
    pub fn list(&self) -> Result<Vec<TrustedWorkspace>> {
        let mut all: Vec<TrustedWorkspace> = self.read()?.workspaces.into_values().collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    fn read(&self) -> Result<Records> {
        Ok(state::read_json(&self.state.path().join(TRUST_FILE), MAX_BYTES)?.unwrap_or_default())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Records) -> T) -> Result<T> {
        let writer = Writer::lock(self.state.path(), LOCK, Readers::Owner)?;
        let mut records = self.read()?;
        let answer = change(&mut records);
        writer.replace_json(TRUST_FILE, &records)?;
        Ok(answer)
    }
}

fn workspace_key(root: &Path) -> String {
    state::hash_key(real_path(root).as_os_str().as_encoded_bytes())
}

fn settings_digest(settings: Option<&str>) -> Option<Digest> {
    settings.map(|text| Digest::sha256(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::{fs, time::UNIX_EPOCH};

    use hinagata_document::Reason;

    use super::*;

    #[test]
    fn trust_covers_one_root_and_the_settings_that_were_seen() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path().join("workspace");
        fs::create_dir(&root).expect("made");
        let trust = Trust::new(&StateDir::from_path(place.path().join("state")));
        let state = |settings| trust.state(&root, settings).expect("reads");
        let (never, changed) = (Distrust::Never, Distrust::Changed);
        assert_eq!(state(Some("a = 1")), TrustState::Untrusted { reason: never });
        trust.record(&root, Some("a = 1"), UNIX_EPOCH).expect("writes");
        assert!(state(Some("a = 1")).is_trusted());
        for other in [Some("a = 2"), Some(""), None] {
            assert_eq!(state(other), TrustState::Untrusted { reason: changed }, "{other:?}");
        }
        let elsewhere = trust.state(place.path(), Some("a = 1")).expect("reads");
        assert_eq!(elsewhere, TrustState::Untrusted { reason: never });
        trust.record(&root, None, UNIX_EPOCH).expect("writes");
        assert!(state(None).is_trusted() && !state(Some("")).is_trusted());
        let listed = trust.list().expect("reads");
        assert_eq!((listed.len(), listed[0].settings), (1, None));
        assert_eq!(listed[0].trusted_at, "1970-01-01T00:00:00Z");
        assert!(trust.revoke(&root).expect("writes") && !trust.revoke(&root).expect("writes"));
        assert_eq!(state(None), TrustState::Untrusted { reason: never });
    }

    #[test]
    fn unreadable_records_trust_nothing() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let trust = Trust::new(&StateDir::from_path(place.path()));
        fs::write(place.path().join(TRUST_FILE), r#"{"workspaces": {"#).expect("written");
        assert_eq!(trust.state(place.path(), None).expect_err("is broken").reason(), Some(Reason::Broken));
        assert!(trust.record(place.path(), None, UNIX_EPOCH).is_err() && trust.list().is_err());
        assert_eq!(
            fs::read_to_string(place.path().join(TRUST_FILE)).expect("is there"),
            r#"{"workspaces": {"#
        );
    }
}
