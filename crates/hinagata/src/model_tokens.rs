//! Which tokenizer counts for a model of the settings.

use std::path::Path;

use hinagata_document::{Error, Reason, Result};
use hinagata_tokens::{TokenCounter, TokenizerError};
use hinagata_workspace::{Settings, settings::ConfiguredModel};

/// A counter for the model `name`: a model of the settings, an alias, or a name at a provider. If the settings name a
/// tokenizer file for it, the file counts; relative paths start at the workspace `root`.
///
/// # Errors
/// Code `definition`, reason `settings`, if the tokenizer file cannot be used, or aliases are invalid.
pub fn counter_for_model(settings: &Settings, root: &Path, name: &str) -> Result<TokenCounter> {
    let ConfiguredModel { model, tokenizer, .. } = ConfiguredModel::from_settings(settings, root, name)?;
    match tokenizer {
        Some(file) => TokenCounter::from_file(name, &file).map_err(|error| tokenizer_error(&error)),
        None => Ok(TokenCounter::for_model(&model)),
    }
}

/// The error about a tokenizer file.
#[must_use]
pub fn tokenizer_error(error: &TokenizerError) -> Error {
    Error::definition(Reason::Settings, error.to_string())
        .with("file", error.path().display().to_string())
        .with_hint(error.hint())
}
