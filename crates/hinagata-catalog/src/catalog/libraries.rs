//! Libraries: other workspaces whose prompts are in the catalog.
//!
//! The reasons are in `docs/design/libraries.md`.

use std::path::{Path, PathBuf};

use hinagata_document::{Code, Diagnostic, Error, Hint};
use hinagata_workspace::{Directory, layout::SHARED_PROMPTS};

use super::Catalog;
use crate::source::{Entry, RootKind};

/// Another workspace whose prompts are in the catalog.
#[derive(Clone, Debug)]
pub struct Library {
    /// Its workspace root.
    pub root: PathBuf,
    /// The directories with prompts that its own settings add, relative to its root.
    pub paths: Vec<String>,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// Why its settings, or the trust in it, cannot be read.
    pub problem: Option<Error>,
}

/// The workspace that a prompt comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptHome {
    /// The workspace of the catalog.
    Workspace,
    /// The library with this root.
    Library(PathBuf),
}

impl Library {
    /// The directories with its prompts.
    pub fn prompt_directories(&self) -> impl Iterator<Item = PathBuf> {
        self.relative_paths().map(|path| self.root.join(path))
    }

    fn relative_paths(&self) -> impl Iterator<Item = &str> {
        [SHARED_PROMPTS].into_iter().chain(self.paths.iter().map(|path| path.trim_end_matches('/')))
    }

    /// Opens the directories with its prompts, and reports what is missing or cannot be read.
    pub(super) fn open_directories(&self, found: &mut Vec<Diagnostic>) -> Vec<Directory> {
        let shown = self.root.display().to_string();
        found.extend(self.problem.clone().map(|error| Diagnostic::warning(&*shown, error)));
        let root = match Directory::open(&self.root) {
            Ok(Some(root)) => root,
            Ok(None) => {
                let error = Error::new(Code::NotFound, format!("library `{shown}` not found"))
                    .with_hint("create the directory, or correct the setting `catalog.libraries`");
                found.push(Diagnostic::warning(shown, error));
                return Vec::new();
            }
            Err(error) => {
                found.push(Diagnostic::error(shown, error));
                return Vec::new();
            }
        };
        let mut opened = Vec::new();
        for path in self.relative_paths() {
            let directory = match Path::new(path).is_absolute() {
                true => Directory::open(Path::new(path)),
                false => root.directory(path),
            };
            match directory {
                Ok(Some(directory)) => opened.push(directory),
                // A library may have its prompts elsewhere.
                Ok(None) if path == SHARED_PROMPTS && !self.paths.is_empty() => {}
                Ok(None) => {
                    let message = format!("library `{shown}` has no directory `{path}`");
                    let error = Error::new(Code::NotFound, message).with_hint(match path == SHARED_PROMPTS {
                        true => Hint::CreateWorkspace { path: shown.clone() }.then(
                            "or name the directory of the prompts in `catalog.paths` of its hinagata.toml",
                        ),
                        false => {
                            Hint::from("create it, or correct `catalog.paths` in the settings of the library")
                        }
                    });
                    found.push(Diagnostic::warning(&*shown, error));
                }
                Err(error) => {
                    let file = self.root.join(path).display().to_string();
                    found.push(Diagnostic::error(&*file, error.in_file(&file)));
                }
            }
        }
        opened
    }
}

impl Catalog {
    /// The library that contains the source root.
    #[must_use]
    pub fn library(&self, root: &RootKind) -> Option<&Library> {
        match root {
            RootKind::Library(number) => self.libraries().get(*number),
            _ => None,
        }
    }

    /// The root of the workspace that a prompt comes from: a library, or the workspace of the catalog.
    #[must_use]
    pub fn home_directory(&self, prompt: Option<&Entry>) -> &Path {
        let library = prompt.and_then(|prompt| self.library(prompt.root()));
        library.map_or_else(|| self.root(), |library| &library.root)
    }

    /// The first of the workspaces that the prompts at `sources` come from that the user does not trust;
    /// `workspace_trusted` tells whether the user trusts the workspace of the catalog.
    pub fn untrusted_home<'s>(
        &self,
        sources: impl IntoIterator<Item = &'s str>,
        workspace_trusted: bool,
    ) -> Option<PromptHome> {
        let untrusted = |source: &str| {
            let root = self.root_of(source);
            match root.and_then(|root| self.library(&root)) {
                Some(library) => (!library.trusted).then(|| PromptHome::Library(library.root.clone())),
                None => (!workspace_trusted).then_some(PromptHome::Workspace),
            }
        };
        // Most engines have no libraries, and then the prompts need not be looked up.
        match self.libraries().is_empty() {
            true => (!workspace_trusted).then_some(PromptHome::Workspace),
            false => sources.into_iter().find_map(untrusted),
        }
    }
}
