//! Starts launchers and reaps them.

use std::{
    io,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::reactor::{Reactor, WatchedIo};
use crate::options::Launcher;

/// The descriptors passed to a launcher.
pub(super) struct LauncherDescriptors {
    pub(super) control: OwnedFd,
    /// The stream of a single worker.
    pub(super) stream: Option<OwnedFd>,
    pub(super) printing: OwnedFd,
}

/// Starts a launcher. The reactor reaps it, so that it does not stay a zombie.
pub(super) fn start_launcher(
    launcher: &Launcher,
    ends: LauncherDescriptors,
    reactor: &Reactor,
) -> io::Result<()> {
    let child = Command::new(&launcher.program)
        .args(&launcher.arguments)
        .env_clear()
        .stdin(ends.control)
        .stdout(ends.stream.map_or_else(Stdio::null, Stdio::from))
        .stderr(ends.printing)
        .spawn()?;
    reap_at_end(child, reactor)
}

/// A launcher and its watched pidfd.
type Slot = Mutex<Option<(WatchedIo<OwnedFd>, Child)>>;

fn reap_at_end(mut child: Child, reactor: &Reactor) -> io::Result<()> {
    let pid = Pid::from_child(&child);
    let slot: Arc<Slot> = Arc::default();
    let inner = Arc::clone(&slot);
    // Locked until the slot is filled: the exit may be reported immediately.
    let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
    let watched = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from).and_then(|process| {
        reactor.watch_with(process, move || {
            let taken = inner.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((_, child)) = taken {
                end(child);
            }
        })
    });
    match watched {
        Ok(watched) => {
            *held = Some((watched, child));
            Ok(())
        }
        Err(error) => {
            child.kill()?;
            end(child);
            Err(error)
        }
    }
}

/// Reaps a launcher and kills what is left of its process group.
fn end(mut child: Child) {
    // Until it is reaped, its process id cannot be reused.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let _ = child.wait();
}
