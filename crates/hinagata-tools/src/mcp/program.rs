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
    failure::{tool_error, truncate_for_display, with_causes},
    settings::McpServerSettings,
};

/// Variables of our environment that a program gets. Others may be secrets that are none of its business.
const PASSED_VARIABLES: [&str; 11] = [
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
const MESSAGE_OVERHEAD: usize = 64 << 10;

/// The last bytes of what a program complains about that are kept.
const MAX_ERROR_OUTPUT: usize = 2 << 10;

/// How long the complaints of a program that was ended are waited for.
const ERROR_OUTPUT_TIME: Duration = Duration::from_secs(1);

/// A program that runs. Dropping it ends it.
pub(super) struct ServerProgram {
    child: Child,
    exceeded_limit: Arc<AtomicUsize>,
}

impl ServerProgram {
    /// The limit that it went beyond, if it did.
    pub(super) fn exceeded_limit(&self) -> Option<usize> {
        Some(self.exceeded_limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }
}

impl Drop for ServerProgram {
    fn drop(&mut self) {
        end_program(&mut self.child);
    }
}

/// Ends a program and what it started.
#[cfg(unix)]
fn end_program(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.start_kill();
}

#[cfg(not(unix))]
fn end_program(child: &mut Child) {
    let _ = child.start_kill();
}

/// Starts a program and talks to it.
pub(super) async fn connect_program(
    name: &str,
    command: &str,
    settings: &McpServerSettings,
    max_answer: usize,
) -> Result<(ServerProgram, Client)> {
    let mut child = start_program(command, settings)?;
    let (Some(input), Some(output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(tool_error("connect", "its pipes are not there"));
    };
    let limit = max_answer.saturating_mul(2).saturating_add(MESSAGE_OVERHEAD);
    let exceeded_limit = Arc::new(AtomicUsize::new(0));
    let output =
        BoundedLines { inner: output, since_line: 0, limit, exceeded_limit: Arc::clone(&exceeded_limit) };
    let program = ServerProgram { child, exceeded_limit };
    let error_output = ErrorOutput::from_stderr(name, errors);
    match ().serve((output, input)).await {
        Ok(client) => Ok((program, client)),
        Err(error) => {
            // Its pipes are closed with it, so what it wrote is there to be read.
            drop(program);
            Err(error_output.into_error(command, &error).await)
        }
    }
}

fn start_program(command: &str, settings: &McpServerSettings) -> Result<Child> {
    let mut start = Command::new(command);
    start.args(&settings.args).env_clear().kill_on_drop(true);
    start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    start.envs(PASSED_VARIABLES.into_iter().filter_map(|name| Some((name, env::var_os(name)?))));
    for (name, value) in &settings.env {
        start.env(name, value.read_secret()?);
    }
    if let Some(directory) = &settings.cwd {
        start.current_dir(directory);
    }
    // A group of its own, which can be ended as a whole.
    #[cfg(unix)]
    start.process_group(0);
    start.spawn().map_err(|error| {
        tool_error("connect", format!("`{command}` cannot be started: {error}"))
            .with_hint("see `mcp_servers`: is the program installed, and in the PATH?")
    })
}

/// What a program writes to its standard error: to the log, and the end of it into errors.
struct ErrorOutput {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl ErrorOutput {
    fn from_stderr(name: &str, mut errors: ChildStderr) -> Self {
        let (kept, server) = (Arc::new(Mutex::new(Vec::new())), name.to_owned());
        let ours = Arc::clone(&kept);
        let reading = tokio::spawn(async move {
            let mut buffer = vec![0; MAX_ERROR_OUTPUT];
            while let Ok(count @ 1..) = errors.read(&mut buffer).await {
                tracing::debug!(%server, "{}", truncate_for_display(&String::from_utf8_lossy(&buffer[..count])));
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..count]);
                let over = kept.len().saturating_sub(MAX_ERROR_OUTPUT);
                kept.drain(..over);
            }
        });
        Self { kept: ours, reading }
    }

    async fn into_error(self, command: &str, error: &(dyn std::error::Error + Sync)) -> Error {
        let _ = tokio::time::timeout(ERROR_OUTPUT_TIME, self.reading).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let said = truncate_for_display(&String::from_utf8_lossy(&kept));
        let error = tool_error("connect", format!("`{command}` does not talk MCP: {}", with_causes(error)));
        if said.is_empty() { error } else { error.with("stderr", said) }
    }
}

/// Reads until a line is longer than it may be.
struct BoundedLines<R> {
    inner: R,
    since_line: usize,
    limit: usize,
    exceeded_limit: Arc<AtomicUsize>,
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
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
            self.exceeded_limit.store(self.limit, Ordering::Relaxed);
            return Poll::Ready(Err(io::Error::other("a message without an end")));
        }
        Poll::Ready(Ok(()))
    }
}
