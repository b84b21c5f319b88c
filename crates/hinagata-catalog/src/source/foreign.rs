//! Prompts of other formats, read in place: their files are translated in memory, and nothing is written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use hinagata_document::{Code, Diagnostic, Error, Place, Reason, Result};
use hinagata_exchange::{
    Format, ImportBatch, ImportOptions, ImportedPrompt, Report, SourceFiles, companion_names, import_batch,
    share_partials,
};
use hinagata_workspace::{Settings, Stamp, layout::PARTIALS, write::io_error};

use super::{DirectoryNames, FileTree, tree_as};
use crate::PromptId;

/// Largest file that is read, in bytes.
const LARGEST: u64 = 10 << 20;
/// Most files, and most bytes of all files, that one place may have.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;
/// How deep directories are searched.
const DEEPEST: usize = 32;

/// Endings of files that may be prompts; other files are not read.
const ENDINGS: [&str; 10] =
    ["prompt", "prompty", "md", "mdc", "json", "yaml", "yml", "toml", "mustache", "njk"];

/// Hidden directories that programs keep prompts in.
const HIDDEN: [&str; 5] = [".claude", ".cursor", ".gemini", ".github", ".agents"];

/// A place with prompts of other formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignPlace {
    /// A file or a directory, relative to the workspace root or absolute.
    pub path: String,
    /// The format, if it is not to be told by the files.
    pub format: Option<Format>,
    /// The name in the settings, if there is no such format.
    pub unknown_format: Option<String>,
    /// The name that callers use for the prompt, if they named the file; it wins over all others with its id.
    pub named: Option<String>,
}

impl ForeignPlace {
    /// The places that the settings name. A format that does not exist is left to the files, and a warning tells it.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Vec<Self> {
        let place = |(path, format): (String, Option<String>)| Self {
            path,
            format: format.as_deref().and_then(Format::from_name),
            unknown_format: format.filter(|name| Format::from_name(name).is_none()),
            named: None,
        };
        settings.foreign_places().into_iter().map(place).collect()
    }
}

/// The foreign files at a path.
#[derive(Clone, Debug, Default)]
pub struct ForeignFiles {
    /// The files, by absolute path without the first `/`.
    pub files: SourceFiles,
    /// The directory that was walked, or that has the file, written in the same way.
    pub base: String,
    /// The named file, unless a directory was walked.
    pub entry: Option<String>,
    /// Files that could not be read.
    pub problems: Vec<(String, Error)>,
}

impl ForeignFiles {
    /// Reads the file at `path` with the files that it names beneath its directory, or walks a directory. Links are not
    /// followed.
    ///
    /// # Errors
    /// Code `not_found` if there is nothing; code `definition` for a link; code `store` for what cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let unreadable = |error| io_error("read", path, error);
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::new(Code::NotFound, format!("`{shown}` not found")).with("file", shown));
            }
            found => found.map_err(unreadable)?,
        };
        if metadata.is_symlink() {
            let message = format!("`{shown}` is a link, and links are not followed");
            return Err(Error::definition(Reason::Link, message)
                .with("file", shown)
                .with_hint("name the target of the link"));
        }
        let real = path.canonicalize().map_err(unreadable)?;
        let mut reader = Reader::default();
        if metadata.is_dir() {
            reader.found.base = key_of(&real);
            reader.walk(&real, 0, false)?;
        } else {
            let parent = real.parent().unwrap_or(&real).to_owned();
            reader.found.base = key_of(&parent);
            reader.found.entry = Some(key_of(&real));
            reader.read_file(&real)?;
            reader.read_companions(&real, &parent)?;
        }
        Ok(reader.found)
    }

    /// The prompts of the files. A named file that is not a prompt fails.
    #[must_use]
    pub fn import(&self, options: &ImportOptions) -> ImportBatch {
        let mut batch = match &self.entry {
            None => import_batch(&self.files, &self.base, options),
            Some(entry) => {
                let mut batch = ImportBatch::default();
                match hinagata_exchange::import_prompts(&self.files, entry, options) {
                    Ok(prompts) => batch.prompts = prompts,
                    Err(error) => batch.failed.push((entry.clone(), error)),
                }
                share_partials(&mut batch.prompts, &|_| None);
                batch
            }
        };
        batch.failed.extend(self.problems.iter().cloned());
        batch
    }
}

/// The name of a file in [`SourceFiles`].
fn key_of(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/").trim_start_matches('/').to_owned()
}

#[derive(Default)]
struct Reader {
    found: ForeignFiles,
    count: usize,
    bytes: u64,
}

