//! The files that Python may always read.

use std::path::{Path, PathBuf};

use crate::{Catalog, PACKS, PackId, Result, source::Entry};

/// The files that Python may always read.
pub(super) struct OwnFiles {
    /// The directory of the prompt, or the approved copy of the pack; `None` if it does not exist or a link leads outside
    /// the workspace or library.
    pub(super) directory: Option<PathBuf>,
    /// The source file in that directory.
    pub(super) file: PathBuf,
}

impl OwnFiles {
    /// The files of the prompt `entry`, whose `prompt.py` is `file`, a path from the workspace root.
    pub(super) fn for_prompt(catalog: &Catalog, entry: &Entry, file: &str) -> Result<Self> {
        match entry.pack() {
            Some(pack) => Self::for_pack(catalog, pack, file),
            None => Ok(Self::beneath(catalog.home_directory(Some(entry)), catalog.root().join(file))),
        }
    }

    /// The files of `pack`, whose Python file is `file`, a path from the workspace root.
    pub(super) fn for_pack(catalog: &Catalog, pack: &PackId, file: &str) -> Result<Self> {
        if let Some(inner) = file.strip_prefix(&format!("{PACKS}/{pack}/"))
            && let Some(directory) = catalog.python_directory(pack)?
        {
            return Ok(Self { file: directory.join(inner), directory: Some(directory) });
        }
        Ok(Self::beneath(catalog.root(), catalog.root().join(file)))
    }

    fn beneath(root: &Path, file: PathBuf) -> Self {
        let directory = file.parent().filter(|directory| is_inside(directory, root)).map(Path::to_owned);
        Self { directory, file }
    }
}

/// Whether a directory lies beneath `root` after resolving links.
fn is_inside(directory: &Path, root: &Path) -> bool {
    match (directory.canonicalize(), root.canonicalize()) {
        (Ok(directory), Ok(root)) => directory.starts_with(root),
        _ => false,
    }
}
