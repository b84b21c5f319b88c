//! Writes files that other processes read and write too.
//!
//! A `Writer` holds the lock of a directory. While it exists, no other process changes the files that are written under
//! that lock, so reading, changing and writing is one atomic step. A file is written under a temporary name, synced to
//! the disk and then renamed, so that a reader sees the old state or the new one, even after a crash or a `kill -9`.
//! Directories of a workspace are untrusted: a link in the place of a file to be written is never followed. Only
//! `replace_file` follows one, for files of the user.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Component, Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use hinagata_document::{Code, Error, Reason, Result};
use serde::Serialize;

/// How long to wait for a lock that another process holds. Work under it takes milliseconds; a process that holds it
/// longer is stopped or stuck.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Who may read the written files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Everybody whom the umask of the user allows.
    AsUsual,
    /// Only the user.
    Owner,
}

/// A lock on the files of a directory. It ends when this is dropped or the process ends.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    readers: Readers,
    _lock: File,
}

impl Writer {
    /// Waits for the lock `name` of `directory`, which is created if it is missing.
    pub fn lock(directory: &Path, name: &str, readers: Readers) -> Result<Self> {
        let path = directory.join(name);
        let file = make_directory(directory, readers).and_then(|()| open_lock(&path, readers));
        let lock = file.and_then(wait_for_lock).map_err(|error| io_error("locked", &path, error))?;
        Ok(Self { directory: directory.to_owned(), readers, _lock: lock })
    }

    /// Takes the lock if no other process holds it.
    pub fn try_lock(directory: &Path, name: &str, readers: Readers) -> Option<Self> {
        make_directory(directory, readers).ok()?;
        let lock = open_lock(&directory.join(name), readers).ok()?;
        lock.try_lock().ok()?;
        Some(Self { directory: directory.to_owned(), readers, _lock: lock })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The text of the file `name`, of at most `largest` bytes; `None` if the file does not exist.
    pub fn read(&self, name: &str, largest: u64) -> Result<Option<String>> {
        read_text(&self.directory.join(name), largest)
    }

    /// Replaces the content of the file `name` with `bytes`.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.replace_in(&self.directory, name, bytes)
    }

    /// As [`Writer::replace`], for a file of another directory that is only changed under this lock.
    pub fn replace_in(&self, directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
        let place = directory.join(name);
        // A file that a team shares keeps its permissions.
        let keeps_permissions = self.readers == Readers::AsUsual;
        replace_at(&place, bytes, self.readers, keeps_permissions)
            .map_err(|error| io_error("written", &place, error))
    }

    /// Replaces the content of the file `name` with `value` as indented JSON.
    pub fn replace_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let place = self.directory.join(name);
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|error| io_error("written", &place, io::Error::other(error)))?;
        text.push('\n');
        self.replace(name, text.as_bytes())
    }

    /// Adds a line at the end of the file `name`.
    pub fn append_line(&self, name: &str, line: &str) -> Result<()> {
        let place = self.directory.join(name);
        self.append(&place, line).map_err(|error| io_error("written", &place, error))
    }

    fn append(&self, place: &Path, line: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = refuse_links(&mut options, self.readers).open(place)?;
        let mut bytes = Vec::with_capacity(line.len() + 2);
        // A crash may have left an incomplete line.
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                bytes.push(b'\n');
            }
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        file.write_all(&bytes)?;
        file.sync_data()
    }

    /// Removes the file `name` if it exists.
    pub fn remove(&self, name: &str) -> Result<()> {
        let place = self.directory.join(name);
        ignore_missing(fs::remove_file(&place))
            .and_then(|()| sync_directory(&self.directory))
            .map_err(|error| io_error("removed", &place, error))
    }
}

/// Replaces the content of the file at `path`, which keeps its permissions; a new one is for `readers`. A link is
/// followed, so that it still leads to the file. Missing directories are created. The caller holds a lock.
///
/// # Errors
/// Code `store` if it cannot be written.
pub fn replace_file(path: &Path, bytes: &[u8], readers: Readers) -> Result<()> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let written = fs::create_dir_all(place.parent().unwrap_or(Path::new(".")))
        .and_then(|()| replace_at(&place, bytes, readers, true));
    written.map_err(|error| io_error("written", path, error))
}

