//! The catalog: all prompts at one moment, as an immutable snapshot.
//!
//! Opening it only lists directories. A prompt, a pack or a settings file is read on first use and cached.
//! [`Catalog::reload`] creates a new snapshot that shares whatever did not change, by size, modification time and
//! inode.

mod agents;
mod candidates;
mod libraries;
mod listing;
mod lookup;
mod overlay;
mod packs;
mod reach;
mod tools;
mod unread;
mod withheld;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use hinagata_document::{Code, Diagnostic, Error, Result, Severity, sort_diagnostics};
use hinagata_exchange::Report;
use hinagata_workspace::{
    Directory,
    layout::{AGENTS, BUILTIN_PROMPTS, PROMPTS, SHARED, SHARED_PROMPTS},
};

pub use candidates::{Candidate, ResolvedPrompt, not_approved};
pub use libraries::{Library, PromptHome};
pub use listing::{Listing, PromptFilter};
pub use lookup::FoundTemplate;
pub use reach::{BOUND_CALLER_HINT, Reach, ReachCache, StoreReachCache};
pub use tools::PackTools;
pub use withheld::{untrusted_error, withheld_error};

use self::tools::pack_tools;
use crate::{
    Agent, Approvals, Defaults, PackId, PromptId, Resolutions, Vocabulary, agent, defaults,
    pack::{Pack, open_packs},
    resolution,
    source::{
        Compiled, Entry, FileTree, ForeignPlace, ForeignTree, Index, NoFiles, Root, RootKind, builtin,
        open_tree, tree_as,
    },
    store::{StorePrompts, StoreSnapshot},
    tool_document::ToolDocuments,
    vocab,
};

/// Options for opening a catalog.
#[derive(Clone, Debug, Default)]
pub struct CatalogOptions {
    /// The workspace root.
    pub root: PathBuf,
    /// More directories with prompts, relative to the root; searched after the user's prompts and before packs.
    pub paths: Vec<String>,
    /// Places with prompts of other formats; searched after `paths`.
    pub foreign: Vec<ForeignPlace>,
    /// Other workspaces whose prompts are in the catalog; searched after `paths` and before packs.
    pub libraries: Vec<Library>,
    /// The approvals of packs; [`Approvals::load`] reads them from the user's state directory.
    pub approvals: Approvals,
    /// Directories in the place of those of packs: versions that are compared. These packs count as approved.
    pub replaced_packs: BTreeMap<PackId, PathBuf>,
    /// The snapshot of the store whose prompts are in the catalog, if there is a store.
    pub store: Option<Arc<StoreSnapshot>>,
    /// Whether the previous version of a prompt of the store is served when the current one is invalid.
    pub serve_stale: bool,
}

impl CatalogOptions {
    /// The workspace at `root`, without approvals.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), ..Self::default() }
    }
}

/// An immutable snapshot of all prompts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog(Arc<Inner>, Option<Arc<Reach>>);

#[derive(Debug)]
struct Inner {
    options: CatalogOptions,
    /// In search order; the packs by name.
    roots: Vec<Index>,
    packs: Vec<Arc<Pack>>,
    /// Diagnostics of files of other formats that cannot be read.
    foreign: Vec<Diagnostic>,
    /// The files that callers name, each with the id of its prompt.
    named: Vec<(String, Result<PromptId>)>,
    shared: Result<Option<Arc<Directory>>>,
    opening: Vec<Diagnostic>,
    vocabulary: OnceLock<(Vocabulary, Vec<Diagnostic>)>,
    resolutions: OnceLock<(Resolutions, Vec<Diagnostic>)>,
    defaults: OnceLock<Result<Defaults>>,
    tools: OnceLock<PackTools>,
    /// Diagnostics of documents of the store.
    stored: Vec<Diagnostic>,
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

    /// A new snapshot with another snapshot of the store. Directories are not listed again.
    #[must_use]
    pub fn with_store(&self, store: Arc<StoreSnapshot>) -> Self {
        let before = &self.0;
        let (index, stored) = index_of_store(&store, Some(self), before.options.serve_stale);
        let mut roots: Vec<Index> =
            before.roots.iter().filter(|index| index.root.kind != RootKind::Store).cloned().collect();
        let place = roots.partition_point(|index| index.root.kind != RootKind::Builtin);
        roots.insert(place, index);
        let inner = Arc::new(Inner {
            options: CatalogOptions { store: Some(store), ..before.options.clone() },
            roots,
            packs: before.packs.clone(),
            foreign: before.foreign.clone(),
            named: before.named.clone(),
            shared: before.shared.clone(),
            opening: before.opening.clone(),
            vocabulary: before.vocabulary.clone(),
            resolutions: before.resolutions.clone(),
            defaults: before.defaults.clone(),
            tools: before.tools.clone(),
            stored,
        });
        Self(inner, self.1.clone())
    }

