//! Finds out which sandbox mechanisms this machine supports, by trying each in a process that ends afterwards.

use std::io;

use super::{Assignment, ProbeResult, enter_root};
use crate::linux::sandbox::{
    landlock, limits,
    seccomp::{self, FilterPurpose},
};

/// Tries the requested mechanisms one after the other.
pub(super) fn probe_mechanisms(assignment: &Assignment, entered: io::Result<()>) -> ProbeResult {
    let mechanisms = assignment.mechanisms;
    let mut probed = ProbeResult { landlock_version: landlock::kernel_version(), ..ProbeResult::default() };
    if mechanisms.namespaces {
        match entered.and_then(|()| enter_root(assignment)) {
            Ok(bounded) => probed.bounded = bounded,
            Err(error) => probed.namespaces = Some(explain_error(&error)),
        }
    }
    let apart = mechanisms.namespaces && probed.namespaces.is_none() || limits::leave_root();
    probed.bounded |= !rustix::process::getuid().is_root();
    let limited = limits::set_limits(assignment.memory, apart).and_then(|()| limits::drop_privileges());
    if let Err(error) = limited {
        // The other mechanisms cannot be relied on without this.
        let error = Some(format!("cannot drop privileges: {error}"));
        return ProbeResult { landlock: error.clone(), seccomp: error, ..probed };
    }
    if mechanisms.landlock {
        probed.landlock = match probed.landlock_version {
            0 => Some("not supported by the kernel".to_owned()),
            version if version < landlock::OLDEST_VERSION => Some(format!(
                "version {version} is too old; version {} is required",
                landlock::OLDEST_VERSION
            )),
            _ => landlock::restrict_process(&landlock::zygote_rules()).err(),
        };
    }
    if mechanisms.seccomp {
        probed.seccomp = seccomp::install_filters(FilterPurpose::Zygote).err();
    }
    probed
}

/// Explains why namespaces are unavailable, for people who can change that.
fn explain_error(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSPC) => {
            "the limit on namespaces is reached (user.max_user_namespaces), or the container allows none".to_owned()
        }
        Some(libc::EPERM | libc::EACCES) => {
            "not permitted for unprivileged users (kernel.unprivileged_userns_clone, AppArmor, or a container)"
                .to_owned()
        }
        Some(libc::ENOSYS | libc::EINVAL) => "not supported by the kernel".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_namespace_is_explained() {
        for code in [libc::ENOSPC, libc::EPERM, libc::ENOSYS] {
            let text = explain_error(&io::Error::from_raw_os_error(code));
            assert!(!text.contains("os error") && !text.contains("No space"), "{text}");
        }
    }
}
