//! Redacts secrets in files that a prompt of an untrusted workspace or library names, because its author may be a
//! stranger, and in files of a project that is not the workspace.

use std::{path::Path, sync::OnceLock};

use hinagata_workspace::secret::{self, Redactor, SecretAction, SecretPolicy};

use super::{builder::EngineOptions, rendered::Warning};
use crate::Result;

/// The rules for secrets in the files of one render.
pub(super) struct FileSecrets<'s> {
    policy: &'s SecretPolicy,
    /// Whether files of the prompt's workspace or library are read as they are.
    is_trusted: bool,
    /// Created for the first file: most renders read none.
    redactor: OnceLock<Redactor>,
}

impl<'s> FileSecrets<'s> {
    pub(super) fn new(options: &'s EngineOptions, is_trusted: bool) -> Self {
        Self { policy: &options.secrets, is_trusted, redactor: OnceLock::new() }
    }

    /// The content of the file `name` in `directory`, without its secrets.
    ///
    /// # Errors
    /// Code `approval`, reason `secret`, for a file that is secret as a whole.
    pub(super) fn redact_bytes(&self, directory: &Path, name: &str, content: Vec<u8>) -> Result<Vec<u8>> {
        match self.is_trusted {
            true => Ok(content),
            false => secret::redact_bytes(self.redactor(), directory, name, content),
        }
    }

    /// As [`FileSecrets::redact_bytes`], for a text.
    pub(super) fn redact_text(&self, directory: &Path, name: &str, text: String) -> Result<String> {
        match self.is_trusted {
            true => Ok(text),
            false => self.redact_foreign_text(directory, name, text),
        }
    }

    /// As [`FileSecrets::redact_text`], for a directory outside of the prompt's workspace or library: trust does not
    /// matter.
    pub(super) fn redact_foreign_text(&self, directory: &Path, name: &str, text: String) -> Result<String> {
        secret::redact_text(self.redactor(), directory, name, text)
    }

    /// Takes the warnings about redacted files.
    pub(super) fn take_warnings(&self) -> Vec<Warning> {
        let files = self.redactor.get().map(Redactor::take_redacted).unwrap_or_default();
        files.iter().map(|file| Warning::new(file.path.as_str(), secret::redaction_warning(file))).collect()
    }

    fn redactor(&self) -> &Redactor {
        self.redactor.get_or_init(|| {
            let policy = self.policy.clone();
            // That files with secrets are packed does not mean that a stranger may name them.
            Redactor::new(match policy.action() {
                SecretAction::Include => policy.with_action(SecretAction::Redact),
                _ => policy,
            })
        })
    }
}
