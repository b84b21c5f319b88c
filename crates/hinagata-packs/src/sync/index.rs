//! The index of packs: a JSON file that names versions, addresses, hashes and requirements.

use std::collections::BTreeMap;

use hinagata_document::{Code, Digest, Error, Result};
use serde::Deserialize;

use crate::{
    location::{PackLocation, check_address},
    range::parse_version,
};

/// Largest index, in bytes.
pub(super) const LARGEST: u64 = 32 << 20;

/// The format of the file.
const FORMAT: u32 = 1;

/// The versions of all packs, the newest first.
#[derive(Debug, Default)]
pub(crate) struct PackIndex {
    packs: BTreeMap<String, Vec<IndexedVersion>>,
}

/// A version of a pack in the index.
#[derive(Clone, Debug)]
pub(crate) struct IndexedVersion {
    pub(crate) version: String,
    pub(crate) location: PackLocation,
    pub(super) requires: BTreeMap<String, String>,
    /// Why it must not be used any more.
    pub(super) withdrawn: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    format: u32,
    packs: BTreeMap<String, Vec<Row>>,
}

#[derive(Deserialize)]
struct Row {
    version: String,
    url: String,
    sha256: String,
    #[serde(default)]
    requires: BTreeMap<String, String>,
    withdrawn: Option<String>,
}

impl PackIndex {
    /// Reads the index at `place`, which the settings name.
    pub(super) fn parse(place: &str, bytes: &[u8]) -> Result<Self> {
        let document: Document =
            serde_json::from_slice(bytes).map_err(|error| index_error(place, &error.to_string()))?;
        if document.format != FORMAT {
            return Err(index_error(
                place,
                &format!("unknown format {}; expected {FORMAT}", document.format),
            ));
        }
        let mut packs = BTreeMap::new();
        for (id, rows) in document.packs {
            let mut versions = Vec::new();
            for row in rows {
                versions.push(read_row(place, &id, row)?);
            }
            versions.sort_by(|a: &(semver::Version, _), b| b.0.cmp(&a.0));
            if let Some(twice) = versions.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(index_error(place, &format!("`{id}` {} occurs twice", twice[0].0)));
            }
            packs.insert(id, versions.into_iter().map(|(_, version)| version).collect());
        }
        Ok(Self { packs })
    }

    /// The versions of a pack, the newest first.
    pub(crate) fn versions(&self, id: &str) -> &[IndexedVersion] {
        self.packs.get(id).map(Vec::as_slice).unwrap_or_default()
    }
}

fn read_row(place: &str, id: &str, row: Row) -> Result<(semver::Version, IndexedVersion)> {
    let about = |what: &str| index_error(place, &format!("`{id}` {}: {what}", row.version));
    let number = parse_version(&row.version).ok_or_else(|| about("invalid version"))?;
    let sha256: Digest = row.sha256.parse().map_err(|_| about("`sha256` is not a SHA-256"))?;
    let url = join_address(place, &row.url).map_err(|error| about(error.message()))?;
    let version = IndexedVersion {
        version: row.version.clone(),
        location: PackLocation::Index { index: place.to_owned(), url, sha256 },
        requires: row.requires,
        withdrawn: row.withdrawn,
    };
    Ok((number, version))
}

/// The address of an archive: relative ones start at the directory of the index. An index in a file can name files
/// beside and beneath it, and addresses; one at an address can name addresses alone.
fn join_address(index: &str, url: &str) -> Result<String> {
    if url.contains("://") {
        return check_address("url", url.to_owned());
    }
    let is_good =
        |part: &str| !part.is_empty() && part != ".." && !part.contains(['\\', '\0', ':', '?', '#']);
    if !url.split('/').all(is_good) {
        return Err(Error::new(Code::Fetch, "`url` must be an https address, or a path beneath the index"));
    }
    Ok(match index.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/{url}"),
        None => url.to_owned(),
    })
}

fn index_error(place: &str, what: &str) -> Error {
    Error::new(Code::Fetch, format!("the index `{place}` is invalid: {what}"))
        .with_hint("`packs.index` must name a JSON file in the format of docs/reference/packs.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(place: &str, rows: &str) -> Result<PackIndex> {
        PackIndex::parse(place, format!(r#"{{"format": 1, "packs": {{"a": [{rows}]}}}}"#).as_bytes())
    }

    fn row(version: &str, url: &str) -> String {
        format!(r#"{{"version": "{version}", "url": "{url}", "sha256": "{}"}}"#, "0".repeat(64))
    }

    #[test]
    fn versions_are_sorted_and_addresses_start_at_the_index() {
        let rows = [row("1.2", "a-1.2.zip"), row("1.10.0", "https://example.org/a.zip")].join(",");
        let index = parse("https://example.com/packs/index.json", &rows).expect("parses");
        let found: Vec<_> = index
            .versions("a")
            .iter()
            .map(|found| (found.version.as_str(), found.location.describe()))
            .collect();
        assert_eq!(
            found,
            [
                ("1.10.0", "https://example.org/a.zip".to_owned()),
                ("1.2", "https://example.com/packs/a-1.2.zip".to_owned())
            ]
        );
        let local = parse("index.json", &row("1", "archives/a.zip")).expect("parses");
        assert_eq!(local.versions("a")[0].location.describe(), "archives/a.zip");
        assert!(index.versions("b").is_empty());
    }

    #[test]
    fn an_index_that_cannot_be_believed_is_an_error() {
        let place = "https://example.com/index.json";
        for rows in [
            row("one", "a.zip"),
            row("1", "../a.zip"),
            row("1", "/etc/passwd"),
            row("1", "file:///etc/passwd"),
            row("1", "http://example.com/a.zip"),
            [row("1", "a.zip"), row("1.0.0", "b.zip")].join(","),
            r#"{"version": "1", "url": "a.zip", "sha256": "0"}"#.to_owned(),
            r#"{"version": "1", "url": "a.zip"}"#.to_owned(),
        ] {
            assert_eq!(parse(place, &rows).expect_err(&rows).code(), Code::Fetch);
        }
        assert!(PackIndex::parse(place, br#"{"format": 2, "packs": {}}"#).is_err());
        assert!(PackIndex::parse(place, br#"{"format": 1, "pac"#).is_err());
    }
}
