//! What a launcher is told to become, and what comes back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{linux::sandbox::landlock::Rules, sandbox::SandboxMechanisms};

/// What a launcher is told to become, in the first packet on its input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) role: LauncherRole,
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// The layers to be in; one that cannot be made is a failure.
    #[serde(rename = "layers")]
    pub(crate) mechanisms: SandboxMechanisms,
    /// What its root directory holds, where it has one of its own.
    pub(crate) visible: Vec<PathBuf>,
    /// Whether the kernel keeps signals inside, so that processes may send some to each other.
    pub(crate) signals: bool,
    /// Bytes of address space of a process.
    pub(crate) memory: u64,
}

/// What becomes of a launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LauncherRole {
    /// A warm interpreter that forks workers; it speaks over the input.
    Zygote,
    /// One worker; its stream is the output.
    Worker {
        /// What it may read and execute.
        rules: Rules,
        /// Whether it may start programs.
        programs: bool,
    },
    /// Nothing: it tells which layers it could make.
    Probe,
}

/// What a launcher, or the zygote that it became, says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum LauncherMessage {
    /// The zygote is warm.
    Ready,
    /// There is a new worker; its stream, its process and what it prints stand beside the packet.
    Forked { pid: u32 },
    /// A worker ended.
    Exited { pid: u32, code: Option<i32>, signal: Option<i32> },
    /// Something could not be done.
    Failed { error: String },
    /// The interpreter ended.
    Gone { code: Option<i32>, signal: Option<i32> },
    /// What was found out.
    Probed(ProbeResult),
}

/// What this machine can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ProbeResult {
    /// The version of Landlock; 0 for none.
    pub(crate) landlock_version: i32,
    /// Why a layer cannot be made.
    pub(crate) landlock: Option<String>,
    pub(crate) namespaces: Option<String>,
    pub(crate) seccomp: Option<String>,
    /// Whether the number of processes is bounded.
    pub(crate) bounded: bool,
}

/// What a zygote is told.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum ZygoteOrder {
    Fork,
    End { pid: u32 },
}