    /// Whether both are the same snapshot of the same files and documents, whoever may see how much of it.
    #[must_use]
    pub fn is_same_snapshot(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The same snapshot for a caller with this reach: all other prompts are invisible.
    #[must_use]
    pub fn with_reach(&self, reach: &Arc<Reach>) -> Self {
        Self(Arc::clone(&self.0), Some(Arc::clone(reach)))
    }

    /// The same snapshot without a restriction.
    pub fn without_reach(&self) -> Self {
        Self(Arc::clone(&self.0), None)
    }

    /// The reach of the caller; `None` for everything.
    pub fn reach(&self) -> Option<&Arc<Reach>> {
        self.1.as_ref()
    }

    /// The snapshot of the store that the prompts come from.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<StoreSnapshot>> {
        self.0.options.store.as_ref()
    }

    fn build(options: CatalogOptions, before: Option<&Self>) -> Self {
        let mut opening = Vec::new();
        let workspace = Directory::open(&options.root).unwrap_or_else(|error| {
            opening.push(Diagnostic::error(".", error));
            None
        });
        let packs = open_packs(workspace.as_ref(), &options.approvals, &options.replaced_packs, &mut opening);
        let mut roots = Vec::new();
        let mut add = |kind: RootKind, prefix: String, tree: Box<dyn FileTree>| {
            let same = |index: &&Index| index.root.kind == kind && index.root.tree.is_same(&*tree);
            let known = before.and_then(|before| before.0.roots.iter().find(same));
            match Index::new(Root { kind, prefix: prefix.clone(), tree }, known) {
                Ok(index) => roots.push(index),
                Err(error) => opening.push(Diagnostic::error(prefix, error)),
            }
        };
        let (mut problems, mut found, mut missing_paths) = (Vec::new(), Vec::new(), Vec::new());
        let mut open = |prefix: &str| {
            let opened = match (&workspace, Path::new(prefix).is_absolute()) {
                (_, true) => Directory::open(Path::new(prefix)),
                (Some(workspace), _) => workspace.directory(prefix),
                (None, _) => Ok(None),
            };
            opened.unwrap_or_else(|error| {
                problems.push(Diagnostic::error(prefix, error.in_file(prefix)));
                None
            })
        };
        add(RootKind::Shared, SHARED_PROMPTS.to_owned(), open_tree(open(SHARED_PROMPTS)));
        for (place, path) in options.paths.iter().enumerate() {
            let prefix = path.trim_end_matches('/').to_owned();
            let directory = open(&prefix);
            if let (None, Some(workspace)) = (&directory, &workspace) {
                missing_paths.extend(missing_path(workspace, &prefix));
            }
            add(RootKind::Path(place), prefix, open_tree(directory));
        }
        let (mut of_foreign, mut foreign, mut named) = (Vec::new(), Vec::new(), Vec::new());
        for (number, place) in options.foreign.iter().enumerate() {
            match ForeignTree::open(&options.root, place) {
                Ok((tree, prefix, problems)) => {
                    let kind = match &place.named {
                        Some(name) => {
                            let failed = problems.into_iter().find(|found| found.severity == Severity::Error);
                            let id = failed.map_or_else(|| tree.named_id(name), |found| Err(found.error));
                            named.push((name.clone(), id));
                            RootKind::Named
                        }
                        None => {
                            foreign.extend(problems);
                            RootKind::Foreign(number)
                        }
                    };
                    add(kind, prefix, Box::new(tree));
                }
                Err(error) => match &place.named {
                    Some(name) => named.push((name.clone(), Err(error))),
                    None => of_foreign.push(Diagnostic::error(&*place.path, error)),
                },
            }
        }
        let mut of_libraries = Vec::new();
        for (place, directory) in open_libraries(&options, &mut of_libraries) {
            let prefix = directory.path().to_string_lossy().into_owned();
            add(RootKind::Library(place), prefix, open_tree(Some(directory)));
        }
        for pack in &packs {
            let prefix = format!("{}/{PROMPTS}", pack.path());
            let tree = pack.prompts().unwrap_or_else(|error| {
                found.push(Diagnostic::error(&prefix, error));
                Box::new(NoFiles)
            });
            add(RootKind::Pack(pack.id.clone()), prefix, tree);
        }
        add(RootKind::Builtin, BUILTIN_PROMPTS.to_owned(), open_tree(open(BUILTIN_PROMPTS)));
        add(RootKind::Builtin, BUILTIN_PROMPTS.to_owned(), Box::new(Compiled));
        let mut stored = Vec::new();
        if let Some(store) = &options.store {
            let (index, found) = index_of_store(store, before, options.serve_stale);
            let place = roots.partition_point(|index| index.root.kind != RootKind::Builtin);
            roots.insert(place, index);
            stored = found;
        }
        opening.extend(
            problems.into_iter().chain(missing_paths).chain(of_foreign).chain(of_libraries).chain(found),
        );
        let shared = workspace.as_ref().map_or(Ok(None), |workspace| workspace.directory(SHARED));
        let shared = shared.map(|directory| directory.map(Arc::new)).map_err(|error| error.in_file(SHARED));
        let inner = Arc::new(Inner {
            options,
            roots,
            packs,
            foreign,
            named,
            shared,
            opening,
            vocabulary: OnceLock::new(),
            resolutions: OnceLock::new(),
            defaults: OnceLock::new(),
            tools: OnceLock::new(),
            stored,
        });
        Self(inner, before.and_then(|before| before.1.clone()))
    }

