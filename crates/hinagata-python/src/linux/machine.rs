//! What this machine has: found out once, with the first hook.

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
    launcher::{Assignment, Probed, Role, Said},
    packet,
    policy::{self, Policy},
    process::{self, Ends},
    reactor::Reactor,
    sandbox::landlock::SCOPED_VERSION,
};
use crate::{
    failure::Failure,
    interpreter::Interpreter,
    options::{Options, SandboxMode},
    sandbox::{Layers, Report, Tier},
};

/// What this machine has.
pub(crate) struct Machine {
    pub(crate) interpreter: Interpreter,
    /// The layers that every Python is put into.
    pub(crate) layers: Layers,
    /// Whether the kernel keeps signals inside.
    signals: bool,
    pub(crate) reactor: Reactor,
}

impl Machine {
    /// Looks at the machine. This starts processes and waits for them.
    pub(crate) fn examine(options: &Options) -> Result<Self, Failure> {
        let interpreter = Interpreter::find(options.python.as_deref(), options.start)?;
        let reactor = Reactor::start().map_err(|error| Failure::unavailable("start", error.to_string()))?;
        let report = sandbox_of(options, Some(&interpreter), &reactor)?;
        if options.sandbox == SandboxMode::Enforce && report.tier == Tier::D {
            return Err(report.refusal());
        }
        if !interpreter.ctypes {
            let message = "this Python has no `ctypes`, without which it can neither confine nor end itself";
            return Err(Failure::unavailable("python", message)
                .with_hint("install all of the standard library, or another Python"));
        }
        let signals =
            report.layers.namespaces || report.layers.landlock && report.landlock_version >= SCOPED_VERSION;
        Ok(Self { interpreter, layers: report.layers, signals, reactor })
    }

    /// What a launcher is to become for jobs of `policy`.
    pub(crate) fn assignment(&self, role: Role, policy: &Policy, options: &Options) -> Assignment {
        Assignment {
            role,
            python: self.interpreter.executable.clone(),
            layers: self.layers,
            visible: if self.layers.namespaces { policy.visible(self) } else { Vec::new() },
            signals: self.signals,
            memory: options.memory,
        }
    }
}

/// What confines Python on this machine.
pub(crate) fn sandbox_of(
    options: &Options,
    interpreter: Option<&Interpreter>,
    reactor: &Reactor,
) -> Result<Report, Failure> {
    if options.sandbox == SandboxMode::Off {
        return Ok(Report::off());
    }
    let roots = interpreter.map(Interpreter::roots).unwrap_or_default();
    let assignment = Assignment {
        role: Role::Probe,
        python: "python3".into(),
        layers: options.layers,
        visible: policy::system(&roots),
        signals: false,
        memory: options.memory,
    };
    let probed = probe(options, &assignment, reactor).map_err(|error| {
        let program = options.launcher.program.display();
        Failure::unavailable("start", format!("`{program}` does not tell what it can do: {error}"))
    })?;
    Ok(report(options.layers, &probed))
}

fn probe(options: &Options, assignment: &Assignment, reactor: &Reactor) -> io::Result<Probed> {
    let (control, theirs) = packet::pair()?;
    let (_printed, printing) = pipe_with(PipeFlags::CLOEXEC)?;
    process::start(&options.launcher, Ends { control: theirs, stream: None, printing }, reactor)?;
    packet::send(&control, &serde_json::to_vec(assignment)?, &[])?;
    let end = Instant::now() + options.start;
    loop {
        wait_for(&control, end.saturating_duration_since(Instant::now()))?;
        let (bytes, _) = packet::receive(&control, packet::SMALL)?;
        match serde_json::from_slice(&bytes)? {
            Said::Probed(probed) => return Ok(probed),
            Said::Failed { error } => return Err(io::Error::other(error)),
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

fn report(wanted: Layers, probed: &Probed) -> Report {
    let layers = wanted.and(Layers {
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
    if layers.landlock && probed.landlock_version < SCOPED_VERSION {
        missing.push(format!("Landlock {SCOPED_VERSION}: this kernel has {}", probed.landlock_version));
    }
    if !probed.bounded {
        missing.push("a bound on processes: none holds for root here".to_owned());
    }
    let scoped = probed.landlock_version >= SCOPED_VERSION;
    Report { tier: Tier::of(layers, scoped), layers, landlock_version: probed.landlock_version, missing }
}
