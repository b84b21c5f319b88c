//! Reads files beneath a directory. Names and links cannot reach a file outside of it, and opening a pipe or a device
//! does not block.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use hinagata_document::{Code, Error, Reason, Result};
use serde::{Deserialize, Serialize};

/// A directory whose files may be read.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    stamp: Stamp,
    #[cfg(target_os = "linux")]
    handle: std::os::fd::OwnedFd,
}

/// Metadata that distinguishes two states of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    size: u64,
    /// The modification time in nanoseconds since 1970.
    mtime: Option<i64>,
    /// The time of the last change of the file or its metadata, which no program can set; where the system has none,
    /// the time of creation.
    ctime: Option<i64>,
    inode: u64,
}

impl Stamp {
    /// The stamp of a file with this metadata.
    #[cfg(unix)]
    #[must_use]
    pub fn from_metadata(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let time = |seconds: i64, rest: i64| seconds.checked_mul(1_000_000_000)?.checked_add(rest);
        Self {
            size: metadata.len(),
            mtime: time(metadata.mtime(), metadata.mtime_nsec()),
            ctime: time(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// The stamp of a file with this metadata.
    #[cfg(not(unix))]
    #[must_use]
    pub fn from_metadata(metadata: &fs::Metadata) -> Self {
        let time = |time: io::Result<std::time::SystemTime>| {
            let since = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            i64::try_from(since.as_nanos()).ok()
        };
        Self {
            size: metadata.len(),
            mtime: time(metadata.modified()),
            ctime: time(metadata.created()),
            inode: 0,
        }
    }

    /// The last change, in nanoseconds since 1970.
    pub fn last_change(&self) -> Option<i64> {
        Some(self.mtime?.max(self.ctime?))
    }

    /// The stamp of a directory, without what changes when files are added or removed.
    fn for_directory(metadata: &fs::Metadata) -> Self {
        Self { size: 0, mtime: None, ctime: None, ..Self::from_metadata(metadata) }
    }
}

/// The content of a file and its stamp.
#[derive(Clone, Debug)]
pub struct ReadFile {
    /// The content.
    pub text: Arc<str>,
    /// The stamp before the file was read.
    pub stamp: Stamp,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a directory, or a link that may point to one.
    pub directory: bool,
    /// Whether it is a link.
    pub link: bool,
}

/// Why a link cannot be followed.
#[derive(Debug)]
pub enum LinkTarget {
    /// It points outside of its directory.
    Outside,
    /// Its target does not exist.
    Missing,
    /// It is part of a cycle, or its path cannot be read.
    Unreadable(io::Error),
}

/// Why a file was not opened.
#[derive(Debug)]
pub enum Refused {
    /// The file does not exist.
    Missing,
    /// The name, or a link on its path, points outside of the directory.
    Outside,
    /// It is not a regular file.
    NoFile,
    /// The file cannot be read.
    Unreadable(io::Error),
}

impl Directory {
    /// Opens the directory at `path`; `None` if it does not exist.
    ///
    /// # Errors
    /// Code `store` if the path exists but cannot be opened as a directory.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let opened = fs::metadata(path).and_then(|metadata| match metadata.is_dir() {
            true => Ok(Self {
                path: path.to_owned(),
                stamp: Stamp::for_directory(&metadata),
                #[cfg(target_os = "linux")]
                handle: linux::open_handle(path)?,
            }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        });
        let error = match opened {
            Ok(directory) => return Ok(Some(directory)),
            Err(error) => error,
        };
        let cannot = || unreadable_directory(&path.display().to_string());
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => match find_obstacle(path, path) {
                Some(obstacle) => Err(cannot().with_source(obstacle)),
                None => Ok(None),
            },
            _ => Err(cannot().with_hint("check its permissions").with_source(error)),
        }
    }

    /// Opens the directory `name` beneath this one; `None` if it does not exist.
    ///
    /// # Errors
    /// Code `definition` if it is outside of this directory; code `store` if the path exists but cannot be opened as a
    /// directory.
    pub fn directory(&self, name: &str) -> Result<Option<Self>> {
        let outside =
            || Error::definition(Reason::Outside, format!("`{name}` is outside of {}", self.path.display()));
        match check_inside(name).and_then(|()| self.check_directory(Path::new(name))) {
            Ok(()) => Self::open(&self.path.join(name)),
            Err(Refused::Outside) => Err(outside().with_hint("replace the link with its target")),
            Err(Refused::Missing | Refused::NoFile) => match find_obstacle(&self.path, &self.path.join(name))
            {
                Some(obstacle) => Err(unreadable_directory(name).with_source(obstacle)),
                None => Ok(None),
            },
            Err(Refused::Unreadable(error)) => Err(unreadable_directory(name).with_source(error)),
        }
    }

