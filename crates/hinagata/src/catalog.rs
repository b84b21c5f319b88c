//! The catalog: everything that all sources hold, as one snapshot that does not change.
//!
//! Opening it lists directories and nothing else. What a prompt, a pack or a settings file says is read when it is
//! first asked for and kept. [`Catalog::reload`] makes a new snapshot and shares with it whatever did not
//! change, by size, time of change and inode.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use crate::{
    Agent, Approval, Approvals, Defaults, Diagnostic, Error, Manifest, PackId, PackKind, PromptId,
    Resolutions, Result, Vocabulary, agent, defaults,
    diagnostic::sorted,
    pack, resolution,
    source::{Directory, Entry, Index, Root, RootKind, Tree, builtin},
    vocab,
};

/// Path of the user's prompts from the workspace root.
pub const SHARED_PROMPTS: &str = "user_data/shared/prompts";
const SHARED: &str = "user_data/shared";
const PACKS: &str = "user_data/packs";

/// What a catalog is opened with.
#[derive(Clone, Debug, Default)]
pub struct CatalogOptions {
    /// The workspace root.
    pub root: PathBuf,
    /// More directories with prompts, searched after the user's and before the packs'; relative to the root.
    pub paths: Vec<String>,
    /// What the user said about packs.
    pub approvals: Approvals,
}

impl CatalogOptions {
    /// The workspace at `root`, with nothing approved.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), ..Self::default() }
    }
}

/// A snapshot of all prompts. Cheap to clone; what it answers does not change.
#[derive(Clone, Debug)]
pub struct Catalog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: CatalogOptions,
    /// In search order; the packs by name.
    roots: Vec<Index>,
    packs: Vec<Arc<Pack>>,
    shared: Option<Directory>,
    opening: Vec<Diagnostic>,
    vocabulary: OnceLock<(Vocabulary, Vec<Diagnostic>)>,
    resolutions: OnceLock<(Resolutions, Vec<Diagnostic>)>,
    defaults: OnceLock<(Defaults, Vec<Diagnostic>)>,
}

/// A pack directory.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(crate) id: PackId,
    directory: Directory,
    manifest: OnceLock<Result<Arc<Manifest>>>,
}

impl Pack {
    fn path(&self) -> String {
        format!("{PACKS}/{}", self.id)
    }

    /// What its `pack.json` says, read once.
    pub(crate) fn manifest(&self) -> Result<Arc<Manifest>> {
        let read = || {
            let file = format!("{}/pack.json", self.path());
            let Some(found) = self.directory.read("pack.json", pack::LARGEST)? else {
                return Err(Error::definition(
                    "no_manifest",
                    format!("the pack `{}` has no pack.json", self.id),
                ));
            };
            Manifest::parse(&file, &found.text).map(Arc::new)
        };
        self.manifest
            .get_or_init(read)
            .clone()
            .map_err(|error| error.with_default("pack_id", self.id.as_str()))
    }
}

impl Catalog {
    /// The catalog of a workspace.
    ///
    /// It never fails: a directory that cannot be read is one of the [`Catalog::diagnostics`].
    #[must_use]
    pub fn open(options: CatalogOptions) -> Self {
        Self::build(options, None)
    }

    /// A new snapshot of the same workspace.
    #[must_use]
    pub fn reload(&self) -> Self {
        Self::build(self.0.options.clone(), Some(self))
    }

    /// A new snapshot with other approvals.
    #[must_use]
    pub fn with_approvals(&self, approvals: Approvals) -> Self {
        Self::build(CatalogOptions { approvals, ..self.0.options.clone() }, Some(self))
    }

