//! Seccomp filters.
//!
//! Two lists decide. A call that is *known and refused* fails with EACCES, so that authors see a PermissionError. An
//! unknown call, which a kernel newer than this list may have, fails with ENOSYS, so that programs fall back as on
//! older kernels. Every other call runs. The calls of the 32-bit modes are unknown too.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::syscalls::{HARMLESS, REFUSED};

/// The kind of process that a filter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterPurpose {
    /// A zygote, which forks workers and confines them further.
    Zygote,
    /// A worker.
    Worker {
        /// Whether it may start programs.
        programs: bool,
        /// Whether the kernel confines its signals, so that it may send some.
        signals: bool,
    },
}

/// The filter programs that a process installs in order, or `None` on an unsupported processor.
pub(crate) fn filter_programs(purpose: FilterPurpose) -> Option<Vec<BpfProgram>> {
    let processor = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let refused = refused_calls(purpose);
    let known = HARMLESS.iter().chain(REFUSED).map(|call| (*call, Vec::new()));
    let known: BTreeMap<i64, Vec<SeccompRule>> =
        known.chain(refused.keys().map(|call| (*call, Vec::new()))).collect();
    let refuse = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let absent = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let filters = [
        SeccompFilter::new(known, absent, SeccompAction::Allow, processor),
        SeccompFilter::new(refused, SeccompAction::Allow, refuse, processor),
    ];
    filters.into_iter().map(|filter| filter.ok()?.try_into().ok()).collect()
}

/// Installs the filters of `purpose` in this process permanently.
pub(crate) fn install_filters(purpose: FilterPurpose) -> Result<(), String> {
    let programs = filter_programs(purpose).ok_or_else(|| "unsupported processor".to_owned())?;
    programs
        .iter()
        .try_for_each(|program| seccompiler::apply_filter(program))
        .map_err(|error| error.to_string())
}

/// A filter program as hexadecimal digits of the kernel's format.
pub(crate) fn to_hex(program: &BpfProgram) -> String {
    let bytes = program.iter().flat_map(|line| {
        let [c0, c1] = line.code.to_ne_bytes();
        let [k0, k1, k2, k3] = line.k.to_ne_bytes();
        [c0, c1, line.jt, line.jf, k0, k1, k2, k3]
    });
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn refused_calls(purpose: FilterPurpose) -> Rules {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut when = |call: i64, conditions: Vec<SeccompCondition>| {
        rules.entry(call).or_default().extend(SeccompRule::new(conditions));
    };
    // Only stream pairs: sockets of other types could be connected to foreign sockets.
    when(libc::SYS_socketpair, vec![argument(0, Compare::Ne, libc::AF_UNIX)]);
    when(libc::SYS_socketpair, vec![argument(1, Compare::MaskedEq(0xf), libc::SOCK_DGRAM)]);
    when(libc::SYS_socketpair, vec![argument(1, Compare::MaskedEq(0xf), libc::SOCK_SEQPACKET)]);
    when(libc::SYS_socketpair, vec![argument(1, Compare::MaskedEq(0xf), libc::SOCK_RAW)]);
    // Only the process's own limits.
    when(libc::SYS_prlimit64, vec![argument(0, Compare::Ne, 0)]);
    for flag in NAMESPACES {
        when(libc::SYS_clone, vec![masked(0, *flag, *flag)]);
    }
    // Terminal input cannot be forged.
    when(libc::SYS_ioctl, vec![argument(1, Compare::Eq, TIOCSTI)]);
    // A descriptor can be configured to signal any process of the same user.
    for command in OWNERS_BY_FCNTL {
        when(libc::SYS_fcntl, vec![argument(1, Compare::Eq, *command)]);
    }
    for command in OWNERS_BY_IOCTL {
        when(libc::SYS_ioctl, vec![argument(1, Compare::Eq, *command)]);
    }
    if let FilterPurpose::Worker { programs, signals } = purpose {
        refuse_for_worker(&mut rules, programs, signals);
    }
    rules
}

fn refuse_for_worker(rules: &mut Rules, programs: bool, signals: bool) {
    let always = |rules: &mut Rules, calls: &[i64]| {
        for call in calls {
            rules.insert(*call, Vec::new());
        }
    };
    // A worker is ended by its group, so it must stay in its group and session. Its sandbox must not change either.
    always(rules, &[libc::SYS_setsid, libc::SYS_setpgid, libc::SYS_seccomp]);
    always(rules, super::syscalls::LANDLOCK);
    let harmless = PRCTL.iter().map(|option| argument(0, Compare::Ne, *option)).collect();
    rules.entry(libc::SYS_prctl).or_default().extend(SeccompRule::new(harmless));
    if !programs {
        always(rules, super::syscalls::PROGRAMS);
        // A thread is not a program.
        let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
        rules.entry(libc::SYS_clone).or_default().extend(SeccompRule::new(vec![masked(0, thread, 0)]));
    }
    if !(programs && signals) {
        always(rules, super::syscalls::SIGNALS);
    }
}

const TIOCSTI: i32 = 0x5412;

/// Commands that select which process a descriptor signals, with which signal, and on which events.
const OWNERS_BY_FCNTL: &[i32] = &[libc::F_SETOWN, F_SETSIG, F_SETOWN_EX, libc::F_SETLEASE, libc::F_NOTIFY];
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
/// The same for sockets (`FIOSETOWN`, `SIOCSPGRP`) and terminals (`TIOCSPGRP`, `TIOCSCTTY`).
const OWNERS_BY_IOCTL: &[i32] = &[0x8901, 0x8902, 0x5410, 0x540e];

/// Options of `prctl` that only concern the process and undo nothing.
const PRCTL: &[i32] = &[
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_DUMPABLE,
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_CAPBSET_READ,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
    libc::PR_SET_NO_NEW_PRIVS,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_TID_ADDRESS,
    libc::PR_SET_THP_DISABLE,
    libc::PR_GET_THP_DISABLE,
    // `PR_SET_VMA`: allocators name memory areas.
    0x5356_4d41,
];

const NAMESPACES: &[u64] = &[
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWCGROUP as u64,
];

fn argument(index: u8, compare: Compare, value: i32) -> SeccompCondition {
    condition(index, compare, u64::from(value.unsigned_abs()))
}

fn masked(index: u8, mask: u64, value: u64) -> SeccompCondition {
    condition(index, Compare::MaskedEq(mask), value)
}

fn condition(index: u8, compare: Compare, value: u64) -> SeccompCondition {
    SeccompCondition::new(index, Length::Dword, compare, value).expect("a call has six arguments")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const PURPOSES: [FilterPurpose; 5] = [
        FilterPurpose::Zygote,
        FilterPurpose::Worker { programs: true, signals: true },
        FilterPurpose::Worker { programs: true, signals: false },
        FilterPurpose::Worker { programs: false, signals: true },
        FilterPurpose::Worker { programs: false, signals: false },
    ];

    #[test]
    fn no_call_is_both_harmless_and_refused() {
        let harmless: HashSet<_> = HARMLESS.iter().collect();
        assert!(REFUSED.iter().all(|call| !harmless.contains(call)));
        assert_eq!(harmless.len(), HARMLESS.len(), "each call is listed once");
    }

    #[test]
    fn filters_fit_into_the_limit_of_the_kernel() {
        for purpose in PURPOSES {
            let programs = filter_programs(purpose).expect("this processor is supported");
            assert!(programs.iter().all(|program| program.len() < 4096), "{purpose:?}");
            assert_eq!(to_hex(&programs[0]).len(), programs[0].len() * 16);
        }
    }
}