impl Reader {
    fn walk(&mut self, directory: &Path, depth: usize, in_skill: bool) -> Result<()> {
        let unreadable = |error| io_error("read", directory, error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            entries.push((entry.path(), entry.file_type().map_err(unreadable)?));
        }
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        let in_skill = in_skill || entries.iter().any(|(path, _)| path.ends_with("SKILL.md"));
        for (path, kind) in entries {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_hidden = name.starts_with('.') && !HIDDEN.contains(&name.as_str());
            if kind.is_symlink() || is_hidden {
                continue;
            }
            if kind.is_dir() {
                if depth < DEEPEST && name != "node_modules" {
                    self.walk(&path, depth + 1, in_skill)?;
                }
            } else if kind.is_file() && (in_skill || may_be_prompt(&name)) {
                let is_prompt = may_be_prompt(&name);
                match self.read_file(&path) {
                    // Its prompts may be files whose names say nothing.
                    Ok(()) if name.starts_with("promptfooconfig") => {
                        self.read_companions(&path, directory)?;
                    }
                    Ok(()) => {}
                    Err(error) if error.reason() == Some(Reason::Count) => return Err(error),
                    // A picture of a skill is not a prompt; that it is missing is a loss of the skill.
                    Err(_) if !is_prompt => self.found.files.insert_unread(key_of(&path)),
                    Err(error) => self.found.problems.push((key_of(&path), error)),
                }
            }
        }
        Ok(())
    }

    /// Reads one regular file.
    fn read_file(&mut self, path: &Path) -> Result<()> {
        let metadata = fs::symlink_metadata(path).map_err(|error| io_error("read", path, error))?;
        let shown = path.display();
        self.count += 1;
        self.bytes += metadata.len();
        if self.count > MOST_FILES || self.bytes > MOST_BYTES {
            let message =
                format!("there are more than {MOST_FILES} files, or more than 256 MiB, up to `{shown}`");
            return Err(
                Error::definition(Reason::Count, message).with_hint("name a directory with fewer files")
            );
        }
        if !metadata.is_file() {
            return Err(Error::definition(Reason::NoFile, format!("`{shown}` is not a regular file")));
        }
        if metadata.len() > LARGEST {
            return Err(Error::definition(Reason::Size, format!("`{shown}` is larger than 10 MiB")));
        }
        let bytes = fs::read(path).map_err(|error| io_error("read", path, error))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::definition(Reason::Binary, format!("`{shown}` is not UTF-8 text")))?;
        self.found.files.insert(key_of(path), text);
        Ok(())
    }

    /// Reads what the named file refers to beneath its directory.
    fn read_companions(&mut self, entry: &Path, directory: &Path) -> Result<()> {
        let mut left: Vec<PathBuf> = vec![entry.to_owned()];
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        while let Some(path) = left.pop() {
            let key = key_of(&path);
            let text = self.found.files.get(&key).unwrap_or_default();
            let Some(names) = companion_names(&key, text) else { return self.walk(directory, 0, true) };
            for name in names {
                let companion = directory.join(&name);
                let is_new = companion != *entry && seen.insert(companion.clone());
                if is_new && is_file_without_links(directory, &name) {
                    self.read_file(&companion)?;
                    left.push(companion);
                }
            }
        }
        Ok(())
    }
}

