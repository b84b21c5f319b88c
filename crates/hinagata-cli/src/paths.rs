//! Paths of a workspace relative to the current directory.

use std::path::{Component, Path, PathBuf};

/// The path from `current` of the file or directory `name` in the workspace at `root`. `name` itself if it is not in
/// the workspace, such as a built-in prompt.
pub(crate) fn display_path(root: &Path, current: &Path, name: &str) -> String {
    let path = root.join(name);
    if Path::new(name).is_absolute() || !path.exists() {
        return name.to_owned();
    }
    relative_to(current, &path).display().to_string()
}

/// `path` relative to `current`, if that is at most two directories up.
pub(crate) fn relative_to(current: &Path, path: &Path) -> PathBuf {
    const MOST_UP: usize = 2;
    for (up, parent) in current.ancestors().take(MOST_UP + 1).enumerate() {
        if let Ok(rest) = path.strip_prefix(parent) {
            let steps = std::iter::repeat_n(Component::ParentDir, up);
            let relative: PathBuf = steps.chain(rest.components()).collect();
            return if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_where_the_user_is() {
        let cases = [
            ("/w", "/w/a/b", "a/b"),
            ("/w", "/w", "."),
            ("/w/a", "/w/b", "../b"),
            ("/w/a/b", "/w/c", "../../c"),
            ("/w/a/b/c", "/w/d", "/w/d"),
            ("/other/x/y", "/w/a", "/w/a"),
        ];
        for (current, path, shown) in cases {
            assert_eq!(
                relative_to(Path::new(current), Path::new(path)),
                Path::new(shown),
                "{current} {path}"
            );
        }
    }

    #[test]
    fn what_is_no_file_of_the_workspace_stays_as_it_is() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path().join("root");
        std::fs::create_dir_all(root.join("sub")).expect("made");
        std::fs::write(root.join("a.md"), "").expect("written");
        assert_eq!(display_path(&root, &root, "a.md"), "a.md");
        assert_eq!(display_path(&root, &root.join("sub"), "a.md"), "../a.md");
        assert_eq!(display_path(&root, &root.join("sub"), "none.md"), "none.md");
        assert_eq!(display_path(&root, &root, "/etc"), "/etc");
    }
}
