//! Options for running Python.

use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc, time::Duration};

use hinagata::Settings;

use crate::sandbox::SandboxMechanisms;

/// What one Python process serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// One call, in a fork of a warm interpreter. Nothing survives.
    #[default]
    Call,
    /// All calls of one prompt with the same permissions. Module globals survive.
    Prompt,
    /// One call, in a new interpreter.
    Spawn,
}

/// What to do when the system cannot confine Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SandboxMode {
    /// Do not run Python.
    #[default]
    Enforce,
    /// Run it with the mechanisms that are available.
    BestEffort,
    /// Run it unconfined on every system.
    Off,
}

/// The program that confines itself and becomes Python: this executable, started with the arguments that lead to
/// [`crate::launch_if_requested`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program. The default is this executable, even if its file has been replaced since.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Default for Launcher {
    fn default() -> Self {
        Self::from_program("/proc/self/exe")
    }
}

impl Launcher {
    /// Launches the program at `path` with [`crate::LAUNCHER_ARGUMENT`].
    #[must_use]
    pub fn from_program(path: impl Into<PathBuf>) -> Self {
        Self { program: path.into(), arguments: vec![crate::LAUNCHER_ARGUMENT.into()] }
    }
}

/// A callback for text that hooks print.
pub type PrintListener = Arc<dyn Fn(&PrintedText<'_>) + Send + Sync>;

/// Text that a hook printed.
#[derive(Clone, Copy, Debug)]
pub struct PrintedText<'a> {
    /// The file of the hook.
    pub file: &'a str,
    /// The stage, such as `pre_render`.
    pub stage: &'static str,
    /// The text, truncated if it is too long.
    pub text: &'a str,
}

/// Options for running Python.
#[derive(Clone)]
pub struct HookOptions {
    /// The interpreter. The default is `python3` from PATH.
    pub python: Option<PathBuf>,
    /// What one process serves.
    pub isolation: Isolation,
    /// What to do when the system cannot confine Python.
    pub sandbox: SandboxMode,
    /// The sandbox mechanisms to use where available. Tests leave some out to show what the others do.
    pub mechanisms: SandboxMechanisms,
    /// The program that becomes Python.
    pub launcher: Launcher,
    /// Maximum concurrent hook calls, and as many provider calls. Further calls wait.
    pub workers: usize,
    /// Maximum address space of a process, in bytes.
    pub memory: u64,
    /// Maximum requests to the engine per call.
    pub max_requests: u64,
    /// The hosts that `http_request` can reach.
    pub allowed_hosts: Vec<String>,
    /// The timeout of one `http_request`.
    pub http_timeout: Duration,
    /// How long an interpreter may take to start.
    pub start_timeout: Duration,
    /// How long an unused process is kept.
    pub idle_timeout: Duration,
    /// Receives the text that hooks print.
    pub listener: Option<PrintListener>,
}

impl Default for HookOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            python: None,
            isolation: Isolation::default(),
            sandbox: SandboxMode::default(),
            mechanisms: SandboxMechanisms::default(),
            launcher: Launcher::default(),
            workers: (2 * processors).clamp(4, 64),
            memory: 512 << 20,
            max_requests: 1000,
            allowed_hosts: Vec::new(),
            http_timeout: Duration::from_secs(10),
            start_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(300),
            listener: None,
        }
    }
}

impl From<&Settings> for HookOptions {
    fn from(settings: &Settings) -> Self {
        let usual = Self::default();
        Self {
            python: settings.text("hooks.python").map(PathBuf::from),
            isolation: match settings.text("hooks.isolation") {
                Some("prompt") => Isolation::Prompt,
                Some("spawn") => Isolation::Spawn,
                _ => Isolation::Call,
            },
            sandbox: match settings.text("hooks.sandbox") {
                Some("best-effort") => SandboxMode::BestEffort,
                Some("off") => SandboxMode::Off,
                _ => SandboxMode::Enforce,
            },
            workers: settings
                .count("hooks.workers")
                .map_or(usual.workers, |count| usize::try_from(count).unwrap_or(usize::MAX).max(1)),
            allowed_hosts: settings.texts("hooks.allowed_hosts"),
            http_timeout: settings.time("hooks.timeout").unwrap_or(usual.http_timeout),
            ..usual
        }
    }
}

impl fmt::Debug for HookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookOptions")
            .field("python", &self.python)
            .field("isolation", &self.isolation)
            .field("sandbox", &self.sandbox)
            .field("mechanisms", &self.mechanisms)
            .field("launcher", &self.launcher)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hinagata::settings::SettingsSources;

    use super::*;

    fn options(flags: &[&str]) -> HookOptions {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let sources = SettingsSources { flags, ..SettingsSources::default() };
        HookOptions::from(&Settings::resolve(&sources, true).expect("settings are valid"))
    }

    #[test]
    fn every_hooks_setting_changes_an_option() {
        let usual = options(&[]);
        assert_eq!((usual.isolation, usual.sandbox), (Isolation::Call, SandboxMode::Enforce));
        assert_eq!((usual.python, usual.allowed_hosts), (None, Vec::new()));
        let set = options(&[
            "hooks.isolation=prompt",
            "hooks.sandbox=best-effort",
            "hooks.python=/usr/bin/python3",
            "hooks.allowed_hosts=a.example.com,b.example.com",
            "hooks.timeout=3s",
            "hooks.workers=7",
        ]);
        assert_eq!(set.workers, 7);
        assert_eq!((set.isolation, set.sandbox), (Isolation::Prompt, SandboxMode::BestEffort));
        assert_eq!(set.python, Some("/usr/bin/python3".into()));
        assert_eq!(set.allowed_hosts, ["a.example.com", "b.example.com"]);
        assert_eq!(set.http_timeout, Duration::from_secs(3));
        let other = options(&["hooks.isolation=spawn", "hooks.sandbox=off"]);
        assert_eq!((other.isolation, other.sandbox), (Isolation::Spawn, SandboxMode::Off));
        let all: Vec<&str> = hinagata::settings::SETTINGS
            .iter()
            .map(|setting| setting.name)
            // The pool does not handle the limit on model output.
            .filter(|name| name.starts_with("hooks.") && *name != "hooks.max_tokens")
            .collect();
        assert_eq!(all.len(), 6, "{all:?}");
    }
}
