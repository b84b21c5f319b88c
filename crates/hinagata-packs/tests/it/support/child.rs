//! Real processes: a test starts its own executable again in another role.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

const PART: &str = "HINAGATA_TEST_PART";
const PLACE: &str = "HINAGATA_TEST_PLACE";

/// The part that this process plays and where, when a test started it.
pub(crate) fn part() -> Option<(String, std::path::PathBuf)> {
    Some((env::var(PART).ok()?, env::var_os(PLACE)?.into()))
}

/// The command that plays `part` in the test `player` of this executable.
pub(crate) fn command(player: &str, part: &str, place: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("has a path"));
    command.args(["--exact", player, "--nocapture", "--test-threads", "1"]);
    command.env(PART, part).env(PLACE, place).stdout(Stdio::piped());
    command
}

/// A process that reports its steps.
pub(crate) struct Player {
    child: Child,
    lines: io::Lines<BufReader<ChildStdout>>,
}

impl Player {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("is a pipe")).lines();
        Self { child, lines }
    }

    /// Its next report.
    pub(crate) fn next(&mut self) -> Option<String> {
        let told = |line: io::Result<String>| line.ok()?.strip_prefix("told ").map(str::to_owned);
        self.lines.find_map(|line| Some(told(line))?)
    }

    /// Kills it. Its earlier reports can still be read.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("is killed");
        self.child.wait().expect("ends");
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Waits for its end; returns whether it succeeded, and its reports.
    pub(crate) fn end(mut self) -> (bool, Vec<String>) {
        let told = std::iter::from_fn(|| self.next()).collect();
        (self.child.wait().expect("ends").success(), told)
    }
}

impl Drop for Player {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a report to the process that started this one.
pub(crate) fn tell(what: impl std::fmt::Display) {
    let mut out = io::stdout().lock();
    writeln!(out, "\ntold {what}").expect("is heard");
    out.flush().expect("is heard");
}
