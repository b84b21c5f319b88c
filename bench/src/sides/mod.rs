//! The sides that run in this process: ours, and the peers written in Rust.

pub(crate) mod gotmpl;
pub(crate) mod minijinja;
pub(crate) mod ours_gotemplate;
pub(crate) mod ours_jinja;
