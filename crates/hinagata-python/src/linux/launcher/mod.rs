//! The program that confines itself and becomes Python.
//!
//! It is our own binary, started anew: between a fork and an exec of a program with threads next to nothing may be
//! done, while a fresh process with one thread can take its time. It reads an [`Assignment`] from its input, forks once,
//! and the child confines itself and executes Python. The parent stays as the supervisor.

mod assignment;
mod probe;
mod supervisor;

use std::{
    convert::Infallible,
    fs::File,
    io::{self, Seek as _, Write as _},
    os::{
        fd::{AsRawFd as _, BorrowedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, ExitCode},
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Pid, Signal, getpid, set_child_subreaper, set_parent_process_death_signal, setsid},
    stdio::{dup2_stdout, stderr, stdin},
};
use serde_json::{Value, json};

pub(crate) use self::assignment::{Assignment, LauncherMessage, LauncherRole, ProbeResult, ZygoteOrder};
use super::{
    packet,
    sandbox::{
        landlock, limits, namespace, root,
        seccomp::{self, FilterPurpose},
    },
};
use crate::interpreter::NO_BYTECODE;

/// What a zygote runs.
const ZYGOTE: &str = concat!(
    include_str!("../../../python/worker.py"),
    include_str!("../../../python/kernel.py"),
    include_str!("../../../python/zygote.py")
);
/// What a single worker runs.
const WORKER: &str = concat!(
    include_str!("../../../python/worker.py"),
    include_str!("../../../python/kernel.py"),
    include_str!("../../../python/direct.py")
);

/// Everything that Python finds in its environment.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/"),
    ("LANG", "C.UTF-8"),
    // Bytecode is never used, also not by a Python that is started as a program.
    NO_BYTECODE[0],
    NO_BYTECODE[1],
    // Each arena reserves address space, which is limited.
    ("MALLOC_ARENA_MAX", "2"),
    // Nothing can be written, and a repository of somebody else can do no more harm in here than our own.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
];

/// Becomes Python, or the supervisor of it.
pub(crate) fn run_launcher() -> ExitCode {
    let control = stdin();
    let failure = match prepare(control) {
        Ok(Side::Supervisor(pid)) => return supervisor::supervise_python(control, pid),
        Ok(Side::Inner(assignment, supervisor)) => become_python(&assignment, supervisor),
        Ok(Side::Probe(probed)) => {
            send_message(control, &LauncherMessage::Probed(probed));
            return ExitCode::SUCCESS;
        }
        Err(failure) => failure,
    };
    send_message(control, &LauncherMessage::Failed { error: failure.to_string() });
    ExitCode::FAILURE
}

/// Says something to the engine, which may be gone.
fn send_message(control: BorrowedFd<'_>, said: &LauncherMessage) {
    let packet = serde_json::to_vec(said).unwrap_or_default();
    let _ = packet::send_packet(control, &packet, &[]);
}

/// The two processes that a launcher becomes.
enum Side {
    Supervisor(Pid),
    /// Confines itself and becomes Python; the supervisor stands beside it.
    Inner(Assignment, Pid),
    /// Has tried to confine itself.
    Probe(ProbeResult),
}

fn prepare(control: BorrowedFd<'_>) -> io::Result<Side> {
    close_others()?;
    // In a session of its own, no terminal reaches it.
    setsid()?;
    let (bytes, _) = packet::receive_packet(control, packet::MAX_PACKET)?;
    let assignment: Assignment = serde_json::from_slice(&bytes)?;
    // What Python leaves behind comes to the supervisor.
    let supervisor = getpid();
    set_child_subreaper(Some(supervisor))?;
    let entered = match assignment.mechanisms.namespaces {
        true => namespace::enter_namespaces().map_err(|error| with_context("namespaces", &error)),
        false => Ok(()),
    };
    if assignment.role != LauncherRole::Probe {
        entered?;
        return Ok(match fork()? {
            Some(pid) => Side::Supervisor(pid),
            None => Side::Inner(assignment, supervisor),
        });
    }
    Ok(match fork()? {
        Some(pid) => Side::Supervisor(pid),
        None => Side::Probe(probe::probe_mechanisms(&assignment, entered)),
    })
}

