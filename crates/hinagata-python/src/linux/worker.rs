//! The engine's side of a worker: a stream to a process that runs jobs.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
    task::{Context, Poll},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
    process::{Pid, Signal, kill_process_group, pidfd_send_signal},
};

use super::{
    packet,
    printed_output::PrintedOutput,
    reactor::{Reactor, WatchedIo},
    zygote::Zygote,
};
use crate::{call::WorkerLink, failure::ProcessExit, frame::FrameReader, stack};

/// A process that runs jobs. Dropping it ends the process and everything that it started.
pub(crate) struct Worker {
    zygote: Arc<Zygote>,
    /// Its process id in the zygote's namespace, or `None` without a zygote.
    pid: Option<u32>,
    /// Its process group, if its process id is valid outside.
    group: Option<Pid>,
    stream: WatchedIo<OwnedFd>,
    process: Option<OwnedFd>,
    printed: PrintedOutput,
    waiting: VecDeque<Vec<u8>>,
    /// Bytes of the first frame that were already sent.
    sent: usize,
    queued: usize,
    /// The Landlock ruleset, sent with the first bytes.
    ruleset: Option<Arc<OwnedFd>>,
}

impl Worker {
    pub(crate) fn new(
        zygote: Arc<Zygote>,
        pid: Option<u32>,
        stream: OwnedFd,
        process: Option<OwnedFd>,
        printed: OwnedFd,
        reactor: &Reactor,
    ) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&stream, true)?;
        Ok(Self {
            zygote,
            pid,
            group: None,
            stream: reactor.watch_io(stream)?,
            process,
            printed: PrintedOutput::new(printed, reactor)?,
            waiting: VecDeque::new(),
            sent: 0,
            queued: 0,
            ruleset: None,
        })
    }

    /// Sends this ruleset with the first job.
    pub(crate) fn set_ruleset(&mut self, ruleset: Arc<OwnedFd>) {
        self.ruleset = Some(ruleset);
    }

    /// Uses its process id as a host process id: it is not in a PID namespace.
    pub(crate) fn use_host_pid(&mut self) {
        self.group = self.pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    }

    /// Whether the process is running.
    pub(crate) fn is_running(&self) -> bool {
        let Some(process) = &self.process else { return true };
        let mut watched = [PollFd::new(process, PollFlags::IN)];
        // A pidfd becomes readable when its process exits.
        poll(&mut watched, Some(&Timespec::default())) == Ok(0)
    }

    /// Why it did not become Python, if that failed.
    pub(crate) fn start_failure(&self) -> Option<String> {
        self.zygote.failure()
    }

    /// Takes the text printed since the last call.
    pub(crate) fn take_printed(&mut self, cx: &Context<'_>) -> String {
        self.printed.poll(cx);
        self.printed.take()
    }

    /// Sends a part of the queued frames.
    fn send_some(&mut self, cx: &Context<'_>) -> Poll<Result<(), Errno>> {
        let Some(first) = self.waiting.front() else { return Poll::Ready(Ok(())) };
        let rest = &first[self.sent..];
        let ruleset = self.ruleset.as_ref().map(|ruleset| ruleset.as_fd());
        let sent =
            match self.stream.poll_io(cx, |stream| packet::send_packet(stream, rest, ruleset.as_slice())) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(sent) => sent,
            };
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => return Poll::Ready(Err(error)),
        };
        self.ruleset = None;
        self.sent += sent;
        self.queued -= sent;
        if self.sent == first.len() {
            self.waiting.pop_front();
            self.sent = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl WorkerLink for Worker {
    fn queue_frame(&mut self, frame: Vec<u8>) {
        self.queued += frame.len();
        self.waiting.push_back(frame);
    }

    fn queued_bytes(&self) -> usize {
        self.queued
    }

    fn poll_flush(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.printed.poll(cx);
        while !self.waiting.is_empty() {
            match self.send_some(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => {
                    self.waiting.clear();
                    (self.sent, self.queued) = (0, 0);
                }
            }
        }
        Poll::Ready(())
    }

    fn poll_fill(&mut self, cx: &Context<'_>, frames: &mut FrameReader) -> Poll<io::Result<usize>> {
        let mut buffer = [0; 16 << 10];
        // Accompanying descriptors are not requested, so the kernel closes them.
        self.stream.poll_io(cx, |stream| read(stream, &mut buffer)).map(|size| {
            let size = size?;
            frames.push(&buffer[..size]);
            Ok(size)
        })
    }

    fn poll_exit(&mut self, cx: &Context<'_>) -> Poll<ProcessExit> {
        self.zygote.poll_exit(cx, self.pid)
    }

    fn request_stack(&mut self) -> bool {
        // The interpreter answers the first signal in any state, Python the second one as soon as it can.
        let ask = |process: &OwnedFd| {
            pidfd_send_signal(process, Signal::USR2).and_then(|()| pidfd_send_signal(process, Signal::USR1))
        };
        self.process.as_ref().is_some_and(|process| ask(process).is_ok())
    }

    fn poll_stack(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.printed.poll(cx);
        if stack::is_complete(self.printed.printed_bytes()) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            // It may have exited. The zygote ends what it started.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        if let Some(pid) = self.pid {
            self.zygote.end_worker(pid);
        }
        // Without a zygote, nothing else would end what it started.
        if let Some(group) = self.group.filter(|_| !self.zygote.is_running()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