fn may_be_prompt(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower == "modelfile" || lower.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Whether `name` is a regular file beneath `directory`, without a link on the way.
fn is_file_without_links(directory: &Path, name: &str) -> bool {
    let mut path = directory.to_owned();
    for part in Path::new(name).components() {
        path.push(part);
        if path.is_symlink() {
            return false;
        }
    }
    path.is_file()
}

/// The translated files of one place.
#[derive(Debug)]
pub struct ForeignTree {
    place: ForeignPlace,
    /// What the translation was made from.
    sources: SourceFiles,
    /// Translated files: `NAME/FILE`, where `NAME` is the path of the foreign file, and partials.
    files: BTreeMap<String, Arc<str>>,
    /// The id and the report of each prompt, by name.
    prompts: BTreeMap<String, (PromptId, Report)>,
    /// The names by the ids that includes use.
    by_id: BTreeMap<String, String>,
}

impl ForeignTree {
    /// Translates the files of a place; the path of its files and the problems come with it.
    ///
    /// # Errors
    /// Those of [`ForeignFiles::read`].
    pub fn open(root: &Path, place: &ForeignPlace) -> Result<(Self, String, Vec<Diagnostic>)> {
        let found = ForeignFiles::read(&root.join(&place.path))?;
        let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let root_key = key_of(&real_root);
        let prefix = match found.base.strip_prefix(&root_key).map(|rest| rest.trim_start_matches('/')) {
            Some("") => ".".to_owned(),
            Some(inner) => inner.to_owned(),
            None => format!("/{}", found.base),
        };
        let batch = found.import(&ImportOptions { format: place.format, ..ImportOptions::default() });
        let shown = |key: &str| match key.strip_prefix(&found.base) {
            Some(inner) => format!("{prefix}/{}", inner.trim_start_matches('/')),
            None => format!("/{key}"),
        };
        let mut problems: Vec<Diagnostic> = batch
            .failed
            .iter()
            .map(|(key, error)| Diagnostic::error(shown(key), with_shown_path(error, key, &shown(key))))
            .collect();
        if let Some(name) = &place.unknown_format {
            let error = unknown_format(name);
            problems.push(Diagnostic::warning(&*place.path, error));
        }
        let mut tree = Self {
            place: place.clone(),
            sources: found.files,
            files: BTreeMap::new(),
            prompts: BTreeMap::new(),
            by_id: BTreeMap::new(),
        };
        for imported in batch.prompts {
            if let Err(error) = tree.add_prompt(&found.base, imported.clone()) {
                let file = shown(&imported.prompt.from);
                problems.push(Diagnostic::error(&*file, error));
            }
        }
        Ok((tree, prefix, problems))
    }

    fn add_prompt(&mut self, base: &str, imported: ImportedPrompt) -> Result<()> {
        let ImportedPrompt { prompt, report } = imported;
        let id = PromptId::new(&prompt.id)?;
        let file = prompt.from.strip_prefix(base).unwrap_or(&prompt.from).trim_start_matches('/').to_owned();
        let name = match prompt.format {
            Format::Langfuse | Format::Promptfoo => format!("{file}#{}", prompt.id),
            _ => file,
        };
        for (file, text) in prompt.to_files() {
            let path = match file.starts_with("partials/") {
                true => file,
                false => format!("{name}/{file}"),
            };
            self.files.insert(path, text.into());
        }
        self.by_id.insert(prompt.id.replace('.', "_"), name.clone());
        self.prompts.insert(name, (id, report));
        Ok(())
    }

    /// The id of the prompt that a caller meant by a path, which may end with `#` and an id.
    ///
    /// # Errors
    /// Code `conflict` if the file has several prompts, code `not_found` if it has none with that id.
    pub(crate) fn named_id(&self, name: &str) -> Result<PromptId> {
        let mut all = self.prompts.values().map(|(id, _)| id);
        if let (Some(only), None) = (all.next(), all.next()) {
            return Ok(only.clone());
        }
        let ids: Vec<&str> = self.prompts.values().map(|(id, _)| id.as_str()).collect();
        let (file, wanted) = name.rsplit_once('#').unwrap_or((name, ""));
        let found = self.prompts.values().map(|(id, _)| id).find(|id| id.as_str() == wanted);
        found.cloned().ok_or_else(|| match ids.first() {
            None => Error::new(Code::NotFound, format!("`{file}` has no prompt")),
            Some(first) => Error::new(Code::Conflict, format!("`{file}` has {} prompts", ids.len()))
                .with("prompts", ids.clone())
                .with_near(hinagata_value::near_names(wanted, ids.iter().copied()))
                .with_hint(format!("name one, such as `{file}#{first}`")),
        })
    }

    /// What the translation of the prompt called `name` lost.
    #[must_use]
    pub fn report(&self, name: &str) -> Option<&Report> {
        self.prompts.get(name).map(|(_, report)| report)
    }

    fn file(&self, path: &str) -> Option<&Arc<str>> {
        if let Some(text) = self.files.get(path) {
            return Some(text);
        }
        let (id, file) = path.split_once('/')?;
        self.files.get(&format!("{}/{file}", self.by_id.get(id)?))
    }
}

/// An error with the path of its file as the user knows it.
#[must_use]
pub fn with_shown_path(error: &Error, key: &str, shown: &str) -> Error {
    let changed = error.clone().map_texts(|text| text.replace(key, shown));
    match error.place().filter(|place| place.file == key) {
        Some(place) => changed.at(Place { file: shown.to_owned(), ..place.clone() }),
        None => changed,
    }
}

impl FileTree for ForeignTree {
    fn read_text(&self, path: &str, largest: u64) -> Result<Option<(Arc<str>, Option<Stamp>)>> {
        match self.file(path) {
            Some(text) if text.len() as u64 > largest => {
                let message = format!("`{path}` is larger than {} KiB", largest >> 10);
                Err(Error::definition(Reason::Size, message))
            }
            found => Ok(found.map(|text| (Arc::clone(text), None))),
        }
    }

    fn read_bytes(&self, path: &str, largest: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.read_text(path, largest)?.map(|(text, _)| text.as_bytes().to_vec()))
    }

    fn file_stamp(&self, path: &str) -> Option<Option<Stamp>> {
        self.file(path).map(|_| None)
    }

    fn mark_present(&self, name: &str, files: &[&str], present: &mut [bool]) {
        for (file, present) in files.iter().zip(present) {
            *present = self.files.contains_key(&format!("{name}/{file}"));
        }
    }

    fn list_directories(&self) -> Result<DirectoryNames> {
        Ok((self.prompts.keys().cloned().collect(), Vec::new()))
    }

    fn prompt_id(&self, name: &str) -> Option<PromptId> {
        self.prompts.get(name).map(|(id, _)| id.clone())
    }

    fn list_partials(&self) -> Vec<String> {
        let start = format!("{PARTIALS}/");
        self.files.keys().filter(|path| path.starts_with(&start)).cloned().collect()
    }

    fn list_files(&self, directory: &str, most: usize) -> Vec<String> {
        let start = format!("{directory}/");
        self.files.keys().filter(|path| path.starts_with(&start)).take(most).cloned().collect()
    }

    fn is_same(&self, other: &dyn FileTree) -> bool {
        tree_as::<Self>(other).is_some_and(|other| self.place == other.place && self.sources == other.sources)
    }
}

