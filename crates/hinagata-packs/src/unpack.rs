//! Writes the files of an untrusted source into a new directory.
//!
//! Every source passes its members to an [`Unpacker`], which does not trust headers: it checks names as they are
//! written, and counts bytes and members as it unpacks them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, OpenOptions},
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
};

use crate::source::PackSink;
use hinagata_catalog::pack::{PYTHON_CACHE, PackLimits};
use hinagata_document::{Digest, Error, Reason, Result, Sha256Digester};
use hinagata_workspace::write::{Readers, io_error, refuse_links};
use unicode_normalization::UnicodeNormalization as _;

/// Directories that are never part of a pack, at any level: those of version control, and unused ones.
const NOT_UNPACKED: [&str; 4] = [PYTHON_CACHE, ".git", ".hg", ".svn"];

/// Longest path and longest name in it, in bytes.
const PATH: usize = 1_024;
const NAME: usize = 255;

/// A directory that is being filled.
pub(crate) struct Unpacker {
    place: PathBuf,
    limits: PackLimits,
    entries: usize,
    bytes: u64,
    /// Normalized paths, which are equal if any system takes them for the same, with the original path and whether it
    /// is a directory.
    known: HashMap<String, (String, bool)>,
    /// Directories that exist.
    made: HashSet<PathBuf>,
    /// The SHA-256 of every file.
    files: BTreeMap<String, Digest>,
    buffer: Vec<u8>,
}

impl Unpacker {
    /// Creates the directory `place`.
    pub(crate) fn new(place: &Path, limits: &PackLimits) -> Result<Self> {
        fs::create_dir(place).map_err(|error| io_error("written", place, error))?;
        Ok(Self {
            place: place.to_owned(),
            limits: *limits,
            entries: 0,
            bytes: 0,
            known: HashMap::new(),
            made: HashSet::new(),
            files: BTreeMap::new(),
            buffer: Vec::new(),
        })
    }

    /// The SHA-256 of every file by its path.
    pub(crate) fn into_files(self) -> BTreeMap<String, Digest> {
        self.files
    }

    fn make_directory(&mut self, path: &Path) -> Result<()> {
        if !self.made.contains(path) {
            fs::create_dir_all(path).map_err(|error| io_error("written", path, error))?;
            self.made.insert(path.to_owned());
        }
        Ok(())
    }

    /// Counts a member, even if it is skipped: headers cost time, too.
    pub(crate) fn count_member(&mut self) -> Result<()> {
        self.entries += 1;
        match self.entries > self.limits.entries {
            true => Err(refused_error(
                Reason::Count,
                "",
                format!("it has more than {} files", self.limits.entries),
            )),
            false => Ok(()),
        }
    }

    /// Adds a directory.
    pub(crate) fn add_directory(&mut self, name: &str) -> Result<()> {
        let name = check_path(name, self.limits.depth)?;
        if is_left_out(&name) {
            return Ok(());
        }
        self.claim(&name, true)?;
        self.make_directory(&self.place.join(&name))
    }

    /// Adds a file.
    pub(crate) fn add_file(&mut self, name: &str, content: &mut dyn Read) -> Result<()> {
        let name = check_path(name, self.limits.depth)?;
        if is_left_out(&name) {
            return self.skip(content);
        }
        self.claim(&name, false)?;
        let place = self.place.join(&name);
        self.make_directory(place.parent().unwrap_or(&place))?;
        let mut file = refuse_links(OpenOptions::new().write(true).create_new(true), Readers::AsUsual)
            .open(&place)
            .map_err(|error| io_error("written", &place, error))?;
        let mut digester = Sha256Digester::default();
        // All files are synced together at the end, which takes a fraction of the time.
        self.copy_limited(&name, content, |bytes| {
            digester.add(bytes);
            file.write_all(bytes).map_err(|error| io_error("written", &place, error))
        })?;
        self.files.insert(name, digester.finish());
        Ok(())
    }

    /// Skips a member; its bytes count as well.
    fn skip(&mut self, content: &mut dyn Read) -> Result<()> {
        self.copy_limited("", content, |_| Ok(()))
    }

    fn copy_limited(
        &mut self,
        name: &str,
        content: &mut dyn Read,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(64 << 10, 0);
        let copied = self.copy_with(&mut buffer, name, content, &mut take);
        self.buffer = buffer;
        copied
    }

