//! The file of the audit log: appended to by one daemon, rotated by size, and never torn.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// The most daemons that write beside each other.
const MOST_DAEMONS: usize = 1_000;

/// When a file is rotated, and how many older ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// The size in bytes at which a file is rotated.
    pub(crate) size: u64,
    /// The number of older files that are kept.
    pub(crate) files: u64,
}

/// The file of the log, locked by this daemon.
pub(crate) struct AuditFile {
    path: PathBuf,
    file: File,
    size: u64,
    rotation: Rotation,
    remaining: Remaining,
}

impl AuditFile {
    /// Opens the file at `path`, or, while another daemon writes to it, the first free one of `NAME-2`, `NAME-3` and so
    /// on beside it.
    pub(crate) fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        for number in 1..=MOST_DAEMONS {
            let path =
                if number == 1 { path.to_owned() } else { with_stem_suffix(path, &format!("-{number}")) };
            if let Some(file) = open_locked(&path)? {
                return Self::from_file(path, file, rotation);
            }
        }
        Err(io::Error::other("too many daemons write to it"))
    }

    fn from_file(path: PathBuf, file: File, rotation: Rotation) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let mut remaining = Remaining::default();
        // A daemon that died while it wrote leaves half a line.
        if metadata.is_file() && metadata.len() > 0 && last_byte(&path)? != b'\n' {
            remaining.0.push(b'\n');
        }
        Ok(Self { path, file, size: metadata.len(), rotation, remaining })
    }

    /// Appends complete lines. What an error leaves unwritten, [`Self::write_remaining`] writes.
    pub(crate) fn append(&mut self, lines: Vec<u8>) -> io::Result<()> {
        let prepared = self.prepare_file();
        self.remaining.0.extend(lines);
        prepared?;
        self.write_remaining()
    }

    /// Writes what could not be written before, from the byte on where it ended.
    pub(crate) fn write_remaining(&mut self) -> io::Result<()> {
        let before = self.remaining.0.len();
        let written = self.remaining.write_to(&mut self.file);
        self.size += (before - self.remaining.0.len()) as u64;
        written
    }

    /// The number of lines that are not written yet.
    pub(crate) fn remaining_lines(&self) -> u64 {
        self.remaining.0.iter().filter(|byte| **byte == b'\n').count() as u64
    }

    /// Rotates the file when it is full, and opens it again when another program moved it.
    fn prepare_file(&mut self) -> io::Result<()> {
        let is_moved = !is_same_file(&self.path, &self.file)?;
        if !is_moved {
            if self.size < self.rotation.size || !self.file.metadata()?.is_file() {
                return Ok(());
            }
            self.rotate_files()?;
        }
        *self = Self::open(&self.path, self.rotation)?;
        Ok(())
    }

    /// Renames the file to `NAME.1`, the older ones to the next number, and deletes those that are too many.
    fn rotate_files(&self) -> io::Result<()> {
        let older = |number: u64| with_stem_suffix(&self.path, &format!(".{number}"));
        let Some(last) = self.rotation.files.checked_sub(1) else { return std::fs::remove_file(&self.path) };
        // The numbers are consecutive, so a missing file ends them.
        let count = (1..=last).take_while(|number| older(*number).exists()).count() as u64;
        for number in (1..=count).rev() {
            std::fs::rename(older(number), older(number + 1))?;
        }
        std::fs::rename(&self.path, older(1))
    }
}

/// Opens a file for this daemon alone; `None` if another one has it.
fn open_locked(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        // Devices and some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

fn last_byte(path: &Path) -> io::Result<u8> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Whether `path` still names `file`.
#[cfg(unix)]
fn is_same_file(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    match std::fs::metadata(path) {
        Ok(there) => {
            let open = file.metadata()?;
            Ok((there.dev(), there.ino()) == (open.dev(), open.ino()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// An open file cannot be moved on other systems.
#[cfg(not(unix))]
fn is_same_file(_path: &Path, _file: &File) -> io::Result<bool> {
    Ok(true)
}

/// `path` with `suffix` behind the stem of its name: `audit.jsonl` becomes `audit.1.jsonl`.
fn with_stem_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Bytes that are not written yet.
#[derive(Default)]
struct Remaining(Vec<u8>);

impl Remaining {
    /// Writes as much as `file` takes and keeps the rest, so that a line is never torn.
    fn write_to(&mut self, file: &mut impl Write) -> io::Result<()> {
        while !self.0.is_empty() {
            match file.write(&self.0) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.0.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append_lines(file: &mut AuditFile, lines: &[&str]) {
        for line in lines {
            file.append(format!("{line}\n").into_bytes()).expect("is written");
        }
    }

    fn read(path: &Path) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }

    #[test]
    fn a_full_file_is_rotated_and_the_configured_number_is_kept() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("audit.jsonl");
        let mut file = AuditFile::open(&path, Rotation { size: 2, files: 2 }).expect("opens");
        append_lines(&mut file, &["a", "b", "c", "d"]);
        assert_eq!(read(&path).as_deref(), Some("d\n"));
        assert_eq!(read(&directory.path().join("audit.1.jsonl")).as_deref(), Some("c\n"));
        assert_eq!(read(&directory.path().join("audit.2.jsonl")).as_deref(), Some("b\n"));
        assert_eq!(read(&directory.path().join("audit.3.jsonl")), None);
        drop(file);
        let mut file = AuditFile::open(&path, Rotation { size: 2, files: 0 }).expect("opens");
        append_lines(&mut file, &["e"]);
        assert_eq!(read(&path).as_deref(), Some("e\n"), "nothing older is kept");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_another_program_moved_is_created_again() {
        let directory = tempfile::tempdir().expect("directory");
        let (path, moved) = (directory.path().join("audit.jsonl"), directory.path().join("moved"));
        let mut file = AuditFile::open(&path, Rotation { size: 1 << 20, files: 1 }).expect("opens");
        append_lines(&mut file, &["a"]);
        std::fs::rename(&path, &moved).expect("is moved");
        append_lines(&mut file, &["b"]);
        assert_eq!((read(&moved).as_deref(), read(&path).as_deref()), (Some("a\n"), Some("b\n")));
    }

    #[test]
    fn half_a_line_of_an_earlier_daemon_is_ended() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("audit.jsonl");
        std::fs::write(&path, "{\"torn").expect("is written");
        let mut file = AuditFile::open(&path, Rotation { size: 1 << 20, files: 1 }).expect("opens");
        append_lines(&mut file, &["whole"]);
        assert_eq!(read(&path).as_deref(), Some("{\"torn\nwhole\n"));
    }

    /// A disk with room for some bytes.
    struct Disk {
        room: usize,
        written: Vec<u8>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room);
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= count;
            self.written.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_completed_once_the_disk_has_room_again() {
        let mut disk = Disk { room: 5, written: Vec::new() };
        let mut remaining = Remaining(b"{\"a\":1}\n{\"b\":2}\n".to_vec());
        let error = remaining.write_to(&mut disk).expect_err("it is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        disk.room = 100;
        remaining.write_to(&mut disk).expect("has room");
        assert_eq!(disk.written, b"{\"a\":1}\n{\"b\":2}\n");
    }
}
