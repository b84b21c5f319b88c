//! What Python prints: read continuously so that it never blocks, and kept up to a limit.

use std::{
    io,
    os::fd::OwnedFd,
    task::{Context, Poll},
};

use super::reactor::{Reactor, WatchedIo};

/// Maximum bytes to keep.
const MAX_KEPT_BYTES: usize = 64 << 10;

/// Text read from a pipe.
pub(crate) struct PrintedOutput {
    pipe: WatchedIo<OwnedFd>,
    kept: Vec<u8>,
    dropped: bool,
}

impl PrintedOutput {
    pub(crate) fn new(pipe: OwnedFd, reactor: &Reactor) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe: reactor.watch_io(pipe)?, kept: Vec::new(), dropped: false })
    }

    /// Reads what is available. Wakes the task when there is more.
    pub(crate) fn poll(&mut self, cx: &Context<'_>) {
        let mut buffer = [0; 4096];
        // Bounded, so that a flood cannot keep the task from checking its deadline.
        for _ in 0..64 {
            match self.pipe.poll_io(cx, |pipe| rustix::io::read(pipe, &mut buffer)) {
                Poll::Ready(Ok(size)) if size > 0 => self.keep(&buffer[..size]),
                _ => return,
            }
        }
        cx.waker().wake_by_ref();
    }

    /// The text kept since the last take.
    pub(crate) fn printed_bytes(&self) -> &[u8] {
        &self.kept
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_KEPT_BYTES - self.kept.len();
        self.dropped |= bytes.len() > room;
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Takes the text printed since the last take.
    pub(crate) fn take(&mut self) -> String {
        let mut text = String::from_utf8_lossy(&std::mem::take(&mut self.kept)).into_owned();
        if std::mem::take(&mut self.dropped) {
            text.push_str("\n[output truncated]\n");
        }
        text
    }
}
