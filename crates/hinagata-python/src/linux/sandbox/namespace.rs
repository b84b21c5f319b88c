//! Namespaces: separate processes, network, mounts and shared memory.

use std::{fs, io};

use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::limits::user_and_group;

/// Puts this process into new namespaces. Its first child becomes the first process in them.
pub(crate) fn enter_namespaces() -> io::Result<()> {
    let (user, group) = user_and_group();
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    // SAFETY: descriptors stay shared, because `FILES` is not among the flags, and there is one thread.
    unsafe { unshare_unsafe(flags) }?;
    // The user is the same inside, so files keep their owner.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
    Ok(())
}

/// Bounds the processes of the PID namespace by its highest process id.
///
/// Root is exempt from a limit on processes per user, but not from this one. It is available since Linux 6.14. The
/// kernel accepts no value below about 300.
pub(crate) fn bound_processes() -> bool {
    fs::write("/proc/sys/kernel/pid_max", "320").is_ok()
}