    fn build(options: CatalogOptions, before: Option<&Self>) -> Self {
        let mut opening = Vec::new();
        let workspace = Directory::open(&options.root).unwrap_or_else(|error| {
            opening.push(Diagnostic::error(".", error));
            None
        });
        let packs = open_packs(workspace.as_ref(), &mut opening);
        let mut roots = Vec::new();
        let mut add = |kind: RootKind, prefix: String, tree: Tree| {
            let compiled = matches!(tree, Tree::Compiled);
            let same = |index: &&Index| {
                index.root.kind == kind && matches!(index.root.tree, Tree::Compiled) == compiled
            };
            let known = before.and_then(|before| before.0.roots.iter().find(same));
            match Index::new(Root { kind, prefix: prefix.clone(), tree }, known) {
                Ok(index) => roots.push(index),
                Err(error) => opening.push(Diagnostic::error(prefix, error)),
            }
        };
        let (mut problems, mut found) = (Vec::new(), Vec::new());
        let mut open = |prefix: &str| {
            let opened = match (&workspace, Path::new(prefix).is_absolute()) {
                (_, true) => Directory::open(Path::new(prefix)),
                (Some(workspace), _) => workspace.directory(prefix),
                (None, _) => Ok(None),
            };
            opened.map_or_else(
                |error| {
                    problems.push(Diagnostic::error(prefix, error));
                    Tree::Missing
                },
                |directory| directory.map_or(Tree::Missing, Tree::Directory),
            )
        };
        add(RootKind::Shared, SHARED_PROMPTS.to_owned(), open(SHARED_PROMPTS));
        for (place, path) in options.paths.iter().enumerate() {
            let prefix = path.trim_end_matches('/').to_owned();
            let tree = open(&prefix);
            add(RootKind::Path(place), prefix, tree);
        }
        for pack in &packs {
            let prefix = format!("{}/prompts", pack.path());
            let tree = pack.directory.directory("prompts").map_or_else(
                |error| {
                    found.push(Diagnostic::error(&prefix, error));
                    Tree::Missing
                },
                |directory| directory.map_or(Tree::Missing, Tree::Directory),
            );
            add(RootKind::Pack(pack.id.clone()), prefix, tree);
        }
        add(RootKind::Builtin, builtin::PREFIX.to_owned(), open(builtin::PREFIX));
        add(RootKind::Builtin, builtin::PREFIX.to_owned(), Tree::Compiled);
        opening.extend(problems.into_iter().chain(found));
        let shared = workspace.as_ref().and_then(|workspace| workspace.directory(SHARED).ok().flatten());
        Self(Arc::new(Inner {
            options,
            roots,
            packs,
            shared,
            opening,
            vocabulary: OnceLock::new(),
            resolutions: OnceLock::new(),
            defaults: OnceLock::new(),
        }))
    }

