//! Resource limits and privileges.

use std::{fs, io};

use rustix::{
    process::{Gid, Resource, Rlimit, Uid, geteuid, getpid, getuid, setrlimit},
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
        set_capabilities, set_no_new_privs, set_thread_res_uid,
    },
};

/// Processes and threads of a zygote with its workers.
const PROCESSES: u64 = 64;
/// The same, where other processes of the user count too.
const MORE_PROCESSES: u64 = 256;
const DESCRIPTORS: u64 = 256;

/// Sets every limit. `alone` tells whether processes outside count separately.
pub(crate) fn set_limits(memory: u64, alone: bool) -> io::Result<()> {
    let processes = if alone { PROCESSES } else { processes_of(getuid()).saturating_add(MORE_PROCESSES) };
    for (resource, most) in [
        (Resource::As, memory),
        (Resource::Nproc, processes),
        (Resource::Nofile, DESCRIPTORS),
        // No file can be written, whatever else fails. Pipes and sockets are not files.
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
    ] {
        lower_limit(resource, most)?;
    }
    Ok(())
}

fn lower_limit(resource: Resource, most: u64) -> io::Result<()> {
    let before = rustix::process::getrlimit(resource).maximum;
    let most = before.map_or(most, |before| before.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

/// The number of visible processes and threads of a user.
fn processes_of(user: Uid) -> u64 {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let threads = |entry: fs::DirEntry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next();
        let real: u32 = field("Uid:")?.parse().ok()?;
        (real == user.as_raw()).then(|| field("Threads:")?.parse::<u64>().ok()).flatten()
    };
    entries.filter_map(|entry| threads(entry.ok()?)).sum()
}

/// Gives a process of root a real user id of its own, because root is exempt from the process limit.
///
/// The effective user, which decides about file access, stays. Returns whether it was changed.
pub(crate) fn leave_root() -> bool {
    if !geteuid().is_root() || !getuid().is_root() {
        return false;
    }
    // A unique id, which counts the processes of this zygote.
    let own = 0x7f00_0000 | getpid().as_raw_nonzero().get().unsigned_abs() & 0x00ff_ffff;
    set_thread_res_uid(Uid::from_raw(own), geteuid(), geteuid()).is_ok()
}

/// Drops every privilege for this process and all programs that it executes.
pub(crate) fn drop_privileges() -> io::Result<()> {
    // Without privileges there is nothing to remove, and these calls fail.
    let _ = clear_ambient_capability_set();
    for capability in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    set_no_new_privs(true)?;
    Ok(())
}

/// The user and group of this process, for the maps of a user namespace.
pub(crate) fn user_and_group() -> (Uid, Gid) {
    (geteuid(), rustix::process::getegid())
}
