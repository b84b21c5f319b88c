//! SARIF 2.1.0.

use std::collections::BTreeMap;

use hinagata_document::Digest;
use serde_json::{Map, Value as Json, json};

use crate::{
    codes::{CODES, CodeSpec},
    finding::Finding,
    level::Level,
};

/// The findings as a SARIF log. Files are relative to the workspace root; `version` is that of the program.
#[must_use]
pub fn to_sarif(findings: &[Finding], version: &str) -> Json {
    let mut seen = BTreeMap::new();
    let results: Vec<Json> = findings.iter().map(|finding| result(finding, &mut seen)).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "hina",
                "fullName": "Hinagata, hina check",
                "version": version,
                "semanticVersion": version,
                "rules": CODES.iter().map(|spec| rule(spec)).collect::<Vec<_>>(),
            }},
            "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The workspace root."}}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(spec: &CodeSpec) -> Json {
    let name: String =
        spec.code.split(['.', '-']).map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    json!({
        "id": spec.code,
        "name": name,
        "shortDescription": {"text": format!("{}.", spec.title)},
        "fullDescription": {"text": spec.text},
        "help": {"text": spec.text},
        "defaultConfiguration": {"level": level_name(spec.level)},
    })
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Hint => "note",
    }
}

fn result(finding: &Finding, seen: &mut BTreeMap<String, usize>) -> Json {
    let mut text = finding.error.message().to_owned();
    if let Some(near) = finding.error.near().first() {
        text.push_str(&format!("; did you mean `{near}`?"));
    } else {
        text.push('.');
    }
    let mut location = Map::new();
    let uri = encode_path(finding.file());
    location.insert("artifactLocation".to_owned(), json!({"uri": uri, "uriBaseId": "SRCROOT"}));
    if let Some(place) = finding.place() {
        let mut region = json!({"startLine": place.line});
        if place.column > 0 {
            region["startColumn"] = place.column.into();
        }
        if let Some(excerpt) = &place.excerpt {
            region["snippet"] = json!({"text": excerpt});
        }
        location.insert("region".to_owned(), region);
    }
    let index = CODES.iter().position(|spec| *spec == finding.code).unwrap_or(0);
    json!({
        "ruleId": finding.code.code,
        "ruleIndex": index,
        "level": level_name(finding.level),
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"hinaFinding/v1": fingerprint(finding, seen)},
    })
}

/// A hash that stays the same when lines move: of code, file, line of text, and its number among equal ones.
fn fingerprint(finding: &Finding, seen: &mut BTreeMap<String, usize>) -> String {
    let excerpt = finding.place().and_then(|place| place.excerpt.as_deref()).unwrap_or_default().trim();
    let base = format!("{}\n{}\n{excerpt}\n{}", finding.code.code, finding.file(), finding.error.message());
    let count = seen.entry(base.clone()).or_insert(0);
    *count += 1;
    Digest::sha256(format!("{base}\n{count}").as_bytes()).to_string()
}

/// A path as a relative URI.
fn encode_path(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
