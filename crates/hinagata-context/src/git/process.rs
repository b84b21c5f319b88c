//! Runs the system `git`: within limits of time and size, with an environment of its own, and without input.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::error::system_cause;

/// Longest that one command may run.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Most bytes of an error message that are kept.
const MESSAGE_LIMIT: u64 = 4 << 10;

/// Variables of the environment that git needs to start; all others are removed.
const KEPT_VARIABLES: [&str; 6] = ["PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE"];

/// Options of every command.
const OPTIONS: [&str; 3] = ["--no-pager", "--no-optional-locks", "--literal-pathspecs"];

/// Settings of every command: nothing of a configuration may start a program, even if a later version of git reads more
/// of it than we know.
const SETTINGS: [&str; 9] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.untrackedCache=false",
    "diff.trustExitCode=false",
    "gpg.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
];

/// The variables of the environment that every command gets.
const VARIABLES: [(&str, &str); 8] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// The output of a command.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    /// Whether there was more than the limit.
    pub(super) truncated: bool,
}

/// A command of git.
pub(super) struct GitCommand {
    command: Command,
    name: String,
    limit: u64,
    input: Option<File>,
}

impl GitCommand {
    /// `git NAME` in `directory`, whose output has at most `limit` bytes.
    pub(super) fn new(program: &Path, name: &str, directory: &Path, limit: u64) -> Self {
        let mut command = Command::new(program);
        command.args(OPTIONS).args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        command.arg(name).current_dir(directory).env_clear().envs(VARIABLES);
        command.envs(KEPT_VARIABLES.iter().filter_map(|name| Some((*name, env::var_os(name)?))));
        Self { command, name: name.to_owned(), limit, input: None }
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Lets the command read `input`.
    pub(super) fn with_input(mut self, input: File) -> Self {
        self.input = Some(input);
        self
    }

    /// Runs the command; the message of an error says why it failed.
    pub(super) fn run(mut self) -> Result<Output, String> {
        let input = self.input.take().map_or_else(Stdio::null, Stdio::from);
        self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |why: String| format!("`git {}` failed: {why}", self.name);
        let mut child = self.command.spawn().map_err(|error| failed(system_cause(&error)))?;
        let (told, answers) = mpsc::channel();
        let output = read_in_background(child.stdout.take(), self.limit, told.clone(), Stream::Output);
        let message = read_in_background(child.stderr.take(), MESSAGE_LIMIT, told, Stream::Message);
        let mut running = Running(child);
        let in_time = wait_for_output(&answers);
        // The output may be cut: a command that still writes would wait forever.
        let status = running.end(in_time.is_none_or(|read| read.truncated));
        let (Ok(output), Ok(message)) = (output.join(), message.join()) else {
            return Err(failed("its output was not read".to_owned()));
        };
        match (in_time, status) {
            (None, _) => Err(failed(format!("it ran longer than {} seconds", TIME_LIMIT.as_secs()))),
            (Some(read), _) if read.truncated => Ok(Output { bytes: output, truncated: true }),
            (Some(_), Ok(true)) => Ok(Output { bytes: output, truncated: false }),
            (Some(_), Ok(false)) => Err(failed(first_line(&message))),
            (Some(_), Err(error)) => Err(failed(system_cause(&error))),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Message,
}

/// The end of a stream that was read.
#[derive(Clone, Copy)]
struct ReadStream {
    stream: Stream,
    truncated: bool,
}

/// Waits until all of the output was read; `None` if that takes too long.
fn wait_for_output(answers: &mpsc::Receiver<ReadStream>) -> Option<ReadStream> {
    let deadline = std::time::Instant::now() + TIME_LIMIT;
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let read = answers.recv_timeout(left).ok()?;
        if read.stream == Stream::Output {
            return Some(read);
        }
    }
}

fn read_in_background(
    from: Option<impl Read + Send + 'static>,
    limit: u64,
    told: mpsc::Sender<ReadStream>,
    stream: Stream,
) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let Some(mut from) = from else { return bytes };
        // One byte more tells whether there is more.
        let _ = from.by_ref().take(limit + 1).read_to_end(&mut bytes);
        let truncated = bytes.len() as u64 > limit;
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        if truncated && stream == Stream::Message {
            // A command that reports a lot must not wait for a reader.
            let _ = io::copy(&mut from, &mut io::sink());
        }
        let _ = told.send(ReadStream { stream, truncated });
        bytes
    })
}

/// A process that ends when this is dropped.
struct Running(Child);

impl Running {
    /// Waits for the end of the process, or ends it; returns whether it succeeded.
    fn end(&mut self, kill: bool) -> io::Result<bool> {
        if kill {
            let _ = self.0.kill();
        }
        Ok(self.0.wait()?.success())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn first_line(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message");
    line.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned()
}

/// The program `git` of the search path. Relative directories of the path are not searched: a workspace could have a
/// program of that name.
pub(super) fn find_program() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let name = OsString::from(format!("git{}", env::consts::EXE_SUFFIX));
    let absolute = env::split_paths(&path).filter(|directory| directory.is_absolute());
    absolute.map(|directory| directory.join(&name)).find(|program| program.is_file())
}
