//! What confines Python: the layers there can be, and how strong they are together.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The layers around a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SandboxMechanisms {
    /// Files that can be read, no writes, no TCP, no signals to others.
    pub landlock: bool,
    /// Processes, network and files of its own.
    pub namespaces: bool,
    /// System calls that are answered with "not permitted".
    pub seccomp: bool,
}

impl Default for SandboxMechanisms {
    fn default() -> Self {
        Self::ALL
    }
}

impl SandboxMechanisms {
    /// Every layer.
    pub const ALL: Self = Self { landlock: true, namespaces: true, seccomp: true };
    /// No layer.
    pub const NONE: Self = Self { landlock: false, namespaces: false, seccomp: false };

    /// The layers that are in both.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self {
            landlock: self.landlock && other.landlock,
            namespaces: self.namespaces && other.namespaces,
            seccomp: self.seccomp && other.seccomp,
        }
    }
}

/// How strong the layers of a machine are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxTier {
    /// Landlock that keeps signals inside, and namespaces.
    A,
    /// Landlock, without namespaces or without its newer rules: nearly as strong.
    B,
    /// Namespaces without Landlock.
    C,
    /// Neither, or no filter of system calls.
    D,
}

impl SandboxTier {
    /// The tier of these layers; `scoped` says whether Landlock keeps signals inside.
    #[must_use]
    pub fn from_mechanisms(mechanisms: SandboxMechanisms, scoped: bool) -> Self {
        match (mechanisms.seccomp, mechanisms.landlock, mechanisms.namespaces) {
            (false, ..) | (true, false, false) => Self::D,
            (true, true, true) if scoped => Self::A,
            (true, true, _) => Self::B,
            (true, false, true) => Self::C,
        }
    }

    /// What holds in it, in one line.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::A => "files, system calls, processes and network are confined",
            Self::B => "files and system calls are confined, processes by rules for signals",
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
    /// How strong it is.
    pub tier: SandboxTier,
    /// The layers that work.
    pub mechanisms: SandboxMechanisms,
    /// The version of Landlock in the kernel; 0 for none.
    pub landlock_version: i32,
    /// What is missing, each with the reason.
    pub missing: Vec<String>,
}

impl SandboxReport {
    /// What there is when nothing is to confine it.
    pub(crate) fn switched_off() -> Self {
        Self {
            tier: SandboxTier::D,
            mechanisms: SandboxMechanisms::NONE,
            landlock_version: 0,
            missing: vec!["everything: `hooks.sandbox` is `off`".to_owned()],
        }
    }

    /// Why Python does not run where it must be confined.
    pub(crate) fn to_failure(&self) -> Failure {
        let message = format!("this system cannot confine Python ({})", self.missing.join("; "));
        Failure::unavailable("sandbox", message).with_hint(
            "`hina doctor` tells more; `hooks.sandbox = \"best-effort\"` runs it with what there is",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tier_follows_from_the_layers() {
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
