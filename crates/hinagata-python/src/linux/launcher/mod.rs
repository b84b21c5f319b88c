//! The program that confines itself and becomes Python.
//!
//! It is this executable, started again: between fork and exec, a program with threads may do next to nothing, while a
//! new process with one thread is free to prepare. It reads an [`Assignment`] from standard input and forks once. The
//! child confines itself and executes Python. The parent stays as the supervisor.

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

/// The program of a zygote.
const ZYGOTE: &str = concat!(
    include_str!("../../../python/worker.py"),
    include_str!("../../../python/surroundings.py"),
    include_str!("../../../python/kernel.py"),
    include_str!("../../../python/zygote.py")
);
/// The program of a single worker.
const WORKER: &str = concat!(
    include_str!("../../../python/worker.py"),
    include_str!("../../../python/surroundings.py"),
    include_str!("../../../python/kernel.py"),
    include_str!("../../../python/direct.py")
);

/// The complete environment of Python.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/"),
    ("LANG", "C.UTF-8"),
    // Bytecode is never used, not even by a Python that a hook starts as a program.
    NO_BYTECODE[0],
    NO_BYTECODE[1],
    // Each arena reserves address space, which is limited.
    ("MALLOC_ARENA_MAX", "2"),
    // Nothing can be written here, so a foreign repository is no more dangerous than the user's own.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
];

/// Becomes Python, or its supervisor.
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

/// Sends a message to the engine, which may be gone.
fn send_message(control: BorrowedFd<'_>, said: &LauncherMessage) {
    let packet = serde_json::to_vec(said).unwrap_or_default();
    let _ = packet::send_packet(control, &packet, &[]);
}

/// The processes that a launcher becomes.
enum Side {
    Supervisor(Pid),
    /// Confines itself and becomes Python. The `Pid` is its supervisor.
    Inner(Assignment, Pid),
    /// Has tried to confine itself.
    Probe(ProbeResult),
}

fn prepare(control: BorrowedFd<'_>) -> io::Result<Side> {
    close_others()?;
    // A new session detaches it from any terminal.
    setsid()?;
    let (bytes, _) = packet::receive_packet(control, packet::MAX_PACKET)?;
    let assignment: Assignment = serde_json::from_slice(&bytes)?;
    // Orphaned processes are reparented to the supervisor.
    let supervisor = getpid();
    set_child_subreaper(Some(supervisor))?;
    let entered = if assignment.mechanisms.namespaces {
        namespace::enter_namespaces().map_err(|error| with_context("namespaces", &error))
    } else {
        Ok(())
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

/// Closes descriptors that the engine leaked.
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
    // SAFETY: this process has one thread, so the child is a full copy of it and may run any code.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Confines this process and executes Python. Returns why that failed.
fn become_python(assignment: &Assignment, supervisor: Pid) -> io::Error {
    // The script is opened before the sandbox hides everything else.
    let run = script(assignment, supervisor).and_then(|script| {
        confine(assignment)?;
        execute(assignment, &script)
    });
    match run {
        Err(error) => error,
        Ok(never) => match never {},
    }
}

/// Applies every sandbox mechanism. The order matters: each step needs what the next one takes away.
fn confine(assignment: &Assignment) -> io::Result<()> {
    let Assignment { mechanisms, memory, .. } = assignment;
    // The kernel kills this process when the supervisor dies.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if mechanisms.namespaces {
        enter_root(assignment).map_err(|error| with_context("new root directory", &error))?;
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
        // A worker still has to execute Python. It installs its own filter afterwards.
        seccomp::install_filters(FilterPurpose::Zygote)
            .map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    }
    Ok(())
}

/// Enters a new root directory and bounds the processes in it. Returns whether the bound holds.
fn enter_root(assignment: &Assignment) -> io::Result<bool> {
    let processes = root::enter_new_root(&assignment.visible)?;
    let bounded = processes && namespace::bound_processes();
    root::make_read_only()?;
    Ok(bounded)
}

/// Writes a line of configuration and the script to an in-memory file. As an argument, the script would appear in
/// every process list.
fn script(assignment: &Assignment, supervisor: Pid) -> io::Result<File> {
    let filters = filters(assignment);
    // A process id means nothing across namespaces, and the kernel ends the processes of a namespace by itself.
    let parent = (!assignment.mechanisms.namespaces).then(|| supervisor.as_raw_nonzero().get());
    let (script, config) = match assignment.role {
        LauncherRole::Worker { programs, .. } => {
            let filter = filters.get(filter_name(programs)).cloned().unwrap_or_default();
            (WORKER, json!({"socket": true, "filter": filter, "parent": parent}))
        }
        LauncherRole::Zygote | LauncherRole::Probe => (ZYGOTE, json!({"filters": filters, "parent": parent})),
    };
    // The descriptor stays open across exec.
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
    // Isolated from the environment and from user packages, without writing bytecode, with UTF-8 everywhere.
    let error = Command::new(&assignment.python)
        .args(["-I", "-B", "-X", "utf8", "-c", &start])
        .env_clear()
        .envs(ENVIRONMENT)
        .current_dir("/")
        .exec();
    Err(io::Error::new(error.kind(), format!("cannot execute {}: {error}", assignment.python.display())))
}

/// The seccomp filters for workers, by name.
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

/// The name of the filter for workers that may or may not start programs.
pub(crate) fn filter_name(programs: bool) -> &'static str {
    if programs { "programs" } else { "plain" }
}
