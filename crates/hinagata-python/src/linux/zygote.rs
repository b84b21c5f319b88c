//! The engine's side of a zygote: a socket for orders and messages.

use hinagata::Reason;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, pipe_with},
};

use super::{
    launcher::{Assignment, LauncherMessage, ZygoteOrder},
    packet::{self, Packet},
    printed_output::PrintedOutput,
    process::{self, LauncherDescriptors},
    reactor::{Reactor, WatchedIo},
    worker::Worker,
};
use crate::{
    failure::{Failure, ProcessExit},
    options::Launcher,
};

/// A launched process: a zygote with its workers, or a single worker.
pub(crate) struct Zygote {
    control: WatchedIo<OwnedFd>,
    inbox: Mutex<Inbox>,
    printed: Mutex<PrintedOutput>,
    reactor: Reactor,
}

/// Messages received and not consumed yet.
#[derive(Default)]
struct Inbox {
    forked: VecDeque<Forked>,
    /// Workers whose exit will be asked for.
    alive: HashSet<u32>,
    exits: HashMap<u32, ProcessExit>,
    failed: Option<String>,
    gone: Option<ProcessExit>,
}

struct Forked {
    pid: u32,
    stream: OwnedFd,
    process: OwnedFd,
    printed: OwnedFd,
}

/// The zygote has exited.
#[derive(Debug)]
struct ZygoteGone(ProcessExit);

impl Zygote {
    /// Launches a zygote and orders the first worker at once, so that it is ready when needed.
    pub(crate) fn launch_zygote(
        launcher: &Launcher,
        assignment: &Assignment,
        reactor: &Reactor,
    ) -> io::Result<Arc<Self>> {
        let (control, theirs) = packet::socket_pair()?;
        let (printed, printing) = pipe_with(PipeFlags::CLOEXEC)?;
        process::start_launcher(
            launcher,
            LauncherDescriptors { control: theirs, stream: None, printing },
            reactor,
        )?;
        let zygote = Self::new(control, printed, reactor)?;
        zygote.assign(assignment)?;
        zygote.send_order(ZygoteOrder::Fork);
        Ok(Arc::new(zygote))
    }