    /// The workspace root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.0.options.root
    }

    pub(crate) fn roots(&self) -> &[Index] {
        &self.0.roots
    }

    /// The packs in the order of their names, whatever their state.
    pub fn packs(&self) -> impl Iterator<Item = &PackId> {
        self.0.packs.iter().map(|pack| &pack.id)
    }

    fn pack(&self, id: &PackId) -> Option<&Arc<Pack>> {
        self.0.packs.iter().find(|pack| pack.id == *id)
    }

    /// What the `pack.json` of a pack says; `None` when there is no such pack.
    ///
    /// # Errors
    /// Code `definition` when it is missing or broken.
    pub fn manifest(&self, id: &PackId) -> Result<Option<Arc<Manifest>>> {
        self.pack(id).map(|pack| pack.manifest()).transpose()
    }

    /// The text of a file of a pack; `None` when there is none.
    pub(crate) fn pack_file(&self, id: &PackId, name: &str, largest: u64) -> Result<Option<Arc<str>>> {
        let Some(pack) = self.pack(id) else { return Ok(None) };
        Ok(pack.directory.read(name, largest)?.map(|file| file.text))
    }

    /// What the user said about a pack.
    #[must_use]
    pub fn approval(&self, id: &PackId) -> Approval {
        self.0.options.approvals.state(id)
    }

    /// Whether what a pack brings is used: it is approved, unchanged, and its `pack.json` can be read.
    #[must_use]
    pub fn is_active(&self, id: &PackId) -> bool {
        self.approval(id) == Approval::Approved && self.pack(id).is_some_and(|pack| pack.manifest().is_ok())
    }

    /// What a pack mainly brings: as it says, else by what it holds.
    #[must_use]
    pub fn pack_kind(&self, id: &PackId) -> Option<PackKind> {
        let pack = self.pack(id)?;
        if let Some(kind) = pack.manifest().ok().and_then(|manifest| manifest.kind) {
            return Some(kind);
        }
        let index = self.0.roots.iter().find(|index| index.root.kind == RootKind::Pack(id.clone()))?;
        if pack.directory.path().join("agents").is_dir() {
            return Some(PackKind::Agent);
        }
        let is_system =
            |entry: &Arc<Entry>| entry.definition().is_ok_and(|found| found.metadata.kind == "system");
        Some(match (index.iter().next(), index.iter().any(is_system)) {
            (None, _) => PackKind::Partial,
            (_, true) => PackKind::System,
            _ => PackKind::Utility,
        })
    }

    /// All words: the user's, then those of active packs by name.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.0.vocabulary.get_or_init(|| self.read_vocabulary()).0
    }

    fn read_vocabulary(&self) -> (Vocabulary, Vec<Diagnostic>) {
        let mut vocabulary = Vocabulary::default();
        let mut found = Vec::new();
        let mut add = |directory: &Directory, prefix: &str| {
            for name in ["vocab.json", "vocab.txt"] {
                let file = format!("{prefix}/{name}");
                match directory.read(name, vocab::LARGEST) {
                    Ok(Some(read)) if name == "vocab.json" => {
                        found.extend(vocabulary.add_json(&file, &read.text));
                    }
                    Ok(Some(read)) => found.extend(vocabulary.add_text(&file, &read.text)),
                    Ok(None) => {}
                    Err(error) => found.push(Diagnostic::error(file, error)),
                }
            }
        };
        if let Some(directory) = &self.0.shared {
            add(directory, SHARED);
        }
        for pack in self.0.packs.iter().filter(|pack| self.is_active(&pack.id)) {
            add(&pack.directory, &pack.path());
        }
        (vocabulary, found)
    }

    /// The preferred word for `word` in `namespace`, such as `tool`.
    #[must_use]
    pub fn vocab(&self, namespace: &str, word: &str) -> Option<&str> {
        self.vocabulary().preferred(namespace, word)
    }

    /// The recorded choices.
    #[must_use]
    pub fn resolutions(&self) -> &Resolutions {
        let read = |file: &str, text: &str| Resolutions::parse(file, text);
        &self.0.resolutions.get_or_init(|| self.shared_file(resolution::FILE, resolution::LARGEST, read)).0
    }

    /// What holds for every prompt of the workspace.
    #[must_use]
    pub fn defaults(&self) -> &Defaults {
        let read = |file: &str, text: &str| match Defaults::parse(file, text) {
            Ok(defaults) => (defaults, Vec::new()),
            Err(error) => (Defaults::default(), vec![Diagnostic::error(file, error)]),
        };
        &self.0.defaults.get_or_init(|| self.shared_file("defaults.json", defaults::LARGEST, read)).0
    }

    /// A file of the user's prompts directory, as `read` understands it.
    fn shared_file<T: Default>(
        &self,
        name: &str,
        largest: u64,
        read: impl FnOnce(&str, &str) -> (T, Vec<Diagnostic>),
    ) -> (T, Vec<Diagnostic>) {
        let file = format!("{SHARED_PROMPTS}/{name}");
        let index = self.0.roots.iter().find(|index| index.root.kind == RootKind::Shared);
        match index.map(|index| index.root.tree.read(name, largest)) {
            Some(Ok(Some((text, _)))) => read(&file, &text),
            Some(Err(error)) => (T::default(), vec![Diagnostic::error(file, error)]),
            _ => (T::default(), Vec::new()),
        }
    }

    /// The agent called `id`: of the user, else of an active pack; `None` when there is none.
    ///
    /// # Errors
    /// Code `definition` when its `agent.json` is broken.
    pub fn agent(&self, id: &str) -> Result<Option<Agent>> {
        // A name is no path.
        if id.is_empty() || id.starts_with('.') || id.contains(['/', '\\', '\0']) {
            return Ok(None);
        }
        let packs = self.0.packs.iter().filter(|pack| self.is_active(&pack.id));
        let shared = self.0.shared.iter().map(|directory| (directory, SHARED.to_owned()));
        for (directory, prefix) in shared.chain(packs.map(|pack| (&pack.directory, pack.path()))) {
            let name = format!("agents/{id}/agent.json");
            if let Some(file) = directory.read(&name, agent::LARGEST)? {
                return Agent::parse(id, &format!("{prefix}/{name}"), &file.text).map(Some);
            }
        }
        Ok(None)
    }

    /// What opening found, and what is wrong with the files of settings that were read.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let (_, _, _) = (self.vocabulary(), self.resolutions(), self.defaults());
        let mut all = self.0.opening.clone();
        all.extend(self.0.vocabulary.get().map(|(_, found)| found.clone()).unwrap_or_default());
        all.extend(self.0.resolutions.get().map(|(_, found)| found.clone()).unwrap_or_default());
        all.extend(self.0.defaults.get().map(|(_, found)| found.clone()).unwrap_or_default());
        for pack in &self.0.packs {
            match pack.manifest() {
                Err(error) => all.push(Diagnostic::error(pack.path(), error)),
                Ok(manifest) => all.extend(label_differs(pack, &manifest)),
            }
        }
        sorted(all)
    }

    /// Reads every prompt and tells all that is wrong in the workspace.
    #[must_use]
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut all = self.diagnostics();
        for index in &self.0.roots {
            for name in &index.unnamed {
                let error = PromptId::new(name).err().unwrap_or_else(|| {
                    Error::new(
                        crate::Code::Id,
                        format!("the directory `{name}` cannot be a prompt: its name has a `.` in it"),
                    )
                });
                all.push(Diagnostic::warning(format!("{}/{name}", index.root.prefix), error));
            }
            for entry in index.iter() {
                if let Err(error) = entry.definition() {
                    all.push(Diagnostic::error(entry.source(), error));
                }
            }
        }
        sorted(all)
    }
}

