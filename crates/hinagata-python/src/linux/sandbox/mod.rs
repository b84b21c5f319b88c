//! The sandbox mechanisms, one module each. The launcher combines them.

pub(crate) mod landlock;
pub(crate) mod limits;
pub(crate) mod namespace;
pub(crate) mod root;
pub(crate) mod seccomp;
mod syscalls;
