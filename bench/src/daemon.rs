//! A program that listens: started once, asked many times, its processor time read from outside.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::time::ClockId;
use nix::unistd::Pid;

use crate::side::Lap;

/// The longest that a start may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What stands before the address in the line that tells it.
const LISTENS: &str = "listening on http://";

/// A running daemon.
pub(crate) struct Daemon {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
    address: SocketAddr,
    clock: ClockId,
}

impl Daemon {
    /// Starts `command`, and waits until it says where it listens.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let (sender, lines) = channel();
        read(child.stdout.take().context("is piped")?, sender.clone());
        read(child.stderr.take().context("is piped")?, sender);
        let pid = Pid::from_raw(i32::try_from(child.id())?);
        let clock = ClockId::pid_cpu_clock_id(pid)?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        // From here on it is ended when something goes wrong.
        let mut daemon = Self { child, lines, said: Vec::new(), address: nowhere, clock };
        daemon.address = daemon.told(address)?;
        Ok(daemon)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What `find` finds in a line that it says while it starts.
    pub(crate) fn told<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Result<T> {
        if let Some(found) = self.said.iter().find_map(|line| find(line)) {
            return Ok(found);
        }
        let end = Instant::now() + PATIENCE;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            let found = find(&line);
            self.said.push(line);
            if let Some(found) = found {
                return Ok(found);
            }
        }
        bail!("it did not start: {}", self.said.last().map_or("without a word", String::as_str))
    }

    /// Processor time of all its threads until now.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        Ok(self.clock.now().map(Duration::from)?)
    }

    /// The times of `work`: those of the wall, and of this daemon's threads.
    pub(crate) fn time_work(&self, work: impl FnOnce() -> Result<()>) -> Result<Lap> {
        let (processor, wall) = (self.processor_time()?, Instant::now());
        work()?;
        let wall = wall.elapsed();
        Ok(Lap { wall, processor: self.processor_time()?.saturating_sub(processor) })
    }

    /// The most memory that it ever had, in MiB.
    pub(crate) fn peak_memory(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = value.and_then(|value| value.split_whitespace().next()).context("no VmHWM")?;
        Ok(kibibytes.parse::<f64>()? / 1024.0)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines until the end: whoever talks into a pipe that nobody reads stops.
fn read(output: impl Read + Send + 'static, sender: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Nobody waits for lines any more; the rest is read all the same.
            let _ = sender.send(line);
        }
    });
}

fn address(line: &str) -> Option<SocketAddr> {
    let rest = &line[line.find(LISTENS)? + LISTENS.len()..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && !".:[]".contains(c)).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_is_said() {
        let wanted = Some(SocketAddr::from(([127, 0, 0, 1], 8700)));
        assert_eq!(address("listening on http://127.0.0.1:8700"), wanted);
        assert_eq!(address("INFO listening on http://127.0.0.1:8700/?token=1a"), wanted);
        assert_eq!(address("ready"), None);
    }

    #[test]
    fn a_program_that_does_not_listen_is_told_with_its_words() {
        let mut command = Command::new("sh");
        let error = Daemon::start(command.args(["-c", "echo no port >&2"])).err().expect("does not listen");
        assert_eq!(error.to_string(), "it did not start: no port");
    }
}
