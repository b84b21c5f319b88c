//! What this machine provides, probed once before the first hook runs.

use hinagata::Reason;
use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pipe::{PipeFlags, pipe_with},
};

use super::{
    launcher::{Assignment, LauncherMessage, LauncherRole, ProbeResult},
    packet,
    policy::{self, Policy},
    process::{self, LauncherDescriptors},
    reactor::Reactor,
    sandbox::landlock::SCOPED_VERSION,
};
use crate::{
    failure::Failure,
    interpreter::Interpreter,
    options::{HookOptions, SandboxMode},
    sandbox::{SandboxMechanisms, SandboxReport, SandboxTier},
};

/// The interpreter and the sandbox of this machine.
pub(crate) struct Machine {
    pub(crate) interpreter: Interpreter,
    /// The mechanisms that confine every Python process.
    pub(crate) mechanisms: SandboxMechanisms,
    /// Whether the kernel confines signals.
    signals: bool,
    pub(crate) reactor: Reactor,
}

impl Machine {
    /// Probes the machine. This starts processes and waits for them.
    pub(crate) fn probe_machine(options: &HookOptions) -> Result<Self, Failure> {
        let interpreter = Interpreter::find_python(options.python.as_deref(), options.start_timeout)?;
        let reactor = Reactor::start_thread()
            .map_err(|error| Failure::unavailable(Reason::Start, error.to_string()))?;
        let report = probe_sandbox(options, Some(&interpreter), &reactor)?;
        if options.sandbox == SandboxMode::Enforce && report.tier == SandboxTier::D {
            return Err(report.to_failure());
        }
        if !interpreter.ctypes {
            let message = "this Python has no `ctypes` module, which a worker needs to confine itself";
            return Err(Failure::unavailable(Reason::Python, message)
                .with_hint("install the complete standard library, or use another Python"));
        }
        let signals = report.mechanisms.namespaces
            || report.mechanisms.landlock && report.landlock_version >= SCOPED_VERSION;
        Ok(Self { interpreter, mechanisms: report.mechanisms, signals, reactor })
    }

    /// The assignment of a launcher for jobs with `policy`.
    pub(crate) fn new_assignment(
        &self,
        role: LauncherRole,
        policy: &Policy,
        options: &HookOptions,
    ) -> Assignment {
        Assignment {
            role,
            python: self.interpreter.executable.clone(),
            mechanisms: self.mechanisms,
            visible: if self.mechanisms.namespaces { policy.visible_paths(self) } else { Vec::new() },
            signals: self.signals,
            memory: options.memory,
        }
    }
}

/// Reports what confines Python on this machine.
pub(crate) fn probe_sandbox(
    options: &HookOptions,
    interpreter: Option<&Interpreter>,
    reactor: &Reactor,
) -> Result<SandboxReport, Failure> {
    if options.sandbox == SandboxMode::Off {
        return Ok(SandboxReport::switched_off());
    }
    let roots = interpreter.map(Interpreter::required_paths).unwrap_or_default();
    let assignment = Assignment {
        role: LauncherRole::Probe,
        python: "python3".into(),
        mechanisms: options.mechanisms,
        visible: policy::system_paths(&roots),
        signals: false,
        memory: options.memory,
    };
    let probed = run_probe(options, &assignment, reactor).map_err(|error| {
        let program = options.launcher.program.display();
        Failure::unavailable(
            Reason::Start,
            format!("`{program}` did not report the sandbox mechanisms: {error}"),
        )
    })?;
    Ok(build_report(options.mechanisms, &probed))
}

fn run_probe(options: &HookOptions, assignment: &Assignment, reactor: &Reactor) -> io::Result<ProbeResult> {
    let (control, theirs) = packet::socket_pair()?;
    let (_printed, printing) = pipe_with(PipeFlags::CLOEXEC)?;
    process::start_launcher(
        &options.launcher,
        LauncherDescriptors { control: theirs, stream: None, printing },
        reactor,
    )?;
    packet::send_packet(&control, &serde_json::to_vec(assignment)?, &[])?;
    let end = Instant::now() + options.start_timeout;
    loop {
        wait_for(&control, end.saturating_duration_since(Instant::now()))?;
        let (bytes, _) = packet::receive_packet(&control, packet::MAX_SMALL_PACKET)?;
        match serde_json::from_slice(&bytes)? {
            LauncherMessage::Probed(probed) => return Ok(probed),
            LauncherMessage::Failed { error } => return Err(io::Error::other(error)),
            _ => {}
        }
    }
}

fn wait_for(control: &OwnedFd, time: Duration) -> io::Result<()> {
    let timeout = Timespec::try_from(time).map_err(io::Error::other)?;
    let mut watched = [PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
    match poll(&mut watched, Some(&timeout))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

fn build_report(wanted: SandboxMechanisms, probed: &ProbeResult) -> SandboxReport {
    let mechanisms = wanted.intersection(SandboxMechanisms {
        landlock: probed.landlock.is_none(),
        namespaces: probed.namespaces.is_none(),
        seccomp: probed.seccomp.is_none(),
    });
    let absent = |name: &str, wanted: bool, why: &Option<String>| match (wanted, why) {
        (false, _) => Some(format!("{name}: switched off")),
        (true, why) => why.as_ref().map(|why| format!("{name}: {why}")),
    };
    let mut missing: Vec<String> = [
        absent("Landlock", wanted.landlock, &probed.landlock),
        absent("namespaces", wanted.namespaces, &probed.namespaces),
        absent("seccomp", wanted.seccomp, &probed.seccomp),
    ]
    .into_iter()
    .flatten()
    .collect();
    if mechanisms.landlock && probed.landlock_version < SCOPED_VERSION {
        missing
            .push(format!("Landlock {SCOPED_VERSION}: the kernel has version {}", probed.landlock_version));
    }
    if !probed.bounded {
        missing.push("process limit: cannot be enforced for root on this system".to_owned());
    }
    let scoped = probed.landlock_version >= SCOPED_VERSION;
    SandboxReport {
        tier: SandboxTier::from_mechanisms(mechanisms, scoped),
        mechanisms,
        landlock_version: probed.landlock_version,
        missing,
    }
}
