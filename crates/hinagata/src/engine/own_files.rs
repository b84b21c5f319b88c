//! The files that Python may always read.

use std::path::{Path, PathBuf};

use crate::{Catalog, PACKS, PackId, Result};

/// The files that Python may always read.
pub(super) struct OwnFiles {
    /// The directory of the prompt, or the approved copy of the pack; `None` if it does not exist or a link leads outside
    /// the workspace.
    pub(super) directory: Option<PathBuf>,
    /// The source file in that directory.
    pub(super) file: PathBuf,
}

impl OwnFiles {
    /// The files around `file`, a path from the workspace root, which belongs to `pack` or to the user.
    pub(super) fn for_file(catalog: &Catalog, pack: Option<&PackId>, file: &str) -> Result<Self> {
        let root = catalog.root();
        if let Some(pack) = pack
            && let Some(inner) = file.strip_prefix(&format!("{PACKS}/{pack}/"))
            && let Some(directory) = catalog.python_directory(pack)?
        {
            return Ok(Self { file: directory.join(inner), directory: Some(directory) });
        }
        let file = root.join(file);
        let directory = file.parent().filter(|directory| is_inside(directory, root)).map(Path::to_owned);
        Ok(Self { directory, file })
    }
}

/// Whether a directory lies beneath the workspace root after resolving links.
fn is_inside(directory: &Path, root: &Path) -> bool {
    match (directory.canonicalize(), root.canonicalize()) {
        (Ok(directory), Ok(root)) => directory.starts_with(root),
        _ => false,
    }
}
