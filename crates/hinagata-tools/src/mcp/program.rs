//! Servers that are programs: started with the connection, ended with it, with everything that they started.

use std::{
    env, io,
    pin::Pin,
    process::Stdio,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use hinagata::{Error, Result};
use rmcp::ServiceExt;
use tokio::{
    io::{AsyncRead, AsyncReadExt, ReadBuf},
    process::{Child, ChildStderr, Command},
    task::JoinHandle,
};

use super::Client;
use crate::{
    failure::{failed, shown, with_causes},
    settings::ServerSettings,
};

/// Variables of our environment that a program gets. Others may be secrets that are none of its business.
const PASSED_ON: [&str; 11] = [
    "APPDATA",
    "HOME",
    "LANG",
    "LC_ALL",
    "PATH",
    "SystemRoot",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "USERPROFILE",
];

/// Room around an answer in the message that carries it, in bytes.
const AROUND: usize = 64 << 10;

/// The last bytes of what a program complains about that are kept.
const COMPLAINTS: usize = 2 << 10;

/// How long the complaints of a program that was ended are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A program that runs. Dropping it ends it.
pub(super) struct Program {
    child: Child,
    flooded: Arc<AtomicUsize>,
}

impl Program {
    /// The limit that it went beyond, if it did.
    pub(super) fn flooded(&self) -> Option<usize> {
        Some(self.flooded.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Ends a program and what it started.
#[cfg(unix)]
fn end(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.start_kill();
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    let _ = child.start_kill();
}

/// Starts a program and talks to it.
pub(super) async fn connect(
    name: &str,
    command: &str,
    settings: &ServerSettings,
    max_answer: usize,
) -> Result<(Program, Client)> {
    let mut child = start(command, settings)?;
    let (Some(input), Some(output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failed("connect", "its pipes are not there"));
    };
    let limit = max_answer.saturating_mul(2).saturating_add(AROUND);
    let flooded = Arc::new(AtomicUsize::new(0));
    let output = Lines { inner: output, since_line: 0, limit, flooded: Arc::clone(&flooded) };
    let program = Program { child, flooded };
    let complaints = Complaints::read(name, errors);
    match ().serve((output, input)).await {
        Ok(client) => Ok((program, client)),
        Err(error) => {
            // Its pipes are closed with it, so what it wrote is there to be read.
            drop(program);
            Err(complaints.explain(command, &error).await)
        }
    }
}

fn start(command: &str, settings: &ServerSettings) -> Result<Child> {
    let mut start = Command::new(command);
    start.args(&settings.args).env_clear().kill_on_drop(true);
    start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    start.envs(PASSED_ON.into_iter().filter_map(|name| Some((name, env::var_os(name)?))));
    for (name, value) in &settings.env {
        start.env(name, value.read()?);
    }
    if let Some(directory) = &settings.cwd {
        start.current_dir(directory);
    }
    // A group of its own, which can be ended as a whole.
    #[cfg(unix)]
    start.process_group(0);
    start.spawn().map_err(|error| {
        failed("connect", format!("`{command}` cannot be started: {error}"))
            .with_hint("see `mcp_servers`: is the program installed, and in the PATH?")
    })
}

/// What a program writes to its standard error: to the log, and the end of it into errors.
struct Complaints {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Complaints {
    fn read(name: &str, mut errors: ChildStderr) -> Self {
        let (kept, server) = (Arc::new(Mutex::new(Vec::new())), name.to_owned());
        let ours = Arc::clone(&kept);
        let reading = tokio::spawn(async move {
            let mut buffer = vec![0; COMPLAINTS];
            while let Ok(count @ 1..) = errors.read(&mut buffer).await {
                tracing::debug!(%server, "{}", shown(&String::from_utf8_lossy(&buffer[..count])));
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..count]);
                let over = kept.len().saturating_sub(COMPLAINTS);
                kept.drain(..over);
            }
        });
        Self { kept: ours, reading }
    }

    async fn explain(self, command: &str, error: &(dyn std::error::Error + Sync)) -> Error {
        let _ = tokio::time::timeout(PATIENCE, self.reading).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let said = shown(&String::from_utf8_lossy(&kept));
        let error = failed("connect", format!("`{command}` does not talk MCP: {}", with_causes(error)));
        if said.is_empty() { error } else { error.with("stderr", said) }
    }
}

/// Reads until a line is longer than it may be.
struct Lines<R> {
    inner: R,
    since_line: usize,
    limit: usize,
    flooded: Arc<AtomicUsize>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let new = &buffer.filled()[before..];
        self.since_line = match new.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => new.len() - end - 1,
            None => self.since_line.saturating_add(new.len()),
        };
        if self.since_line > self.limit {
            self.flooded.store(self.limit, Ordering::Relaxed);
            return Poll::Ready(Err(io::Error::other("a message without an end")));
        }
        Poll::Ready(Ok(()))
    }
}
