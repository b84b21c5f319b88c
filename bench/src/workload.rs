//! The recorded workloads: templates, data, and the output that every side must give.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A prompt of `workloads/jinja`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct JinjaWorkload {
    pub(crate) templates: BTreeMap<String, String>,
    pub(crate) entry: String,
    pub(crate) data: Value,
    pub(crate) expect: String,
}

/// A prompt of `workloads/gotemplate`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GoWorkload {
    pub(crate) template: String,
    pub(crate) data: Value,
    pub(crate) output: String,
}

/// Where the workload `name` of `kind` is.
pub(crate) fn path(home: &Path, kind: &str, name: &str) -> PathBuf {
    home.join("workloads").join(kind).join(name).with_extension("json")
}

/// Reads a workload.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no workload", path.display()))
}
