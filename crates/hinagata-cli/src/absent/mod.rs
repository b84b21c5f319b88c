//! Replacements for parts whose features are disabled in this build.

#[cfg(not(all(feature = "llm", feature = "lsp", feature = "mcp", feature = "server")))]
mod command;
#[cfg(not(feature = "llm"))]
pub(crate) mod models;
#[cfg(not(feature = "python"))]
pub(crate) mod python;
#[cfg(all(feature = "mcp", not(feature = "telemetry")))]
pub(crate) mod telemetry;

#[cfg(not(all(feature = "llm", feature = "lsp", feature = "mcp", feature = "server")))]
pub(crate) use command::{AbsentArguments, absent_command};

#[cfg(not(all(
    feature = "llm",
    feature = "lsp",
    feature = "mcp",
    feature = "server",
    feature = "watch"
)))]
use crate::failure::Failure;

/// The error of a call that needs `feature`.
#[cfg(not(all(feature = "llm", feature = "lsp", feature = "mcp", feature = "server", feature = "watch")))]
pub(crate) fn missing_feature(call: &str, feature: &str) -> Failure {
    Failure::usage_error(format!("`{call}` is not part of this build of hina"))
        .with_hint(format!("build it with the feature `{feature}`"))
}
