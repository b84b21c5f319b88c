//! Which files the catalog holds: those of prompts, partials, presets, agents and packs, and the user's words and
//! defaults. Everything else in the workspace does not exist here.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use hinagata_document::{Digest, Result};
use hinagata_workspace::{
    Directory,
    layout::{AGENTS, PARTIALS, PROMPTS, SHARED},
    secret::SecretPolicy,
    write,
};

use super::EditError;
use crate::{
    Catalog, PromptId, defaults,
    pack::{Pack, PackLimits, walk_pack},
    source::{Root, RootKind},
};

/// The directory of a source root with modules that override presets.
const PRESETS: &str = "presets";

/// The files of the user's own directory beside prompts and agents.
const WORDS: [&str; 2] = ["vocab.json", "vocab.txt"];

/// Endings of files that Python runs or loads.
const CODE: [&str; 7] = [".py", ".pyw", ".pyi", ".pyc", ".pyo", ".pth", ".so"];

/// A file that the catalog holds, or could hold: it need not exist.
#[derive(Clone, Debug)]
pub struct HeldFile {
    /// The prefix of its place, and its path beneath it.
    pub path: String,
    /// The prompt that it belongs to.
    pub prompt: Option<PromptId>,
    pub(super) inner: String,
    pub(super) place: FilePlace,
}

/// The files that the catalog holds, and whether there are more than were asked for.
#[derive(Debug, Default)]
pub struct HeldFiles {
    /// The files, sorted by path.
    pub files: Vec<HeldFile>,
    /// Whether the list was cut.
    pub is_cut: bool,
}

/// Where a file is.
#[derive(Clone, Debug)]
pub(super) enum FilePlace {
    Root(Arc<Root>),
    /// The user's own directory, for files beside prompts.
    Shared(Arc<Directory>),
    Pack(Arc<Pack>),
}

impl HeldFile {
    /// The prefix of its place and its path beneath it, for [`Catalog::with_unsaved`].
    #[must_use]
    pub fn split_path(&self) -> (&str, &str) {
        let prefix = &self.path[..self.path.len() - self.inner.len()];
        (prefix.trim_end_matches('/'), &self.inner)
    }

    /// Whether the file is one of the user's own.
    #[must_use]
    pub fn is_own(&self) -> bool {
        match &self.place {
            FilePlace::Root(root) => matches!(root.kind, RootKind::Shared | RootKind::Path(_)),
            FilePlace::Shared(_) => true,
            FilePlace::Pack(_) => false,
        }
    }

    /// Whether the file is in a source root, so that an unsaved text can take its place.
    #[must_use]
    pub fn is_in_root(&self) -> bool {
        matches!(self.place, FilePlace::Root(_))
    }

    /// Whether Python may run the file.
    #[must_use]
    pub fn is_code(&self) -> bool {
        is_code(&self.path)
    }

    /// Its bytes, at most `largest`; `None` if it does not exist. Of a pack these are the current ones, approved or not.
    ///
    /// # Errors
    /// Code `definition` if it is larger, no regular file, or cannot be read.
    pub fn read_bytes(&self, largest: u64) -> Result<Option<Vec<u8>>> {
        let read = match &self.place {
            FilePlace::Root(root) => root.tree.read_bytes(&self.inner, largest),
            FilePlace::Shared(directory) => directory.read_bytes(&self.inner, largest),
            FilePlace::Pack(pack) => pack.directory().read_bytes(&self.inner, largest),
        };
        read.map_err(|error| error.in_file(&self.path))
    }

    /// Its approved bytes; `None` if it is not of a pack, or was not approved.
    ///
    /// # Errors
    /// Code `approval` if the approved copy has changed.
    pub fn read_approved(&self, largest: u64) -> Result<Option<Vec<u8>>> {
        match &self.place {
            FilePlace::Pack(pack) => pack.seal().approved_bytes(&self.inner, largest),
            FilePlace::Root(_) | FilePlace::Shared(_) => Ok(None),
        }
    }

    /// The SHA-256 of its content; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`HeldFile::read_bytes`].
    pub fn digest(&self, largest: u64) -> Result<Option<Digest>> {
        Ok(self.read_bytes(largest)?.map(|bytes| Digest::sha256(&bytes)))
    }

    /// The directory that its path starts from on this machine, created if it is missing.
    pub(super) fn own_directory(&self, root: &Path) -> Result<PathBuf, EditError> {
        let prefix = match &self.place {
            FilePlace::Root(root) if self.is_own() => root.prefix.as_str(),
            FilePlace::Shared(_) => SHARED,
            _ => return Err(EditError::ReadOnly { path: self.path.clone() }),
        };
        own_base(root, prefix)
    }
}

/// The directory of the user's own files at `prefix`, created if it is missing.
pub(super) fn own_base(root: &Path, prefix: &str) -> Result<PathBuf, EditError> {
    match Path::new(prefix).is_absolute() {
        true => Ok(PathBuf::from(prefix)),
        false => Ok(write::directory_beneath(root, prefix)?),
    }
}

/// Whether Python may run a file of this name.
pub(super) fn is_code(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    CODE.iter().any(|ending| path.ends_with(ending))
}

/// Whether every segment of a path is a plain, visible name whose file is not secret by it.
fn is_plain(path: &str) -> bool {
    let is_fine = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part != "__pycache__"
            && !part.chars().any(|c| c.is_control() || c == '\\' || c == '\u{fffd}')
    };
    path.len() <= 4_096
        && path.split('/').all(is_fine)
        && SecretPolicy::default().refuses_name(path).is_none()
}

