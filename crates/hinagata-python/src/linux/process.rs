//! Starting a launcher, and hearing of its end.

use std::{
    io,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::reactor::{Reactor, Watched};
use crate::options::Launcher;

/// The descriptors that a launcher gets.
pub(super) struct Ends {
    pub(super) control: OwnedFd,
    /// The stream of a single worker.
    pub(super) stream: Option<OwnedFd>,
    pub(super) printing: OwnedFd,
}

/// Starts a launcher. Its end is taken note of by the reactor, so that it does not stay as a zombie.
pub(super) fn start(launcher: &Launcher, ends: Ends, reactor: &Reactor) -> io::Result<()> {
    let child = Command::new(&launcher.program)
        .args(&launcher.arguments)
        .env_clear()
        .stdin(ends.control)
        .stdout(ends.stream.map_or_else(Stdio::null, Stdio::from))
        .stderr(ends.printing)
        .spawn()?;
    reap_at_end(child, reactor)
}

fn reap_at_end(mut child: Child, reactor: &Reactor) -> io::Result<()> {
    let pid = Pid::from_child(&child);
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error.into());
        }
    };
    type Slot = Mutex<Option<(Watched<OwnedFd>, Child)>>;
    let slot: Arc<Slot> = Arc::default();
    let take = |slot: &Slot| slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    let inner = Arc::clone(&slot);
    let watched = reactor.watch_with(process, move || {
        if let Some((_, mut child)) = take(&inner) {
            // It has ended: this does not wait.
            let _ = child.wait();
        }
    })?;
    let ended = matches!(child.try_wait(), Ok(Some(_)));
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((watched, child));
    // Its end may have been told before there was anything to take.
    if ended {
        drop(take(&slot));
    }
    Ok(())
}
