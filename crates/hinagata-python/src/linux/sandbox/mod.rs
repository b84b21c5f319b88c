//! The layers that confine Python, each on its own; the launcher puts them together.

pub(crate) mod landlock;
pub(crate) mod limits;
pub(crate) mod namespace;
pub(crate) mod root;
pub(crate) mod seccomp;
mod syscalls;
