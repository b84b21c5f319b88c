//! Applies the rules for secrets to files that prompts name.
//!
//! A prompt of an untrusted workspace cannot name a file that is secret by its name, whether the name comes from a
//! parameter, a part of a message or a hook, and secrets in other files are redacted. In no workspace can a template
//! have the name of such a file. Packs are exempt: their files were approved and do not belong to the user.

use std::path::Path;

use hinagata_document::{Code, Error, Hint, Reason, Result};
pub use hinagata_secrets::{RedactedFile, Redactor, SecretAction, SecretPolicy};
use serde_json::{Value, json};

/// Refuses the file `name` in `directory` if its name, or the name of its link target, is that of a file with secrets.
///
/// # Errors
/// Code `approval`, reason `secret`.
pub fn refuse_name(directory: &Path, name: &str) -> Result<()> {
    check_name(&SecretPolicy::default(), directory, name)
}

/// The content of the file `name` in `directory`, without its secrets.
///
/// # Errors
/// Code `approval`, reason `secret`: the file is secret by its name, or the policy leaves out files with secrets, or the
/// content is not text and has one.
pub fn redact_bytes(redactor: &Redactor, directory: &Path, name: &str, content: Vec<u8>) -> Result<Vec<u8>> {
    check_name(redactor.policy(), directory, name)?;
    redactor.redact_bytes(name, content).map_err(|omitted| withheld_error(name, &omitted.to_string()))
}

/// As [`redact_bytes`], for a text.
///
/// # Errors
/// As [`redact_bytes`].
pub fn redact_text(redactor: &Redactor, directory: &Path, name: &str, text: String) -> Result<String> {
    check_name(redactor.policy(), directory, name)?;
    redactor.redact_text(name, text).map_err(|omitted| withheld_error(name, &omitted.to_string()))
}

/// The warning about a file whose secrets are redacted: rules, lines, and the hashes that allow the values.
#[must_use]
pub fn redaction_warning(file: &RedactedFile) -> Error {
    let secrets: Vec<Value> = file
        .secrets
        .iter()
        .map(|secret| json!({"rule": secret.rule, "line": secret.line, "hash": secret.hash}))
        .collect();
    let name = display_name(&file.path);
    let hashes = file.short_hashes().into_iter().map(str::to_owned).collect();
    Error::new(Code::Approval, format!("secrets in `{name}` are redacted: {}", file.summary()))
        .with_reason(Reason::Secret)
        .with("file", name)
        .with("secrets", secrets)
        .with_hint(Hint::AllowSecrets { hashes })
}

fn check_name(policy: &SecretPolicy, directory: &Path, name: &str) -> Result<()> {
    if let Some(rule) = policy.refuses_name(name) {
        return Err(withheld_error(name, rule));
    }
    let real = directory.join(name).canonicalize().ok().zip(directory.canonicalize().ok());
    let target =
        real.and_then(|(file, directory)| Some(file.strip_prefix(directory).ok()?.to_str()?.to_owned()));
    match target.as_deref().and_then(|target| policy.refuses_name(target)) {
        Some(rule) => Err(withheld_error(name, rule)),
        None => Ok(()),
    }
}

fn display_name(name: &str) -> String {
    name.chars().take(200).collect()
}

fn withheld_error(name: &str, detail: &str) -> Error {
    let name = display_name(name);
    Error::new(Code::Approval, format!("`{name}` is withheld: it contains a secret ({detail})"))
        .with_reason(Reason::Secret)
        .with("file", name)
        .with_hint(
            Hint::from(
                "name another file; in a trusted workspace, a parameter, a part or a hook may name it",
            )
            .then(Hint::TrustWorkspace),
        )
}
