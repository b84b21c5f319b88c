//! The text of a lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
};

use hinagata_document::{Code, Digest, Error, Hint, LineColumn, Place, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{LOCK_FILE, Lock, LockedChoice, LockedPack};
use crate::location::{PackLocation, is_commit};

/// The version of the format.
const VERSION: u32 = 1;

const HEADER: &str =
    "# The packs and choices of this workspace. Written by Hinagata; keep it in version control.\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    semantics: u32,
    #[serde(default)]
    pack: Vec<PackRow>,
    #[serde(default)]
    resolution: Vec<ChoiceRow>,
    #[serde(default)]
    tool: Vec<ToolRow>,
    #[serde(default)]
    tokenizer: Vec<TokenizerRow>,
    prompt: Option<Vec<PromptRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackRow {
    id: String,
    version: String,
    source: Option<Map<String, Value>>,
    commit: Option<String>,
    tree: String,
    #[serde(default)]
    requires: BTreeMap<String, String>,
    key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChoiceRow {
    prompt: Option<String>,
    tool: Option<String>,
    source: String,
    replaces: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolRow {
    id: String,
    definition: Option<String>,
    schema: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenizerRow {
    model: String,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptRow {
    id: String,
    definition: String,
}

impl Lock {
    /// Reads the text of a lock.
    ///
    /// # Errors
    /// Code `lock`.
    pub fn parse(text: &str) -> Result<Self> {
        let document: Document = toml::from_str(text).map_err(|error| {
            let invalid = invalid_error(error.message());
            match error.span() {
                Some(span) => {
                    let at = LineColumn::at_offset(text, span.start);
                    invalid.at(Place::at_line(LOCK_FILE, text, at.line, at.column))
                }
                None => invalid,
            }
        })?;
        if document.version != VERSION {
            return Err(invalid_error(&format!("unknown version {}; expected {VERSION}", document.version))
                .with_hint("use the version of Hinagata that wrote it, or a later one"));
        }
        let mut lock = Self { semantics: document.semantics, ..Self::default() };
        for row in document.pack {
            let id = row.id.clone();
            insert_once(&mut lock.packs, id, row.into_pack()?)?;
        }
        for row in document.resolution {
            let key = match (row.prompt, row.tool) {
                (Some(prompt), None) => prompt,
                (None, Some(tool)) => format!("tool:{tool}"),
                _ => return Err(invalid_error("a resolution needs either `prompt` or `tool`")),
            };
            insert_once(
                &mut lock.resolutions,
                key,
                LockedChoice { source: row.source, replaces: row.replaces },
            )?;
        }
        for row in document.tool {
            if row.definition.is_none() && row.schema.is_none() {
                return Err(invalid_error(&format!("tool `{}` needs `definition` or `schema`", row.id)));
            }
            if let Some(schema) = row.schema {
                insert_once(&mut lock.tool_schemas, row.id.clone(), read_digest(&schema)?)?;
            }
            if let Some(definition) = row.definition {
                insert_once(&mut lock.tools, row.id, read_digest(&definition)?)?;
            }
        }
        for row in document.tokenizer {
            insert_once(&mut lock.tokenizers, row.model, read_digest(&row.sha256)?)?;
        }
        if let Some(rows) = document.prompt {
            let mut prompts = BTreeMap::new();
            for row in rows {
                insert_once(&mut prompts, row.id, row.definition)?;
            }
            lock.prompts = Some(prompts);
        }
        Ok(lock)
    }
}

impl PackRow {
    fn into_pack(self) -> Result<LockedPack> {
        let about = |error: Error| invalid_error(&format!("pack `{}`: {}", self.id, error.message()));
        crate::unpack::check_pack_name(&self.id).map_err(about)?;
        let location = self.source.as_ref().map(PackLocation::from_fields).transpose().map_err(about)?;
        if self.commit.as_ref().is_some_and(|commit| !is_commit(commit)) {
            return Err(invalid_error(&format!(
                "pack `{}`: `commit` must be the full hash of a commit",
                self.id
            )));
        }
        if matches!(location, Some(PackLocation::Git(_))) != self.commit.is_some() {
            return Err(invalid_error(&format!("pack `{}`: `commit` belongs to git repositories", self.id)));
        }
        Ok(LockedPack {
            version: self.version,
            location,
            commit: self.commit,
            tree: read_digest(&self.tree)?,
            requires: self.requires,
            key: self.key,
        })
    }
}

fn read_digest(text: &str) -> Result<Digest> {
    text.parse().map_err(|_| {
        invalid_error(&format!("`{}` is not a SHA-256", text.chars().take(80).collect::<String>()))
    })
}

fn insert_once<T>(map: &mut BTreeMap<String, T>, key: String, value: T) -> Result<()> {
    match map.contains_key(&key) {
        true => Err(invalid_error(&format!("`{key}` occurs twice"))),
        false => {
            map.insert(key, value);
            Ok(())
        }
    }
}

pub(super) fn invalid_error(message: &str) -> Error {
    Error::new(Code::Lock, format!("{LOCK_FILE} is invalid: {message}"))
        .with("path", LOCK_FILE)
        .with_hint(Hint::from("restore it from version control, or remove it").then(Hint::LockWorkspace))
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEADER}version = {VERSION}\nsemantics = {}\n", self.semantics)?;
        // Without a single prompt, the list is still there.
        if self.prompts.as_ref().is_some_and(BTreeMap::is_empty) {
            f.write_str("prompt = []\n")?;
        }
        for (id, pack) in &self.packs {
            write_row(f, "pack", &[("id", id), ("version", &pack.version)])?;
            if let Some(location) = &pack.location {
                writeln!(f, "source = {}", inline_table(&location.fields()))?;
            }
            if let Some(commit) = &pack.commit {
                writeln!(f, "commit = {}", quote(commit))?;
            }
            writeln!(f, "tree = {}", quote(&pack.tree.to_string()))?;
            if !pack.requires.is_empty() {
                let rows: Vec<_> =
                    pack.requires.iter().map(|(id, range)| (id.as_str(), range.clone())).collect();
                writeln!(f, "requires = {}", inline_table(&rows))?;
            }
            if let Some(key) = &pack.key {
                writeln!(f, "key = {}", quote(key))?;
            }
        }
        for (key, choice) in &self.resolutions {
            match key.strip_prefix("tool:") {
                Some(tool) => write_row(f, "resolution", &[("tool", tool)])?,
                None => write_row(f, "resolution", &[("prompt", key)])?,
            }
            writeln!(f, "source = {}", quote(&choice.source))?;
            if let Some(pack) = &choice.replaces {
                writeln!(f, "replaces = {}", quote(pack))?;
            }
        }
        let ids: BTreeSet<&String> = self.tools.keys().chain(self.tool_schemas.keys()).collect();
        for id in ids {
            write_row(f, "tool", &[("id", id)])?;
            for (name, digests) in [("definition", &self.tools), ("schema", &self.tool_schemas)] {
                if let Some(digest) = digests.get(id) {
                    writeln!(f, "{name} = {}", quote(&digest.to_string()))?;
                }
            }
        }
        for (model, sha256) in &self.tokenizers {
            write_row(f, "tokenizer", &[("model", model), ("sha256", &sha256.to_string())])?;
        }
        for (id, definition) in self.prompts.iter().flatten() {
            write_row(f, "prompt", &[("id", id), ("definition", definition)])?;
        }
        Ok(())
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, fields: &[(&str, &str)]) -> fmt::Result {
    writeln!(f, "\n[[{name}]]")?;
    fields.iter().try_for_each(|(name, value)| writeln!(f, "{name} = {}", quote(value)))
}

fn inline_table(fields: &[(&str, String)]) -> String {
    let is_bare =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let field = |(name, value): &(&str, String)| match is_bare(name) {
        true => format!("{name} = {}", quote(value)),
        false => format!("{} = {}", quote(name), quote(value)),
    };
    format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
}

/// The text as a basic string of TOML.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\U{:08X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::location::WantedPack;

    pub(in crate::lock) fn sample() -> Lock {
        let digest = |text: &str| Digest::sha256(text.as_bytes());
        let location = |value: Value| match WantedPack::from_value(&value) {
            Ok(WantedPack::Location(location)) => location,
            other => panic!("{other:?}"),
        };
        let pack = |version: &str, location: Option<PackLocation>, commit: Option<String>| LockedPack {
            version: version.to_owned(),
            location,
            commit,
            tree: digest(version),
            requires: BTreeMap::new(),
            key: None,
        };
        let git = json!({"git": "https://example.com/a.git", "tag": "v1", "path": "p"});
        let mut packs = BTreeMap::from([
            ("by_hand".to_owned(), pack("1.0.0", None, None)),
            ("git".to_owned(), pack("1.1.0", Some(location(git)), Some("a".repeat(40)))),
            ("near".to_owned(), pack("1.2.0", Some(location(json!({"dir": "../near \"x\""}))), None)),
        ]);
        let git = packs.get_mut("git").expect("is there");
        git.requires =
            BTreeMap::from([("near".to_owned(), ">=1".to_owned()), ("a.b".to_owned(), "*".to_owned())]);
        git.key = Some("RWQkey".to_owned());
        let index = PackLocation::Index {
            index: "https://example.com/index.json".to_owned(),
            url: "https://example.com/a.zip".to_owned(),
            sha256: digest("zip"),
        };
        packs.insert("indexed".to_owned(), pack("2.0.0", Some(index), None));
        let choice = |source: &str, replaces: Option<&str>| LockedChoice {
            source: source.to_owned(),
            replaces: replaces.map(str::to_owned),
        };
        Lock {
            semantics: SAMPLE_SEMANTICS,
            packs,
            resolutions: BTreeMap::from([
                ("greet".to_owned(), choice("user_data/packs/git/prompts/greet", Some("git"))),
                ("tool:shell.run".to_owned(), choice("user_data/packs/git/tools/run.json", None)),
            ]),
            tools: BTreeMap::from([("git.run".to_owned(), digest("run"))]),
            tool_schemas: ["git.run", "mcp.search"].map(|id| (id.to_owned(), digest(id))).into(),
            tokenizers: BTreeMap::from([("local\u{1}".to_owned(), digest("tokenizer"))]),
            prompts: Some(BTreeMap::from([("greet".to_owned(), "00".to_owned())])),
        }
    }

    const SAMPLE_SEMANTICS: u32 = super::super::SEMANTICS;

    #[test]
    fn a_lock_is_read_as_it_was_written_whatever_ends_its_lines() {
        let lock = sample();
        let text = lock.to_string();
        assert_eq!(Lock::parse(&text).expect("parses"), lock, "{text}");
        assert_eq!(Lock::parse(&text.replace('\n', "\r\n")).expect("parses"), lock);
        let empty = Lock { prompts: Some(BTreeMap::new()), ..Lock::default() };
        assert_eq!(Lock::parse(&empty.to_string()).expect("parses"), empty);
        assert!(text.is_ascii() && !text.contains('\r'));
    }

    #[test]
    fn an_invalid_lock_is_an_error_with_its_place() {
        let text = sample().to_string();
        let error = Lock::parse(&text.replace("[[tool]]", "[[tool")).expect_err("is invalid");
        assert!(error.place().is_some_and(|place| place.line > 30), "{error:?}");
        for (old, new) in [
            ("version = 1\n", "version = 2\n"),
            ("id = \"near\"", "id = \"git\""),
            ("id = \"near\"", "id = \"../near\""),
            ("commit = \"aa", "commit = \"-a"),
            ("git = \"https", "git = \"ext"),
            ("prompt = \"greet\"\n", ""),
            ("semantics = 1", "semantic = 1"),
        ] {
            let changed = text.replacen(old, new, 1);
            assert_ne!(changed, text, "{old}");
            assert_eq!(Lock::parse(&changed).expect_err(old).code(), Code::Lock);
        }
    }
}