    /// The workspace root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.0.options.root
    }

    /// The libraries.
    pub(crate) fn libraries(&self) -> &[Library] {
        &self.0.options.libraries
    }

    /// Diagnostics of files of other formats that cannot be read; each stands for a prompt.
    pub(crate) fn foreign_problems(&self) -> &[Diagnostic] {
        &self.0.foreign
    }

    /// The id of the prompt of a file that the caller named.
    pub(crate) fn named_id(&self, name: &str) -> Option<Result<PromptId>> {
        self.0.named.iter().find(|(known, _)| known == name).map(|(_, id)| id.clone())
    }

    /// What the translation of a prompt of another format lost; `None` for other prompts.
    #[must_use]
    pub fn foreign_report(&self, entry: &Entry) -> Option<&Report> {
        let mut roots = self.0.roots.iter().filter(|index| index.root.kind == *entry.root());
        roots.find_map(|index| tree_as::<ForeignTree>(&*index.root.tree)?.report(entry.name()))
    }

    /// The approvals of packs.
    pub fn approvals(&self) -> &Approvals {
        &self.0.options.approvals
    }

    /// The packs in the order of their names, whatever their state.
    pub fn opened_packs(&self) -> &[Arc<Pack>] {
        &self.0.packs
    }

    /// Diagnostics of opening and listing directories.
    pub(crate) fn opening_diagnostics(&self) -> &[Diagnostic] {
        &self.0.opening
    }

    /// The user's own directory, for files other than prompts.
    pub(crate) fn shared_directory(&self) -> Result<Option<&Arc<Directory>>> {
        self.0.shared.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    /// Diagnostics of vocabulary files.
    #[must_use]
    pub fn vocabulary_problems(&self) -> &[Diagnostic] {
        &self.0.vocabulary.get_or_init(|| self.read_vocabulary()).1
    }

    /// The source roots in search order.
    pub fn roots(&self) -> &[Index] {
        &self.0.roots
    }

    /// All words: the user's, then those of active packs by name, then the built-in ones.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.0.vocabulary.get_or_init(|| self.read_vocabulary()).0
    }

    fn read_vocabulary(&self) -> (Vocabulary, Vec<Diagnostic>) {
        let mut vocabulary = Vocabulary::default();
        let mut found = Vec::new();
        let mut add = |prefix: &str, read: &dyn Fn(&str) -> Result<Option<Arc<str>>>| {
            for name in ["vocab.json", "vocab.txt"] {
                let file = format!("{prefix}/{name}");
                match read(name) {
                    Ok(Some(text)) if name == "vocab.json" => found.extend(vocabulary.add_json(&file, &text)),
                    Ok(Some(text)) => found.extend(vocabulary.add_text(&file, &text)),
                    Ok(None) => {}
                    Err(error) => found.push(Diagnostic::error(&*file, error.in_file(&file))),
                }
            }
        };
        add(SHARED, &|name| match &self.0.shared {
            Ok(Some(directory)) => Ok(directory.read(name, vocab::LARGEST)?.map(|file| file.text)),
            // The diagnostics of the prompts beneath it report that it cannot be read.
            Ok(None) | Err(_) => Ok(None),
        });
        for pack in self.active_packs() {
            add(&pack.path(), &|name| pack.read(name, vocab::LARGEST));
        }
        found.extend(vocabulary.add_unknown(BUILTIN_PROMPTS, builtin::VOCABULARY));
        (vocabulary, found)
    }

    /// The preferred word for `word` in `namespace`, such as `tool`. In the namespace `prompt` it is the id of the
    /// prompt that a call would use; if there is none, the last word that the aliases lead to.
    #[must_use]
    pub fn preferred_word(&self, namespace: &str, word: &str) -> Option<String> {
        let prompt = || self.resolve_id(word).ok().map(|id| id.as_str().to_owned());
        let prompt = if namespace == "prompt" { prompt() } else { None };
        prompt.or_else(|| self.vocabulary().preferred_word(namespace, word).map(str::to_owned))
    }

    /// The resolutions; none when they cannot be read, which [`Resolutions::problem`] reports.
    #[must_use]
    pub fn resolutions(&self) -> &Resolutions {
        let read = || match self.shared_file(resolution::FILE, resolution::LARGEST) {
            Ok(Some((file, text))) => Resolutions::parse(&file, &text),
            Ok(None) => (Resolutions::default(), Vec::new()),
            Err(error) => {
                let found =
                    Diagnostic::error(format!("{SHARED_PROMPTS}/{}", resolution::FILE), error.clone());
                (Resolutions::from_problem(error), vec![found])
            }
        };
        &self.0.resolutions.get_or_init(read).0
    }

    /// The defaults of all prompts of the workspace.
    ///
    /// # Errors
    /// Code `definition` or `store` when `defaults.json` exists and cannot be used. It may contain caps, so nothing is
    /// rendered without it.
    pub fn defaults(&self) -> Result<&Defaults> {
        let read = || match self.shared_file(defaults::FILE, defaults::LARGEST)? {
            Some((file, text)) => Defaults::parse(&file, &text),
            None => Ok(Defaults::default()),
        };
        self.0.defaults.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The definitions of the tools of active packs, by pack and name.
    #[must_use]
    pub fn tools(&self) -> ToolDocuments {
        Arc::clone(&self.pack_tools().own)
    }

    /// The tools of active packs, with the diagnostics of their files.
    pub fn pack_tools(&self) -> &PackTools {
        self.0.tools.get_or_init(|| pack_tools(self))
    }

    /// Why the user's prompts directory cannot be read.
    pub(crate) fn unread_prompts(&self) -> Option<&Diagnostic> {
        self.0.opening.iter().find(|found| matches!(&*found.source, "." | SHARED_PROMPTS))
    }

    /// A file of the user's prompts directory: its path from the workspace root, and its text; `None` when it is
    /// missing.
    ///
    /// # Errors
    /// Also when the directory itself exists and cannot be read.
    fn shared_file(&self, name: &str, largest: u64) -> Result<Option<(String, Arc<str>)>> {
        let file = format!("{SHARED_PROMPTS}/{name}");
        if let Some(unread) = self.unread_prompts() {
            return Err(unread.error.clone());
        }
        let index = self.0.roots.iter().find(|index| index.root.kind == RootKind::Shared);
        let read = index.map_or(Ok(None), |index| index.root.tree.read_text(name, largest));
        let found = read.map_err(|error| error.in_file(&file))?;
        Ok(found.map(|(text, _)| (file, text)))
    }

    /// The agent called `id`: of the user, else of an active pack; `None` when it is unknown.
    ///
    /// # Errors
    /// Code `definition` when its `agent.json` is broken, code `store` when it cannot be read.
    pub fn agent(&self, id: &str) -> Result<Option<Agent>> {
        // A name must not be a path.
        if id.is_empty() || id.starts_with('.') || id.contains(['/', '\\', '\0']) {
            return Ok(None);
        }
        let name = format!("{AGENTS}/{id}/agent.json");
        if let Some(directory) = self.shared_directory()? {
            let path = format!("{SHARED}/{name}");
            let file = directory.read(&name, agent::LARGEST).map_err(|error| error.in_file(&path))?;
            if let Some(file) = file {
                return Agent::parse(id, &path, &file.text).map(Some);
            }
        }
        // The existence of the file decides whether its pack must be checked.
        for pack in self.0.packs.iter().filter(|pack| pack.has_file(&name)) {
            if self.is_active(&pack.id)
                && let Some(text) = pack.read(&name, agent::LARGEST)?
            {
                return Agent::parse(id, &format!("{}/{name}", pack.path()), &text).map(Some);
            }
        }
        Ok(None)
    }

    /// Diagnostics of prompts of the store.
    pub(crate) fn store_problems(&self) -> &[Diagnostic] {
        &self.0.stored
    }

    /// The diagnostics of opening, and of vocabularies, resolutions, defaults, packs and the store.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = self.0.opening.clone();
        all.extend(self.vocabulary_problems().iter().cloned());
        let _ = self.resolutions();
        let resolutions = self.0.resolutions.get().filter(|_| self.unread_prompts().is_none());
        all.extend(resolutions.map(|(_, found)| found.clone()).unwrap_or_default());
        let defaults = format!("{SHARED_PROMPTS}/{}", defaults::FILE);
        match self.defaults() {
            Err(_) if self.unread_prompts().is_some() => {}
            Ok(found) => {
                all.extend(found.warnings.iter().map(|one| Diagnostic::warning(&*defaults, one.clone())));
            }
            Err(error) => all.push(Diagnostic::error(defaults, error)),
        }
        all.extend(self.0.roots.iter().flat_map(|index| index.left_out.clone()));
        all.extend(self.pack_tools().found.clone());
        for pack in &self.0.packs {
            all.extend(pack.diagnostics());
        }
        all.extend(self.namespace_conflicts());
        all.extend(self.0.stored.iter().cloned());
        all.extend(self.0.foreign.iter().cloned());
        all.extend(self.store().into_iter().flat_map(|store| store.diagnostics.iter().cloned()));
        sort_diagnostics(all)
    }

    /// Reads every prompt and returns all diagnostics of the workspace.
    #[must_use]
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut all = self.check_files();
        all.extend(self.0.roots.iter().flat_map(Index::iter).flat_map(|entry| entry.diagnostics()));
        sort_diagnostics(all)
    }

    /// All diagnostics of the workspace but those of the definitions of prompts, which [`Entry::diagnostics`] returns.
    #[must_use]
    pub fn check_files(&self) -> Vec<Diagnostic> {
        let mut all = self.diagnostics();
        all.extend(self.check_agents());
        for index in &self.0.roots {
            for name in &index.unnamed {
                let error = PromptId::new(name).err().unwrap_or_else(|| {
                    Error::new(
                        Code::Id,
                        format!("the directory `{name}` cannot be a prompt: its name contains a `.`"),
                    )
                });
                all.push(Diagnostic::warning(format!("{}/{name}", index.root.prefix), error));
            }
        }
        sort_diagnostics(all)
    }
}

