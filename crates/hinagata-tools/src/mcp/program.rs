//! Server programs: started with the connection and ended with it, together with their child processes.

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

use hinagata::{Error, Reason, Result};
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

/// Environment variables that a program inherits. Others may be secrets.
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

/// Bytes of a message in addition to its result.
const MESSAGE_OVERHEAD: usize = 64 << 10;

/// Maximum bytes kept from standard error.
const MAX_ERROR_OUTPUT: usize = 2 << 10;

/// How long to wait for the standard error of an ended program.
const ERROR_OUTPUT_TIME: Duration = Duration::from_secs(1);

/// A running program. Dropping it ends the program.
pub(super) struct ServerProgram {
    child: Child,
    exceeded_limit: Arc<AtomicUsize>,
}

impl ServerProgram {
    /// The limit that it exceeded, if it did.
    pub(super) fn exceeded_limit(&self) -> Option<usize> {
        Some(self.exceeded_limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }
}

impl Drop for ServerProgram {
    fn drop(&mut self) {
        end_program(&mut self.child);
    }
}

/// Ends a program and its child processes.
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

/// Starts a program and connects to it.
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
        return Err(tool_error(Reason::Connect, "its pipes are missing"));
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
            // Ending the program closes its pipes, so its output can be read to the end.
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
    // A process group of its own, which can be ended as a whole.
    #[cfg(unix)]
    start.process_group(0);
    start.spawn().map_err(|error| {
        tool_error(Reason::Connect, format!("cannot start `{command}`: {error}"))
            .with_hint("check `mcp_servers`, and that the program is installed and in PATH")
    })
}

/// Standard error of a program: logged, and its end kept for errors.
struct ErrorOutput {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl ErrorOutput {
    fn from_stderr(name: &str, mut errors: ChildStderr) -> Self {
        let (kept, server) = (Arc::new(Mutex::new(Vec::new())), name.to_owned());
        let shared = Arc::clone(&kept);
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
        Self { kept: shared, reading }
    }

    async fn into_error(self, command: &str, error: &(dyn std::error::Error + Sync)) -> Error {
        let _ = tokio::time::timeout(ERROR_OUTPUT_TIME, self.reading).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let said = truncate_for_display(&String::from_utf8_lossy(&kept));
        let error = tool_error(
            Reason::Connect,
            format!("MCP handshake with `{command}` failed: {}", with_causes(error)),
        );
        if said.is_empty() { error } else { error.with("stderr", said) }
    }
}

/// Limits the length of lines.
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
            return Poll::Ready(Err(io::Error::other("the message is too long")));
        }
        Poll::Ready(Ok(()))
    }
}
