//! Namespaces: processes, network, mounts and shared memory of its own.

use std::{fs, io};

use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::limits::user_and_group;

/// Puts this process into new namespaces; the first child that it makes is the first process in there.
pub(crate) fn enter_namespaces() -> io::Result<()> {
    let (user, group) = user_and_group();
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    // SAFETY: descriptors stay shared, as `FILES` is not among the flags, and there is one thread.
    unsafe { unshare_unsafe(flags) }?;
    // Files keep their owner: the user is the same inside.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
    Ok(())
}

/// Bounds the processes of the namespace by the numbers that there are for them.
///
/// A limit on the processes of a user does not hold for root; this one does. It is there since Linux 6.14. The lowest
/// that the kernel takes is a little above 300.
pub(crate) fn bound_processes() -> bool {
    fs::write("/proc/sys/kernel/pid_max", "320").is_ok()
}
