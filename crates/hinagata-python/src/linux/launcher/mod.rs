//! The program that confines itself and becomes Python.
//!
//! It is our own binary, started anew: between a fork and an exec of a program with threads next to nothing may be
//! done, while a fresh process with one thread can take its time. It reads an [`Assignment`] from its input, forks once,
//! and the child confines itself and executes Python. The parent stays as the [supervisor](supervisor).

mod assignment;
mod supervisor;

use std::{
    convert::Infallible,
    io,
    os::{fd::BorrowedFd, unix::process::CommandExt as _},
    process::{Command, ExitCode},
};

use rustix::{
    process::{Pid, Signal, getpid, set_child_subreaper, set_parent_process_death_signal, setsid},
    stdio::{dup2_stdout, stderr, stdin},
};
use serde_json::json;

pub(crate) use self::assignment::{Assignment, Order, Role, Said};
use super::packet;

/// What a zygote runs.
const ZYGOTE: &str = concat!(include_str!("../../../python/worker.py"), include_str!("../../../python/zygote.py"));
/// What a single worker runs.
const WORKER: &str = concat!(include_str!("../../../python/worker.py"), include_str!("../../../python/direct.py"));

/// Everything that Python finds in its environment.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/"),
    ("LANG", "C.UTF-8"),
    // Each arena reserves address space, which is limited.
    ("MALLOC_ARENA_MAX", "2"),
    // Nothing can be written, and a repository of somebody else can do no more harm in here than our own.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
];

/// Becomes Python, or the supervisor of it.
pub(crate) fn run() -> ExitCode {
    let control = stdin();
    let failure = match prepare(control) {
        Ok(Side::Supervisor(pid)) => return supervisor::run(control, pid),
        Ok(Side::Python(assignment)) => become_python(&assignment),
        Err(failure) => failure,
    };
    tell(control, &Said::Failed { error: failure.to_string() });
    ExitCode::FAILURE
}

/// Says something to the engine, which may be gone.
fn tell(control: BorrowedFd<'_>, said: &Said) {
    let packet = serde_json::to_vec(said).unwrap_or_default();
    let _ = packet::send(control, &packet, &[]);
}

/// The two processes that a launcher becomes.
enum Side {
    Supervisor(Pid),
    Python(Assignment),
}

fn prepare(control: BorrowedFd<'_>) -> io::Result<Side> {
    close_others()?;
    // In a session of its own, no terminal reaches it.
    setsid()?;
    let (bytes, _) = packet::receive(control, packet::LARGE)?;
    let assignment: Assignment = serde_json::from_slice(&bytes)?;
    // What Python leaves behind comes to the supervisor.
    set_child_subreaper(Some(getpid()))?;
    Ok(match fork()? {
        Some(pid) => Side::Supervisor(pid),
        None => Side::Python(assignment),
    })
}

/// Closes what the engine left open by mistake.
fn close_others() -> io::Result<()> {
    // SAFETY: this process has just started with one thread, and nothing in it owns a descriptor beyond the first
    // three.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread, so the child is a full copy of it and may do whatever it likes.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Confines this process and executes Python; what comes back is why it could not.
fn become_python(assignment: &Assignment) -> io::Error {
    match confine_and_execute(assignment) {
        Err(error) => error,
        Ok(never) => match never {},
    }
}

fn confine_and_execute(assignment: &Assignment) -> io::Result<Infallible> {
    // The kernel ends it with the supervisor.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if assignment.role == Role::Zygote {
        dup2_stdout(stderr())?;
    }
    let (script, config) = match assignment.role {
        Role::Zygote => (ZYGOTE, json!({"pid_namespace": assignment.layers.namespaces, "filters": {}})),
        Role::Worker => (WORKER, json!({"socket": true})),
    };
    // Isolated from the environment and the user's packages, no bytecode written, UTF-8 everywhere.
    let error = Command::new(&assignment.python)
        .args(["-I", "-B", "-X", "utf8", "-c", script, &config.to_string()])
        .env_clear()
        .envs(ENVIRONMENT)
        .current_dir("/")
        .exec();
    Err(io::Error::new(error.kind(), format!("cannot execute {}: {error}", assignment.python.display())))
}
