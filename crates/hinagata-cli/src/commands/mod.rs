//! The commands: one file each.

mod limits;
mod render_file;

use clap::Subcommand;

use crate::failure::Failure;

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
    RenderFile(Box<render_file::Arguments>),
    Limits(limits::Arguments),
}

impl Command {
    pub(crate) fn run(self, format: Format) -> Result<(), Failure> {
        match self {
            Self::RenderFile(arguments) => render_file::run(&arguments, format),
            Self::Limits(arguments) => limits::run(&arguments, format),
        }
    }
}