    /// Whether the link `name` points to a directory beneath this one.
    ///
    /// # Errors
    /// Why the link cannot be followed.
    pub fn link_is_directory(&self, name: &str) -> Result<bool, LinkTarget> {
        match self.check_directory(Path::new(name)) {
            Ok(()) => Ok(self.path.join(name).is_dir()),
            Err(Refused::Outside) => Err(LinkTarget::Outside),
            Err(Refused::Missing | Refused::NoFile) => Err(LinkTarget::Missing),
            Err(Refused::Unreadable(error)) => Err(LinkTarget::Unreadable(error)),
        }
    }

    /// Refuses a directory that is not beneath this one.
    fn check_directory(&self, name: &Path) -> Result<(), Refused> {
        let root = self.path.canonicalize().map_err(refused_from_io)?;
        let path = self.path.join(name).canonicalize().map_err(refused_from_io)?;
        if path.starts_with(&root) { Ok(()) } else { Err(Refused::Outside) }
    }

    /// Whether both are the same directory of the file system.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.path == other.path && self.stamp == other.stamp
    }

    /// The path with which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the text of the regular file at the relative path `name`; `None` if it does not exist.
    ///
    /// # Errors
    /// Code `definition` if it is outside of the directory, is not a regular file, is larger than `largest` bytes, is
    /// not UTF-8 or cannot be read.
    pub fn read(&self, name: &str, largest: u64) -> Result<Option<ReadFile>> {
        let Some((bytes, stamp)) = self.read_with_stamp(name, largest)? else { return Ok(None) };
        Ok(Some(ReadFile { text: decode_text(name, bytes)?, stamp }))
    }

    /// Reads the bytes of the regular file at the relative path `name`; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Directory::read`], but the bytes need not be UTF-8.
    pub fn read_bytes(&self, name: &str, largest: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.read_with_stamp(name, largest)?.map(|(bytes, _)| bytes))
    }

    /// Reads the bytes of the regular file `name`, with its stamp before the read; `None` if it does not exist.
    pub fn read_with_stamp(&self, name: &str, largest: u64) -> Result<Option<(Vec<u8>, Stamp)>> {
        let unreadable = |error| {
            file_error(name, Reason::Unreadable, format!("`{name}` cannot be read")).with_source(error)
        };
        let (file, metadata) = match self.file(name) {
            Ok(opened) => opened,
            Err(Refused::Missing) => return Ok(None),
            Err(Refused::Outside) => {
                return Err(file_error(
                    name,
                    Reason::Outside,
                    format!("`{name}` is outside of its directory"),
                ));
            }
            Err(Refused::NoFile) => {
                return Err(file_error(name, Reason::NoFile, format!("`{name}` is not a regular file")));
            }
            Err(Refused::Unreadable(error)) => return Err(unreadable(error)),
        };
        let too_large =
            || file_error(name, Reason::Size, format!("`{name}` is larger than {} KiB", largest >> 10));
        if metadata.len() > largest {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        // The file may have grown since its size was checked.
        file.take(largest + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > largest {
            return Err(too_large());
        }
        Ok(Some((bytes, Stamp::from_metadata(&metadata))))
    }

    /// The stamp of the regular file `name`; `None` if it does not exist or cannot be opened.
    #[must_use]
    pub fn stamp(&self, name: &str) -> Option<Stamp> {
        self.file(name).ok().map(|(_, metadata)| Stamp::from_metadata(&metadata))
    }

    /// Sets `present` for each of `files` that exists in the directory `name`, even if it cannot be read.
    ///
    /// Cheaper than a [`Directory::stamp`] of each: the directory is looked up once and no file is opened.
    pub fn mark_present(&self, name: &str, files: &[&str], present: &mut [bool]) {
        present.fill(false);
        if check_inside(name).is_err() {
            return;
        }
        let mut mark = |exists: &dyn Fn(&str) -> bool| {
            files.iter().zip(&mut *present).for_each(|(file, present)| *present = exists(file));
        };
        #[cfg(target_os = "linux")]
        if let Some(directory) = linux::open_directory(&self.handle, Path::new(name)) {
            return match directory {
                Ok(directory) => mark(&|file| linux::exists_in(&directory, file)),
                Err(exists) => mark(&|_| exists),
            };
        }
        if self.check_directory(Path::new(name)).is_ok() {
            mark(&|file| self.path.join(name).join(file).symlink_metadata().is_ok());
        }
    }

    /// The entries of the directory, sorted by name. A name that is not UTF-8 contains `\u{fffd}`, and cannot be used
    /// to open the file.
    pub fn list(&self) -> Result<Vec<DirectoryEntry>> {
        let unreadable =
            |error: io::Error| unreadable_directory(&self.path.display().to_string()).with_source(error);
        let mut listed = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type();
            let link = kind.as_ref().is_ok_and(fs::FileType::is_symlink);
            let directory = link || kind.is_ok_and(|kind| kind.is_dir());
            listed.push(DirectoryEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                directory,
                link,
            });
        }
        listed.sort_unstable();
        Ok(listed)
    }

    /// Opens the regular file at the relative path `name` and returns it with its metadata.
    ///
    /// # Errors
    /// Why it was not opened.
    pub fn file(&self, name: &str) -> Result<(File, fs::Metadata), Refused> {
        check_inside(name)?;
        let file = self.open_inside(Path::new(name)).map_err(|refused| match refused {
            Refused::Missing => self.dangling_link_error(name).map_or(Refused::Missing, Refused::Unreadable),
            other => other,
        })?;
        let metadata = file.metadata().map_err(Refused::Unreadable)?;
        if metadata.is_file() { Ok((file, metadata)) } else { Err(Refused::NoFile) }
    }

    /// The error for a broken link on the path of `name`: such a file is unreadable, not missing.
    fn dangling_link_error(&self, name: &str) -> Option<io::Error> {
        path_steps(&self.path, &self.path.join(name)).find_map(|step| metadata_unless_dangling(&step)?.err())
    }

    #[cfg(target_os = "linux")]
    fn open_inside(&self, name: &Path) -> Result<File, Refused> {
        linux::open_file(&self.handle, name).unwrap_or_else(|| open_checked(&self.path, name))
    }

    #[cfg(not(target_os = "linux"))]
    fn open_inside(&self, name: &Path) -> Result<File, Refused> {
        open_checked(&self.path, name)
    }
}