    /// Launches an interpreter for a single worker.
    pub(crate) fn launch_worker(
        launcher: &Launcher,
        assignment: &Assignment,
        reactor: &Reactor,
    ) -> io::Result<Worker> {
        let (control, theirs) = packet::socket_pair()?;
        let (printed, printing) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stream, their_stream) = stream_pair()?;
        let printed_by_worker = printed.try_clone()?;
        let ends = LauncherDescriptors { control: theirs, stream: Some(their_stream), printing };
        process::start_launcher(launcher, ends, reactor)?;
        let zygote = Self::new(control, printed, reactor)?;
        zygote.assign(assignment)?;
        Worker::new(Arc::new(zygote), None, stream, None, printed_by_worker, reactor)
    }

    fn new(control: OwnedFd, printed: OwnedFd, reactor: &Reactor) -> io::Result<Self> {
        Ok(Self {
            control: reactor.watch_io(control)?,
            inbox: Mutex::default(),
            printed: Mutex::new(PrintedOutput::new(printed, reactor)?),
            reactor: reactor.clone(),
        })
    }

    fn assign(&self, assignment: &Assignment) -> io::Result<()> {
        let packet = serde_json::to_vec(assignment)?;
        packet::send_packet(self.control.get(), &packet, &[])?;
        Ok(())
    }

    /// Sends an order. A failure needs no handling: whoever waits for the effect learns that the zygote is gone.
    pub(crate) fn send_order(&self, order: ZygoteOrder) {
        let packet = serde_json::to_vec(&order).unwrap_or_default();
        let _ = packet::send_packet(self.control.get(), &packet, &[]);
    }

    /// The lock is held for a few lines that cannot panic.
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the worker that was ordered.
    pub(crate) fn poll_worker(self: &Arc<Self>, cx: &Context<'_>) -> Poll<Result<Worker, Failure>> {
        // What it prints only matters if it does not start.
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).poll(cx);
        let found = match self.poll_find(cx, |inbox| inbox.forked.pop_front()) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(found) => found,
        };
        Poll::Ready(match found {
            Err(ZygoteGone(exit)) => Err(self.start_failure(cx, exit)),
            Ok(Forked { pid, stream, process, printed }) => {
                self.inbox().alive.insert(pid);
                Worker::new(Arc::clone(self), Some(pid), stream, Some(process), printed, &self.reactor)
                    .map_err(|error| Failure::unavailable(Reason::Start, error.to_string()))
            }
        })
    }

    /// Waits for the exit of the worker `pid`, or of the interpreter without one.
    pub(crate) fn poll_exit(&self, cx: &Context<'_>, pid: Option<u32>) -> Poll<ProcessExit> {
        let ended = |inbox: &mut Inbox| inbox.exits.remove(&pid?);
        self.poll_find(cx, ended).map(|found| found.unwrap_or_else(|ZygoteGone(exit)| exit))
    }

    /// Ends the worker `pid` and discards its exit status.
    pub(crate) fn end_worker(&self, pid: u32) {
        let mut inbox = self.inbox();
        inbox.alive.remove(&pid);
        inbox.exits.remove(&pid);
        drop(inbox);
        self.send_order(ZygoteOrder::End { pid });
    }

    /// Whether it is running, as far as is known without waiting.
    pub(crate) fn is_running(&self) -> bool {
        let mut inbox = self.inbox();
        while inbox.gone.is_none() && self.receive(&mut inbox) {}
        inbox.gone.is_none()
    }

    /// The failure that it reported.
    pub(crate) fn failure(&self) -> Option<String> {
        self.inbox().failed.clone()
    }

    fn poll_find<T>(
        &self,
        cx: &Context<'_>,
        mut find: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Poll<Result<T, ZygoteGone>> {
        let mut inbox = self.inbox();
        loop {
            if let Some(found) = find(&mut inbox) {
                return Poll::Ready(Ok(found));
            }
            if let Some(exit) = inbox.gone {
                return Poll::Ready(Err(ZygoteGone(exit)));
            }
            match self
                .control
                .poll_io(cx, |control| packet::receive_packet(control, packet::MAX_SMALL_PACKET))
            {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(received) => inbox.take(received),
            }
            if let Some(found) = find(&mut inbox) {
                return Poll::Ready(Ok(found));
            }
            // The packet may be for another task, which would not be woken again.
            self.control.wake_all();
        }
    }

    /// Receives a packet if there is one.
    fn receive(&self, inbox: &mut Inbox) -> bool {
        match packet::receive_packet(self.control.get(), packet::MAX_SMALL_PACKET) {
            Err(Errno::AGAIN) => false,
            received => {
                inbox.take(received);
                true
            }
        }
    }

    /// Why a launched interpreter did not start.
    fn start_failure(&self, cx: &Context<'_>, exit: ProcessExit) -> Failure {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.poll(cx);
        let said = self.inbox().failed.take().or_else(|| last_line(&printed.take()));
        let message = said.unwrap_or_else(|| match exit {
            ProcessExit::Code(code) => format!("the interpreter exited with code {code}"),
            ProcessExit::Signal(signal) => format!("the interpreter was killed by signal {signal}"),
            ProcessExit::Unknown => "the interpreter exited".to_owned(),
        });
        Failure::unavailable(Reason::Start, message)
    }
}

fn last_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

impl Inbox {
    fn take(&mut self, received: Result<Packet, Errno>) {
        let said = match received {
            // The peer exited with unread data. Its messages follow.
            Err(Errno::CONNRESET) => return,
            Ok((bytes, descriptors)) if !bytes.is_empty() => {
                serde_json::from_slice::<LauncherMessage>(&bytes).ok().zip(Some(descriptors))
            }
            _ => None,
        };
        match said {
            None => {
                self.gone.get_or_insert(ProcessExit::Unknown);
            }
            Some((LauncherMessage::Ready | LauncherMessage::Probed(_), _)) => {}
            Some((LauncherMessage::Forked { pid }, descriptors)) => {
                if let Ok([stream, process, printed]) = <[OwnedFd; 3]>::try_from(descriptors) {
                    self.forked.push_back(Forked { pid, stream, process, printed });
                }
            }
            Some((LauncherMessage::Exited { pid, code, signal }, _)) => {
                if self.alive.remove(&pid) {
                    self.exits.insert(pid, exit(code, signal));
                }
            }
            Some((LauncherMessage::Failed { error }, _)) => self.failed = Some(error),
            Some((LauncherMessage::Gone { code, signal }, _)) => self.gone = Some(exit(code, signal)),
        }
    }
}

fn exit(code: Option<i32>, signal: Option<i32>) -> ProcessExit {
    match (code, signal) {
        (_, Some(signal)) => ProcessExit::Signal(signal),
        (Some(code), None) => ProcessExit::Code(code),
        (None, None) => ProcessExit::Unknown,
    }
}

fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use std::os::unix::net::UnixStream;
    let (ours, theirs) = UnixStream::pair()?;
    Ok((ours.into(), theirs.into()))
}
