//! Installs a pack from a directory.

use std::{
    fs::{self, OpenOptions},
    io,
    path::Path,
};

use hinagata_document::{Reason, Result};
use hinagata_workspace::write::{Readers, io_error, refuse_links};

use crate::unpack::{Unpacker, refused_error};

/// Passes everything below `source` to `unpacker`. Links are refused, not followed.
pub(crate) fn unpack_directory(source: &Path, unpacker: &mut Unpacker) -> Result<()> {
    // No recursion: the depth of the directory is untrusted.
    let mut left = vec![String::new()];
    while let Some(path) = left.pop() {
        let directory = source.join(&path);
        let unreadable = |error: io::Error| io_error("read", &directory, error);
        let mut entries: Vec<fs::DirEntry> =
            fs::read_dir(&directory).and_then(Iterator::collect).map_err(unreadable)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            unpacker.count_member()?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let shown = name.to_string_lossy();
                return Err(refused_error(
                    Reason::Name,
                    &shown,
                    format!("the name `{shown}` is not valid UTF-8"),
                ));
            };
            let inner = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                unpacker.add_directory(&inner)?;
                left.push(inner);
            } else if kind.is_file() {
                copy_file(&entry.path(), &inner, unpacker)?;
            } else {
                let (reason, what) = if kind.is_symlink() {
                    (Reason::Link, "a link")
                } else {
                    (Reason::Special, "not a file")
                };
                return Err(refused_error(reason, &inner, format!("`{inner}` is {what}")));
            }
        }
    }
    Ok(())
}

fn copy_file(from: &Path, name: &str, unpacker: &mut Unpacker) -> Result<()> {
    let mut options = OpenOptions::new();
    // The file may have become a link since it was listed.
    let opened = refuse_links(options.read(true), Readers::AsUsual).open(from);
    let mut file = opened.map_err(|error| io_error("read", from, error))?;
    unpacker.add_file(name, &mut file)
}