/// The bytes of the file `name` as text.
///
/// # Errors
/// Code `definition` if they are not UTF-8.
pub fn decode_text(name: &str, bytes: Vec<u8>) -> Result<Arc<str>> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let message = format!("`{name}` is not valid UTF-8: invalid byte at offset {offset}");
        file_error(name, Reason::Encoding, message).with_hint("save it as UTF-8")
    })?;
    Ok(text.into())
}

fn file_error(name: &str, reason: Reason, message: String) -> Error {
    Error::definition(reason, message).with("file", name)
}

fn unreadable_directory(name: &str) -> Error {
    Error::new(Code::Store, format!("the directory `{name}` cannot be read")).with("file", name)
}

/// All paths below `from` on the way to `to`, including `to`; only `to` if both are the same.
fn path_steps<'p>(from: &'p Path, to: &'p Path) -> impl Iterator<Item = PathBuf> {
    let inner = to.strip_prefix(from).unwrap_or(to);
    let mut path = from.to_owned();
    let last = inner.as_os_str().is_empty().then(|| to.to_owned());
    inner
        .components()
        .map(move |part| {
            path.push(part);
            path.clone()
        })
        .chain(last)
}

/// The metadata of `path`; `None` if it does not exist, an error if it is a broken link.
fn metadata_unless_dangling(path: &Path) -> Option<io::Result<fs::Metadata>> {
    let own = path.symlink_metadata().ok()?;
    Some(match own.is_symlink() {
        false => Ok(own),
        true => fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other(format!("{} is a broken link", path.display())),
            _ => error,
        }),
    })
}

/// Why the directory `to`, or one on the way to it from `from`, cannot be opened; `None` if it does not exist.
fn find_obstacle(from: &Path, to: &Path) -> Option<io::Error> {
    let inside = from.canonicalize().ok();
    let leads_out = |step: &Path| {
        inside.as_ref().is_some_and(|root| step.canonicalize().is_ok_and(|real| !real.starts_with(root)))
    };
    for step in path_steps(from, to) {
        match metadata_unless_dangling(&step)? {
            Err(error) => return Some(error),
            Ok(found) if !found.is_dir() => {
                return Some(io::Error::other(format!("{} is not a directory", step.display())));
            }
            Ok(_) if leads_out(&step) => {
                return Some(io::Error::other(format!("{} is a link that points outside", step.display())));
            }
            Ok(_) => {}
        }
    }
    None
}

