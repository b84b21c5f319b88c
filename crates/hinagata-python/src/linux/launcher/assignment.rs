//! What a launcher is told to become.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sandbox::Layers;

/// What a launcher is told to become, in the first packet on its input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) role: Role,
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// The layers to be in; one that cannot be made is a failure.
    pub(crate) layers: Layers,
    /// Bytes of address space of a process.
    pub(crate) memory: u64,
}

/// What becomes of a launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// A warm interpreter that forks workers; it speaks over the input.
    Zygote,
    /// One worker; its stream is the output.
    Worker,
}

/// What a launcher, or the zygote that it became, says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Said {
    /// The zygote is warm.
    Ready,
    /// There is a new worker; its stream and its process stand beside the packet.
    Forked { pid: u32 },
    /// A worker ended.
    Exited {
        pid: u32,
        code: Option<i32>,
        signal: Option<i32>,
    },
    /// Something could not be done.
    Failed { error: String },
    /// The interpreter ended.
    Gone { code: Option<i32>, signal: Option<i32> },
}

/// What a zygote is told.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Order {
    Fork,
    End { pid: u32 },
}
