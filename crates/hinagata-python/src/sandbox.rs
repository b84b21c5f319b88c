//! What confines Python: the layers there can be, and how strong they are together.

use serde::{Deserialize, Serialize};

/// The layers around a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layers {
    /// Files that can be read, no writes, no TCP, no signals to others.
    pub landlock: bool,
    /// Processes, network and files of its own.
    pub namespaces: bool,
    /// System calls that are answered with "not permitted".
    pub seccomp: bool,
}

impl Default for Layers {
    fn default() -> Self {
        Self::ALL
    }
}

impl Layers {
    /// Every layer.
    pub const ALL: Self = Self { landlock: true, namespaces: true, seccomp: true };
    /// No layer.
    pub const NONE: Self = Self { landlock: false, namespaces: false, seccomp: false };

    /// The layers that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            landlock: self.landlock && other.landlock,
            namespaces: self.namespaces && other.namespaces,
            seccomp: self.seccomp && other.seccomp,
        }
    }
}
