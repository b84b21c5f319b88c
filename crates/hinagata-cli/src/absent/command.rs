//! Commands that this build leaves out: they take any arguments, and their error names the feature.

use std::ffi::OsString;

/// Not part of this build
#[derive(clap::Args)]
pub(crate) struct AbsentArguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

/// Declares the module of a command that needs a feature.
macro_rules! absent_command {
    ($command:ident, $feature:literal) => {
        mod $command {
            pub(crate) use crate::absent::AbsentArguments as Arguments;

            pub(crate) fn run(
                _arguments: &Arguments,
                _globals: &crate::workspace::Globals,
            ) -> Result<(), crate::failure::Failure> {
                Err(crate::absent::missing_feature(stringify!($command), $feature))
            }
        }
    };
}
pub(crate) use absent_command;
