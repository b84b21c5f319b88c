//! Refuses files with secrets.
//!
//! A prompt of an untrusted workspace cannot name a file with a secret, whether the name comes from a parameter, a part
//! of a message or a hook. In no workspace can a template have the name of such a file. Packs are exempt: their files
//! were approved and do not belong to the user.

use std::path::Path;

use hinagata_document::{Code, Error, Hint, Reason, Result};
use hinagata_secrets::Secrets;

/// Refuses the file `name` in `directory` if its name, or the name of its link target, is that of a file with secrets.
///
/// # Errors
/// Code `approval`, reason `secret`.
pub fn refuse_name(directory: &Path, name: &str) -> Result<()> {
    let secrets = Secrets::built_in();
    if let Some(rule) = secrets.in_name(name) {
        return Err(withheld_error(name, rule));
    }
    let real = directory.join(name).canonicalize().ok().zip(directory.canonicalize().ok());
    let target =
        real.and_then(|(file, directory)| Some(file.strip_prefix(directory).ok()?.to_str()?.to_owned()));
    match target.as_deref().and_then(|target| secrets.in_name(target)) {
        Some(rule) => Err(withheld_error(name, rule)),
        None => Ok(()),
    }
}

/// Refuses the file `name` in `directory` with this `content` if its name or its content is that of a file with
/// secrets.
///
/// # Errors
/// Code `approval`, reason `secret`.
pub fn refuse_file(directory: &Path, name: &str, content: &[u8]) -> Result<()> {
    refuse_name(directory, name)?;
    Secrets::built_in().in_content(content).map_or(Ok(()), |rule| Err(withheld_error(name, rule)))
}

fn withheld_error(name: &str, rule: &str) -> Error {
    let display_name: String = name.chars().take(200).collect();
    Error::new(Code::Approval, format!("`{display_name}` is withheld: it contains a secret ({rule})"))
        .with_reason(Reason::Secret)
        .with("file", display_name)
        .with_hint(
            Hint::from(
                "name another file; in a trusted workspace, a parameter, a part or a hook may name it",
            )
            .then(Hint::TrustWorkspace),
        )
}
