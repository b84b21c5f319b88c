//! The kinds of work that are measured: one file each.

mod context;
mod daemon;
mod engine;
mod gotemplate;
mod hooks;
mod jinja;
mod mcp;
mod module;
mod steps;
mod store;
mod value;

use anyhow::Result;

use crate::install::Installer;
use crate::measure::Contest;
use crate::row::Row;

/// Makes the contests of one kind.
pub(crate) type Prepare = fn(&Installer) -> Result<Vec<Contest>>;

/// Every kind, in the order in which results are shown.
pub(crate) const KINDS: &[(&str, Prepare)] = &[
    ("value", value::contests),
    ("jinja", jinja::contests),
    ("gotemplate", gotemplate::contests),
    ("steps", steps::contests),
    ("module", module::contests),
    ("context", context::contests),
    ("engine", engine::contests),
    ("hooks", hooks::contests),
    ("store", store::contests),
    ("daemon", daemon::contests),
    ("mcp", mcp::contests),
];

/// What is no contest: figures of a kind that are no time.
pub(crate) fn amounts(kind: &str, installer: &Installer) -> Result<Vec<Row>> {
    match kind {
        "steps" => steps::amounts(),
        "context" => context::amounts(installer),
        "hooks" => hooks::amounts(installer),
        "daemon" => daemon::amounts(installer),
        "mcp" => mcp::amounts(installer),
        _ => Ok(Vec::new()),
    }
}
