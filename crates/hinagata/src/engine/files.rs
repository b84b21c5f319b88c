//! Reads files for parameters of the type `file` and for hooks.

use std::{
    path::{Component, Path, PathBuf},
    sync::PoisonError,
};

use hinagata_catalog::not_approved;
use serde_json::Value;

use super::{
    layers::{Layer, Layers, Origin},
    pipeline::Call,
};
use crate::{Approval, Code, Error, PACKS, PackId, Reason, Result, source::Directory};

/// Maximum size of a file that a parameter or a hook reads, in bytes.
const LARGEST: u64 = 1 << 20;

/// A directory in which files are looked up.
#[derive(Clone, Debug)]
enum FilePlace {
    /// The project directory of the caller.
    Project(PathBuf),
    /// The workspace path of the caller, the workspace root, or the root of the prompt's library.
    Workspace(PathBuf),
    /// The prompt's own directory.
    Prompt(PathBuf),
}

impl FilePlace {
    fn path(&self) -> &Path {
        match self {
            Self::Project(path) | Self::Workspace(path) | Self::Prompt(path) => path,
        }
    }
}

impl Call<'_> {
    /// Inserts the content of the file whose path is the value of the parameter `name`.
    pub(super) fn insert_file(&self, layers: &mut Layers<'_>, name: &str) -> Result<()> {
        let Some(hit) = layers.visible_hit(name) else { return Ok(()) };
        let (Value::String(path), layer) = (hit.value, hit.layer) else { return Ok(()) };
        let text = self
            .read_first(path, &self.parameter_places(layer))
            .map_err(|error| error.with("parameter", name))?;
        layers.insert_value(layer, Origin::File, name, Value::String(text));
        Ok(())
    }

    /// The directories for the value of a parameter. What the caller passes is looked up in the project first, what an
    /// author declares in the project last, and only if the user trusts the author. To the author of a library, the
    /// workspace is a project, too.
    fn parameter_places(&self, layer: Layer) -> Vec<FilePlace> {
        let (root, workspace) = (self.home_directory(), self.workspace());
        let home = (workspace != root).then(|| FilePlace::Workspace(root.to_owned()));
        let project = self.request.context.project.clone().map(FilePlace::Project);
        let (workspace, prompt) = (FilePlace::Workspace(workspace), FilePlace::Prompt(self.own_path()));
        let is_trusted = self.plan.untrusted_home.is_none();
        if layer == Layer::Call {
            return project.into_iter().chain([workspace, prompt]).chain(home).collect();
        }
        let project = project.filter(|_| is_trusted);
        if self.is_of_library() {
            let workspace = is_trusted.then_some(workspace);
            return home.into_iter().chain([prompt]).chain(workspace).chain(project).collect();
        }
        [workspace, prompt].into_iter().chain(home).chain(project).collect()
    }

    /// The directories for a file that a hook names.
    fn usual_places(&self) -> Vec<FilePlace> {
        vec![FilePlace::Workspace(self.hook_workspace()), FilePlace::Prompt(self.own_path())]
    }

    /// The text of a file beneath the workspace path, or beneath the prompt's own directory.
    ///
    /// # Errors
    /// Code `approval` for a pack file that is not approved in this form; code `validation`, reason `file`, with
    /// `problem`: `missing`, `outside`, `directory`, `no_file`, `encoding`, `size` or `unreadable`.
    pub(super) fn read_beneath(&self, path: &str) -> Result<String> {
        self.read_first(path, &self.usual_places())
    }

    /// The text of the file at `path` in the first place that has it.
    fn read_first(&self, path: &str, places: &[FilePlace]) -> Result<String> {
        let (mut refused, mut is_outside) = (None, true);
        for place in places {
            let Some(inner) = normal(place.path(), path) else { continue };
            is_outside = false;
            if inner.is_empty() && !path.is_empty() {
                return Err(file_error(path, "directory", format!("`{path}` is a directory")));
            }
            let file = place.path().join(&inner);
            let found = self.read_place(place, &inner);
            // A missing file may exist at the next render.
            self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.clone());
            match found {
                Ok(Some(text)) => return Ok(text),
                Ok(None) => {}
                Err(error) if error.code() == Code::Approval => return Err(error),
                Err(error) if file.is_dir() => refused = refused.or(Some(("directory".to_owned(), error))),
                Err(error) => {
                    let problem = error.reason().unwrap_or(Reason::Unreadable).to_string();
                    refused = refused.or(Some((problem, error)));
                }
            }
        }
        Err(match refused {
            None if is_outside => {
                file_error(path, "outside", format!("`{path}` is outside the workspace path"))
            }
            None => file_error(path, "missing", format!("file `{path}` not found")),
            Some((problem, error)) if problem == "directory" => {
                file_error(path, "directory", format!("`{path}` is a directory")).with_source(error)
            }
            Some((problem, error)) => {
                file_error(path, &problem, error.message().to_owned()).with_source(error)
            }
        })
    }

    fn read_place(&self, place: &FilePlace, path: &str) -> Result<Option<String>> {
        match place {
            FilePlace::Prompt(_) => self.own_file(path),
            // To a library, the workspace is a project like any other.
            FilePlace::Workspace(root) => {
                self.file_beneath(root, path, self.is_of_library() && !self.is_at_home(root))
            }
            // The workspace may be the project, and its author may name files of it.
            FilePlace::Project(project) => self.file_beneath(project, path, !self.is_at_home(project)),
        }
    }

    /// The prompt's own directory.
    fn own_path(&self) -> PathBuf {
        self.snapshot.catalog.root().join(self.plan.choice.entry.source())
    }

    /// A file in the prompt's directory. A file of a pack is compared with its approved hash.
    fn own_file(&self, path: &str) -> Result<Option<String>> {
        let entry = &self.plan.choice.entry;
        let Some(text) = entry.file(path, LARGEST)? else { return Ok(None) };
        if entry.pack().is_some() {
            return Ok(Some(text.to_string()));
        }
        self.file_secrets.redact_text(&self.own_path(), path, text.to_string()).map(Some)
    }

    /// A file beneath `root`. The secrets of a foreign directory are redacted whether the workspace is trusted or not.
    fn file_beneath(&self, root: &Path, path: &str, is_foreign: bool) -> Result<Option<String>> {
        self.snapshot.catalog.check_file(Some(&self.plan.choice.entry), &root.join(path))?;
        if let Some((pack, inner)) = self.in_pack(&root.join(path)) {
            return self.pack_file(&pack, &inner);
        }
        let Some(directory) = Directory::open(root)? else { return Ok(None) };
        let Some(file) = directory.read(path, LARGEST)? else { return Ok(None) };
        let text = file.text.to_string();
        match is_foreign {
            true => self.file_secrets.redact_foreign_text(root, path, text),
            false => self.file_secrets.redact_text(root, path, text),
        }
        .map(Some)
    }

    /// The pack that a path leads into, also through links, and the path inside the pack.
    fn in_pack(&self, path: &Path) -> Option<(PackId, String)> {
        let packs = self.snapshot.catalog.root().join(PACKS);
        let inner = |path: &Path, packs: &Path| {
            let mut parts = path.strip_prefix(packs).ok()?.iter();
            let pack = PackId::new(parts.next()?.to_str()?);
            let rest: PathBuf = parts.collect();
            Some((pack, rest.to_str()?.to_owned()))
        };
        let real = || inner(&path.canonicalize().ok()?, &packs.canonicalize().ok()?);
        inner(path, &packs).or_else(real).filter(|(_, rest)| !rest.is_empty())
    }

    /// A file of a pack. An unapproved file cannot get into a render through a workspace path either.
    fn pack_file(&self, pack: &PackId, path: &str) -> Result<Option<String>> {
        let catalog = &self.snapshot.catalog;
        match catalog.approval(pack) {
            Approval::Approved => Ok(catalog.pack_file(pack, path, LARGEST)?.map(|text| text.to_string())),
            _ => Err(not_approved(pack)),
        }
    }

    /// The root of the workspace or library that the prompt comes from.
    pub(super) fn home_directory(&self) -> &Path {
        self.snapshot.catalog.home_directory(Some(&self.plan.choice.entry))
    }

    fn is_of_library(&self) -> bool {
        self.snapshot.catalog.library(self.plan.choice.entry.root()).is_some()
    }

    /// Whether the prompt reads no files of the workspace by itself, because it comes from an untrusted library.
    fn is_confined(&self) -> bool {
        self.is_of_library() && self.plan.untrusted_home.is_some()
    }

    /// The directory that a prompt works on by itself, without a caller who names files.
    pub(super) fn hook_workspace(&self) -> PathBuf {
        if self.is_confined() { self.home_directory().to_owned() } else { self.workspace() }
    }

    /// The directory that the caller works on, or the workspace root.
    pub(super) fn workspace(&self) -> PathBuf {
        let root = self.snapshot.catalog.root();
        self.request.context.workspace_path.as_ref().map_or_else(|| root.to_owned(), PathBuf::from)
    }
}

