//! The assignment of a launcher, and the messages that it and its zygote send.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{linux::sandbox::landlock::Rules, sandbox::SandboxMechanisms};

/// What a launcher is to become: the first packet on its standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) role: LauncherRole,
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// The sandbox mechanisms to use. The launch fails if one is unavailable.
    #[serde(rename = "layers")]
    pub(crate) mechanisms: SandboxMechanisms,
    /// The paths in its own root directory, if it has one.
    pub(crate) visible: Vec<PathBuf>,
    /// Whether the kernel confines signals, so that processes may signal each other.
    pub(crate) signals: bool,
    /// Maximum address space of a process, in bytes.
    pub(crate) memory: u64,
}

/// What a launcher becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LauncherRole {
    /// A warm interpreter that forks workers and communicates over standard input.
    Zygote,
    /// One worker, whose stream is standard output.
    Worker {
        /// What it may read and execute.
        rules: Rules,
        /// Whether it may start programs.
        programs: bool,
    },
    /// Nothing: it reports which mechanisms are available.
    Probe,
}

/// A message from a launcher, or from the zygote that it became.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum LauncherMessage {
    /// The zygote is ready.
    Ready,
    /// There is a new worker. Its stream, its pidfd and its output pipe accompany the packet.
    Forked { pid: u32 },
    /// A worker exited.
    Exited { pid: u32, code: Option<i32>, signal: Option<i32> },
    /// A step failed.
    Failed { error: String },
    /// The interpreter exited.
    Gone { code: Option<i32>, signal: Option<i32> },
    /// The result of a probe.
    Probed(ProbeResult),
}

/// The available sandbox mechanisms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ProbeResult {
    /// The Landlock version, or 0.
    pub(crate) landlock_version: i32,
    /// Why a mechanism is unavailable.
    pub(crate) landlock: Option<String>,
    pub(crate) namespaces: Option<String>,
    pub(crate) seccomp: Option<String>,
    /// Whether the number of processes is bounded.
    pub(crate) bounded: bool,
}

/// An order to a zygote.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum ZygoteOrder {
    Fork,
    End { pid: u32 },
}
