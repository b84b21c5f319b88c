//! Source roots: directories of the workspace, packs, the store, and the compiled-in prompts.

pub(crate) mod builtin;
mod entry;
mod foreign;
mod overlay;
mod tree;

use std::{collections::BTreeSet, sync::Arc};

use hinagata_document::{Diagnostic, Error, Reason, Result};
use hinagata_workspace::{LinkTarget, layout::PARTIALS};

pub use entry::Entry;
use entry::PRESETS;
pub use foreign::{ForeignFiles, ForeignPlace, ForeignTree, unknown_format, with_shown_path};
pub use hinagata_workspace::{Directory, ReadFile, Refused, Stamp};
pub use overlay::{OverlayTree, UnsavedTexts};
pub use tree::{Compiled, DirectoryNames, FileTree, NoFiles};
pub(crate) use tree::{list_directories, list_files, list_partials, open_tree, tree_as};

use crate::{
    PackId, PromptId,
    store::{StorePrompt, StorePrompts},
};

/// The kind of a source root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RootKind {
    /// The user's own prompts.
    Shared,
    /// A directory of the settings, by its index in the list.
    Path(usize),
    /// The prompts of a library, by its index in the list of libraries.
    Library(usize),
    /// Prompts of other formats, by their index in the list of places.
    Foreign(usize),
    /// A file of another format that the caller named.
    Named,
    /// The prompts of a pack.
    Pack(PackId),
    /// The store.
    Store,
    /// The built-in prompts, compiled in or in a directory.
    Builtin,
}

/// A source root without its entries.
#[derive(Debug)]
pub struct Root {
    /// Its kind.
    pub kind: RootKind,
    /// The path from the workspace root; absolute outside of the workspace.
    pub prefix: String,
    /// Its files.
    pub tree: Box<dyn FileTree>,
}

/// A source root and its prompts.
#[derive(Clone, Debug)]
pub struct Index {
    /// The source root.
    pub root: Arc<Root>,
    /// Sorted by id, then by name. A sorted list suffices because it is built once and never changed.
    entries: Vec<Arc<Entry>>,
    /// Directories whose names are not valid ids.
    pub(crate) unnamed: Vec<String>,
    /// Diagnostics of links that cannot be followed, by path from the workspace root.
    pub(crate) left_out: Vec<Diagnostic>,
}

impl Index {
    /// Lists `root`; entries that did not change since `before` are shared with it.
    pub fn new(root: Root, before: Option<&Self>) -> Result<Self> {
        let same = before
            .filter(|before| before.root.tree.is_same(&*root.tree) && before.root.prefix == root.prefix);
        let root = same.map_or_else(|| Arc::new(root), |before| Arc::clone(&before.root));
        let (names, links) = root.tree.list_directories()?;
        let links = links.into_iter().filter(|(name, _)| !name.starts_with('.'));
        let left_out = links.map(|(name, leads)| link_diagnostic(&root.prefix, &name, leads)).collect();
        let mut index = Self { root, entries: Vec::new(), unnamed: Vec::new(), left_out };
        let mut named = Vec::new();
        for name in names.into_iter().filter(|name| is_prompt_name(name)) {
            match index.root.tree.prompt_id(&name) {
                Some(id) => named.push((id, name)),
                None => index.unnamed.push(name),
            }
        }
        index.entries = on_all_processors(&named, |(id, name)| {
            let known =
                same.and_then(|before| before.entry_of(id, name)).filter(|entry| entry.is_unchanged());
            known.cloned().unwrap_or_else(|| Arc::new(Entry::new(id.clone(), name, Arc::clone(&index.root))))
        });
        // The names are sorted, and a stable sort keeps their order within an id.
        index.entries.sort_by(|one, other| one.id().cmp(other.id()));
        Ok(index)
    }

    /// The prompts of a store; those that did not change since `before` are shared with it.
    pub(crate) fn from_store(prompts: &StorePrompts, before: Option<&Self>) -> Self {
        let root = before.map_or_else(
            || Arc::new(Root { kind: RootKind::Store, prefix: "store".to_owned(), tree: Box::new(NoFiles) }),
            |before| Arc::clone(&before.root),
        );
        let entry = |prompt: &StorePrompt| {
            let same = |entry: &&Arc<Entry>| entry.store_prompt().is_some_and(|known| known.is_same(prompt));
            let known = before.and_then(|before| before.entries_with_id(&prompt.id).iter().find(same));
            known.cloned().unwrap_or_else(|| Arc::new(Entry::from_store(prompt.clone(), Arc::clone(&root))))
        };
        let entries = prompts.prompts.values().flatten().map(entry).collect();
        Self { root: Arc::clone(&root), entries, unnamed: Vec::new(), left_out: Vec::new() }
    }

    /// Looks at every directory, so that listing the prompts does not have to do it one after the other.
    pub fn look_at_directories(&self) {
        on_all_processors(&self.entries, |entry| entry.is_prompt());
    }

