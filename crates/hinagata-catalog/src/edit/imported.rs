//! Imported prompts: what an import writes, and which prompts came from where.

use std::collections::BTreeSet;

use hinagata_document::{Digest, Error, Result};
use hinagata_exchange::{Format, ImportedPrompt, Report, share_partials};
use hinagata_workspace::{
    layout::{PACKS, PROMPTS, SHARED_PROMPTS},
    write::{Readers, Writer, directory_beneath},
};
use serde_json::{Map, Value, json};

use super::{EditError, LOCK, NewFile, create_directory, held::own_base, write::has_link};
use crate::{
    Catalog, PackId, PromptId,
    source::{Entry, Index, RootKind},
};

/// The key of a definition that names what it was imported from.
const KEY: &str = "imported";

/// The SHA-256 of the foreign file at a path.
type DigestOf<'d> = &'d dyn Fn(&str) -> Option<Digest>;

/// A prompt that an import writes, or would write.
#[derive(Clone, Debug)]
pub struct PlannedImport {
    /// The id.
    pub id: PromptId,
    /// The directory, as a path from the workspace root.
    pub source: String,
    /// The format of the foreign file.
    pub format: Format,
    /// The foreign file.
    pub from: String,
    /// The files of the directory, the definition first.
    pub files: Vec<NewFile>,
    /// Shared parts, by their paths beneath the directory of prompts.
    pub partials: Vec<NewFile>,
    /// What could not be carried over unchanged.
    pub report: Report,
    /// Whether there is something at the directory already.
    pub is_taken: bool,
}

impl PlannedImport {
    /// The prompt as JSON, the same for every door; files with their contents.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let shown = |file: &NewFile| json!({"path": file.path, "content": file.text()});
        json!({
            "prompt_id": self.id.as_str(),
            "source": self.source,
            "format": self.format.as_str(),
            "from": self.from,
            "files": self.files.iter().map(shown).collect::<Value>(),
            "partials": self.partials.iter().map(shown).collect::<Value>(),
            "losses": self.report.to_json(),
            "conflict": self.is_taken,
        })
    }
}

impl NewFile {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }
}

/// What a definition says about its import.
#[derive(Clone, Debug)]
pub struct ImportRecord {
    /// The prompt.
    pub id: PromptId,
    /// Its directory.
    pub source: String,
    /// The format of the foreign file.
    pub format: Format,
    /// The foreign file, from the workspace root or absolute.
    pub from: String,
    /// The SHA-256 of the foreign file as it was imported.
    pub sha256: String,
    /// Whether the definition was edited since.
    pub is_edited: bool,
}

impl Catalog {
    /// What an import of `prompts` into the directory `place` writes. `digest_of` is the SHA-256 of a foreign file. With
    /// `replaces`, prompts of the same source are written again.
    ///
    /// # Errors
    /// Each result stands for one prompt: code `id` if its id is not valid.
    pub fn plan_imports(
        &self,
        place: &str,
        mut prompts: Vec<ImportedPrompt>,
        (digest_of, replaces): (DigestOf<'_>, bool),
    ) -> Vec<Result<PlannedImport>> {
        let place = place.trim_end_matches('/');
        if !replaces {
            share_partials(&mut prompts, &|name| self.existing_partial(place, name));
        }
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let plan = |imported: ImportedPrompt| {
            let id = PromptId::new(&imported.prompt.id.replace('.', "_"))?;
            let source = format!("{place}/{id}");
            let exists = self.root().join(&source).symlink_metadata().is_ok();
            let is_taken = !taken.insert(source.clone()) || (exists && !replaces);
            Ok(planned(imported, (id, source), digest_of, is_taken))
        };
        prompts.into_iter().map(plan).collect()
    }

    /// The text of a partial that a prompt in `place` would include by this name.
    fn existing_partial(&self, place: &str, name: &str) -> Option<String> {
        let path = format!("partials/{name}");
        let is_seen = |prefix: &str, kind: &RootKind| *kind == RootKind::Shared || prefix == place;
        let mut roots = self.roots().iter().filter(|index| is_seen(&index.root.prefix, &index.root.kind));
        roots.find_map(|index| {
            let read = index.root.tree.read_text(&path, super::LARGEST).ok().flatten();
            read.map(|(text, _)| text.to_string())
        })
    }

    /// Writes a planned prompt whole or not at all; shared parts first. With `replaces`, its files are replaced one by
    /// one.
    ///
    /// # Errors
    /// [`EditError::Taken`] for a prompt that exists, [`EditError::ReadOnly`] for a place outside of the workspace.
    pub fn write_import(&self, planned: &PlannedImport, replaces: bool) -> Result<(), EditError> {
        let (place, name) = planned.source.rsplit_once('/').unwrap_or(("", &planned.source));
        let read_only = || EditError::ReadOnly { path: planned.source.clone() };
        if std::path::Path::new(place).is_absolute() {
            let is_own = |kind: &RootKind| matches!(kind, RootKind::Path(_));
            let known =
                self.roots().iter().any(|index| is_own(&index.root.kind) && index.root.prefix == place);
            known.then_some(()).ok_or_else(read_only)?;
        }
        let base = own_base(self.root(), place)?;
        let writer = Writer::lock(&base, LOCK, Readers::AsUsual)?;
        if planned.is_taken && !replaces {
            return Err(EditError::Taken { path: planned.source.clone() });
        }
        for partial in &planned.partials {
            if has_link(&base, &partial.path) {
                return Err(read_only());
            }
            directory_beneath(&base, "partials")?;
            writer.replace(&partial.path, &partial.content)?;
        }
        if !replaces {
            return create_directory(&base.join(name), &planned.files).map_err(|error| match error {
                EditError::Taken { .. } => EditError::Taken { path: planned.source.clone() },
                other => other,
            });
        }
        for file in &planned.files {
            let path = format!("{name}/{}", file.path);
            if has_link(&base, &path) {
                return Err(read_only());
            }
            directory_beneath(&base, path.rsplit_once('/').map_or("", |(directory, _)| directory))?;
            writer.replace(&path, &file.content)?;
        }
        Ok(())
    }

    /// Creates the pack called `name` if it is missing, and returns the directory of its prompts.
    ///
    /// # Errors
    /// Code `id` for an invalid name; those of writing.
    pub fn prepare_pack(&self, name: &str) -> Result<String> {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            let message =
                format!("`{}` is not a valid name of a pack", hinagata_document::truncate_for_display(name));
            let error = Error::new(hinagata_document::Code::Id, message);
            return Err(error.with_hint("use letters, digits, `_` and `-`"));
        }
        let pack = PackId::new(name);
        let directory = format!("{PACKS}/{pack}");
        let place = directory_beneath(self.root(), &directory)?;
        let writer = Writer::lock(&place, LOCK, Readers::AsUsual)?;
        if writer.read("pack.json", super::LARGEST)?.is_none() {
            writer.replace_json("pack.json", &json!({"name": name, "version": "1.0.0"}))?;
        }
        Ok(format!("{directory}/{PROMPTS}"))
    }