/// The error for the format that a setting or a caller names.
#[must_use]
pub fn unknown_format(name: &str) -> Error {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    Error::new(Code::Validation, format!("unknown prompt format `{name}`"))
        .with_near(hinagata_value::near_names(name, names.iter().copied()))
        .with_hint(format!("use one of {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().expect("has one")).expect("made");
            fs::write(path, text).expect("written");
        }
        place
    }

    fn names(found: &ForeignFiles) -> Vec<String> {
        let inner = |path: &str| path.strip_prefix(&found.base).unwrap_or(path).to_owned();
        found.files.paths().map(inner).collect()
    }

    #[test]
    fn a_named_file_reads_only_what_it_names_beneath_its_directory() {
        let place = place(&[
            ("secret.prompt", "s"),
            ("d/_secret.prompt", "s"),
            ("d/x.prompt", "{{> part}} {{> ../secret}} {{> deep/part}}"),
            ("d/_part.prompt", "{{> inner}}"),
            ("d/_inner.prompt", "i"),
            ("d/deep/_part.prompt", "p"),
            ("d/other.prompt", "o"),
        ]);
        let found = ForeignFiles::read(&place.path().join("d/x.prompt")).expect("reads");
        assert_eq!(names(&found), ["/_inner.prompt", "/_part.prompt", "/deep/_part.prompt", "/x.prompt"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let place = place(&[("out.prompt", "s"), ("out/a.prompt", "s"), ("d/x.prompt", "{{> out}}")]);
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(place.path().join(from), place.path().join(to)).expect("links");
        };
        link("out.prompt", "d/_out.prompt");
        link("out", "d/linked");
        let found = ForeignFiles::read(&place.path().join("d")).expect("reads");
        assert_eq!(names(&found), ["/x.prompt"]);
        let found = ForeignFiles::read(&place.path().join("d/x.prompt")).expect("reads");
        assert_eq!(names(&found), ["/x.prompt"]);
        let error = ForeignFiles::read(&place.path().join("d/_out.prompt")).expect_err("is a link");
        assert_eq!(error.reason(), Some(Reason::Link));
    }

    #[test]
    fn a_walk_reads_prompts_and_everything_of_skills() {
        let place = place(&[
            ("d/x.prompt", "x"),
            ("d/photo.png", "x"),
            ("d/.git/a.prompt", "x"),
            ("d/.claude/commands/c.md", "x"),
            ("d/s/SKILL.md", "x"),
            ("d/s/scripts/run.py", "x"),
        ]);
        fs::write(place.path().join("d/s/logo.png"), [0xff, 0xfe]).expect("written");
        let found = ForeignFiles::read(&place.path().join("d")).expect("reads");
        assert_eq!(
            names(&found),
            ["/.claude/commands/c.md", "/s/SKILL.md", "/s/scripts/run.py", "/x.prompt"]
        );
        let batch = found.import(&ImportOptions::default());
        let skill = batch.prompts.iter().find(|imported| imported.prompt.id == "s").expect("is there");
        assert!(skill.report.codes().contains(&"reference"), "{:?}", skill.report);
    }
}
