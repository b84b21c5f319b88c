//! The Python of the machine: where it is, which one it is, what it has to read to start.

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

/// The variable of the environment that names the interpreter.
pub const PYTHON_VARIABLE: &str = "HINAGATA_PYTHON";

/// The oldest version that hooks run on.
pub const OLDEST_PYTHON: (u32, u32) = (3, 9);

/// What keeps a Python in a sandbox from writing bytecode, and from reading any: nobody can look at it before it runs.
pub(crate) const NO_BYTECODE: [(&str, &str); 2] =
    [("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONPYCACHEPREFIX", "/dev/null")];

/// What an interpreter is asked, without its site packages: nothing of theirs is to run outside of the sandbox.
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

/// An interpreter that was found and asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Interpreter {
    /// The program itself, not a script that looks for it.
    pub executable: PathBuf,
    /// Its version.
    pub version: (u32, u32, u32),
    /// Files and directories that it reads, whether they are there or not.
    pub paths: Vec<PathBuf>,
    /// Whether it has `ctypes`, without which a worker cannot confine itself.
    pub ctypes: bool,
    /// Whether it can be forked and hear of the end of its forks.
    pub forks: bool,
}

impl Interpreter {
    /// Finds the interpreter `configured`, or else the one that `HINAGATA_PYTHON` names, or else `python3`, and asks it.
    ///
    /// This starts Python, and waits for it.
    pub(crate) fn find_python(configured: Option<&Path>, timeout: Duration) -> Result<Self, Failure> {
        let from_environment =
            env::var_os(PYTHON_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let wanted = configured.map(Path::to_owned).or(from_environment);
        let program =
            locate_program(wanted.as_deref()).ok_or_else(|| not_found_failure(wanted.as_deref()))?;
        let answer = query_python(&program, timeout)?;
        let found: Self = serde_json::from_slice(&answer)
            .map_err(|_| Failure::unavailable("python", format!("`{}` is no Python", program.display())))?;
        let (major, minor, _) = found.version;
        if (major, minor) < OLDEST_PYTHON {
            let message = format!(
                "`{}` is Python {major}.{minor}, and hooks need {}.{} or newer",
                program.display(),
                OLDEST_PYTHON.0,
                OLDEST_PYTHON.1
            );
            return Err(Failure::unavailable("python_version", message).with_hint(HINT));
        }
        Ok(found)
    }

    /// The version as people write it.
    #[must_use]
    pub fn version_text(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{major}.{minor}.{patch}")
    }

    /// Everything that it has to read to start: its directories, and those around its program.
    #[must_use]
    pub fn required_paths(&self) -> Vec<PathBuf> {
        let mut paths = self.paths.clone();
        for program in
            [Some(self.executable.clone()), self.executable.canonicalize().ok()].into_iter().flatten()
        {
            // In a virtual environment, what describes it lies above the directory of the program. Any other such
            // directory may be somebody's home.
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

const HINT: &str = "install Python, or name it in `hooks.python` or HINAGATA_PYTHON";

fn not_found_failure(wanted: Option<&Path>) -> Failure {
    let message = match wanted {
        Some(path) => format!("there is no Python at `{}`", path.display()),
        None => "there is no `python3` on this machine".to_owned(),
    };
    Failure::unavailable("unavailable", message).with_hint(HINT)
}

/// The file of a program: a path as it is, a name as the search path finds it.
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
        Failure::unavailable("python", format!("`{}` does not start: {why}", program.display()))
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
        // An answer that is cut off is none, and is told as such.
        let _ = output.map(|output| output.take(1 << 16).read_to_end(&mut answer));
        let _ = sender.send(answer);
    });
    let answer = receiver.recv_timeout(timeout);
    // It has answered, or never will.
    let _ = child.kill();
    let _ = child.wait();
    answer.map_err(|_| failed("it does not answer".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn the_program_itself_is_found_behind_scripts_and_links() {
        let found = Interpreter::find_python(None, TIMEOUT).expect("there is a Python");
        assert!(found.version >= (3, 9, 0));
        assert!(found.executable.is_absolute() && found.executable.is_file());
        assert!(found.required_paths().contains(&found.executable));
    }

    #[test]
    fn what_is_no_python_is_told() {
        let reason = |path: &str| match Interpreter::find_python(Some(Path::new(path)), TIMEOUT) {
            Err(Failure::Unavailable { reason, hint, .. }) => (reason, hint.is_some()),
            other => panic!("{other:?}"),
        };
        assert_eq!(reason("/no/such/python"), ("unavailable", true));
        assert_eq!(reason("/bin/true"), ("python", false));
    }
}
