//! The template of the command line: its name in the render, and the directory of other templates.

use std::path::{Path, PathBuf};

use hinagata::source::Directory;

use crate::{failure::Failure, files::join_name};

pub(super) struct Entry {
    /// The name by which a template would include it.
    pub(super) name: String,
    /// The directory that other templates are loaded from.
    pub(super) root: Option<PathBuf>,
    shown: String,
}

impl Entry {
    /// The template at `path`; `root` takes the place of its own directory.
    pub(super) fn new(path: &Path, root: Option<&Path>) -> Self {
        let shown = display_name(path);
        if path == Path::new("-") {
            return Self { name: shown.clone(), root: root.map(Path::to_owned), shown };
        }
        let root = root.unwrap_or_else(|| directory_of(path));
        Self { name: name_beneath(path, root), root: Some(root.to_owned()), shown }
    }

    /// The directory that other templates are loaded from, opened.
    pub(super) fn open_root(&self) -> Result<Option<Directory>, Failure> {
        let open = |root: &PathBuf| {
            let none = || Failure::usage_error(format!("directory `{}` not found", root.display()));
            Directory::open(root)?.ok_or_else(none)
        };
        self.root.as_ref().map(open).transpose()
    }

    /// The path of the template `name` for messages.
    pub(super) fn path(&self, name: &str) -> String {
        match &self.root {
            _ if name == self.name => self.shown.clone(),
            Some(root) => join_name(root, name).display().to_string(),
            None => name.to_owned(),
        }
    }
}

/// The path `path` for messages.
pub(super) fn display_name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// The directory that `path` is in.
pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The name that an include of the file at `path` would use. If it is not in `root`, an absolute path, which
/// no include can use.
fn name_beneath(path: &Path, root: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = absolute(path);
    match path.strip_prefix(absolute(root)) {
        Ok(name) => name.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_called_as_it_would_be_included() {
        let entry = |path: &str, root: Option<&str>| Entry::new(Path::new(path), root.map(Path::new));
        assert_eq!(entry("a.md", None).name, "a.md");
        assert_eq!(entry("prompts/a.md", None).name, "a.md");
        assert_eq!(entry("prompts/sub/a.md", Some("prompts")).name, "sub/a.md");
        assert_eq!(entry("./prompts/./a.md", Some("./prompts/")).name, "a.md");
        assert!(Path::new(&entry("a.md", Some("prompts")).name).is_absolute());
        assert_eq!(entry("-", None).name, "<stdin>");
    }

    #[test]
    fn the_user_sees_paths() {
        let entry = Entry::new(Path::new("prompts/a.md"), None);
        assert_eq!(
            (entry.path("a.md"), entry.path("parts/b.md")),
            ("prompts/a.md".into(), "prompts/parts/b.md".into())
        );
        let entry = Entry::new(Path::new("a.md"), None);
        assert_eq!((entry.path("a.md"), entry.path("parts/b.md")), ("a.md".into(), "parts/b.md".into()));
    }
}
