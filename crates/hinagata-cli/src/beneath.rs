//! Opening files beneath a directory: whatever names and links say, nothing outside of it is reached,
//! and nothing that is no file is waited for.

use std::{
    fs::{File, FileType},
    io,
    path::{Component, Path, PathBuf},
};

/// A directory whose files may be read.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    handle: std::os::fd::OwnedFd,
}

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There is nothing of that name.
    Missing,
    /// The name, or a link that it leads over, points out of the directory.
    Outside,
    /// There is something of that name, but it is no file.
    NoFile(&'static str),
    /// It could not be read.
    Unreadable(io::Error),
}

impl Directory {
    /// The directory at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if !path.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            path: path.to_owned(),
            #[cfg(target_os = "linux")]
            handle: linux::directory(path)?,
        })
    }

    /// The path it was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The regular file called `name`, a relative path without `..`.
    pub(crate) fn file(&self, name: &str) -> Result<File, Refused> {
        stays_inside(name)?;
        let file = self.open_inside(Path::new(name))?;
        let kind = file.metadata().map_err(Refused::Unreadable)?.file_type();
        if kind.is_file() { Ok(file) } else { Err(Refused::NoFile(describe(kind))) }
    }

    #[cfg(target_os = "linux")]
    fn open_inside(&self, name: &Path) -> Result<File, Refused> {
        match linux::open(&self.handle, name) {
            Some(result) => result,
            None => open_checked(&self.path, name),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_inside(&self, name: &Path) -> Result<File, Refused> {
        open_checked(&self.path, name)
    }
}

/// Refuses a name that leaves the directory already as it is written.
fn stays_inside(name: &str) -> Result<(), Refused> {
    let mut parts = Path::new(name).components();
    if parts.any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(Refused::Outside);
    }
    Ok(())
}

/// Opens by looking where the name leads first.
///
/// For systems that cannot keep a lookup inside a directory by themselves. Somebody who changes links
/// in the directory at the same moment could get between the look and the opening.
fn open_checked(root: &Path, name: &Path) -> Result<File, Refused> {
    let root = root.canonicalize().map_err(refusal)?;
    let path = root.join(name).canonicalize().map_err(refusal)?;
    if !path.starts_with(&root) {
        return Err(Refused::Outside);
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // A pipe without a writer must not be waited for.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path).map_err(refusal)
}

fn refusal(error: io::Error) -> Refused {
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::InvalidFilename => Refused::Missing,
        io::ErrorKind::IsADirectory => Refused::NoFile("a directory"),
        _ => Refused::Unreadable(error),
    }
}

fn describe(kind: FileType) -> &'static str {
    if kind.is_dir() { "a directory" } else { "no regular file" }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs::File, os::fd::OwnedFd, path::Path};

    use rustix::{
        fs::{Mode, OFlags, ResolveFlags},
        io::Errno,
    };

    use super::{Refused, io, refusal};

    /// Times that a lookup is tried which the system gave up because something moved meanwhile.
    const TRIES: usize = 64;

    pub(super) fn directory(path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// Opens with a lookup that the kernel keeps inside; `None` where it cannot.
    pub(super) fn open(directory: &OwnedFd, name: &Path) -> Option<Result<File, Refused>> {
        // A pipe without a writer must not be waited for, a terminal not taken over.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut result = Err(Errno::AGAIN);
        for _ in 0..TRIES {
            result = rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve);
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        Some(match result {
            Ok(file) => Ok(File::from(file)),
            Err(Errno::NOSYS | Errno::PERM) => return None,
            Err(Errno::XDEV | Errno::LOOP) => Err(Refused::Outside),
            Err(Errno::NXIO) => Err(Refused::NoFile("no regular file")),
            Err(error) => Err(refusal(error.into())),
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, io::Read as _, os::unix::fs::symlink, process::Command};

    use super::*;

    /// `root` with files and traps, and a secret beside it.
    fn trapped() -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path().join("root");
        fs::create_dir_all(root.join("sub")).expect("made");
        fs::write(place.path().join("secret"), "secret").expect("written");
        fs::write(root.join("a.md"), "a").expect("written");
        fs::write(root.join("sub/b.md"), "b").expect("written");
        symlink("sub/b.md", root.join("link-inside")).expect("linked");
        symlink("../secret", root.join("link-out")).expect("linked");
        symlink(place.path().join("secret"), root.join("link-absolute")).expect("linked");
        symlink("..", root.join("sub/up")).expect("linked");
        symlink("../..", root.join("sub/up-out")).expect("linked");
        symlink("/proc/self/root", root.join("magic")).expect("linked");
        symlink("circle", root.join("circle")).expect("linked");
        let made = Command::new("mkfifo").arg(root.join("pipe")).status().expect("mkfifo is there");
        assert!(made.success());
        place
    }

    type Open<'d> = &'d dyn Fn(&str) -> Result<File, Refused>;

    /// Calls `check` with each of the two ways to open.
    fn both_ways(check: impl Fn(Open<'_>)) {
        let place = trapped();
        let root = place.path().join("root");
        let directory = Directory::open(&root).expect("is there");
        check(&|name| directory.file(name));
        check(&|name| {
            stays_inside(name)?;
            let file = open_checked(&root, Path::new(name))?;
            let kind = file.metadata().map_err(Refused::Unreadable)?.file_type();
            if kind.is_file() { Ok(file) } else { Err(Refused::NoFile(describe(kind))) }
        });
    }

    #[test]
    fn files_beneath_the_directory_are_read() {
        both_ways(|open| {
            for (name, content) in [
                ("a.md", "a"),
                ("./a.md", "a"),
                ("sub/b.md", "b"),
                ("sub//./b.md", "b"),
                ("link-inside", "b"),
                ("sub/up/a.md", "a"),
            ] {
                let mut text = String::new();
                open(name).expect(name).read_to_string(&mut text).expect("is text");
                assert_eq!(text, content, "{name}");
            }
        });
    }

    #[test]
    fn no_name_and_no_link_leads_out() {
        both_ways(|open| {
            for name in [
                "../secret",
                "sub/../a.md",
                "sub/../../secret",
                "..",
                "/etc/passwd",
                "//etc/passwd",
                "link-out",
                "link-absolute",
                "sub/up-out/secret",
                "magic/etc/passwd",
            ] {
                let result = open(name);
                assert!(matches!(result, Err(Refused::Outside)), "{name}: {result:?}");
            }
        });
    }

    #[test]
    fn what_is_no_file_is_refused_without_waiting() {
        both_ways(|open| {
            for name in ["sub", "pipe", ".", "sub/up"] {
                let result = open(name);
                assert!(matches!(result, Err(Refused::NoFile(_))), "{name}: {result:?}");
            }
        });
    }

    #[test]
    fn what_is_not_there_is_missing() {
        both_ways(|open| {
            for name in ["b.md", "a.md/b", "nul\0", "sub/none/b", "", &"x".repeat(5_000)] {
                let result = open(name);
                assert!(matches!(result, Err(Refused::Missing | Refused::NoFile(_))), "{name}: {result:?}");
            }
            assert!(open("circle").is_err());
        });
    }

    #[test]
    fn a_root_that_is_no_directory_is_an_error() {
        let place = trapped();
        assert!(Directory::open(&place.path().join("secret")).is_err());
        assert!(Directory::open(&place.path().join("none")).is_err());
    }
}
