//! The port through which packs are fetched from other machines and repositories.

use std::io::Read;

use hinagata_document::{Code, Error, Result};

use crate::location::GitLocation;

/// Fetches packs. Only the commands that say so call it.
///
/// What it returns is untrusted: the caller compares hashes and checks every name.
pub trait PackSource: Send + Sync {
    /// The bytes at an address, at most `limit`.
    ///
    /// # Errors
    /// Code `fetch`.
    fn download(&self, address: &str, limit: u64) -> Result<Vec<u8>>;

    /// The full hash of the commit that a revision names now.
    ///
    /// # Errors
    /// Code `fetch`.
    fn resolve_revision(&self, git: &GitLocation) -> Result<String>;

    /// The names of all tags of a repository, sorted.
    ///
    /// # Errors
    /// Code `fetch`.
    fn list_tags(&self, git: &GitLocation) -> Result<Vec<String>>;

    /// Passes the files of the pack at `commit` to `sink`.
    ///
    /// # Errors
    /// Code `fetch`; those of `sink`.
    fn read_commit(&self, git: &GitLocation, commit: &str, sink: &mut dyn PackSink) -> Result<()>;
}

/// Takes the members of a pack.
pub trait PackSink {
    /// Takes a file.
    ///
    /// # Errors
    /// Code `definition` for a name or a size that no pack may have; code `store` if it cannot be written.
    fn take_file(&mut self, path: &str, content: &mut dyn Read) -> Result<()>;
}

/// A source for builds and callers that fetch nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoSource;

impl PackSource for NoSource {
    fn download(&self, address: &str, _limit: u64) -> Result<Vec<u8>> {
        Err(no_source_error(address))
    }

    fn resolve_revision(&self, git: &GitLocation) -> Result<String> {
        Err(no_source_error(&git.repository))
    }

    fn list_tags(&self, git: &GitLocation) -> Result<Vec<String>> {
        Err(no_source_error(&git.repository))
    }

    fn read_commit(&self, git: &GitLocation, _commit: &str, _sink: &mut dyn PackSink) -> Result<()> {
        Err(no_source_error(&git.repository))
    }
}

fn no_source_error(place: &str) -> Error {
    Error::new(Code::Fetch, format!("`{place}` cannot be fetched: this build fetches nothing"))
        .with_hint("use `dir` or `file`, or a build with the feature `fetch`")
}
