//! The kinds of work that are measured: one file each.

mod engine;
mod gotemplate;
mod jinja;
mod value;

use anyhow::Result;

use crate::install::Installer;
use crate::measure::Contest;

/// Makes the contests of one kind.
pub(crate) type Prepare = fn(&Installer) -> Result<Vec<Contest>>;

/// Every kind, in the order in which results are shown.
pub(crate) const KINDS: &[(&str, Prepare)] = &[
    ("value", value::contests),
    ("jinja", jinja::contests),
    ("gotemplate", gotemplate::contests),
    ("engine", engine::contests),
];