    /// The directories with this id, in the order of their names.
    fn entries_with_id(&self, id: &PromptId) -> &[Arc<Entry>] {
        let start = self.entries.partition_point(|entry| entry.id() < id);
        let count = self.entries[start..].iter().take_while(|entry| entry.id() == id).count();
        &self.entries[start..start + count]
    }

    fn entry_of(&self, id: &PromptId, name: &str) -> Option<&Arc<Entry>> {
        self.entries_with_id(id).iter().find(|entry| entry.name() == name)
    }

    /// The prompts with this id, in the order of their names.
    pub fn find<'a>(&'a self, id: &PromptId) -> impl Iterator<Item = &'a Arc<Entry>> {
        self.entries_with_id(id).iter().filter(|entry| entry.is_prompt())
    }

    /// The prompts of this source root by id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(|entry| entry.is_prompt())
    }

    /// The first id that is not less than `from`, also that of a directory that is not a prompt.
    pub(crate) fn next_id(&self, from: &str) -> Option<&str> {
        let place = self.entries.partition_point(|entry| entry.id().as_str() < from);
        self.entries.get(place).map(|entry| entry.id().as_str())
    }

    /// The same prompts with unsaved texts in the place of some files, by path beneath the source root. Prompts without
    /// an unsaved text are shared, and the source root is not listed again.
    #[must_use]
    pub fn with_unsaved(&self, texts: UnsavedTexts) -> Self {
        let Root { kind, prefix, .. } = &*self.root;
        let mut names: BTreeSet<String> =
            texts.keys().filter_map(|path| Some(path.split_once('/')?.0.to_owned())).collect();
        if names.contains(PRESETS) {
            // Modules read presets besides the files of their own directory.
            names.extend(self.entries.iter().map(|entry| entry.name().to_owned()));
        }
        let tree = Box::new(OverlayTree::new(Arc::clone(&self.root), texts));
        let root = Arc::new(Root { kind: kind.clone(), prefix: prefix.clone(), tree });
        let mut index = Self { root: Arc::clone(&root), ..self.clone() };
        for name in names.into_iter().filter(|name| is_prompt_name(name)) {
            let Some(id) = root.tree.prompt_id(&name) else {
                if !index.unnamed.contains(&name) {
                    index.unnamed.push(name);
                }
                continue;
            };
            let place =
                index.entries.partition_point(|entry| (entry.id(), entry.name()) < (&id, name.as_str()));
            let is_known = index.entries.get(place).is_some_and(|entry| entry.name() == name);
            let entry = Arc::new(Entry::new(id, &name, Arc::clone(&root)));
            match is_known {
                true => index.entries[place] = entry,
                false => index.entries.insert(place, entry),
            }
        }
        index
    }

    /// The prompt whose directory is `source`.
    pub(crate) fn entry_at(&self, source: &str) -> Option<&Arc<Entry>> {
        if self.root.kind == RootKind::Store {
            return self.entries.iter().find(|entry| entry.source() == source);
        }
        let name = source.strip_prefix(self.root.prefix.as_str())?.strip_prefix('/')?;
        self.entry_of(&self.root.tree.prompt_id(name)?, name).filter(|entry| entry.is_prompt())
    }

    /// The links with this id that cannot be followed.
    pub(crate) fn left_out_of<'a>(&'a self, id: &PromptId) -> impl Iterator<Item = &'a Diagnostic> {
        self.left_out.iter().filter(move |found| {
            let name = found.source.rsplit('/').next().unwrap_or_default();
            PromptId::from_directory_name(name).is_some_and(|found| found == *id)
        })
    }
}

/// Whether a directory with this name may be a prompt, if it has the files of one.
fn is_prompt_name(name: &str) -> bool {
    !name.starts_with('.') && name != PARTIALS && name != "__pycache__"
}

/// The warning that a directory is ignored because it is a link that cannot be followed.
fn link_diagnostic(prefix: &str, name: &str, leads: LinkTarget) -> Diagnostic {
    let source = format!("{prefix}/{name}");
    let leads_to = match &leads {
        LinkTarget::Outside => format!("points outside of `{prefix}`"),
        LinkTarget::Missing => "has no target".to_owned(),
        LinkTarget::Unreadable(_) => "cannot be followed".to_owned(),
    };
    let message = format!("`{source}` is ignored because it is a link that {leads_to}");
    let error = Error::definition(Reason::Link, message)
        .with("file", source.as_str())
        .with_hint("replace the link with its target, or add the directory of the target to `catalog.paths`");
    let error = match leads {
        LinkTarget::Unreadable(cause) => error.with_source(cause),
        _ => error,
    };
    Diagnostic::warning(source, error)
}

/// The results of `work` for all items, in their order. Few items are not worth a thread.
fn on_all_processors<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const FEW: usize = 500;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if items.len() < FEW || threads == 1 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    let run = |part: &'_ [T]| part.iter().map(work).collect::<Vec<R>>();
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            items.chunks(items.len().div_ceil(threads)).map(|part| scope.spawn(move || run(part))).collect();
        parts
            .into_iter()
            .flat_map(|part| match part.join() {
                Ok(results) => results,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}