fn with_context(layer: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{layer}: {error}"))
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
fn become_python(assignment: &Assignment, supervisor: Pid) -> io::Error {
    // What it runs is put where it can be read after everything else is out of reach.
    let run = script(assignment, supervisor).and_then(|script| {
        confine(assignment)?;
        execute(assignment, &script)
    });
    match run {
        Err(error) => error,
        Ok(never) => match never {},
    }
}

/// Puts this process into all of its layers. The order matters: each step still needs what the next one takes away.
fn confine(assignment: &Assignment) -> io::Result<()> {
    let Assignment { mechanisms, memory, .. } = assignment;
    // The kernel ends it with the supervisor.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if mechanisms.namespaces {
        enter_root(assignment).map_err(|error| with_context("a root directory of its own", &error))?;
    }
    let apart = mechanisms.namespaces || limits::leave_root();
    limits::set_limits(*memory, apart).map_err(|error| with_context("limits", &error))?;
    limits::drop_privileges().map_err(|error| with_context("privileges", &error))?;
    if mechanisms.landlock {
        let rules = match &assignment.role {
            LauncherRole::Worker { rules, .. } => rules.clone(),
            LauncherRole::Zygote | LauncherRole::Probe => landlock::zygote_rules(),
        };
        landlock::restrict_process(&rules).map_err(|error| io::Error::other(format!("Landlock: {error}")))?;
    }
    if mechanisms.seccomp {
        // A worker still has to become Python; it goes on from there by itself.
        seccomp::install_filters(FilterPurpose::Zygote)
            .map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    }
    Ok(())
}

/// A root of its own, and a bound on the processes in there. Whether that bound holds is returned.
fn enter_root(assignment: &Assignment) -> io::Result<bool> {
    let processes = root::enter_new_root(&assignment.visible)?;
    let bounded = processes && namespace::bound_processes();
    root::make_read_only()?;
    Ok(bounded)
}

/// What Python runs, and before it a line that says how, in a file of memory: an argument of that size would stand in
/// every list of processes.
fn script(assignment: &Assignment, supervisor: Pid) -> io::Result<File> {
    let filters = filters(assignment);
    // Numbers of processes mean nothing across namespaces, and the kernel needs no reminder there.
    let parent = (!assignment.mechanisms.namespaces).then(|| supervisor.as_raw_nonzero().get());
    let (script, config) = match assignment.role {
        LauncherRole::Worker { programs, .. } => {
            let filter = filters.get(filter_name(programs)).cloned().unwrap_or_default();
            (WORKER, json!({"socket": true, "filter": filter, "parent": parent}))
        }
        LauncherRole::Zygote | LauncherRole::Probe => (ZYGOTE, json!({"filters": filters, "parent": parent})),
    };
    // It stays open for the program that this process becomes.
    let mut file = File::from(memfd_create("hooks", MemfdFlags::empty())?);
    file.write_all(format!("{config}\n{script}").as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn execute(assignment: &Assignment, script: &File) -> io::Result<Infallible> {
    if !matches!(assignment.role, LauncherRole::Worker { .. }) {
        dup2_stdout(stderr())?;
    }
    let start = format!(
        "import json\n\
         with open({}, encoding='utf-8') as script:\n    \
         config = json.loads(script.readline())\n    \
         script = script.read()\n\
         exec(compile(script, '<hooks>', 'exec'))",
        script.as_raw_fd()
    );
    // Isolated from the environment and the user's packages, no bytecode written, UTF-8 everywhere.
    let error = Command::new(&assignment.python)
        .args(["-I", "-B", "-X", "utf8", "-c", &start])
        .env_clear()
        .envs(ENVIRONMENT)
        .current_dir("/")
        .exec();
    Err(io::Error::new(error.kind(), format!("cannot execute {}: {error}", assignment.python.display())))
}

/// The filters that a zygote puts its workers into, by name.
fn filters(assignment: &Assignment) -> Value {
    if !assignment.mechanisms.seccomp {
        return json!({});
    }
    let of = |programs: bool| -> Vec<String> {
        let purpose = FilterPurpose::Worker { programs, signals: assignment.signals };
        seccomp::filter_programs(purpose).unwrap_or_default().iter().map(seccomp::to_hex).collect()
    };
    json!({filter_name(false): of(false), filter_name(true): of(true)})
}

/// The name of the filter for workers that may start programs, or may not.
pub(crate) fn filter_name(programs: bool) -> &'static str {
    if programs { "programs" } else { "plain" }
}
