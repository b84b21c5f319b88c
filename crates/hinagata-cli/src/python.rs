//! The Python of hooks and variable providers: the pool of an engine, and the state of this machine.

use std::sync::Arc;

use hinagata::{Error, Settings, ports::Hooks};
use hinagata_python::{HookOptions, HookPool, Interpreter, SandboxMode, SandboxReport, SandboxTier};
use serde_json::{Value, json};

use crate::{hints::hint_text, output};

/// The Python pool of the settings. It starts nothing before a hook or a variable provider runs.
pub(crate) fn find_hooks(settings: &Settings, quiet: bool) -> Option<Arc<dyn Hooks>> {
    let mut options = HookOptions::from(settings);
    if !quiet {
        options.listener =
            Some(Arc::new(|printed| output::print_status(&prefix_lines(printed.file, printed.text))));
    }
    Some(Arc::new(HookPool::new(options)))
}

/// Like [`find_hooks`], for a daemon: the output of Python is logged.
#[cfg(feature = "mcp")]
pub(crate) fn logged_hooks(settings: &Settings) -> Option<Arc<dyn Hooks>> {
    let mut options = HookOptions::from(settings);
    options.listener = Some(Arc::new(|printed| {
        tracing::info!(file = printed.file, stage = printed.stage, "{}", output::sanitize_text(printed.text));
    }));
    Some(Arc::new(HookPool::new(options)))
}

/// The output of a hook, each line with its file.
fn prefix_lines(file: &str, text: &str) -> String {
    text.lines().map(|line| format!("{file}: {}\n", output::sanitize_text(line))).collect()
}

/// The state of Python on this machine.
pub(crate) struct PythonState {
    python: Result<Interpreter, Error>,
    sandbox: Result<SandboxReport, Error>,
    mode: SandboxMode,
}

impl PythonState {
    /// Checks the machine: starts Python, and a process that tries to confine itself.
    pub(crate) fn find(settings: &Settings) -> Self {
        let options = HookOptions::from(settings);
        let mode = options.sandbox;
        let pool = HookPool::new(options);
        Self { python: pool.find_interpreter(), sandbox: pool.sandbox_report(), mode }
    }

    /// Names and values for display.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let python = match &self.python {
            Ok(python) => format!("{} ({})", python.version_text(), python.executable.display()),
            Err(error) => describe_error(error),
        };
        let mut rows = vec![("python", python)];
        match &self.sandbox {
            Err(error) => rows.push(("sandbox", describe_error(error))),
            Ok(report) => {
                let refused = if self.is_refused(report) { "; hooks do not run" } else { "" };
                rows.push((
                    "sandbox",
                    format!("tier {}: {}{refused}", report.tier, report.tier.description()),
                ));
                rows.extend(report.missing.iter().map(|missing| ("", format!("without {missing}"))));
            }
        }
        rows
    }

    fn is_refused(&self, report: &SandboxReport) -> bool {
        self.mode == SandboxMode::Enforce && report.tier == SandboxTier::D
    }

    /// For those who watch over a daemon: how strong it is, and whether Python runs.
    #[cfg(feature = "server")]
    pub(crate) fn health(&self) -> Value {
        match &self.sandbox {
            Err(error) => json!({"tier": null, "runs": false, "reason": error.reason()}),
            Ok(report) => json!({
                "tier": report.tier.to_string(),
                "meaning": report.tier.description(),
                "runs": self.python.is_ok() && !self.is_refused(report),
            }),
        }
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> Value {
        let python = match &self.python {
            Ok(python) => json!({"version": python.version_text(), "executable": python.executable}),
            Err(error) => json!({"error": error.message(), "reason": error.reason()}),
        };
        let sandbox = match &self.sandbox {
            Err(error) => json!({"error": error.message(), "reason": error.reason()}),
            Ok(report) => json!({
                "tier": report.tier.to_string(),
                "landlock": report.mechanisms.landlock,
                "landlock_version": report.landlock_version,
                "namespaces": report.mechanisms.namespaces,
                "seccomp": report.mechanisms.seccomp,
                "missing": report.missing,
                "runs": !self.is_refused(report),
            }),
        };
        json!({"python": python, "sandbox": sandbox})
    }
}

fn describe_error(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{}; {}", error.message(), hint_text(hint)),
        None => error.message().to_owned(),
    }
}
