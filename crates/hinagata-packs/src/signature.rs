//! Signatures of packs by minisign: over the id, the version and the hash of all files.

use hinagata_document::{Code, Digest, Error, Reason, Result};
use hinagata_workspace::{Settings, settings::Origin};
use minisign_verify::{PublicKey, Signature};

/// The file with the signature, beside `pack.json`. It is not part of the pack.
pub const SIGNATURE_FILE: &str = "pack.minisig";

/// Largest signature, in bytes.
pub(crate) const LARGEST: u64 = 4 << 10;

/// The text that is signed.
#[must_use]
pub fn signed_statement(id: &str, version: &str, tree: &Digest) -> String {
    format!("hinagata pack 1\nid: {id}\nversion: {version}\ntree: {tree}\n")
}

/// Which signatures are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureMode {
    /// Signatures are ignored.
    #[default]
    Off,
    /// A signature by a key of the user must be valid; a pack without one is accepted.
    Known,
    /// Every pack needs a valid signature by a key of the user.
    Required,
}

/// Checks signatures with the keys of the user.
#[derive(Clone, Debug, Default)]
pub struct SignaturePolicy {
    mode: SignatureMode,
    keys: Vec<(String, PublicKey)>,
}

impl SignaturePolicy {
    /// The policy of the settings `packs.signatures` and `packs.keys`.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid key.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let mode = match settings.text("packs.signatures") {
            Some("known") => SignatureMode::Known,
            Some("required") => SignatureMode::Required,
            _ => SignatureMode::Off,
        };
        if mode != SignatureMode::Off
            && let Some(Origin::Workspace(place)) = settings.get("packs.keys").map(|found| &found.origin)
        {
            return Err(Error::definition(
                Reason::Settings,
                "`packs.keys` of a workspace is not used: it would accept its own packs",
            )
            .with("setting", "packs.keys")
            .with_hint("list the keys in your own settings, and remove them from the workspace")
            .at(place.clone()));
        }
        let keys = settings.texts("packs.keys").into_iter().map(|text| {
            let key = PublicKey::from_base64(text.trim()).map_err(|_| {
                Error::definition(Reason::Settings, "`packs.keys` contains an invalid key")
                    .with("setting", "packs.keys")
                    .with_hint("a key is the second line of a `.pub` file of minisign")
            })?;
            Ok((text.trim().to_owned(), key))
        });
        Ok(Self { mode, keys: keys.collect::<Result<_>>()? })
    }

    /// A policy with these keys.
    ///
    /// # Errors
    /// The index of a key that is invalid.
    pub fn new(mode: SignatureMode, keys: &[&str]) -> std::result::Result<Self, usize> {
        let mut read = Vec::new();
        for (index, text) in keys.iter().enumerate() {
            read.push(((*text).to_owned(), PublicKey::from_base64(text).map_err(|_| index)?));
        }
        Ok(Self { mode, keys: read })
    }

    /// Whether files that the key of a lock is said to have signed need no other proof. Where signatures are required,
    /// only the signature itself counts.
    #[must_use]
    pub(crate) fn accepts_key(&self, key: Option<&str>) -> bool {
        let is_known = |key: &str| self.keys.iter().any(|(known, _)| known == key);
        match self.mode {
            SignatureMode::Off => true,
            SignatureMode::Known => key.is_none_or(is_known),
            SignatureMode::Required => false,
        }
    }

    /// Checks the signature of a pack; the key that signed it, if it is one of the user.
    ///
    /// # Errors
    /// Code `approval`, reason `signature`: a signature by a key of the user is invalid, or a required one is missing.
    pub fn check_pack(
        &self,
        id: &str,
        version: &str,
        tree: &Digest,
        signature: Option<&str>,
    ) -> Result<Option<String>> {
        if self.mode == SignatureMode::Off {
            return Ok(None);
        }
        let required = self.mode == SignatureMode::Required;
        let Some(text) = signature else {
            return if required { Err(signature_error(id, "is not signed")) } else { Ok(None) };
        };
        let signature = Signature::decode(text).map_err(|_| {
            signature_error(id, &format!("has a `{SIGNATURE_FILE}` that is not a signature of minisign"))
        })?;
        let statement = signed_statement(id, version, tree);
        for (text, key) in &self.keys {
            match key.verify(statement.as_bytes(), &signature, false) {
                Ok(()) => return Ok(Some(text.clone())),
                Err(minisign_verify::Error::UnexpectedKeyId) => {}
                Err(_) => return Err(signature_error(id, "has a signature that does not fit its files")),
            }
        }
        match required {
            true => Err(signature_error(id, "is signed by a key that is not one of yours")),
            false => Ok(None),
        }
    }
}

fn signature_error(id: &str, what: &str) -> Error {
    Error::new(Code::Approval, format!("the pack `{id}` {what}"))
        .with_reason(Reason::Signature)
        .with("pack_id", id)
        .with_hint(
            "ask the author of the pack; `packs.keys` in your own settings lists the keys that you accept",
        )
}