/// The directories with prompts of the libraries, each with the index of its library. One that is searched already is
/// left out: a library may be the workspace itself.
fn open_libraries(options: &CatalogOptions, found: &mut Vec<Diagnostic>) -> Vec<(usize, Directory)> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if options.libraries.is_empty() {
        return Vec::new();
    }
    let own = [SHARED_PROMPTS].into_iter().chain(options.paths.iter().map(String::as_str));
    let mut searched: Vec<PathBuf> = own.map(|path| real(&options.root.join(path))).collect();
    let mut opened = Vec::new();
    for (place, library) in options.libraries.iter().enumerate() {
        if real(&library.root) == real(&options.root) {
            continue;
        }
        for directory in library.open_directories(found) {
            let path = real(directory.path());
            if !searched.contains(&path) {
                searched.push(path);
                opened.push((place, directory));
            }
        }
    }
    opened
}

/// The diagnostic for a missing directory of `catalog.paths`; an unreadable one is reported elsewhere.
fn missing_path(workspace: &Directory, prefix: &str) -> Option<Diagnostic> {
    let nothing = match Path::new(prefix).is_absolute() {
        true => matches!(Directory::open(Path::new(prefix)), Ok(None)),
        false => matches!(workspace.directory(prefix), Ok(None)),
    };
    let error = Error::new(Code::NotFound, format!("directory `{prefix}` of `catalog.paths` not found"))
        .with_hint("create it, or correct the setting");
    nothing.then(|| Diagnostic::warning(prefix, error.in_file(prefix)))
}

/// The prompts of a store as a source root, and the diagnostics of its documents.
fn index_of_store(
    store: &StoreSnapshot,
    before: Option<&Catalog>,
    serve_stale: bool,
) -> (Index, Vec<Diagnostic>) {
    let known =
        before.and_then(|catalog| catalog.0.roots.iter().find(|index| index.root.kind == RootKind::Store));
    let mut prompts = StorePrompts::from_snapshot(store);
    if let Some(known) = known.filter(|_| serve_stale) {
        prompts.keep_usable(|id| known.find(id).filter_map(|entry| entry.store_prompt().cloned()).collect());
    }
    (Index::from_store(&prompts, known), prompts.diagnostics)
}
