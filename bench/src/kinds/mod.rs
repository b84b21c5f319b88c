//! The kinds of work that are measured: one file each.

mod check;
mod context;
mod daemon;
mod engine;
mod exchange;
mod explain;
mod gotemplate;
mod hooks;
mod jinja;
mod lsp;
mod mcp;
mod module;
mod overload;
mod packs;
mod python;
mod steps;
mod store;
mod test;
mod v1;
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
    ("check", check::contests),
    ("context", context::contests),
    ("engine", engine::contests),
    ("exchange", exchange::contests),
    ("hooks", hooks::contests),
    ("packs", packs::contests),
    ("store", store::contests),
    ("daemon", daemon::contests),
    ("overload", overload::contests),
    ("mcp", mcp::contests),
    ("lsp", lsp::contests),
    ("python", python::contests),
    ("test", test::contests),
    ("v1", v1::contests),
];

/// What is no contest of sides that take turns: figures that are no time, and what needs its own order.
pub(crate) fn amounts(kind: &str, installer: &Installer, effort: Effort) -> Result<Vec<Row>> {
    match kind {
        "steps" => steps::amounts(),
        "check" => check::amounts(installer),
        "context" => context::amounts(installer),
        "hooks" => hooks::amounts(installer),
        "daemon" => daemon::amounts(installer),
        "overload" => overload::amounts(installer, effort),
        "mcp" => mcp::amounts(installer),
        _ => Ok(Vec::new()),
    }
}
