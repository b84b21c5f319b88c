//! One prompt of a source root, which is read when it is first used.

use std::{
    cell::RefCell,
    sync::{Arc, OnceLock},
};

use hinagata_document::{Code, Diagnostic, Digest, Result};
use hinagata_workspace::Stamp;

use super::{Root, RootKind};
use crate::{
    PackId, PromptId,
    definition::{self, Definition, PromptFiles, TEMPLATE_NAMES, module::MODULE_NAMES},
    store::StorePrompt,
};

/// The files that make a directory a prompt; one is enough.
const MARKS: [&str; 11] = [
    "prompt.py",
    TEMPLATE_NAMES[0],
    TEMPLATE_NAMES[1],
    TEMPLATE_NAMES[2],
    "prompt.yaml",
    "prompt.yml",
    "prompt.json",
    MODULE_NAMES[0],
    MODULE_NAMES[1],
    MODULE_NAMES[2],
    MODULE_NAMES[3],
];

/// The directory of a source root with modules that override presets.
pub(super) const PRESETS: &str = "presets";

/// A prompt of a source: a directory, or a document of the store.
#[derive(Debug)]
pub struct Entry {
    id: PromptId,
    /// The prefix of the root, `/`, and the name of the directory.
    source: String,
    root: Arc<Root>,
    /// The document of the store, unless it is a directory.
    stored: Option<StorePrompt>,
    presence: OnceLock<[bool; MARKS.len()]>,
    loaded: OnceLock<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    definition: Result<Arc<Definition>>,
    /// Every requested file by its path beneath the source root, with its stamp; `None` for a missing file.
    stamps: Vec<(String, Option<Stamp>)>,
}

impl Entry {
    pub(super) fn new(id: PromptId, name: &str, root: Arc<Root>) -> Self {
        let source = [&root.prefix, "/", name].concat();
        Self { id, source, root, stored: None, presence: OnceLock::new(), loaded: OnceLock::new() }
    }

    /// The entry of a prompt of the store.
    pub(super) fn from_store(prompt: StorePrompt, root: Arc<Root>) -> Self {
        Self {
            id: prompt.id.clone(),
            source: prompt.source.clone(),
            root,
            stored: Some(prompt),
            presence: OnceLock::new(),
            loaded: OnceLock::new(),
        }
    }