/// The prompt of the file at `inner` of a source root; `None` if it cannot be part of the catalog.
fn role_in_root(kind: &RootKind, inner: &str) -> Option<Option<PromptId>> {
    let Some((first, rest)) = inner.split_once('/') else {
        return (*kind == RootKind::Shared && inner == defaults::FILE).then_some(None);
    };
    match first {
        PARTIALS => Some(None),
        PRESETS => (rest.ends_with(".yaml") && !rest.contains('/')).then_some(None),
        _ => PromptId::from_directory_name(first).map(Some),
    }
}

/// Whether the file at `inner` of the user's own directory is part of the catalog.
fn is_beside_prompts(inner: &str) -> bool {
    let parts: Vec<&str> = inner.split('/').collect();
    match parts.as_slice() {
        [name] => WORDS.contains(name),
        [AGENTS, _, "agent.json"] => true,
        _ => false,
    }
}

fn role_in_pack(inner: &str) -> Option<PromptId> {
    let (name, _) = inner.strip_prefix(PROMPTS)?.strip_prefix('/')?.split_once('/')?;
    PromptId::from_directory_name(name).filter(|_| name != PARTIALS && name != PRESETS)
}

impl Catalog {
    /// The file at `path` if the catalog holds it, or would hold it if it existed.
    #[must_use]
    pub fn held_file(&self, path: &str) -> Option<HeldFile> {
        let is_absolute = path.starts_with('/');
        if !is_plain(path.strip_prefix('/').unwrap_or(path)) {
            return None;
        }
        let beneath = |prefix: &str| Some(path.strip_prefix(prefix)?.strip_prefix('/')?.to_owned());
        let own = self
            .roots()
            .iter()
            .filter(|index| !matches!(index.root.kind, RootKind::Pack(_) | RootKind::Store));
        let mut found: Option<HeldFile> = None;
        for index in own {
            let Some(inner) = beneath(&index.root.prefix) else { continue };
            let Some(prompt) = role_in_root(&index.root.kind, &inner) else { continue };
            let exists = index.root.tree.file_stamp(&inner).is_some();
            // Of two source roots at one place, the one that has the file counts.
            if exists || found.is_none() {
                let place = FilePlace::Root(Arc::clone(&index.root));
                found = Some(HeldFile { path: path.to_owned(), prompt, inner, place });
            }
            if exists {
                break;
            }
        }
        let of_pack = || {
            let (pack, inner) =
                self.opened_packs().iter().find_map(|pack| Some((pack, beneath(&pack.path())?)))?;
            let place = FilePlace::Pack(Arc::clone(pack));
            Some(HeldFile { path: path.to_owned(), prompt: role_in_pack(&inner), inner, place })
        };
        let of_shared = || {
            let inner = beneath(SHARED).filter(|inner| !is_absolute && is_beside_prompts(inner))?;
            let place = FilePlace::Shared(Arc::clone(self.shared_directory().ok()??));
            Some(HeldFile { path: path.to_owned(), prompt: None, inner, place })
        };
        found.or_else(of_pack).or_else(of_shared).filter(|file| self.reaches_file(file))
    }

    /// Whether the caller may see the file: one that is bound to prompts sees files of those only.
    fn reaches_file(&self, file: &HeldFile) -> bool {
        let Some(reach) = self.reach() else { return true };
        file.prompt.as_ref().is_some_and(|id| reach.has_prompt(id.as_str()))
    }

    /// The files that the catalog holds whose paths start with `under`, which is a whole path or that of a directory,
    /// at most `most`.
    #[must_use]
    pub fn held_files(&self, under: &str, most: usize) -> HeldFiles {
        let under = under.trim_end_matches('/');
        let is_under = |path: &str| {
            under.is_empty()
                || path.strip_prefix(under).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // A directory counts if it is under the prefix, or above it.
        let is_near = |directory: &str| {
            is_under(directory) || under.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
        };
        let mut paths: Vec<String> = Vec::new();
        for index in self.roots().iter().filter(|index| is_near(&index.root.prefix)) {
            let root = &index.root;
            if matches!(root.kind, RootKind::Pack(_) | RootKind::Store) {
                continue;
            }
            let names = index.iter().map(|entry| entry.name()).chain([PARTIALS, PRESETS]);
            for name in names.filter(|name| is_near(&format!("{}/{name}", root.prefix))) {
                let files = root.tree.list_files(name, most + 1);
                paths.extend(files.into_iter().map(|inner| format!("{}/{inner}", root.prefix)));
                if paths.len() > most {
                    break;
                }
            }
            if root.kind == RootKind::Shared && root.tree.file_stamp(defaults::FILE).is_some() {
                paths.push(format!("{}/{}", root.prefix, defaults::FILE));
            }
        }
        for pack in self.opened_packs().iter().filter(|pack| is_near(&pack.path())) {
            let walked = walk_pack(pack.directory().path(), &PackLimits::DEFAULT);
            paths.extend(walked.files.into_keys().map(|inner| format!("{}/{inner}", pack.path())));
        }
        if let Ok(Some(directory)) = self.shared_directory() {
            let agents = crate::source::list_files(directory, AGENTS, most);
            let words = WORDS.into_iter().map(str::to_owned).chain(agents);
            let exists = |inner: &String| is_beside_prompts(inner) && directory.stamp(inner).is_some();
            paths.extend(words.filter(exists).map(|inner| format!("{SHARED}/{inner}")));
        }
        paths.retain(|path| is_under(path));
        paths.sort_unstable();
        paths.dedup();
        let mut files: Vec<HeldFile> = paths.iter().filter_map(|path| self.held_file(path)).collect();
        let is_cut = files.len() > most;
        files.truncate(most);
        HeldFiles { files, is_cut }
    }
}
