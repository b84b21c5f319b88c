//! The process outside the sandbox: waits for Python or for the engine to end, and cleans up.

use std::{
    fs,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::ExitCode,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
        pidfd_open, pidfd_send_signal, wait, waitpid,
    },
    stdio::{dup2_stdout, stderr},
};

use super::{LauncherMessage, send_message};

/// Waits until the process `pid` exits or the other end of `control` is closed.
pub(super) fn supervise_python(control: BorrowedFd<'_>, pid: Pid) -> ExitCode {
    // A worker's stream must end with the worker.
    let _ = dup2_stdout(stderr());
    let status = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(python) => {
            wait_for_either(control, &python);
            let _ = pidfd_send_signal(&python, Signal::KILL);
            reap(pid)
        }
        Err(_) => {
            let _ = kill_process(pid, Signal::KILL);
            reap(pid)
        }
    };
    end_the_rest();
    let code = status.and_then(WaitStatus::exit_status);
    let signal = status.and_then(WaitStatus::terminating_signal);
    send_message(control, &LauncherMessage::Gone { code, signal });
    ExitCode::SUCCESS
}

fn wait_for_either(control: BorrowedFd<'_>, python: &OwnedFd) {
    loop {
        // No events are requested for the socket: a hangup is always reported.
        let mut watched = [
            PollFd::from_borrowed_fd(control, PollFlags::empty()),
            PollFd::from_borrowed_fd(python.as_fd(), PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => {}
            Err(_) => return,
            Ok(_) if watched.iter().any(|one| !one.revents().is_empty()) => return,
            Ok(_) => {}
        }
    }
}

fn reap(pid: Pid) -> Option<WaitStatus> {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            Err(_) => return None,
            Ok(ended) => return ended.map(|(_, status)| status),
        }
    }
}

/// Kills every orphan that was reparented to this process.
///
/// There are none in a PID namespace, which ends with its first process.
fn end_the_rest() {
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::INTR) => {}
            Err(_) => return,
            Ok(Some(_)) => {}
            Ok(None) => {
                for (pid, group) in children() {
                    // The group first: killing it is atomic, whatever its processes start meanwhile.
                    if let Some(group) = group.filter(|group| *group != getpid()) {
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                    let _ = kill_process(pid, Signal::KILL);
                }
                let _ = wait(WaitOptions::empty());
            }
        }
    }
}

/// The children of this process, each with its process group.
fn children() -> Vec<(Pid, Option<Pid>)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let own = getpid();
    let child = |entry: fs::DirEntry| {
        let pid = positive_pid(entry.file_name().to_str()?)?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (parent, group) = parent_and_group(&stat)?;
        (parent == own).then_some((pid, group))
    };
    entries.filter_map(|entry| child(entry.ok()?)).collect()
}

/// The parent and the process group in `/proc/PID/stat`.
///
/// The group of a process that is being released is -1. Negated, as for a signal to a group, that would be process 1.
fn parent_and_group(stat: &str) -> Option<(Pid, Option<Pid>)> {
    // The program name may contain any character, including parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
    let parent = positive_pid(fields.next()?)?;
    Some((parent, fields.next().and_then(positive_pid)))
}

fn positive_pid(text: &str) -> Option<Pid> {
    text.parse().ok().filter(|raw: &i32| *raw > 0).and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_being_released_has_no_group() {
        let pid = Pid::from_raw;
        assert_eq!(parent_and_group("7 (a) b) S 3 5 5 0 -1"), pid(3).map(|parent| (parent, pid(5))));
        assert_eq!(parent_and_group("7 (python3) X 3 -1 -1 0 -1"), pid(3).map(|parent| (parent, None)));
        assert_eq!(parent_and_group("7 (python3) X 0 -1 -1 0 -1"), None);
    }
}
