//! The cases that are not run, each with its reason.
//!
//! `skips.toml` is in the directory of the cases:
//!
//! ```toml
//! [[skip]]
//! id = "topic/name"
//! reason = "what is different, and why it stays so"
//! ```

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use crate::load::InputError;

const SKIPS_FILE: &str = "skips.toml";

/// A case that is not run.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// The case.
    pub id: String,
    /// Why it is not run. Never empty.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    skip: Vec<Skip>,
}

/// Loads the skips of `dir`. The file is optional.
pub(crate) fn load_skips(dir: &Path) -> Result<Vec<Skip>, InputError> {
    let path = dir.join(SKIPS_FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(InputError::new(&path, error.to_string())),
    };
    let Document { skip } =
        toml::from_str(&text).map_err(|error| InputError::new(&path, error.to_string()))?;
    check_skips(&path, &skip)?;
    Ok(skip)
}

fn check_skips(path: &Path, skips: &[Skip]) -> Result<(), InputError> {
    let mut seen = HashMap::new();
    for skip in skips {
        if skip.reason.trim().is_empty() {
            return Err(InputError::new(path, format!("the skip of `{}` has no reason", skip.id)));
        }
        if seen.insert(skip.id.as_str(), ()).is_some() {
            return Err(InputError::new(path, format!("`{}` is listed twice", skip.id)));
        }
    }
    Ok(())
}
