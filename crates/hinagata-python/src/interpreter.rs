//! Finds the Python interpreter and the paths that it needs to start.

use hinagata::Reason;
use std::{
    env,
    ffi::OsStr,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde::Deserialize;

use crate::failure::Failure;

/// The environment variable that names the interpreter.
pub const PYTHON_VARIABLE: &str = "HINAGATA_PYTHON";

/// The oldest supported Python version.
pub const OLDEST_PYTHON: (u32, u32) = (3, 9);

/// Keeps a sandboxed Python from writing and reading bytecode, which nobody can review before it runs.
pub(crate) const NO_BYTECODE: [(&str, &str); 2] =
    [("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONPYCACHEPREFIX", "/dev/null")];

/// The script that queries an interpreter. It runs without site packages, because no third-party code may run outside
/// the sandbox.
const QUERY: &str = "\
import json, os, sys
try:
    import ctypes
except ImportError:
    ctypes = None
prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
paths = {os.path.join(prefix, name) for prefix in prefixes for name in ('bin', 'lib', 'lib64', 'share', 'pyvenv.cfg')}
paths |= {path for path in sys.path if os.path.isabs(path)} | {os.path.dirname(os.__file__)}
print(json.dumps({
    'executable': sys.executable, 'version': list(sys.version_info[:3]), 'paths': sorted(paths),
    'ctypes': ctypes is not None, 'forks': hasattr(os, 'fork') and hasattr(os, 'pidfd_open'),
}))";

/// An interpreter and its capabilities.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Interpreter {
    /// The executable itself, not a wrapper script.
    pub executable: PathBuf,
    /// Its version.
    pub version: (u32, u32, u32),
    /// Files and directories that it reads. They may not exist.
    pub paths: Vec<PathBuf>,
    /// Whether it has `ctypes`, which a worker needs to confine itself.
    pub ctypes: bool,
    /// Whether it can fork and watch its children.
    pub forks: bool,
}

impl Interpreter {
    /// Finds the configured interpreter, else the one in `HINAGATA_PYTHON`, else `python3`, and queries it.
    ///
    /// This starts Python and waits for it.
    pub(crate) fn find_python(configured: Option<&Path>, timeout: Duration) -> Result<Self, Failure> {
        let from_environment =
            env::var_os(PYTHON_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let wanted = configured.map(Path::to_owned).or(from_environment);
        let program =
            locate_program(wanted.as_deref()).ok_or_else(|| not_found_failure(wanted.as_deref()))?;
        let answer = query_python(&program, timeout)?;
        let found: Self = serde_json::from_slice(&answer).map_err(|_| {
            Failure::unavailable(
                Reason::Python,
                format!("`{}` is not a Python interpreter", program.display()),
            )
        })?;
        let (major, minor, _) = found.version;
        if (major, minor) < OLDEST_PYTHON {
            let message = format!(
                "`{}` is Python {major}.{minor}; hooks require {}.{} or newer",
                program.display(),
                OLDEST_PYTHON.0,
                OLDEST_PYTHON.1
            );
            return Err(Failure::unavailable(Reason::PythonVersion, message).with_hint(HINT));
        }
        Ok(found)
    }

    /// The version as text, such as `3.12.1`.
    #[must_use]
    pub fn version_text(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{major}.{minor}.{patch}")
    }

    /// Every path that it reads to start: its own directories and those around its executable.
    #[must_use]
    pub fn required_paths(&self) -> Vec<PathBuf> {
        let mut paths = self.paths.clone();
        for program in
            [Some(self.executable.clone()), self.executable.canonicalize().ok()].into_iter().flatten()
        {
            // A virtual environment is described by a file above the executable's directory. Any other such directory
            // may be a home directory.
            let around = program.parent().and_then(Path::parent);
            let described = around.filter(|around| around.join("pyvenv.cfg").is_file());
            paths.extend(described.map(Path::to_owned));
            paths.push(program);
        }
        paths.retain(|path| path.parent().is_some() && path.exists());
        paths.sort();
        paths.dedup();
        paths
    }
}

const HINT: &str = "install Python, or set `hooks.python` or HINAGATA_PYTHON";

fn not_found_failure(wanted: Option<&Path>) -> Failure {
    let message = match wanted {
        Some(path) => format!("Python not found at `{}`", path.display()),
        None => "`python3` not found".to_owned(),
    };
    Failure::unavailable(Reason::Unavailable, message).with_hint(HINT)
}

/// Locates a program: a path is used as it is, a name is looked up in PATH.
fn locate_program(wanted: Option<&Path>) -> Option<PathBuf> {
    let name = wanted.unwrap_or_else(|| Path::new(if cfg!(windows) { "python.exe" } else { "python3" }));
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_owned());
    }
    search_path(name.as_os_str())
}

fn search_path(name: &OsStr) -> Option<PathBuf> {
    let search = env::var_os("PATH")?;
    env::split_paths(&search).map(|directory| directory.join(name)).find(|path| path.is_file())
}

fn query_python(program: &Path, timeout: Duration) -> Result<Vec<u8>, Failure> {
    let failed = |why: String| {
        Failure::unavailable(Reason::Python, format!("cannot start `{}`: {why}", program.display()))
    };
    let mut child = Command::new(program)
        .args(["-I", "-S", "-c", QUERY])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let output = child.stdout.take();
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut answer = Vec::new();
        // A truncated answer is not valid JSON and is reported as such.
        let _ = output.map(|output| output.take(1 << 16).read_to_end(&mut answer));
        let _ = sender.send(answer);
    });
    let answer = receiver.recv_timeout(timeout);
    // It has answered, or it never will.
    let _ = child.kill();
    let _ = child.wait();
    answer.map_err(|_| failed("no response".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn the_real_executable_is_found_behind_wrapper_scripts() {
        let found = Interpreter::find_python(None, TIMEOUT).expect("Python is installed");
        assert!(found.version >= (3, 9, 0));
        assert!(found.executable.is_absolute() && found.executable.is_file());
        assert!(found.required_paths().contains(&found.executable));
    }

    #[test]
    fn a_program_that_is_not_python_is_rejected() {
        let reason = |path: &str| match Interpreter::find_python(Some(Path::new(path)), TIMEOUT) {
            Err(Failure::Unavailable { reason, hint, .. }) => (reason, hint.is_some()),
            other => panic!("{other:?}"),
        };
        assert_eq!(reason("/no/such/python"), (Reason::Unavailable, true));
        assert_eq!(reason("/bin/true"), (Reason::Python, false));
    }
}
