//! Which layers this machine can make: each is tried, in a process that ends afterwards.

use std::io;

use super::{Assignment, Probed, enter_root};
use crate::linux::sandbox::{
    landlock, limits,
    seccomp::{self, Purpose},
};

/// Tries the layers one after the other, as far as they are asked for.
pub(super) fn all(assignment: &Assignment, entered: io::Result<()>) -> Probed {
    let layers = assignment.layers;
    let mut probed = Probed { landlock_version: landlock::version(), ..Probed::default() };
    if layers.namespaces {
        match entered.and_then(|()| enter_root(assignment)) {
            Ok(bounded) => probed.bounded = bounded,
            Err(error) => probed.namespaces = Some(error.to_string()),
        }
    }
    let apart = layers.namespaces && probed.namespaces.is_none() || limits::leave_root();
    probed.bounded |= !rustix::process::getuid().is_root();
    let limited = limits::set(assignment.memory, apart).and_then(|()| limits::drop_privileges());
    if let Err(error) = limited {
        // Without this, neither of the other layers can be trusted.
        let error = Some(format!("privileges cannot be given up: {error}"));
        return Probed { landlock: error.clone(), seccomp: error, ..probed };
    }
    if layers.landlock {
        probed.landlock = match probed.landlock_version {
            0 => Some("the kernel has no Landlock".to_owned()),
            version if version < landlock::OLDEST_VERSION => {
                Some(format!("Landlock {version} is too old, {} is needed", landlock::OLDEST_VERSION))
            }
            _ => landlock::restrict(&landlock::everything()).err(),
        };
    }
    if layers.seccomp {
        probed.seccomp = seccomp::install(Purpose::Zygote).err();
    }
    probed
}