    /// The document of the store, unless it is a directory.
    #[must_use]
    pub fn store_prompt(&self) -> Option<&StorePrompt> {
        self.stored.as_ref()
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> &PromptId {
        &self.id
    }

    /// The name of the directory or document, as spelled.
    #[must_use]
    pub fn name(&self) -> &str {
        if let Some(prompt) = &self.stored {
            return &prompt.name;
        }
        &self.source[self.root.prefix.len() + 1..]
    }

    /// The directory, as a path from the workspace root, or `store:` and a key.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The source root that contains it.
    #[must_use]
    pub fn root(&self) -> &RootKind {
        &self.root.kind
    }

    /// The pack it belongs to.
    #[must_use]
    pub fn pack(&self) -> Option<&PackId> {
        match &self.root.kind {
            RootKind::Pack(pack) => Some(pack),
            _ => None,
        }
    }

    /// The SHA-256 over all approved files of its pack; `None` without a pack or an approval.
    pub fn approved_content(&self) -> Option<Digest> {
        self.root.tree.approved_content()
    }

    pub(crate) fn is_compiled(&self) -> bool {
        self.root.tree.is_compiled()
    }

    /// Whether it has a `prompt.py`.
    #[must_use]
    pub fn has_prompt_py(&self) -> bool {
        self.presence()[0]
    }

    /// Whether it has a template file.
    #[must_use]
    pub fn has_template(&self) -> bool {
        self.stored.is_some() || self.presence()[1..=TEMPLATE_NAMES.len()].contains(&true)
    }

    /// Whether it has any of the files that make a prompt.
    pub(crate) fn is_prompt(&self) -> bool {
        self.stored.is_some() || self.presence().contains(&true)
    }

    fn presence(&self) -> &[bool; MARKS.len()] {
        self.presence.get_or_init(|| self.present())
    }

    /// Which of the files exist now.
    fn present(&self) -> [bool; MARKS.len()] {
        let mut present = [false; MARKS.len()];
        self.root.tree.mark_present(self.name(), &MARKS, &mut present);
        present
    }

    fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.name())
    }

    /// The definition in its files, read once.
    ///
    /// # Errors
    /// Code `definition`; every call returns the same error.
    pub fn definition(&self) -> Result<Arc<Definition>> {
        self.loaded().definition.clone()
    }

    /// What is wrong with the definition. That a pack is not approved is a diagnostic of the pack.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self.definition() {
            Err(error) if error.code() == Code::Approval => Vec::new(),
            Err(error) => vec![Diagnostic::error(self.source(), error)],
            Ok(found) => {
                let warnings = found.warnings.iter();
                warnings.map(|one| Diagnostic::warning(self.source(), one.clone())).collect()
            }
        }
    }

    fn loaded(&self) -> &Loaded {
        self.loaded.get_or_init(|| {
            if let Some(prompt) = &self.stored {
                return Loaded { definition: prompt.definition().map(Arc::new), stamps: Vec::new() };
            }
            let files = Files { entry: self, stamps: RefCell::default() };
            let definition =
                definition::read_definition(&self.id, self.name(), &self.source, &files).map(Arc::new);
            Loaded { definition, stamps: files.stamps.into_inner() }
        })
    }

    /// Whether its files have not changed since they were read.
    pub(super) fn is_unchanged(&self) -> bool {
        let marks = self.presence.get().is_none_or(|known| self.present() == *known);
        let same =
            |(path, stamp): &(String, Option<Stamp>)| self.root.tree.file_stamp(path).flatten() == *stamp;
        // A file that was not approved when it was read is read again: it may have been approved between the read and
        // the check of its stamp.
        let refused =
            |loaded: &Loaded| loaded.definition.as_ref().is_err_and(|error| error.code() == Code::Approval);
        marks && self.loaded.get().is_none_or(|loaded| !refused(loaded) && loaded.stamps.iter().all(same))
    }

    /// The bytes of the file called `name` in this directory.
    pub fn bytes(&self, name: &str, largest: u64) -> Result<Option<Vec<u8>>> {
        self.root.tree.read_bytes(&self.path(name), largest)
    }

    /// The sorted paths of its files beneath its directory, at most `most`.
    #[must_use]
    pub fn list_files(&self, most: usize) -> Vec<String> {
        let inner = |path: String| Some(path.strip_prefix(self.name())?.strip_prefix('/')?.to_owned());
        self.root.tree.list_files(self.name(), most).into_iter().filter_map(inner).collect()
    }

    /// Refuses a file of this directory whose name indicates secrets.
    pub(crate) fn refuse_secret(&self, name: &str) -> Result<()> {
        self.root.tree.refuse_secret(&self.path(name))
    }

    /// The text of the file called `name` in this directory.
    pub fn file(&self, name: &str, largest: u64) -> Result<Option<Arc<str>>> {
        Ok(self.root.tree.read_text(&self.path(name), largest)?.map(|(text, _)| text))
    }
}

impl PromptFiles for Entry {
    fn text(&self, name: &str, largest: u64) -> Result<Option<Arc<str>>> {
        self.file(name, largest)
    }
}

/// The files of an entry; records the requested files.
struct Files<'a> {
    entry: &'a Entry,
    stamps: RefCell<Vec<(String, Option<Stamp>)>>,
}

impl PromptFiles for Files<'_> {
    fn text(&self, name: &str, largest: u64) -> Result<Option<Arc<str>>> {
        // A file that was not there when the directory was looked at is not opened: if it comes, the entry has changed.
        let mark = MARKS.iter().position(|mark| *mark == name);
        if mark.is_some_and(|mark| !self.entry.presence()[mark]) {
            return Ok(None);
        }
        self.read(self.entry.path(name), largest)
    }

    fn preset(&self, name: &str, largest: u64) -> Result<Option<(String, Arc<str>)>> {
        let path = format!("{PRESETS}/{name}.yaml");
        let shown = format!("{}/{path}", self.entry.root.prefix);
        Ok(self.read(path, largest)?.map(|text| (shown, text)))
    }
}

impl Files<'_> {
    /// The text of a file beneath the source root.
    fn read(&self, path: String, largest: u64) -> Result<Option<Arc<str>>> {
        let tree = &self.entry.root.tree;
        let read = tree.read_text(&path, largest);
        let stamp = match &read {
            Ok(found) => found.as_ref().and_then(|(_, stamp)| *stamp),
            Err(_) => tree.file_stamp(&path).flatten(),
        };
        self.stamps.borrow_mut().push((path, stamp));
        Ok(read?.map(|(text, _)| text))
    }
}