    fn copy_with(
        &mut self,
        buffer: &mut [u8],
        name: &str,
        content: &mut dyn Read,
        take: &mut impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut size = 0;
        loop {
            let read = match content.read(buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken_error(error).with("file", name)),
            };
            size += read as u64;
            self.bytes += read as u64;
            if size > self.limits.file {
                let message = format!("`{name}` has more than {} KiB", self.limits.file >> 10);
                return Err(refused_error(Reason::Size, name, message));
            }
            if self.bytes > self.limits.total {
                return Err(refused_error(
                    Reason::Size,
                    name,
                    format!("it has more than {} KiB", self.limits.total >> 10),
                ));
            }
            take(&buffer[..read])?;
        }
    }

    /// Records `name` and its parents; refuses a name that is equal to that of another member on any system.
    fn claim(&mut self, name: &str, directory: bool) -> Result<()> {
        let ends = name.match_indices('/').map(|(end, _)| end).chain([name.len()]);
        for end in ends {
            let part = &name[..end];
            let is_directory = directory || end < name.len();
            let folded = fold_name(part);
            let Some((known, known_directory)) = self.known.get(&folded) else {
                self.known.insert(folded, (part.to_owned(), is_directory));
                continue;
            };
            if known != part {
                let message = format!("`{known}` and `{part}` are the same name on some systems");
                return Err(refused_error(Reason::Duplicate, name, message));
            }
            if !(is_directory && *known_directory) {
                return Err(refused_error(Reason::Duplicate, name, format!("duplicate member `{part}`")));
            }
        }
        Ok(())
    }
}

impl PackSink for Unpacker {
    fn take_file(&mut self, path: &str, content: &mut dyn Read) -> Result<()> {
        self.count_member()?;
        self.add_file(path, content)
    }
}

/// Normalizes a name: equal results are the same name on systems that ignore case or the form of accents.
fn fold_name(name: &str) -> String {
    name.nfkc().flat_map(char::to_lowercase).nfkc().collect()
}

fn is_left_out(name: &str) -> bool {
    name.split('/').any(|part| NOT_UNPACKED.contains(&part))
}

/// The path of a member without its final slash, if it stays inside the pack and is valid on every system.
fn check_path(name: &str, depth: usize) -> Result<String> {
    let invalid_path = |reason: Reason, what: &str| {
        let shown: String = name.chars().take(200).collect();
        Err(refused_error(reason, &shown, format!("`{}` {what}", shown.escape_debug())))
    };
    if name.len() > PATH {
        return invalid_path(Reason::Name, "is too long");
    }
    if name.starts_with('/') || name.starts_with('\\') || name.as_bytes().get(1) == Some(&b':') {
        return invalid_path(Reason::Outside, "is an absolute path");
    }
    let name = name.strip_suffix('/').unwrap_or(name);
    // Some programs write `./` before every name.
    let name = name.strip_prefix("./").unwrap_or(name);
    if name.split(['/', '\\']).any(|part| part == "..") {
        return invalid_path(Reason::Outside, "leads out of the pack");
    }
    if !name.split('/').all(is_portable) {
        return invalid_path(Reason::Name, "is not a valid name on every system");
    }
    if name.split('/').count() > depth + 1 {
        return invalid_path(Reason::Depth, "is nested too deeply");
    }
    Ok(name.to_owned())
}

/// Whether the name is valid on every system.
pub(crate) fn is_portable(name: &str) -> bool {
    const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let is_number = |rest: &str| rest.chars().count() == 1 && rest.chars().all(char::is_numeric);
    let is_port = ["com", "lpt"].iter().any(|kind| stem.strip_prefix(kind).is_some_and(is_number));
    let is_device = is_port || DEVICES.contains(&stem.as_str());
    let forbidden = |c: char| c.is_control() || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    !name.is_empty()
        && name != "."
        && name.len() <= NAME
        && !name.contains(forbidden)
        && !name.ends_with(['.', ' '])
        && !is_device
}

/// The error for a member that no pack may contain.
#[must_use]
pub fn refused_error(reason: Reason, file: &str, message: impl Into<String>) -> Error {
    Error::definition(reason, format!("the pack cannot be installed: {}", message.into()))
        .with("file", file)
        .with_hint("ask the author of the pack for a corrected version")
}

/// The error for a damaged or truncated archive.
pub(crate) fn broken_error(error: io::Error) -> Error {
    Error::definition(Reason::Archive, "the pack cannot be installed: it is damaged or incomplete")
        .with_hint("download or copy it again")
        .with_source(error)
}

/// Checks that a name can be a directory name on every system.
pub(crate) fn check_pack_name(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let good = !name.starts_with(['.', '-'])
        && name.chars().count() <= 64
        && name.chars().all(allowed)
        && is_portable(name);
    if good {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    Err(Error::definition(Reason::PackId, format!("invalid pack name `{}`", shown.escape_debug()))
        .with_hint("use letters, digits, `_`, `-` and `.`, at most 64, and start with a letter or a digit"))
}
