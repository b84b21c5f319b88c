//! A private root directory: what Python needs and what the job may see, mounted read-only on an empty file system.

use std::{
    ffi::CStr,
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::symlink,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::CWD,
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
        move_mount, open_tree, unmount,
    },
    process::{chdir, pivot_root},
};

/// Devices that programs expect.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Empty directories that programs expect.
const EMPTY: [&str; 3] = ["/tmp", "/dev/shm", "/proc"];
/// Mount points for the new root before it becomes the root. The directories below them are not needed then.
const STAGES: [&str; 4] = ["/tmp", "/run", "/mnt", "/usr"];

const RDONLY: u64 = 1;
const NOSUID: u64 = 2;
const NODEV: u64 = 4;

/// Creates a root with exactly `paths` and moves this process into it.
///
/// Must be called by the first process of new namespaces. Returns whether /proc shows processes.
pub(crate) fn enter_new_root(paths: &[PathBuf]) -> io::Result<bool> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let entries = plan(paths);
    let opened: io::Result<Vec<(&Entry, Option<OwnedFd>)>> =
        entries.iter().map(|entry| Ok((entry, entry.open()?))).collect();
    let opened = opened?;
    stage()?;
    for (entry, tree) in &opened {
        entry.place(tree.as_ref())?;
    }
    for directory in EMPTY {
        fs::create_dir_all(relative(Path::new(directory)))?;
    }
    // If parts of the outer /proc are hidden, the kernel denies a new one. Nothing needs it.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let processes = mount("proc", "proc", "proc", flags, None::<&CStr>).is_ok();
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    Ok(processes)
}

/// Makes the root itself read-only, once everything is in place.
pub(crate) fn make_read_only() -> io::Result<()> {
    set_attributes(None, RDONLY | NOSUID | NODEV)
}

/// Mounts an empty file system and changes into it.
fn stage() -> io::Result<()> {
    let place = STAGES.into_iter().find(|place| Path::new(place).is_dir());
    let place = place.ok_or_else(|| io::Error::other("no directory available to build a root in"))?;
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID, Some(c"mode=755,size=1m"))?;
    chdir(place)?;
    Ok(())
}

/// An entry of the new root.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// A directory or file of the outer system.
    Outer { path: PathBuf, kind: Kind },
    /// A symbolic link to another path in the root.
    Link { path: PathBuf, target: PathBuf },
}

/// The type of an outer entry. Later mounts may hide the entry itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Device,
}

/// Plans the entries: symbolic links as links, and no path twice.
fn plan(paths: &[PathBuf]) -> Vec<Entry> {
    let mut outer: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    outer.sort();
    outer.dedup();
    let all = outer.clone();
    let covered = |path: &Path| all.iter().any(|other| path != other && path.starts_with(other));
    outer.retain(|path| !covered(path) && path.parent().is_some());
    let inside = |path: &Path| all.iter().any(|other| path.starts_with(other));
    let mut links: Vec<Entry> = Vec::new();
    for path in paths.iter().filter(|path| path.is_absolute() && !inside(path)) {
        let Ok(target) = path.canonicalize() else { continue };
        let link = Entry::Link { path: path.clone(), target };
        if !links.contains(&link) {
            links.push(link);
        }
    }
    let outer = outer.into_iter().map(|path| {
        let kind = if path.is_dir() { Kind::Directory } else { Kind::File };
        Entry::Outer { path, kind }
    });
    let devices = DEVICES.into_iter().map(PathBuf::from).filter(|path| path.exists());
    let devices = devices.map(|path| Entry::Outer { path, kind: Kind::Device });
    outer.chain(devices).chain(links).collect()
}

/// The path relative to the directory that becomes the root.
fn relative(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

impl Entry {
    /// A detached, read-only mount of the entry.
    fn open(&self) -> io::Result<Option<OwnedFd>> {
        let Self::Outer { path, kind } = self else { return Ok(None) };
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        let tree = open_tree(CWD, path.as_path(), flags)?;
        let attributes = if *kind == Kind::Device { NOSUID } else { RDONLY | NOSUID | NODEV };
        set_attributes(Some(&tree), attributes)?;
        Ok(Some(tree))
    }

    fn place(&self, tree: Option<&OwnedFd>) -> io::Result<()> {
        let (Self::Outer { path, .. } | Self::Link { path, .. }) = self;
        let inner = relative(path);
        if let Some(parent) = inner.parent() {
            fs::create_dir_all(parent)?;
        }
        match (self, tree) {
            (Self::Link { target, .. }, _) => match symlink(target, &inner) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                result => result,
            },
            (Self::Outer { kind, .. }, Some(tree)) => {
                match kind {
                    Kind::Directory => fs::create_dir_all(&inner)?,
                    Kind::File | Kind::Device => fs::write(&inner, "")?,
                }
                move_mount(tree, "", CWD, inner.as_path(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
                Ok(())
            }
            (Self::Outer { .. }, None) => Ok(()),
        }
    }
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes of a detached tree and everything mounted in it, or of the root alone.
fn set_attributes(tree: Option<&OwnedFd>, attributes: u64) -> io::Result<()> {
    let wanted = Attributes { set: attributes, clear: 0, propagation: 0, user_namespace: 0 };
    let (descriptor, path, flags) = match tree {
        Some(tree) => (tree.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE),
        None => (libc::AT_FDCWD, c"/", 0),
    };
    // SAFETY: the path ends with a zero, the structure has the passed layout and size, and both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            descriptor,
            path.as_ptr(),
            flags,
            &raw const wanted,
            size_of::<Attributes>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_inside_another_entry_is_mounted_once() {
        let directory = tempfile::tempdir().expect("a directory is created");
        let base = directory.path().canonicalize().expect("exists");
        for name in ["a/b", "c"] {
            fs::create_dir_all(base.join(name)).expect("is created");
        }
        symlink("c", base.join("link")).expect("is created");
        let paths = ["a/b", "a", "link", "absent"].map(|name| base.join(name));
        let entries: Vec<Entry> = plan(&paths)
            .into_iter()
            .filter(|entry| !matches!(entry, Entry::Outer { kind: Kind::Device, .. }))
            .collect();
        let outer = |name: &str| Entry::Outer { path: base.join(name), kind: Kind::Directory };
        let link = Entry::Link { path: base.join("link"), target: base.join("c") };
        assert_eq!(entries, [outer("a"), outer("c"), link]);
    }
}
