//! A side that is a command: started anew for each iteration.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

use crate::side::{Lap, Side};

/// A command; its time is that of its process from start to end, and of those it starts.
pub(crate) struct ProcessSide {
    make: Box<dyn Fn() -> Command>,
    output: Box<dyn FnMut() -> Result<Vec<u8>>>,
    version: String,
}

impl ProcessSide {
    /// The command that `make` makes; `output` gives what its work is compared by.
    pub(crate) fn new(
        version: String,
        make: impl Fn() -> Command + 'static,
        output: impl FnMut() -> Result<Vec<u8>> + 'static,
    ) -> Self {
        Self { make: Box::new(make), output: Box::new(output), version }
    }

    fn run_once(&self) -> Result<()> {
        let mut command = (self.make)();
        let name = command.get_program().to_string_lossy().into_owned();
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("cannot start {name}"))?;
        if status.success() { Ok(()) } else { bail!("{name} failed ({status})") }
    }
}

impl Side for ProcessSide {
    fn version(&self) -> &str {
        &self.version
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        (self.output)()
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let (processor, wall) = (time_of_children()?, Instant::now());
        for _ in 0..iterations {
            self.run_once()?;
        }
        Ok(Lap { wall: wall.elapsed(), processor: time_of_children()?.saturating_sub(processor) })
    }
}

/// A command whose work is spread over processors or outlives it: the clock on the wall is the one that sees all of it.
pub(crate) struct OnTheWall(pub(crate) ProcessSide);

impl Side for OnTheWall {
    fn version(&self) -> &str {
        self.0.version()
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        self.0.output()
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let Lap { wall, .. } = self.0.run(iterations)?;
        Ok(Lap { wall, processor: wall })
    }
}

/// What `command` prints, when it succeeds.
pub(crate) fn printed(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// Processor time of all children that ended.
fn time_of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let microseconds = [usage.user_time(), usage.system_time()].into_iter().map(|time| {
        u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec()).unwrap_or(0)
    });
    Ok(Duration::from_micros(microseconds.sum()))
}
