//! Which layers this machine can make: each is tried, in a process that ends afterwards.

use std::io;

use super::{Assignment, ProbeResult, enter_root};
use crate::linux::sandbox::{
    landlock, limits,
    seccomp::{self, FilterPurpose},
};

/// Tries the layers one after the other, as far as they are asked for.
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
        // Without this, neither of the other layers can be trusted.
        let error = Some(format!("privileges cannot be given up: {error}"));
        return ProbeResult { landlock: error.clone(), seccomp: error, ..probed };
    }
    if mechanisms.landlock {
        probed.landlock = match probed.landlock_version {
            0 => Some("the kernel has no Landlock".to_owned()),
            version if version < landlock::OLDEST_VERSION => {
                Some(format!("Landlock {version} is too old, {} is needed", landlock::OLDEST_VERSION))
            }
            _ => landlock::restrict_process(&landlock::zygote_rules()).err(),
        };
    }
    if mechanisms.seccomp {
        probed.seccomp = seccomp::install_filters(FilterPurpose::Zygote).err();
    }
    probed
}

/// Why there are no namespaces, for people who can change that.
fn explain_error(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSPC) => {
            "this system allows no more of them (user.max_user_namespaces), or none inside of a container".to_owned()
        }
        Some(libc::EPERM | libc::EACCES) => {
            "this system does not let ordinary users make them (kernel.unprivileged_userns_clone, AppArmor, or a container)"
                .to_owned()
        }
        Some(libc::ENOSYS | libc::EINVAL) => "this kernel has none".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_namespaces_is_told_in_words() {
        for code in [libc::ENOSPC, libc::EPERM, libc::ENOSYS] {
            let told = explain_error(&io::Error::from_raw_os_error(code));
            assert!(!told.contains("os error") && !told.contains("No space"), "{told}");
        }
    }
}
