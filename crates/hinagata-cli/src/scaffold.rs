//! Creates the files of a new prompt or workspace. Existing files are never overwritten.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use hinagata::edit::{self, EditError};

use crate::{failure::Failure, paths, workspace::current_directory};

/// A file to create: its path in a directory, and its content.
pub(crate) struct NewFile {
    pub(crate) path: &'static str,
    pub(crate) content: String,
}

/// Creates a directory with `files` atomically.
pub(crate) fn create_directory(path: &Path, files: &[edit::NewFile]) -> Result<(), Failure> {
    edit::create_directory(path, files).map_err(|error| match error {
        EditError::Failed(error) => error.into(),
        _ => Failure::usage_error(format!("`{}` already exists", display_path(path)))
            .with_hint("nothing was changed; choose another name, or edit the existing one"),
    })
}

/// Creates the missing ones of `files`. Returns all paths, each with whether it was created.
pub(crate) fn create_missing_files(root: &Path, files: &[NewFile]) -> Result<Vec<(PathBuf, bool)>, Failure> {
    let make = |file: &NewFile| {
        let path = root.join(file.path);
        let made = write_new(&path, &file.content).map_err(|error| create_error(&path, &error))?;
        Ok((path, made))
    };
    files.iter().map(make).collect()
}

/// Writes a new file. Returns false if it already exists.
fn write_new(path: &Path, content: &str) -> io::Result<bool> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match File::create_new(path) {
        Ok(mut file) => file.write_all(content.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn display_path(path: &Path) -> String {
    paths::relative_to(&current_directory(), path).display().to_string()
}

fn create_error(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot create `{}`", display_path(path));
    hinagata::Error::new(hinagata::Code::Store, message)
        .with("path", path.display().to_string())
        .with_hint("check that the directory can be written and that the disk is not full")
        .with_source(io::Error::new(error.kind(), error.to_string()))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> [NewFile; 2] {
        [NewFile { path: "a.md", content: "A".into() }, NewFile { path: "sub/b.md", content: "B".into() }]
    }

    #[test]
    fn what_is_there_stays_as_it_is() {
        let place = tempfile::tempdir().expect("a temporary directory");
        fs::write(place.path().join("a.md"), "mine").expect("written");
        let made: Vec<bool> = create_missing_files(place.path(), &files())
            .expect("makes")
            .into_iter()
            .map(|(_, made)| made)
            .collect();
        assert_eq!(made, [false, true]);
        assert_eq!(fs::read_to_string(place.path().join("a.md")).expect("is there"), "mine");
        let failure = create_directory(&place.path().join("sub"), &[]).expect_err("is there");
        assert_eq!(failure.exit_code(), crate::exit::Code::Usage);
    }
}