    /// The user's own prompts that were imported, by id.
    #[must_use]
    pub fn import_records(&self) -> Vec<ImportRecord> {
        let own = self
            .roots()
            .iter()
            .filter(|index| matches!(index.root.kind, RootKind::Shared | RootKind::Path(_)));
        let mut records: Vec<ImportRecord> =
            own.flat_map(Index::iter).filter_map(|entry| import_record(entry)).collect();
        records.sort_by(|one, other| one.id.cmp(&other.id));
        records
    }

    /// The directory that imports go to unless the caller names another one.
    #[must_use]
    pub const fn default_import_place() -> &'static str {
        SHARED_PROMPTS
    }
}

fn planned(
    imported: ImportedPrompt,
    (id, source): (PromptId, String),
    digest_of: DigestOf<'_>,
    is_taken: bool,
) -> PlannedImport {
    let ImportedPrompt { prompt, report } = imported;
    let files_with = |written: &str| {
        let sha256 = digest_of(&prompt.from).map(|digest| digest.to_string()).unwrap_or_default();
        let record = json!({"format": prompt.format.as_str(), "from": prompt.from, "sha256": sha256, "written": written});
        prompt.to_files_with(&Map::from_iter([(KEY.to_owned(), record)]))
    };
    // The definition has its own SHA-256, computed without it, so that edits show.
    let blank = files_with(&BLANK.repeat(64));
    let written = blank.first().map(|(_, text)| digest_without(text, &BLANK.repeat(64))).unwrap_or_default();
    let (partials, files): (Vec<_>, Vec<_>) =
        files_with(&written).into_iter().partition(|(path, _)| path.starts_with("partials/"));
    let to_files = |files: Vec<(String, String)>| {
        files.into_iter().map(|(path, text)| NewFile { path, content: text.into_bytes() }).collect()
    };
    PlannedImport {
        id,
        source,
        format: prompt.format,
        from: prompt.from.clone(),
        files: to_files(files),
        partials: to_files(partials),
        report,
        is_taken,
    }
}

/// What stands for the SHA-256 of a definition while it is computed.
const BLANK: &str = "f";

/// The SHA-256 of a definition without its own one, which YAML quotes where it could be read as a number.
fn digest_without(text: &str, written: &str) -> String {
    let text = text.replace(&format!("\"{written}\""), "").replace(written, "");
    Digest::sha256(text.as_bytes()).to_string()
}

fn import_record(entry: &Entry) -> Option<ImportRecord> {
    let definition = entry.definition().ok()?;
    let record = definition.unknown.get(KEY)?;
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let written = text("written")?;
    let is_same = definition.files.iter().any(|read| digest_without(&read.text, &written) == written);
    Some(ImportRecord {
        id: entry.id().clone(),
        source: entry.source().to_owned(),
        format: Format::from_name(&text("format")?)?,
        from: text("from")?,
        sha256: text("sha256")?,
        is_edited: !is_same,
    })
}
