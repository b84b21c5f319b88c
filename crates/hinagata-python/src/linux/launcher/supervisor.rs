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
                    if group != getpid() {
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
fn children() -> Vec<(Pid, Pid)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let own = getpid().as_raw_nonzero().get();
    let child = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The program name may contain any character, including parentheses.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
        let parent: i32 = fields.next()?.parse().ok()?;
        let group: i32 = fields.next()?.parse().ok()?;
        (parent == own).then_some((Pid::from_raw(pid)?, Pid::from_raw(group)?))
    };
    entries.filter_map(|entry| child(entry.ok()?)).collect()
}
