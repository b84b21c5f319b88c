//! Translates what a job may see and do into rules for the sandbox mechanisms.

use hinagata::Reason;
use std::{
    collections::HashMap,
    fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf, absolute},
    sync::{Arc, Mutex, PoisonError},
};

use hinagata::ports::HookJob;

use super::{
    machine::Machine,
    sandbox::landlock::{self, Rules},
};
use crate::failure::Failure;

/// Libraries, time zones and locales that every interpreter and program reads.
const LIBRARIES: [&str; 14] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/usr/share/locale",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/timezone",
    "/nix/store",
    "/gnu/store",
];
/// The directories of programs, and their configuration.
const PROGRAMS: [&str; 6] = ["/usr", "/bin", "/sbin", "/etc/alternatives", "/etc/gitconfig", "/etc/inputrc"];
/// Devices that can be read.
const DEVICES: [&str; 4] = ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Maximum cached rulesets.
const MAX_RULESETS: usize = 256;

/// What a job may see and do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Policy {
    /// The paths visible beside the system in a private root directory. Workers with the same view can share a zygote.
    pub(crate) view: Vec<PathBuf>,
    pub(crate) rules: Rules,
    /// Whether it may start programs.
    pub(crate) programs: bool,
}

impl Policy {
    /// The policy of `job` under the mechanisms of `machine`.
    pub(crate) fn for_job(job: &HookJob<'_>, machine: &Machine) -> Self {
        let allowed = |name: &str| job.permissions.contains(&name);
        let programs = allowed("subprocess");
        let own = job.own_directory.as_deref().and_then(|own| absolute(own).ok());
        let workspace = allowed("read_file").then(|| absolute(&job.workspace).ok()).flatten();
        let mut read: Vec<PathBuf> = [&own, &workspace].into_iter().flatten().cloned().collect();
        let view = match (machine.mechanisms.namespaces, machine.mechanisms.landlock) {
            (false, _) => Vec::new(),
            // Without Landlock, the view must be exact.
            (true, false) => sorted(read.clone()),
            // Landlock is exact, so prompts of a workspace and its packs can share a view.
            (true, true) => shared_view(job, own.as_deref(), workspace),
        };
        let interpreter = machine.interpreter.required_paths();
        let system = || LIBRARIES.map(PathBuf::from).into_iter().chain(interpreter.iter().cloned());
        read.extend(DEVICES.map(PathBuf::from));
        let execute = if programs {
            system().chain(PROGRAMS.map(PathBuf::from)).collect()
        } else {
            read.extend(system());
            Vec::new()
        };
        Self { view, rules: Rules { read, execute }, programs }
    }

    /// The rules for an interpreter that is executed under them.
    pub(crate) fn launch_rules(&self, machine: &Machine) -> Rules {
        let mut rules = self.rules.clone();
        rules.execute.extend(LIBRARIES.map(PathBuf::from));
        rules.execute.push(machine.interpreter.executable.clone());
        rules
    }

    /// Every path in the private root directory.
    pub(crate) fn visible_paths(&self, machine: &Machine) -> Vec<PathBuf> {
        let mut all = system_paths(&machine.interpreter.required_paths());
        all.extend(self.view.iter().cloned());
        all
    }
}

/// The system paths that an interpreter and programs need.
pub(crate) fn system_paths(interpreter: &[PathBuf]) -> Vec<PathBuf> {
    let fixed = LIBRARIES.iter().chain(&PROGRAMS).map(PathBuf::from);
    fixed.chain(interpreter.iter().cloned()).collect()
}

/// A view that several prompts can share: the directories around those of `job`.
fn shared_view(job: &HookJob<'_>, own: Option<&Path>, workspace: Option<PathBuf>) -> Vec<PathBuf> {
    let around = own.and_then(Path::parent).map(Path::to_owned);
    let Some(workspace) = workspace else { return around.into_iter().collect() };
    let root = absolute(job.root).ok();
    let around = around.filter(|around| root.as_ref().is_none_or(|root| !around.starts_with(root)));
    sorted(root.into_iter().chain([workspace]).chain(around).collect())
}

fn sorted(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup();
    paths
}

/// Landlock rulesets that can be reused.
#[derive(Default)]
pub(crate) struct Rulesets(Mutex<HashMap<Key, Arc<OwnedFd>>>);

/// Includes the identity of the directories: one that was replaced needs another ruleset.
type Key = (Rules, Vec<Option<(u64, u64)>>);

impl Rulesets {
    /// The ruleset descriptor for `policy`.
    pub(crate) fn get(&self, policy: &Policy) -> Result<Arc<OwnedFd>, Failure> {
        let identity = |path: &PathBuf| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        // The first paths belong to the job. The others belong to the system and do not change.
        let key = (policy.rules.clone(), policy.rules.read.iter().take(2).map(identity).collect());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&key) {
            return Ok(Arc::clone(known));
        }
        let failed = |why: String| Failure::unavailable(Reason::Sandbox, format!("Landlock: {why}"));
        let made = landlock::ruleset_descriptor(&policy.rules).map_err(|error| failed(error.to_string()))?;
        let made = Arc::new(made.ok_or_else(|| failed("not supported by the kernel".to_owned()))?);
        if kept.len() >= MAX_RULESETS {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&made));
        Ok(made)
    }
}