fn file_error(path: &str, problem: &str, message: String) -> Error {
    let hint = match problem {
        "size" => "files are limited to 1 MiB; read a part of it with `open`, or make it smaller",
        "encoding" => "save it as UTF-8",
        _ => "use a path beneath the project directory, the workspace path or the prompt's directory",
    };
    Error::new(Code::Validation, message)
        .with_reason(Reason::File)
        .with("problem", problem)
        .with("file", path)
        .with_hint(hint)
}

/// A path relative to `root`, without `..`; `None` if it leads outside lexically. Links are checked when the file is
/// opened.
fn normal(root: &Path, path: &str) -> Option<String> {
    let path = Path::new(path);
    let path = path.strip_prefix(root).unwrap_or(path);
    let mut steps: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(step) => steps.push(step.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => drop(steps.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_up_count_as_long_as_they_stay_inside() {
        let normal = |path: &str| normal(Path::new("/project"), path);
        assert_eq!(normal("sub/../note.txt").as_deref(), Some("note.txt"));
        assert_eq!(normal("./a/./b").as_deref(), Some("a/b"));
        assert_eq!(normal("/project/a/../b").as_deref(), Some("b"));
        for outside in ["../x", "a/../../x", "/etc/passwd", "/project/../x", "/"] {
            assert_eq!(normal(outside), None, "{outside}");
        }
    }
}
