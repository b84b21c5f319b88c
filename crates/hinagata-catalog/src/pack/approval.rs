//! The approvals of packs.

use std::{collections::HashMap, fmt, path::Path};

use hinagata_workspace::{StateDir, state::WorkspaceState};
use serde::Serialize;

use super::{record::PackState, seal::Seal};
use crate::PackId;

/// The state of the approval of a pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// It may be used.
    Approved,
    /// The user has not decided.
    #[default]
    Pending,
    /// It was approved and has changed since.
    Modified,
    /// It may not be used.
    Rejected,
}

impl Approval {
    /// The name that every door uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Pending => "pending",
            Self::Modified => "modified",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The approvals of the packs of a workspace. A pack without a decision is pending.
///
/// [`Approvals::load`] reads the user's state directory, with a hash for every file. A host that decides for itself
/// sets states by name; files are then not compared with hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    set_by_host: HashMap<String, Approval>,
    recorded: Option<WorkspaceState>,
}

impl Approvals {
    /// The decisions in `state` about the packs of the workspace at `root`, read when a pack is first used.
    #[must_use]
    pub fn load(state: &StateDir, root: &Path) -> Self {
        Self { set_by_host: HashMap::new(), recorded: Some(state.workspace(root)) }
    }

    /// Sets the state of `pack`, which overrides a recorded decision.
    pub fn set(&mut self, pack: impl Into<String>, state: Approval) {
        self.set_by_host.insert(pack.into(), state);
    }

    /// The seal of the pack in one snapshot.
    pub(crate) fn seal(&self, pack: &PackId) -> Seal {
        match (self.set_by_host.get(pack.as_str()), &self.recorded) {
            (Some(set_by_host), _) => Seal::from_host(pack, *set_by_host),
            (None, Some(recorded)) => Seal::from_record(PackState::new(recorded, pack)),
            (None, None) => Seal::from_host(pack, Approval::default()),
        }
    }
}

impl<N: Into<String>> FromIterator<(N, Approval)> for Approvals {
    fn from_iter<I: IntoIterator<Item = (N, Approval)>>(states: I) -> Self {
        let set_by_host = states.into_iter().map(|(name, state)| (name.into(), state)).collect();
        Self { set_by_host, recorded: None }
    }
}