/// Refuses a name that is outside of the directory without looking at links.
fn check_inside(name: &str) -> Result<(), Refused> {
    let inside = |part| matches!(part, Component::Normal(_));
    if name.is_empty() || name.contains(['\\', '\0']) {
        return Err(Refused::Missing);
    }
    if Path::new(name).components().all(inside) { Ok(()) } else { Err(Refused::Outside) }
}

/// Opens a file after checking that its real path is inside of `root`.
///
/// For systems that cannot confine a lookup to a directory. Somebody who changes links in the directory between the
/// check and the opening could bypass the check.
fn open_checked(root: &Path, name: &Path) -> Result<File, Refused> {
    let root = root.canonicalize().map_err(refused_from_io)?;
    let path = root.join(name).canonicalize().map_err(refused_from_io)?;
    if !path.starts_with(&root) {
        return Err(Refused::Outside);
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening a pipe without a writer would block.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path).map_err(refused_from_io)
}

fn refused_from_io(error: io::Error) -> Refused {
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::InvalidFilename => Refused::Missing,
        io::ErrorKind::IsADirectory => Refused::NoFile,
        _ => Refused::Unreadable(error),
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs::File, os::fd::OwnedFd, path::Path};

    use rustix::{
        fs::{AtFlags, Mode, OFlags, ResolveFlags},
        io::Errno,
    };

    use super::{Refused, io, refused_from_io};

    /// Maximum number of lookups; the kernel gives one up if a directory is moved at the same time.
    const MAX_LOOKUPS: usize = 64;

    pub(super) fn open_handle(path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// Opens a file with a lookup that the kernel confines to `directory`; `None` if the kernel cannot.
    pub(super) fn open_file(directory: &OwnedFd, name: &Path) -> Option<Result<File, Refused>> {
        // Opening a pipe without a writer would block; opening a terminal could make it the controlling one.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        Some(match open_beneath(directory, name, flags) {
            Ok(file) => Ok(File::from(file)),
            Err(Errno::NOSYS | Errno::PERM) => return None,
            Err(Errno::XDEV) => Err(Refused::Outside),
            Err(Errno::NXIO) => Err(Refused::NoFile),
            Err(error) => Err(refused_from_io(error.into())),
        })
    }

    /// Opens the directory `name` beneath another one to look up names in it. The error says whether it exists; `None`
    /// if the kernel cannot confine the lookup.
    pub(super) fn open_directory(directory: &OwnedFd, name: &Path) -> Option<Result<OwnedFd, bool>> {
        Some(match open_beneath(directory, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC) {
            Ok(directory) => Ok(directory),
            Err(Errno::NOSYS | Errno::PERM) => return None,
            // Callers that check links report paths to the outside, broken links and cycles.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP | Errno::NAMETOOLONG) => Err(false),
            Err(_) => Err(true),
        })
    }

    /// Whether `name` exists in `directory`; an error other than "not found" counts as existing.
    pub(super) fn exists_in(directory: &OwnedFd, name: &str) -> bool {
        !matches!(rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
    }

    fn open_beneath(directory: &OwnedFd, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut result = Err(Errno::AGAIN);
        for _ in 0..MAX_LOOKUPS {
            result = rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve);
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        result
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    /// A directory `root` with files and dangerous links, and a secret beside it.
    fn directory_with_traps() -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path().join("root");
        fs::create_dir_all(root.join("sub")).expect("made");
        fs::write(place.path().join("secret"), "secret").expect("written");
        fs::write(root.join("a.md"), "a").expect("written");
        fs::write(root.join("sub/b.md"), "b").expect("written");
        fs::write(root.join("bytes"), b"ok\xff").expect("written");
        symlink("sub/b.md", root.join("link-inside")).expect("linked");
        symlink("../secret", root.join("link-out")).expect("linked");
        symlink(place.path().join("secret"), root.join("link-absolute")).expect("linked");
        symlink("../..", root.join("sub/up-out")).expect("linked");
        symlink("circle", root.join("circle")).expect("linked");
        assert!(Command::new("mkfifo").arg(root.join("pipe")).status().expect("mkfifo is there").success());
        place
    }

    #[test]
    fn both_ways_of_opening_stay_inside() {
        let place = directory_with_traps();
        let root = place.path().join("root");
        let directory = Directory::open(&root).expect("opens").expect("is there");
        let checked = |name: &str| check_inside(name).and_then(|()| open_checked(&root, Path::new(name)));
        for name in
            ["../secret", "sub/../../secret", "/etc/passwd", "link-out", "link-absolute", "sub/up-out/secret"]
        {
            assert!(matches!(directory.file(name), Err(Refused::Outside)), "{name}");
            assert!(matches!(checked(name), Err(Refused::Outside)), "{name}");
        }
        for name in ["a.md", "sub/b.md", "link-inside"] {
            assert!(directory.file(name).is_ok() && checked(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn only_regular_files_of_text_are_read() {
        let place = directory_with_traps();
        let directory = Directory::open(&place.path().join("root")).expect("opens").expect("is there");
        let reason = |name: &str| directory.read(name, 100).expect_err(name).reason();
        assert_eq!(reason("pipe"), Some(Reason::NoFile));
        assert_eq!(reason("sub"), Some(Reason::NoFile));
        assert_eq!(reason("bytes"), Some(Reason::Encoding));
        assert_eq!(directory.read("sub/b.md", 0).expect_err("too large").reason(), Some(Reason::Size));
        assert_eq!(&*directory.read("link-inside", 1).expect("reads").expect("is there").text, "b");
        for name in ["none", "a.md/x", "", "nul\0", "a\\b", &"x".repeat(5_000)] {
            assert!(directory.read(name, 100).expect("no error").is_none(), "{name}");
        }
        assert!(directory.read("circle", 100).is_err());
    }

    #[test]
    fn files_of_a_directory_are_seen_without_opening_them() {
        let place = directory_with_traps();
        let root = place.path().join("root");
        symlink("b.md", root.join("sub/link-beside")).expect("linked");
        symlink("../../secret", root.join("sub/link-out")).expect("linked");
        fs::create_dir(root.join("sub/directory")).expect("made");
        symlink("sub", root.join("link-to-sub")).expect("linked");
        let directory = Directory::open(&root).expect("opens").expect("is there");
        let files = ["b.md", "none", "link-beside", "link-out", "directory"];
        let present = |name: &str, files: &[&str]| {
            let mut present = vec![true; files.len()];
            directory.mark_present(name, files, &mut present);
            present
        };
        for name in ["sub", "link-to-sub"] {
            assert_eq!(present(name, &files), [true, false, true, true, true], "{name}");
        }
        for name in ["none", "a.md", "sub/up-out", "..", "circle", ""] {
            assert_eq!(present(name, &["secret", "b.md"]), [false, false], "{name}");
        }
    }

    #[test]
    fn a_changed_file_has_another_stamp() {
        let place = directory_with_traps();
        let root = place.path().join("root");
        let directory = Directory::open(&root).expect("opens").expect("is there");
        let before = directory.stamp("a.md");
        assert_eq!(before, directory.stamp("a.md"));
        fs::write(root.join("a.md"), "longer").expect("written");
        assert_ne!(before, directory.stamp("a.md"));
        assert!(directory.directory("sub").expect("opens").is_some());
        assert!(directory.directory("sub/up-out").is_err() && directory.directory("..").is_err());
    }

    #[test]
    fn unreadable_and_missing_files_are_different() {
        let place = directory_with_traps();
        let root = place.path().join("root");
        symlink("nowhere", root.join("dangling")).expect("linked");
        symlink("nowhere", root.join("sub/dangling")).expect("linked");
        let directory = Directory::open(&root).expect("opens").expect("is there");
        for name in ["dangling", "circle", "dangling/x", "sub/dangling"] {
            let error = directory.read(name, 100).expect_err(name);
            assert_eq!(error.reason(), Some(Reason::Unreadable), "{name}");
        }
        for name in
            ["dangling", "circle", "a.md", "a.md/x", "dangling/x", "sub/dangling", "sub/up-out/none/x"]
        {
            assert!(directory.directory(name).is_err(), "{name}");
            assert!(Directory::open(&root.join(name)).is_err() || name.ends_with("/x"), "{name}");
        }
        for name in ["none", "none/x", "sub/none"] {
            assert!(directory.directory(name).expect("no error").is_none(), "{name}");
            assert!(directory.read(name, 100).expect("no error").is_none(), "{name}");
            assert!(Directory::open(&root.join(name)).expect("opens").is_none(), "{name}");
        }
    }
}
