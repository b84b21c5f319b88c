//! Files that do not enter a prompt by their names alone: those with secrets.
//!
//! A prompt of a workspace that nobody trusts names no file with a secret, whether a parameter, a part of a message or a
//! hook brings the name; and no template is called as such a file is, in any workspace. Packs are left out of this: what is in
//! them was approved, and is not the user's.

use std::path::Path;

use hinagata_document::{Code, Error, Reason, Result};
use hinagata_secrets::Secrets;

/// Refuses the file `name` in `directory` where its name, or that of what a link leads to, is one of files with secrets.
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

/// Refuses the file `name` in `directory`, which holds `content`, where either is that of a file with secrets.
///
/// # Errors
/// Code `approval`, reason `secret`.
pub fn refuse_file(directory: &Path, name: &str, content: &[u8]) -> Result<()> {
    refuse_name(directory, name)?;
    Secrets::built_in().in_content(content).map_or(Ok(()), |rule| Err(withheld_error(name, rule)))
}

fn withheld_error(name: &str, rule: &str) -> Error {
    let shown: String = name.chars().take(200).collect();
    Error::new(Code::Approval, format!("`{shown}` is withheld: it contains a secret ({rule})"))
        .with_reason(Reason::Secret)
        .with("file", shown)
        .with_hint("name another file; a parameter, a part or a hook may name it once you run `hina trust`")
}
