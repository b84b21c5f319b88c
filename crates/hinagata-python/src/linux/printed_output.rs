//! What Python prints: read as it comes so that nobody is held up, kept as far as it is of use.

use std::{
    io,
    os::fd::OwnedFd,
    task::{Context, Poll},
};

use super::reactor::{Reactor, WatchedIo};

/// Most bytes that are kept.
const MAX_KEPT_BYTES: usize = 64 << 10;

/// What came through a pipe.
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

    /// Takes what is there now; the task is woken when there is more.
    pub(crate) fn poll(&mut self, cx: &Context<'_>) {
        let mut buffer = [0; 4096];
        // Bounded, so that a flood does not keep the task from looking at its deadline.
        for _ in 0..64 {
            match self.pipe.poll_io(cx, |pipe| rustix::io::read(pipe, &mut buffer)) {
                Poll::Ready(Ok(size)) if size > 0 => self.keep(&buffer[..size]),
                _ => return,
            }
        }
        cx.waker().wake_by_ref();
    }

    /// What was printed since the last time, as far as it is kept.
    pub(crate) fn seen(&self) -> &[u8] {
        &self.kept
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_KEPT_BYTES - self.kept.len();
        self.dropped |= bytes.len() > room;
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// What was printed since the last time.
    pub(crate) fn take(&mut self) -> String {
        let mut text = String::from_utf8_lossy(&std::mem::take(&mut self.kept)).into_owned();
        if std::mem::take(&mut self.dropped) {
            text.push_str("\n[more was printed]\n");
        }
        text
    }
}
