//! What is measured: one way to do a piece of work, many times in a row.

use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

/// The times of a number of iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lap {
    /// Time on the wall.
    pub(crate) wall: Duration,
    /// Time of all processors in the process that did the work: what stays stable on a busy machine.
    pub(crate) processor: Duration,
}

/// One way to do the work, ready to go.
pub(crate) trait Side {
    /// What it is, with its version; empty where it has none of its own.
    fn version(&self) -> &str;

    /// The result of one iteration, to be compared before anything is timed.
    fn output(&mut self) -> Result<Vec<u8>>;

    /// Does the work `iterations` times.
    fn run(&mut self, iterations: u64) -> Result<Lap>;
}

/// A side that is here, or why it is not.
pub(crate) enum Entrant {
    Ready(Box<dyn Side>),
    Absent(String),
}

impl Entrant {
    /// The side, or its absence with the reason of the error.
    pub(crate) fn new(side: Result<Box<dyn Side>>) -> Self {
        match side {
            Ok(side) => Self::Ready(side),
            Err(error) => Self::Absent(format!("{error:#}")),
        }
    }

    /// A side in this process: `output` gives the result once, `work` does one iteration.
    pub(crate) fn local(
        version: &'static str,
        output: impl FnMut() -> Result<Vec<u8>> + 'static,
        work: impl FnMut() + 'static,
    ) -> Self {
        Self::Ready(Box::new(Local { version, output, work }))
    }

    /// What the side says it is, when it is here.
    pub(crate) fn version(&self) -> &str {
        match self {
            Self::Ready(side) => side.version(),
            Self::Absent(_) => "",
        }
    }
}

struct Local<O, W> {
    version: &'static str,
    output: O,
    work: W,
}

impl<O: FnMut() -> Result<Vec<u8>>, W: FnMut()> Side for Local<O, W> {
    fn version(&self) -> &str {
        self.version
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        (self.output)()
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let (processor, wall) = (processor_time(), Instant::now());
        for _ in 0..iterations {
            (self.work)();
        }
        Ok(Lap { wall: wall.elapsed(), processor: processor_time().saturating_sub(processor) })
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}