/// Writes beside the file, then renames.
fn replace_at(place: &Path, bytes: &[u8], readers: Readers, keeps_permissions: bool) -> io::Result<()> {
    let (Some(directory), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut new_name = std::ffi::OsString::from(".");
    new_name.push(name);
    new_name.push(".new");
    // Only the holder of the lock writes this file, so an existing one is left over from a killed process.
    let beside = directory.join(new_name);
    let write_new = || {
        ignore_missing(fs::remove_file(&beside))?;
        let mut file =
            refuse_links(OpenOptions::new().write(true).create_new(true), readers).open(&beside)?;
        if keeps_permissions
            && let Ok(before) = fs::symlink_metadata(place)
            && before.is_file()
        {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    };
    let written =
        write_new().and_then(|()| fs::rename(&beside, place)).and_then(|()| sync_directory(directory));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The text of the file at `path`, of at most `largest` bytes; `None` if the file does not exist.
pub fn read_text(path: &Path, largest: u64) -> Result<Option<String>> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(largest + 1).read_to_string(&mut text)?;
        if text.len() as u64 > largest {
            return Err(io::Error::other(format!("it is larger than {} KiB", largest >> 10)));
        }
        Ok(text)
    };
    match read() {
        Ok(text) => Ok(Some(text)),
        // A broken link is an error, not a missing file.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(io_error("read", path, error)),
    }
}

/// The directory `name` beneath `root`, created if it is missing. A link to a path outside of `root` is refused.
pub fn directory_beneath(root: &Path, name: &str) -> Result<PathBuf> {
    let create = || -> io::Result<PathBuf> {
        fs::create_dir_all(root)?;
        let real = root.canonicalize()?;
        let mut path = root.to_owned();
        for part in Path::new(name).components() {
            let Component::Normal(part) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
            path.push(part);
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            if !path.canonicalize()?.starts_with(&real) {
                return Err(io::Error::other(format!(
                    "{} is a link to a path outside of the workspace",
                    path.display()
                )));
            }
        }
        Ok(path)
    };
    create().map_err(|error| io_error("written", &root.join(name), error))
}

/// Creates `directory` and its missing parents.
pub fn make_directory(directory: &Path, readers: Readers) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder.create(directory)
}

/// Syncs the names in `directory` to the disk, if the system can do that.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}

/// Syncs everything beneath `directory` to the disk.
///
/// One call for the whole file system takes the time of a few files where that many calls would take a second for every
/// hundred files.
pub fn sync_tree(directory: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(directory)?)?;
    #[cfg(not(target_os = "linux"))]
    {
        let mut left = vec![directory.to_owned()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(&directory)? {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => left.push(entry.path()),
                    false => File::open(entry.path())?.sync_all()?,
                }
            }
            sync_directory(&directory)?;
        }
    }
    Ok(())
}

/// Makes `options` refuse a link at the end of the path, and sets the permissions of a new file.
pub fn refuse_links(options: &mut OpenOptions, readers: Readers) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        if readers == Readers::Owner {
            options.mode(0o600);
        }
    }
    #[cfg(not(unix))]
    let _ = readers;
    options
}

/// Locks the files of a directory under the lock `name`; waits if another process holds it.
///
/// # Errors
/// Code `store` if the lock cannot be created, or another process holds it for too long.
pub fn lock_directory(directory: &Path, name: &str) -> Result<DirectoryLock> {
    Writer::lock(directory, name, Readers::AsUsual).map(DirectoryLock)
}

/// A lock on the files of a directory. It ends when this is dropped or the process ends.
#[derive(Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "the lock ends when it is dropped")] Writer);

/// Opens a file for reading and writing, and creates it for `readers` if it is missing. A link in its place is not
/// followed.
///
/// # Errors
/// The error of the system.
pub fn open_without_link(path: &Path, readers: Readers) -> io::Result<File> {
    let mut options = OpenOptions::new();
    refuse_links(options.read(true).write(true).create(true).truncate(false), readers).open(path)
}

