//! How Python is run.

use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc, time::Duration};

use hinagata::Settings;

use crate::sandbox::SandboxMechanisms;

/// What one Python process serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// One call: a fork of a warm interpreter. Nothing survives.
    #[default]
    Call,
    /// All calls of one prompt with the same permissions: globals of its module survive.
    Prompt,
    /// One call, with an interpreter of its own from the start.
    Spawn,
}

/// What happens where the system cannot confine Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SandboxMode {
    /// It does not run.
    #[default]
    Enforce,
    /// It runs with what there is.
    BestEffort,
    /// It runs unconfined, everywhere.
    Off,
}

/// The program that confines itself and becomes Python: our own binary, started with the arguments that lead to
/// [`crate::launch_if_requested`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program; this one unless given, even if its file was replaced meanwhile.
    pub program: PathBuf,
    /// What it is called with.
    pub arguments: Vec<OsString>,
}

impl Default for Launcher {
    fn default() -> Self {
        Self::from_program("/proc/self/exe")
    }
}

impl Launcher {
    /// The program at `path`, called with [`crate::LAUNCHER_ARGUMENT`].
    #[must_use]
    pub fn from_program(path: impl Into<PathBuf>) -> Self {
        Self { program: path.into(), arguments: vec![crate::LAUNCHER_ARGUMENT.into()] }
    }
}

/// Somebody who wants to know what hooks print.
pub type PrintListener = Arc<dyn Fn(&PrintedText<'_>) + Send + Sync>;

/// Something that a hook printed.
#[derive(Clone, Copy, Debug)]
pub struct PrintedText<'a> {
    /// The file of the hook.
    pub file: &'a str,
    /// The stage, such as `pre_render`.
    pub stage: &'static str,
    /// The text, shortened where it is too long.
    pub text: &'a str,
}

/// How Python is run.
#[derive(Clone)]
pub struct HookOptions {
    /// The interpreter; `python3` of the search path unless given.
    pub python: Option<PathBuf>,
    /// What one process serves.
    pub isolation: Isolation,
    /// What happens where the system cannot confine it.
    pub sandbox: SandboxMode,
    /// The layers to use where there are any. To leave one out is for tests that show what the others do.
    pub mechanisms: SandboxMechanisms,
    /// The program that becomes Python.
    pub launcher: Launcher,
    /// Calls of hooks at the same time, and as many of providers; others wait.
    pub workers: usize,
    /// Bytes of address space of a process.
    pub memory: u64,
    /// Most things that one call may ask the engine for.
    pub max_requests: u64,
    /// Hosts that `http_request` may reach.
    pub allowed_hosts: Vec<String>,
    /// Time of one `http_request`.
    pub http_timeout: Duration,
    /// Time that an interpreter may take to start.
    pub start_timeout: Duration,
    /// Time after which a process that nobody uses ends.
    pub idle_timeout: Duration,
    /// Who hears what hooks print.
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
        HookOptions::from(&Settings::resolve(&sources, true).expect("are settings"))
    }

    #[test]
    fn every_setting_of_hooks_has_its_effect() {
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
            // How much a model may say is for whoever asks it to follow.
            .filter(|name| name.starts_with("hooks.") && *name != "hooks.max_tokens")
            .collect();
        assert_eq!(all.len(), 6, "{all:?}");
    }
}
