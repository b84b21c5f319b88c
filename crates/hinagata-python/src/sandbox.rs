//! The sandbox mechanisms that confine Python, and how strong they are together.

use hinagata::{Hint, Reason};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The sandbox mechanisms around a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SandboxMechanisms {
    /// Restricts reads to listed files and denies writes, TCP and signals to other processes.
    pub landlock: bool,
    /// Gives the process its own processes, network and file tree.
    pub namespaces: bool,
    /// Denies system calls with "not permitted".
    pub seccomp: bool,
}

impl Default for SandboxMechanisms {
    fn default() -> Self {
        Self::ALL
    }
}

impl SandboxMechanisms {
    /// Every mechanism.
    pub const ALL: Self = Self { landlock: true, namespaces: true, seccomp: true };
    /// No mechanism.
    pub const NONE: Self = Self { landlock: false, namespaces: false, seccomp: false };

    /// The mechanisms in both sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self {
            landlock: self.landlock && other.landlock,
            namespaces: self.namespaces && other.namespaces,
            seccomp: self.seccomp && other.seccomp,
        }
    }
}

/// How strong the mechanisms of a machine are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxTier {
    /// Namespaces and a Landlock that confines signals.
    A,
    /// Landlock without namespaces or without its newer rules: nearly as strong.
    B,
    /// Namespaces without Landlock.
    C,
    /// Neither of them, or no seccomp filter.
    D,
}

impl SandboxTier {
    /// The tier of these mechanisms. `scoped` tells whether Landlock confines signals.
    #[must_use]
    pub fn from_mechanisms(mechanisms: SandboxMechanisms, scoped: bool) -> Self {
        match (mechanisms.seccomp, mechanisms.landlock, mechanisms.namespaces) {
            (false, ..) | (true, false, false) => Self::D,
            (true, true, true) if scoped => Self::A,
            (true, true, _) => Self::B,
            (true, false, true) => Self::C,
        }
    }

    /// A one-line description.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::A => "files, system calls, processes and network are confined",
            Self::B => "files and system calls are confined, processes by signal rules",
            Self::C => "files, processes and network are hidden, system calls are confined",
            Self::D => "Python is not confined",
        }
    }
}

impl fmt::Display for SandboxTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What confines Python on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxReport {
    /// How strong the sandbox is.
    pub tier: SandboxTier,
    /// The available mechanisms.
    pub mechanisms: SandboxMechanisms,
    /// The Landlock version of the kernel, or 0.
    pub landlock_version: i32,
    /// What is missing, each with the reason.
    pub missing: Vec<String>,
}

impl SandboxReport {
    /// The report when the sandbox is switched off.
    pub(crate) fn switched_off() -> Self {
        Self {
            tier: SandboxTier::D,
            mechanisms: SandboxMechanisms::NONE,
            landlock_version: 0,
            missing: vec!["everything: `hooks.sandbox` is `off`".to_owned()],
        }
    }

    /// The failure when Python must be confined and cannot be.
    pub(crate) fn to_failure(&self) -> Failure {
        let message = format!("this system cannot confine Python ({})", self.missing.join("; "));
        Failure::unavailable(Reason::Sandbox, message).with_hint(
            Hint::DiagnoseWorkspace
                .then("`hooks.sandbox = \"best-effort\"` runs Python with the available mechanisms"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tier_follows_from_the_mechanisms() {
        let mechanisms = |landlock, namespaces, seccomp| SandboxMechanisms { landlock, namespaces, seccomp };
        for (given, scoped, tier) in [
            (SandboxMechanisms::ALL, true, SandboxTier::A),
            (SandboxMechanisms::ALL, false, SandboxTier::B),
            (mechanisms(true, false, true), true, SandboxTier::B),
            (mechanisms(true, false, true), false, SandboxTier::B),
            (mechanisms(false, true, true), false, SandboxTier::C),
            (mechanisms(false, false, true), false, SandboxTier::D),
            (mechanisms(true, true, false), true, SandboxTier::D),
            (SandboxMechanisms::NONE, true, SandboxTier::D),
        ] {
            assert_eq!(SandboxTier::from_mechanisms(given, scoped), tier, "{given:?}");
        }
    }
}
