//! The kinds of work that are measured: one file each.

mod context;
mod daemon;
mod engine;
mod explain;
mod gotemplate;
mod hooks;
mod jinja;
mod mcp;
mod module;
mod overload;
mod steps;
mod store;
mod value;

use anyhow::Result;

use crate::install::Installer;
use crate::measure::{Contest, Effort};
use crate::row::Row;

/// Makes the contests of one kind.
pub(crate) type Prepare = fn(&Installer) -> Result<Vec<Contest>>;

/// Every kind, in the order in which results are shown.
pub(crate) const KINDS: &[(&str, Prepare)] = &[
    ("value", value::contests),
    ("jinja", jinja::contests),
    ("gotemplate", gotemplate::contests),
    ("explain", explain::contests),
    ("steps", steps::contests),
    ("module", module::contests),
    ("context", context::contests),
    ("engine", engine::contests),
    ("hooks", hooks::contests),
    ("store", store::contests),
    ("daemon", daemon::contests),
    ("overload", overload::contests),
    ("mcp", mcp::contests),
];

/// What is no contest of sides that take turns: figures that are no time, and what needs its own order.
pub(crate) fn amounts(kind: &str, installer: &Installer, effort: Effort) -> Result<Vec<Row>> {
    match kind {
        "steps" => steps::amounts(),
        "context" => context::amounts(installer),
        "hooks" => hooks::amounts(installer),
        "daemon" => daemon::amounts(installer),
        "overload" => overload::amounts(installer, effort),
        "mcp" => mcp::amounts(installer),
        _ => Ok(Vec::new()),
    }
}
