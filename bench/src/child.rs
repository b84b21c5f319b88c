//! A peer in another language: a process that lives through all rounds and speaks lines.
//!
//! | we say | it answers |
//! |---|---|
//! | `load PATH` | `ok VERSION` |
//! | `output` | `output JSON-STRING` |
//! | `run N` | `time WALL-NS PROCESSOR-NS` |
//!
//! Anything else, as `error MESSAGE`, ends the measurement with that line as the reason.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::side::{Lap, Side};

/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running peer with a workload loaded.
pub(crate) struct ChildSide {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    version: String,
}

impl ChildSide {
    /// Starts `command` and lets it load `workload`.
    pub(crate) fn start(mut command: Command, workload: &Path) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
        let input = process.stdin.take().context("the peer has no input")?;
        let output = process.stdout.take().context("the peer has no output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut side = Self { process, input, lines, version: String::new() };
        side.version = side.ask(&format!("load {}", workload.display()), "ok")?;
        Ok(side)
    }

    /// Sends a line and returns what stands behind `word` in the answer.
    fn ask(&mut self, request: &str, word: &str) -> Result<String> {
        writeln!(self.input, "{request}")
            .and_then(|()| self.input.flush())
            .context("the peer does not listen")?;
        let answer = self
            .lines
            .recv_timeout(PATIENCE)
            .map_err(|_| anyhow!("the peer gave no answer to `{request}`"))?;
        match answer.split_once(' ') {
            Some((first, rest)) if first == word => Ok(rest.to_owned()),
            _ => bail!("the peer answered `{answer}` to `{request}`"),
        }
    }
}

impl Side for ChildSide {
    fn version(&self) -> &str {
        &self.version
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        let text: String =
            serde_json::from_str(&self.ask("output", "output")?).context("the output is no string")?;
        Ok(text.into_bytes())
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let answer = self.ask(&format!("run {iterations}"), "time")?;
        let mut numbers = answer.split(' ').map(|number| number.parse().map(Duration::from_nanos));
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(wall)), Some(Ok(processor)), None) => Ok(Lap { wall, processor }),
            _ => bail!("the peer reported no times: `{answer}`"),
        }
    }
}

impl Drop for ChildSide {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
