//! Baselines: findings that are known and not reported again.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::finding::Finding;

/// Known findings, by code, file and line of text. Lines may move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<(String, String, String), usize>);

impl Baseline {
    /// The baseline of these findings.
    #[must_use]
    pub fn from_findings(findings: &[Finding]) -> Self {
        let mut known = BTreeMap::new();
        for finding in findings {
            *known.entry(key(finding)).or_insert(0) += 1;
        }
        Self(known)
    }

    /// Reads a baseline that [`Baseline::to_json`] wrote.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn from_json(json: &Json) -> Result<Self, String> {
        if json.get("version") != Some(&json!(1)) {
            return Err("the baseline has no `version` 1".to_owned());
        }
        let items =
            json.get("findings").and_then(Json::as_array).ok_or("the baseline has no list `findings`")?;
        let mut known = BTreeMap::new();
        for (number, item) in items.iter().enumerate() {
            let text = |name: &str| {
                let found = item.get(name).and_then(Json::as_str).map(str::to_owned);
                found.ok_or_else(|| format!("`findings[{number}].{name}` of the baseline must be a string"))
            };
            let count = item.get("count").and_then(Json::as_u64).unwrap_or(1);
            known.insert((text("code")?, text("file")?, text("excerpt")?), count as usize);
        }
        Ok(Self(known))
    }

    /// The baseline as JSON, in a fixed order.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let item = |((code, file, excerpt), count): (&(String, String, String), &usize)| json!({"code": code, "file": file, "excerpt": excerpt, "count": count});
        json!({"version": 1, "findings": self.0.iter().map(item).collect::<Vec<_>>()})
    }

    /// Removes known findings.
    pub fn remove_known(&self, findings: &mut Vec<Finding>) {
        let mut left = self.0.clone();
        findings.retain(|finding| match left.get_mut(&key(finding)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
    }
}

fn key(finding: &Finding) -> (String, String, String) {
    let excerpt = finding.place().and_then(|place| place.excerpt.as_deref());
    let excerpt = excerpt.unwrap_or(finding.error.message()).trim();
    (finding.code.code.to_owned(), finding.file().to_owned(), excerpt.to_owned())
}