fn open_lock(path: &Path, readers: Readers) -> io::Result<File> {
    refuse_links(OpenOptions::new().create(true).truncate(false).write(true), readers).open(path)
}

fn wait_for_lock(file: File) -> io::Result<File> {
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Waiting for a lock has no timeout, so a thread does it. If the thread gets the lock too late, nobody receives it
    // from the channel, and it is released.
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new().name("lock".into()).spawn(move || {
        let locked = file.lock().map(|()| file);
        let _ = sender.send(locked);
    })?;
    receiver.recv_timeout(LOCK_TIMEOUT).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The error for a file operation that failed; `action` is a participle such as `read` or `written`.
pub fn io_error(action: &str, path: &Path, error: io::Error) -> Error {
    use io::ErrorKind as Kind;
    let (reason, hint) = match error.kind() {
        Kind::PermissionDenied => (
            Reason::Permission,
            "change the permissions of the file and its directory, or run as their owner",
        ),
        Kind::ReadOnlyFilesystem => (Reason::ReadOnly, "the file system is read-only: mount it writable"),
        Kind::StorageFull | Kind::QuotaExceeded => (Reason::Full, "the disk is full: free some space"),
        Kind::TimedOut => {
            (Reason::Locked, "another process holds the lock: wait until it is done, or end it")
        }
        Kind::NotADirectory => (Reason::Io, "a part of the path is not a directory: move it away"),
        _ => (Reason::Io, "check that the directory is writable and that the disk is not full"),
    };
    Error::new(Code::Store, format!("{} cannot be {action}", path.display()))
        .with_reason(reason)
        .with("path", path.display().to_string())
        .with_hint(hint)
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary directory")
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .expect("is there")
            .map(|entry| entry.expect("readable").file_name().into_string().expect("is text"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_killed_writer_does_not_block_the_next_one() {
        let place = place();
        fs::write(place.path().join(".a.json.new"), "half").expect("written");
        let writer = Writer::lock(place.path(), ".lock", Readers::AsUsual).expect("locks");
        writer.replace("a.json", b"whole").expect("writes");
        assert_eq!(writer.read("a.json", 5).expect("reads").as_deref(), Some("whole"));
        assert_eq!(writer.read("a.json", 4).expect_err("is too large").code(), Code::Store);
        assert_eq!(names(place.path()), [".lock", "a.json"]);
        writer.remove("a.json").expect("removes");
        writer.remove("a.json").expect("is gone already");
        assert!(writer.read("a.json", 5).expect("no error").is_none());
    }

    #[test]
    fn a_line_cut_short_does_not_swallow_the_next() {
        let place = place();
        let writer = Writer::lock(place.path(), ".lock", Readers::AsUsual).expect("locks");
        fs::write(place.path().join("log"), "one\ntw").expect("written");
        writer.append_line("log", "three").expect("writes");
        writer.append_line("log", "four").expect("writes");
        assert_eq!(fs::read_to_string(place.path().join("log")).expect("is there"), "one\ntw\nthree\nfour\n");
    }

    #[test]
    fn only_one_writer_holds_the_lock() {
        let place = place();
        let first = Writer::lock(place.path(), ".lock", Readers::AsUsual).expect("locks");
        assert!(Writer::try_lock(place.path(), ".lock", Readers::AsUsual).is_none());
        let path = place.path().to_owned();
        let (sender, receiver) = mpsc::channel();
        let second = thread::spawn(move || {
            let writer = Writer::lock(&path, ".lock", Readers::AsUsual).expect("locks");
            sender.send("second").expect("is heard");
            drop(writer);
        });
        assert!(receiver.try_recv().is_err());
        drop(first);
        assert_eq!(receiver.recv(), Ok("second"));
        second.join().expect("ends");
        assert!(Writer::try_lock(place.path(), ".lock", Readers::AsUsual).is_some());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_written_through() {
        use std::os::unix::fs::symlink;
        let (place, other) = (place(), place());
        let victim = other.path().join("victim");
        fs::write(&victim, "mine").expect("written");
        for name in [".lock-link", ".a.json.new", "a.json", "log"] {
            symlink(&victim, place.path().join(name)).expect("linked");
        }
        assert!(Writer::lock(place.path(), ".lock-link", Readers::AsUsual).is_err());
        let writer = Writer::lock(place.path(), ".lock", Readers::AsUsual).expect("locks");
        writer.replace("a.json", b"ours").expect("replaces the link");
        assert_eq!(writer.append_line("log", "x").expect_err("is a link").code(), Code::Store);
        assert_eq!(fs::read_to_string(&victim).expect("is there"), "mine");
        symlink(other.path(), place.path().join("out")).expect("linked");
        assert!(directory_beneath(place.path(), "out/inner").is_err());
        assert!(directory_beneath(place.path(), "../x").is_err());
        assert!(!other.path().join("inner").exists());
        assert!(directory_beneath(place.path(), "in/inner").expect("is made").is_dir());
    }

    #[cfg(unix)]
    #[test]
    fn owner_files_are_private_and_shared_files_stay_shared() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = place();
        let directory = place.path().join("state/inner");
        let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
        let writer = Writer::lock(&directory, ".lock", Readers::Owner).expect("locks");
        writer.replace("a.json", b"x").expect("writes");
        writer.append_line("log", "x").expect("writes");
        for (name, wanted) in
            [("a.json", 0o600), ("log", 0o600), (".lock", 0o600), (".", 0o700), ("..", 0o700)]
        {
            assert_eq!(mode(&directory.join(name)), wanted, "{name}");
        }
        let writer = Writer::lock(place.path(), ".lock", Readers::AsUsual).expect("locks");
        fs::write(place.path().join("shared"), "x").expect("written");
        fs::set_permissions(place.path().join("shared"), fs::Permissions::from_mode(0o664)).expect("changed");
        writer.replace("shared", b"y").expect("writes");
        assert_eq!(mode(&place.path().join("shared")), 0o664);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_the_user_is_replaced_behind_its_link_with_its_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let place = place();
        let (file, link) = (place.path().join("real/settings.json"), place.path().join("settings.json"));
        let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
        replace_file(&file, b"new", Readers::Owner).expect("writes, with the directory");
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changed");
        symlink(&file, &link).expect("linked");
        replace_file(&link, b"newer", Readers::Owner).expect("writes");
        assert!(link.is_symlink());
        assert_eq!((fs::read_to_string(&file).expect("is there").as_str(), mode(&file)), ("newer", 0o644));
        assert_eq!(names(&place.path().join("real")), ["settings.json"]);
        let error = replace_file(&file.join("inner"), b"x", Readers::Owner).expect_err("is a file");
        assert_eq!(error.code(), Code::Store);
    }

    #[test]
    fn a_failed_write_reports_the_path_and_keeps_the_old_file() {
        let place = place();
        let writer = Writer::lock(place.path(), ".lock", Readers::AsUsual).expect("locks");
        fs::create_dir(place.path().join("a.json")).expect("made");
        let error = writer.replace("a.json", b"x").expect_err("is a directory");
        assert_eq!(error.code(), Code::Store);
        assert!(error.details()["path"].as_str().is_some_and(|path| path.ends_with("a.json")));
        assert!(error.hint().is_some() && std::error::Error::source(&error).is_some());
        assert_eq!(names(place.path()), [".lock", "a.json"]);
        fs::write(place.path().join("file"), "x").expect("written");
        let error = Writer::lock(&place.path().join("file/dir"), ".lock", Readers::AsUsual).expect_err("no");
        assert_eq!(error.code(), Code::Store);
        for (kind, reason) in [
            (io::ErrorKind::PermissionDenied, Reason::Permission),
            (io::ErrorKind::StorageFull, Reason::Full),
            (io::ErrorKind::ReadOnlyFilesystem, Reason::ReadOnly),
            (io::ErrorKind::TimedOut, Reason::Locked),
        ] {
            assert_eq!(io_error("written", Path::new("x"), kind.into()).reason(), Some(reason));
        }
    }
}
