//! Installs a pack from an archive.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek as _, SeekFrom},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use hinagata_catalog::pack::PackLimits;
use hinagata_document::{Error, Reason, Result};
use hinagata_workspace::write::io_error;
use tar::EntryType;
use zip::{
    CompressionMethod, ZipReadOptions,
    read::{ArchiveOffset, Config, ZipFileEntry},
    result::ZipError,
    unstable::read::ZipIterable,
};

use crate::unpack::{Unpacker, broken_error, refused_error};

/// Bytes of a member of a `.tar` besides its content: its header, a long name before it, padding.
const AROUND_MEMBER: u64 = 4 << 10;

/// Passes all members of the archive at `source` to `unpacker`.
pub(crate) fn unpack_archive(source: &Path, unpacker: &mut Unpacker, limits: &PackLimits) -> Result<()> {
    let unreadable = |error: io::Error| io_error("read", source, error);
    let mut file = File::open(source).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refused_error(Reason::Archive, "", "it is neither a file nor a directory"));
    }
    if metadata.len() > limits.archive {
        return Err(refused_error(
            Reason::Size,
            "",
            format!("the archive has more than {} KiB", limits.archive >> 10),
        ));
    }
    // The name of a file does not prove its format.
    let mut magic = [0; 4];
    let read = read_start(&mut file, &mut magic).map_err(unreadable)?;
    file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    match &magic[..read] {
        [0x1f, 0x8b, ..] => unpack_tar(BufReader::new(file), unpacker, limits),
        [b'P', b'K', ..] => unpack_zip(BufReader::new(file), unpacker, limits),
        _ => Err(Error::definition(Reason::Archive, "the pack cannot be installed: unknown archive format")
            .with("path", source.display().to_string())
            .with_hint("use a directory, a .tar.gz or a .zip")),
    }
}

fn read_start(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

fn unpack_tar(file: BufReader<File>, unpacker: &mut Unpacker, limits: &PackLimits) -> Result<()> {
    let members = u64::try_from(limits.entries).unwrap_or(u64::MAX).saturating_add(1);
    // The library reads long names and other extras into memory; this bounds them, too.
    let most = limits.total.saturating_add(members.saturating_mul(AROUND_MEMBER));
    let mut archive = tar::Archive::new(Counted { inner: MultiGzDecoder::new(file), left: most });
    let entries = archive.entries().map_err(broken_error)?;
    for entry in entries {
        unpacker.count_member()?;
        let mut entry = entry.map_err(stream_error)?;
        let name = entry.path_bytes().into_owned();
        let name = String::from_utf8(name).map_err(|error| not_utf8_error(error.as_bytes()))?;
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => unpacker.add_file(&name, &mut entry)?,
            EntryType::Directory if matches!(name.as_str(), "." | "./") => {}
            EntryType::Directory => unpacker.add_directory(&name)?,
            // A comment of the program that created the archive.
            EntryType::XGlobalHeader => {}
            EntryType::Symlink | EntryType::Link => {
                return Err(refused_error(Reason::Link, &name, format!("`{name}` is a link")));
            }
            _ => {
                return Err(refused_error(
                    Reason::Special,
                    &name,
                    format!("`{name}` is neither a file nor a directory"),
                ));
            }
        }
    }
    // Reading to the end detects truncated and damaged archives.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(stream_error)?;
    Ok(())
}

fn unpack_zip(file: BufReader<File>, unpacker: &mut Unpacker, limits: &PackLimits) -> Result<()> {
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    // An index of all entries would use memory for refused names and hide duplicates.
    let opened = ZipIterable::try_new(file, config).map_err(broken_zip_error)?;
    let mut archive = opened.enforce_header_consistency(true);
    if archive.len() > limits.entries {
        return Err(refused_error(Reason::Count, "", format!("it has more than {} files", limits.entries)));
    }
    let files = archive.files().map_err(broken_zip_error)?;
    while let Some(entry) = files.next() {
        unpacker.count_member()?;
        let entry = entry.map_err(broken_zip_error)?;
        let name =
            std::str::from_utf8(entry.name_raw()).map_err(|_| not_utf8_error(entry.name_raw()))?.to_owned();
        check_zip_entry(&name, &entry)?;
        if name.ends_with('/') {
            unpacker.add_directory(&name)?;
            continue;
        }
        let options = ZipReadOptions::new();
        let mut content = entry.with_reader(files.reader_mut(), options).map_err(broken_zip_error)?;
        unpacker.add_file(&name, &mut content)?;
    }
    Ok(())
}

/// Refuses everything but plain files and directories.
fn check_zip_entry(name: &str, entry: &ZipFileEntry<'_>) -> Result<()> {
    const KIND: u32 = 0o170_000;
    let kind = entry.unix_mode().map_or(0, |mode| mode & KIND);
    match kind {
        0 | 0o100_000 | 0o040_000 => {}
        0o120_000 => return Err(refused_error(Reason::Link, name, format!("`{name}` is a link"))),
        _ => {
            return Err(refused_error(
                Reason::Special,
                name,
                format!("`{name}` is neither a file nor a directory"),
            ));
        }
    }
    if entry.encrypted() {
        return Err(refused_error(Reason::Archive, name, format!("`{name}` is encrypted")));
    }
    match entry.compression() {
        CompressionMethod::Stored | CompressionMethod::Deflated => Ok(()),
        other => Err(refused_error(
            Reason::Archive,
            name,
            format!("`{name}` uses the unsupported compression {other}"),
        )),
    }
}

fn not_utf8_error(name: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(name).into_owned();
    refused_error(Reason::Name, &shown, format!("the name `{}` is not valid UTF-8", shown.escape_debug()))
}

fn broken_zip_error(error: ZipError) -> Error {
    broken_error(io::Error::other(error))
}

/// A reader that fails once it exceeds its limit.
struct Counted<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "the unpacked archive is too large")
        })?;
        Ok(read)
    }
}

fn stream_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::FileTooLarge => {
            refused_error(Reason::Size, "", "its unpacked content is too large").with_source(error)
        }
        _ => broken_error(error),
    }
}
