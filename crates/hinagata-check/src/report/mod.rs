//! Reports for other programs: JSON, SARIF, annotations of GitHub, baselines.

mod baseline;
mod github;
mod sarif;

pub use baseline::Baseline;
pub use github::to_github;
pub use sarif::to_sarif;

use serde_json::{Value as Json, json};

use crate::{finding::Finding, level::Level};

/// The findings as JSON.
#[must_use]
pub fn to_json(findings: &[Finding]) -> Json {
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    json!({
        "findings": findings.iter().map(finding_json).collect::<Vec<_>>(),
        "errors": count(Level::Error),
        "warnings": count(Level::Warning),
        "hints": count(Level::Hint),
    })
}

/// A finding as JSON.
#[must_use]
pub fn finding_json(finding: &Finding) -> Json {
    let place = finding.place();
    json!({
        "code": finding.code.code,
        "level": finding.level.as_str(),
        "message": finding.error.message(),
        "source": finding.source,
        "file": finding.file(),
        "line": place.map(|place| place.line),
        "column": place.filter(|place| place.column > 0).map(|place| place.column),
        "length": finding.length,
        "near": finding.error.near(),
    })
}
