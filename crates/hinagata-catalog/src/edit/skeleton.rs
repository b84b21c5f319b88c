//! The files of new prompts.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use hinagata_workspace::write::io_error;

use super::EditError;
use crate::PromptId;

/// A file to create: its path in a directory, and its content.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// The path in the directory.
    pub path: String,
    /// The content.
    pub content: Vec<u8>,
}

/// The form of a new prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptForm {
    /// A template.
    #[default]
    Simple,
    /// A template and a `prompt.py`.
    Full,
    /// Messages in a `prompt.yaml`.
    Messages,
    /// Sections in a `module.yaml`.
    Module,
}

impl PromptForm {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Simple, Self::Full, Self::Messages, Self::Module];

    /// The name of the form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Full => "full",
            Self::Messages => "messages",
            Self::Module => "module",
        }
    }

    /// The form called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == name)
    }

    /// The files of a new prompt `id` of this form.
    #[must_use]
    pub fn skeleton_files(self, id: &PromptId) -> Vec<NewFile> {
        let title = title_of(id);
        let file = |path: &str, skeleton: &str| NewFile {
            path: path.to_owned(),
            content: skeleton.replace("TITLE", &title).into_bytes(),
        };
        match self {
            Self::Simple => vec![file("template.md", include_str!("../../skeletons/new/template.md"))],
            Self::Full => vec![
                file("prompt.py", include_str!("../../skeletons/new/prompt.py")),
                file("template.md", include_str!("../../skeletons/new/full.md")),
            ],
            Self::Messages => vec![file("prompt.yaml", include_str!("../../skeletons/new/prompt.yaml"))],
            Self::Module => vec![file("module.yaml", include_str!("../../skeletons/new/module.yaml"))],
        }
    }
}

/// `daily_report` as `Daily report`.
fn title_of(id: &PromptId) -> String {
    let words = id.as_str().replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Creates the directory at `path` with `files`, whole or not at all.
///
/// # Errors
/// [`EditError::Taken`] if there is something at `path`.
pub fn create_directory(path: &Path, files: &[NewFile]) -> Result<(), EditError> {
    if path.symlink_metadata().is_ok() {
        return Err(EditError::Taken { path: path.display().to_string() });
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A name with a leading dot is not a prompt, so an incomplete directory is never visible.
    let temporary = parent.join(format!(".{name}.{}", std::process::id()));
    let make = || {
        fs::create_dir_all(parent)?;
        write_all(&temporary, files)?;
        fs::rename(&temporary, path)
    };
    let made = make();
    if made.is_err() {
        // The original error is more useful than one about the cleanup.
        let _ = fs::remove_dir_all(&temporary);
    }
    made.map_err(|error| EditError::Failed(io_error("written", path, error)))
}

fn write_all(directory: &Path, files: &[NewFile]) -> io::Result<()> {
    fs::create_dir(directory)?;
    files.iter().try_for_each(|file| {
        let path = directory.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut new = File::create_new(&path)?;
        new.write_all(&file.content)?;
        new.sync_all()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> NewFile {
        NewFile { path: path.to_owned(), content: content.into() }
    }

    #[test]
    fn a_title_starts_with_a_capital() {
        let title = |name: &str| title_of(&PromptId::new(name).expect("is an id"));
        assert_eq!((title("daily_report"), title("x")), ("Daily report".into(), "X".into()));
    }

    #[test]
    fn a_directory_is_made_whole_or_not_at_all() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let prompt = place.path().join("prompts/p");
        create_directory(&prompt, &[file("a.md", "A"), file("sub/b.md", "B")]).expect("makes");
        assert_eq!(fs::read_to_string(prompt.join("sub/b.md")).expect("is there"), "B");
        let again = create_directory(&prompt, &[file("a.md", "other")]);
        assert!(matches!(again, Err(EditError::Taken { .. })), "{again:?}");
        let bad = [file("a.md", "A"), file("a.md/b", "B")];
        assert!(create_directory(&place.path().join("prompts/q"), &bad).is_err());
        let left: Vec<_> = fs::read_dir(place.path().join("prompts")).expect("is there").collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
