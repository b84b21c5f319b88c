//! Applies a policy to the texts of one output, and records what it redacts.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    find::FoundSecrets,
    marks::{Marks, RedactedSecret},
    policy::{SecretAction, SecretPolicy},
};

/// Most secrets of a file that a message lists.
const FEW: usize = 5;

/// Applies a policy to the texts of one output, and records what it redacts. Clones belong to the same output.
///
/// Marks are numbered in the order in which texts are redacted. To search several texts at once and still get the same
/// marks, call [`Redactor::find_secrets`] on any thread and [`Redactor::redact_found`] in the order of the output.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    policy: SecretPolicy,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    marks: Marks,
    files: Vec<RedactedFile>,
}

/// A file of which secrets are redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedFile {
    /// The path; empty for a text without a file.
    pub path: String,
    /// What was replaced, in the order of the places.
    pub secrets: Vec<RedactedSecret>,
}

/// A text that must not be used, because it contains a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmittedText {
    /// The rule that found the first secret.
    pub rule: String,
    /// The line of the first secret, counted from 1.
    pub line: usize,
}

impl fmt::Display for OmittedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in line {}", self.rule, self.line)
    }
}

impl std::error::Error for OmittedText {}

impl Redactor {
    /// A redactor for one output.
    #[must_use]
    pub fn new(policy: SecretPolicy) -> Self {
        Self { policy, state: Arc::default() }
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> &SecretPolicy {
        &self.policy
    }

    /// The rule by which the file at `path` must not be read; `/` separates the parts of the path.
    #[must_use]
    pub fn refuses_name(&self, path: &str) -> Option<&str> {
        self.policy.refuses_name(path)
    }

    /// The secrets in the text of the file at `path`.
    #[must_use]
    pub fn find_secrets(&self, path: &str, text: &[u8]) -> FoundSecrets<'_> {
        self.policy.find_secrets(path, text)
    }

    /// The text of the file at `path` without the secrets that were found in it, and without those of earlier texts.
    ///
    /// # Errors
    /// The policy leaves out texts with secrets.
    pub fn redact_found(
        &self,
        path: &str,
        text: String,
        found: &FoundSecrets<'_>,
    ) -> Result<String, OmittedText> {
        let first = found.first().filter(|_| self.policy.action() == SecretAction::Omit);
        if let Some(first) = first {
            return Err(OmittedText { rule: first.rule.to_owned(), line: first.line });
        }
        let mut state = self.lock_state();
        let Some(redacted) = state.marks.redact_text(&text, found) else { return Ok(text) };
        let file = RedactedFile { path: path.to_owned(), secrets: redacted.secrets };
        // A template may include a file several times.
        if !state.files.contains(&file) {
            state.files.push(file);
        }
        Ok(redacted.text)
    }

    /// The text of the file at `path` without its secrets; `path` is empty for a text without a file.
    ///
    /// # Errors
    /// The policy leaves out texts with secrets.
    pub fn redact_text(&self, path: &str, text: String) -> Result<String, OmittedText> {
        let found = self.find_secrets(path, text.as_bytes());
        self.redact_found(path, text, &found)
    }

    /// The bytes of the file at `path` without its secrets.
    ///
    /// # Errors
    /// The policy leaves out texts with secrets, or the bytes are not text and so cannot be changed.
    pub fn redact_bytes(&self, path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, OmittedText> {
        match String::from_utf8(bytes) {
            Ok(text) => self.redact_text(path, text).map(String::into_bytes),
            Err(error) => match self.find_secrets(path, error.as_bytes()).first() {
                Some(first) => Err(OmittedText { rule: first.rule.to_owned(), line: first.line }),
                None => Ok(error.into_bytes()),
            },
        }
    }

    /// Takes the record of what was redacted since the last call.
    #[must_use]
    pub fn take_redacted(&self) -> Vec<RedactedFile> {
        std::mem::take(&mut self.lock_state().files)
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RedactedFile {
    /// The rules and lines: `github-token in line 3, password in line 5`.
    #[must_use]
    pub fn summary(&self) -> String {
        let place = |secret: &RedactedSecret| format!("{} in line {}", secret.rule, secret.line);
        let mut parts: Vec<String> = self.secrets.iter().take(FEW).map(place).collect();
        if self.secrets.len() > FEW {
            parts.push(format!("{} more", self.secrets.len() - FEW));
        }
        parts.join(", ")
    }

    /// The hashes of the first few values, each once, as exceptions take them.
    #[must_use]
    pub fn short_hashes(&self) -> Vec<&str> {
        let mut hashes: Vec<&str> = Vec::new();
        for secret in &self.secrets {
            let hash = secret.short_hash();
            if hashes.len() < FEW && !hashes.contains(&hash) {
                hashes.push(hash);
            }
        }
        hashes
    }
}
