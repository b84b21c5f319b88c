//! Writing and deleting single files.

use std::{fs, path::Path, time::SystemTime};

use hinagata_document::Digest;
use hinagata_workspace::write::{Readers, Writer, directory_beneath};

use super::{EditError, HeldFile, LARGEST, LOCK, Trash, TrashEntry, TrashKind};
use crate::Catalog;

/// A file that was written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// The SHA-256 of its content.
    pub digest: Digest,
    /// Whether it did not exist before.
    pub is_new: bool,
}

impl Catalog {
    /// Replaces the content of one of the user's own files by exactly `bytes`, or creates it, if `check` accepts the
    /// SHA-256 of its present content; `None` for a file that does not exist.
    ///
    /// # Errors
    /// That of `check`; [`EditError::ReadOnly`] for a file that is not the user's own.
    pub fn write_file<E: From<EditError>>(
        &self,
        file: &HeldFile,
        bytes: &[u8],
        check: impl FnOnce(Option<&Digest>) -> Result<(), E>,
    ) -> Result<WrittenFile, E> {
        let (writer, present) = self.lock_file(file)?;
        check(present.as_ref())?;
        let failed = |error| E::from(EditError::Failed(error));
        if let Some((parent, _)) = file.inner.rsplit_once('/') {
            directory_beneath(writer.directory(), parent).map_err(failed)?;
        }
        writer.replace(&file.inner, bytes).map_err(failed)?;
        Ok(WrittenFile { digest: Digest::sha256(bytes), is_new: present.is_none() })
    }

    /// Moves one of the user's own files to `trash`, if `check` accepts the SHA-256 of its content.
    ///
    /// # Errors
    /// As [`Catalog::write_file`]; [`EditError::Missing`] if there is no such file.
    pub fn delete_file<E: From<EditError>>(
        &self,
        file: &HeldFile,
        (trash, now): (&Trash, SystemTime),
        check: impl FnOnce(Option<&Digest>) -> Result<(), E>,
    ) -> Result<TrashEntry, E> {
        let (writer, present) = self.lock_file(file)?;
        check(present.as_ref())?;
        if present.is_none() {
            return Err(EditError::Missing { path: file.path.clone() }.into());
        }
        let failed = |error| E::from(EditError::Failed(error));
        let place = writer.directory().join(&file.inner);
        let entry = trash
            .add_copy((TrashKind::File, &file.path, file.prompt.as_ref()), &place, now)
            .map_err(failed)?;
        writer.remove(&file.inner).map_err(failed)?;
        Ok(entry)
    }

    /// Locks the directory of a file of the user's own, and reads the SHA-256 of its content.
    fn lock_file(&self, file: &HeldFile) -> Result<(Writer, Option<Digest>), EditError> {
        let directory = file.own_directory(self.root())?;
        let writer = Writer::lock(&directory, LOCK, Readers::AsUsual)?;
        let place = directory.join(&file.inner);
        if has_link(&directory, &file.inner) {
            return Err(EditError::ReadOnly { path: file.path.clone() });
        }
        let present = match fs::symlink_metadata(&place) {
            Err(_) => None,
            Ok(metadata) if metadata.is_file() && metadata.len() > LARGEST => {
                return Err(EditError::ReadOnly { path: file.path.clone() });
            }
            // The snapshot may be older than the directory, so the file is read from the disk.
            Ok(metadata) if metadata.is_file() => match fs::read(&place) {
                Ok(bytes) => Some(Digest::sha256(&bytes)),
                Err(error) => {
                    return Err(EditError::Failed(hinagata_workspace::write::io_error(
                        "read", &place, error,
                    )));
                }
            },
            Ok(_) => return Err(EditError::Taken { path: file.path.clone() }),
        };
        Ok((writer, present))
    }
}

/// Whether a step of the path `inner` beneath `directory` is a link.
pub(super) fn has_link(directory: &Path, inner: &str) -> bool {
    let mut path = directory.to_owned();
    Path::new(inner).components().any(|part| {
        path.push(part);
        path.is_symlink()
    })
}