fn label_differs(pack: &Pack, manifest: &Manifest) -> Option<Diagnostic> {
    let label = manifest.label.as_deref().filter(|label| *label != pack.id.as_str())?;
    let error = Error::definition("pack_id", format!("the pack in `{}` calls itself `{label}`", pack.id))
        .with_hint("the name of the directory counts; make both the same");
    Some(Diagnostic::warning(pack.path(), error))
}

fn open_packs(workspace: Option<&Directory>, found: &mut Vec<Diagnostic>) -> Vec<Arc<Pack>> {
    let directory = match workspace.map_or(Ok(None), |workspace| workspace.directory(PACKS)) {
        Ok(Some(directory)) => directory,
        Ok(None) => return Vec::new(),
        Err(error) => {
            found.push(Diagnostic::error(PACKS, error));
            return Vec::new();
        }
    };
    let listed = directory.list().unwrap_or_else(|error| {
        found.push(Diagnostic::error(PACKS, error));
        Vec::new()
    });
    let mut packs = Vec::new();
    for listed in listed.into_iter().filter(|listed| listed.directory && !listed.name.starts_with('.')) {
        match directory.directory(&listed.name) {
            Ok(Some(directory)) => {
                packs.push(Arc::new(Pack {
                    id: PackId::new(&listed.name),
                    directory,
                    manifest: OnceLock::new(),
                }));
            }
            Ok(None) => {}
            Err(error) => found.push(Diagnostic::error(format!("{PACKS}/{}", listed.name), error)),
        }
    }
    packs
}
