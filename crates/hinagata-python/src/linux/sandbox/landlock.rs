//! Landlock: allows reading listed files and denies everything else on files, TCP, named sockets and signals.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

/// The newest version that the rules are written for. Older kernels ignore what they do not know.
const NEWEST: ABI = ABI::V9;
/// The oldest useful version. Earlier ones cannot deny truncating files.
pub(crate) const OLDEST_VERSION: i32 = 3;
/// The first version that confines signals and abstract sockets.
pub(crate) const SCOPED_VERSION: i32 = 6;

/// Files that can always be written, because they discard everything.
const SINKS: [&str; 1] = ["/dev/null"];

/// What can be read and executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Rules {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) execute: Vec<PathBuf>,
}

/// The Landlock version of this kernel, or 0.
pub(crate) fn kernel_version() -> i32 {
    const CREATE_RULESET_VERSION: u32 = 1;
    let no_rules = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag and without rules, the kernel accesses no memory of this process and returns a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, no_rules, 0_usize, CREATE_RULESET_VERSION)
    };
    i32::try_from(version).unwrap_or_default().max(0)
}

fn reading() -> landlock::BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

fn ruleset(rules: &Rules) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(&rules.read, reading()))?
        .add_rules(path_beneath_rules(&rules.execute, reading() | AccessFs::Execute))?
        .add_rules(path_beneath_rules(SINKS, AccessFs::ReadFile | AccessFs::WriteFile))
}

/// The rules as a descriptor that a process can apply to itself.
pub(crate) fn ruleset_descriptor(rules: &Rules) -> Result<Option<OwnedFd>, RulesetError> {
    ruleset(rules).map(Option::<OwnedFd>::from)
}

/// Confines this process to `rules` permanently.
pub(crate) fn restrict_process(rules: &Rules) -> Result<(), String> {
    let status = ruleset(rules).and_then(RulesetCreated::restrict_self).map_err(|error| error.to_string())?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("not supported by the kernel".to_owned()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

/// The rules of a zygote, which runs no foreign code: it can read everything and do nothing else.
pub(crate) fn zygote_rules() -> Rules {
    Rules { read: Vec::new(), execute: vec![Path::new("/").to_owned()] }
}
