//! The commands: one file each.

mod limits;

use clap::Subcommand;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For scripts.
    Json,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Limits(limits::Arguments),
}

impl Command {
    pub(crate) fn run(self, format: Format) -> anyhow::Result<()> {
        match self {
            Self::Limits(arguments) => limits::run(&arguments, format),
        }
    }
}
