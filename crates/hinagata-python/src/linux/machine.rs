//! What this machine has: found out once, with the first hook.

use std::path::PathBuf;

use super::{
    launcher::{Assignment, Role},
    reactor::Reactor,
};
use crate::{failure::Failure, interpreter::Interpreter, options::Options, sandbox::Layers};

/// What this machine has.
pub(crate) struct Machine {
    pub(crate) interpreter: Interpreter,
    pub(crate) layers: Layers,
    pub(crate) reactor: Reactor,
}

impl Machine {
    /// Looks at the machine. This starts processes and waits for them.
    pub(crate) fn examine(options: &Options) -> Result<Self, Failure> {
        let interpreter = Interpreter::find(options.python.as_deref(), options.start)?;
        let reactor =
            Reactor::start().map_err(|error| Failure::unavailable("start", error.to_string()))?;
        Ok(Self { interpreter, layers: Layers::NONE, reactor })
    }

    /// What a launcher is to become.
    pub(crate) fn assignment(&self, role: Role, options: &Options) -> Assignment {
        let python: PathBuf = self.interpreter.executable.clone();
        Assignment { role, python, layers: self.layers, memory: options.memory }
    }
}
