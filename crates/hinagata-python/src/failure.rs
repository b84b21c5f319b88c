//! Why a call to Python failed, and the engine error for it.

use std::time::Duration;

use hinagata::{Code, Error, Hint, Place, Reason, ports::HookJob};
use serde_json::{Value, json};

use crate::message::{PythonException, TraceFrame};

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The hook raised an exception.
    Raised(PythonException),
    /// The call's own time or the render's time is up.
    Timeout { after: Duration, waited: Duration, render: bool },
    /// The job never ran: no worker became free before the render's deadline.
    NoWorker(Duration),
    /// The process exited before it answered.
    Died(ProcessExit),
    /// The worker sent an invalid message.
    InvalidMessage(String),
    /// The call exceeded a limit of the engine.
    Limit { what: &'static str, message: String },
    /// Python cannot run on this machine.
    Unavailable { reason: Reason, message: String, hint: Option<Hint> },
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessExit {
    Code(i32),
    Signal(i32),
    /// The exit status is unknown.
    Unknown,
}

impl Failure {
    pub(crate) fn unavailable(reason: Reason, message: impl Into<String>) -> Self {
        Self::Unavailable { reason, message: message.into(), hint: None }
    }

    /// Adds a hint.
    pub(crate) fn with_hint(self, text: impl Into<Hint>) -> Self {
        match self {
            Self::Unavailable { reason, message, .. } => {
                Self::Unavailable { reason, message, hint: Some(text.into()) }
            }
            other => other,
        }
    }

    /// The error when there is no job.
    pub(crate) fn into_plain_error(self) -> Error {
        match self {
            Self::Unavailable { reason, message, hint } => unavailable(reason, message, hint),
            other => Error::new(Code::Hook, format!("{other:?}")),
        }
    }

    /// The engine error for the job. `stack` is where Python was when it ended, if it reported that.
    pub(crate) fn into_error(self, job: &HookJob<'_>, printed: &str, stack: &[TraceFrame]) -> Error {
        let stage = job.stage.as_str();
        let error = match self {
            Self::Raised(raised) => raised_error(job, &raised),
            Self::Timeout { after, waited, render } => {
                with_frames(timeout(stage, after, waited, render), job, stack)
            }
            Self::NoWorker(waited) => no_worker(stage, waited),
            Self::Died(exit) => with_frames(died(stage, exit), job, stack),
            Self::InvalidMessage(message) => Error::new(
                Code::Hook,
                format!("the Python process of `{stage}` sent an invalid message: {message}"),
            )
            .with_reason(Reason::Protocol)
            .with_hint("a hook must not write to file descriptors that it did not open"),
            Self::Limit { what, message } => Error::new(Code::Hook, format!("`{stage}` {message}"))
                .with_reason(Reason::Limit)
                .with("exceeded", what),
            Self::Unavailable { reason, message, hint } => {
                unavailable(reason, format!("`{stage}` cannot run: {message}"), hint)
            }
        };
        let error = error.with_default("stage", stage).with_default("file", job.file);
        if printed.is_empty() { error } else { error.with("printed", printed) }
    }
}

fn unavailable(reason: Reason, message: String, hint: Option<Hint>) -> Error {
    let error = Error::new(Code::Hook, message).with_reason(reason);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn timeout(stage: &str, after: Duration, waited: Duration, render: bool) -> Error {
    let mut message = format!("`{stage}` timed out after {:.1} s", after.as_secs_f64());
    if waited >= REPORTED_WAIT {
        let waited = waited.as_secs_f64();
        message.push_str(&format!(", excluding {waited:.1} s spent waiting for a free worker"));
    }
    if render {
        message.push_str(", at the deadline of the render");
        return Error::new(Code::HookTimeout, message)
            .with_reason(Reason::Deadline)
            .with_hint("do less in the hook; for a daemon, raise `server.request_timeout`");
    }
    Error::new(Code::HookTimeout, message).with_reason(Reason::Timeout).with_hint(
        "do less in the hook, or raise `max_execution_time` in the prompt's limits or in defaults.json",
    )
}

/// Shorter waits are not reported.
const REPORTED_WAIT: Duration = Duration::from_millis(100);

fn no_worker(stage: &str, waited: Duration) -> Error {
    let waited = waited.as_secs_f64();
    let message = format!(
        "`{stage}` did not run: it waited {waited:.1} s for a free worker, until the deadline of the render"
    );
    Error::new(Code::HookTimeout, message)
        .with_reason(Reason::Busy)
        .with("waited", waited)
        .with_hint(Hint::from("try again later, or raise `hooks.workers`").then(Hint::ExplainRender))
}

fn died(stage: &str, exit: ProcessExit) -> Error {
    let (how, hint) = match exit {
        ProcessExit::Code(code) => (format!("with exit code {code}"), None),
        ProcessExit::Signal(signal) => (
            format!("on {}", signal_name(signal)),
            (signal == 9).then_some("the system may have run out of memory"),
        ),
        ProcessExit::Unknown => ("with an unknown status".to_owned(), None),
    };
    let error = Error::new(Code::Hook, format!("the Python process of `{stage}` exited {how}"));
    let error = match exit {
        ProcessExit::Code(code) => error.with("exit_code", code),
        ProcessExit::Signal(signal) => error.with("signal", signal),
        ProcessExit::Unknown => error,
    };
    let error = error.with_reason(Reason::Died);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "an illegal instruction",
        6 => "an abort",
        7 => "a bus error",
        8 => "an arithmetic error",
        9 => "a kill",
        11 => "a segmentation fault",
        15 => "a termination",
        24 => "the CPU time limit",
        25 => "the file size limit",
        31 => "a forbidden system call",
        _ => return format!("signal {signal}"),
    };
    format!("{name} (signal {signal})")
}

fn raised_error(job: &HookJob<'_>, raised: &PythonException) -> Error {
    let PythonException { exception, message, frames } = raised;
    let stage = job.stage.as_str();
    let sentence = if message.is_empty() {
        format!("`{stage}` failed with {exception}")
    } else {
        format!("`{stage}` failed with {exception}: {message}")
    };
    let error = Error::new(Code::Hook, sentence)
        .with("exception", exception.as_str())
        .with("exception_message", message.as_str())
        .with("frames", Value::Array(Vec::new()));
    let error = with_frames(error, job, frames);
    match hint(job, raised) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Adds the lines of the prompt's own file that led to the error, innermost last.
fn with_frames(error: Error, job: &HookJob<'_>, frames: &[TraceFrame]) -> Error {
    if frames.is_empty() {
        return error;
    }
    let listed: Vec<Value> = frames
        .iter()
        .map(|frame| json!({"file": job.file, "line": frame.line, "function": frame.function}))
        .collect();
    let place = |line: u32, column: Option<u32>| {
        Place::at_line(job.file, job.source, line, column.unwrap_or_else(|| first_column(job.source, line)))
    };
    let mut places = frames.iter().rev().map(|frame| place(frame.line, frame.column));
    let error = error.with("frames", listed);
    match places.next() {
        Some(innermost) => error.at(innermost).with_chain(places.collect()),
        None => error,
    }
}

/// The column of the first character that is not whitespace.
fn first_column(source: &str, line: u32) -> u32 {
    let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let text = source.lines().nth(index).unwrap_or_default();
    let indent = text.chars().take_while(|char| char.is_whitespace()).count();
    u32::try_from(indent).unwrap_or_default().saturating_add(1)
}

/// Hints for common mistakes in hooks.
fn hint(job: &HookJob<'_>, raised: &PythonException) -> Option<Hint> {
    let allowed = |name: &str| job.permissions.contains(&name);
    let known = ["read_file", "http_request", "llm_call", "session_state"];
    match raised.exception.as_str() {
        "KeyError" => {
            let name = raised.message.trim_matches('\'');
            (known.contains(&name) && !allowed(name))
                .then(|| format!("declare `{name}` in PERMISSIONS to add it to the context").into())
        }
        "FileNotFoundError" | "PermissionError"
            if !allowed("read_file") && raised.message.contains(&*job.workspace.to_string_lossy()) =>
        {
            Some("the prompt does not declare `read_file`, so it cannot read files of the workspace".into())
        }
        "PermissionError" | "BlockingIOError" if job.withheld.contains(&"subprocess") => Some(
            Hint::from("programs are not available in an untrusted workspace").then(Hint::TrustWorkspace),
        ),
        "PermissionError" | "BlockingIOError" => {
            let missing: Vec<&str> =
                ["read_file", "subprocess"].into_iter().filter(|name| !allowed(name)).collect();
            if missing.is_empty() {
                Some(
                    "a hook can read the workspace and its own directory; it cannot write files or open connections"
                        .into(),
                )
            } else {
                Some(format!("the prompt does not declare `{}`", missing.join("` and `")).into())
            }
        }
        _ => None,
    }
}
