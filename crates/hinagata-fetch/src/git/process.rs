//! Runs the system's `git`: within limits of time and size, with an environment of its own, and without questions.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use hinagata_packs::is_loopback;

/// Longest that one command may run.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// How often the size of the private repository is looked at while git fills it.
const SIZE_INTERVAL: Duration = Duration::from_millis(100);

/// Most bytes of the private repository.
const SIZE_LIMIT: u64 = 512 << 20;

/// Most bytes of an error message that are kept.
const MESSAGE_LIMIT: u64 = 8 << 10;

/// Variables of the environment that git needs to start.
const KEPT_VARIABLES: [&str; 6] = ["PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE"];

/// Variables that say how the user reaches other machines.
const NETWORK_VARIABLES: [&str; 22] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "USER",
    "LOGNAME",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_SSL_CAINFO",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "no_proxy",
    "NO_PROXY",
];

/// Settings of every command: nothing of a repository may start a program or fetch something else.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=true",
    "core.quotePath=false",
    "fetch.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "fetch.bundleURI=",
    "transfer.bundleURI=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "credential.interactive=false",
];

const VARIABLES: [(&str, &str); 9] = [
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GCM_INTERACTIVE", "never"),
    ("LC_ALL", "C"),
];

/// A command of git.
pub(super) struct Git {
    command: Command,
    name: String,
}

impl Git {
    /// `git NAME` in the private repository; a message if there is no git.
    pub(super) fn new(private: &Path, name: &str) -> Result<Self, String> {
        let program = find_program().ok_or_else(|| "the program `git` was not found".to_owned())?;
        Ok(Self::from_program(&program, private, name))
    }

    /// As [`Git::new`], with nothing but the private repository.
    pub(super) fn without_network(private: &Path, name: &str) -> Self {
        let program = find_program().unwrap_or_else(|| PathBuf::from("git"));
        let mut git = Self::from_program(&program, private, name);
        let none = private.join("none");
        git.command
            .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ALLOW_PROTOCOL", "")])
            .env("GIT_CONFIG_GLOBAL", none)
            .env("HOME", private);
        git
    }

    fn from_program(program: &Path, private: &Path, name: &str) -> Self {
        let mut command = Command::new(program);
        command.args(["--no-pager", "--literal-pathspecs"]);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        command.arg(name).current_dir(private).env_clear().envs(VARIABLES).env("GIT_DIR", private);
        command.envs(KEPT_VARIABLES.iter().filter_map(|name| Some((*name, env::var_os(name)?))));
        Self { command, name: name.to_owned() }
    }

    /// The same with the user's configuration and the protocols that packs can use.
    pub(super) fn with_network(mut self, repository: &str) -> Self {
        let present = NETWORK_VARIABLES.iter().filter_map(|name| Some((*name, env::var_os(name)?)));
        self.command.envs(present);
        self.command.env("GIT_ALLOW_PROTOCOL", allowed_protocols(repository));
        if let Some(command) = batch_ssh() {
            self.command.env("GIT_SSH_COMMAND", command);
        }
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Starts the command with an input.
    pub(super) fn spawn(mut self) -> Result<RunningGit, String> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = self.command.spawn().map_err(|error| format!("`git {}` failed: {error}", self.name))?;
        Ok(RunningGit { child, name: self.name })
    }
}

/// The protocols by which a repository can be fetched. `http` is one for this machine alone.
fn allowed_protocols(repository: &str) -> &'static str {
    let authority = repository.strip_prefix("http://").map(|rest| rest.split('/').next().unwrap_or_default());
    match authority {
        Some(authority) if is_loopback(authority) => "http",
        _ => "https:ssh:file",
    }
}

/// The command for ssh that asks nothing, unless the user has a program of another kind.
fn batch_ssh() -> Option<OsString> {
    if env::var_os("GIT_SSH").is_some() && env::var_os("GIT_SSH_COMMAND").is_none() {
        return None;
    }
    let command =
        env::var("GIT_SSH_COMMAND").ok().or_else(configured_ssh).unwrap_or_else(|| "ssh".to_owned());
    let program = command.split_whitespace().next().unwrap_or_default();
    let is_openssh = Path::new(program).file_stem().is_some_and(|name| name == "ssh");
    is_openssh.then(|| format!("{command} -o BatchMode=yes").into())
}

/// The command for ssh of the user's own configuration.
fn configured_ssh() -> Option<String> {
    let mut command = Command::new(find_program()?);
    command.args(["config", "--global", "--get", "core.sshCommand"]).current_dir(env::temp_dir());
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// A process that ends when this is dropped.
pub(super) struct RunningGit {
    child: Child,
    name: String,
}

impl RunningGit {
    pub(super) fn streams(&mut self) -> Result<(ChildStdin, ChildStdout), String> {
        let lost = || format!("`git {}` has no input and output", self.name);
        let input = self.child.stdin.take().ok_or_else(lost)?;
        Ok((input, self.child.stdout.take().ok_or_else(lost)?))
    }

    /// Waits for the end.
    pub(super) fn finish(mut self) -> Result<(), String> {
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`git {}` failed: {status}", self.name)),
            Err(error) => Err(format!("`git {}` failed: {error}", self.name)),
        }
    }
}

impl Drop for RunningGit {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command while the directory `watched` stays within its limit; the message of an error says why it failed.
pub(super) fn run_git(mut git: Git, watched: &Path, limit: u64) -> Result<Vec<u8>, String> {
    git.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |why: &str| format!("`git {}` failed: {why}", git.name);
    let child = git.command.spawn().map_err(|error| failed(&error.to_string()))?;
    let mut running = RunningGit { child, name: git.name.clone() };
    let (sender, ended) = mpsc::channel();
    let output = read_in_background(running.child.stdout.take(), limit, sender.clone());
    let message = read_in_background(running.child.stderr.take(), MESSAGE_LIMIT, sender);
    let deadline = Instant::now() + TIME_LIMIT;
    // Both streams end when the process and everything that it started have ended.
    let mut open = 2;
    while open > 0 {
        match ended.recv_timeout(SIZE_INTERVAL) {
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => open -= 1,
            Err(mpsc::RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                return Err(failed(&format!("it ran longer than {} seconds", TIME_LIMIT.as_secs())));
            }
            Err(mpsc::RecvTimeoutError::Timeout) if directory_size(watched) > SIZE_LIMIT => {
                return Err(failed(&format!("the repository has more than {} MiB", SIZE_LIMIT >> 20)));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
    let status = running.child.wait().map_err(|error| failed(&error.to_string()))?;
    let (output, message) = (output.join().unwrap_or_default(), message.join().unwrap_or_default());
    if !status.success() {
        return Err(failed(&error_line(&message)));
    }
    if output.len() as u64 > limit {
        return Err(failed("its output is too long"));
    }
    Ok(output)
}

/// Reads a stream to its end; what is behind the limit is dropped, but one byte that shows that there was more.
fn read_in_background(
    from: Option<impl Read + Send + 'static>,
    limit: u64,
    ended: mpsc::Sender<()>,
) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = from.by_ref().take(limit + 1).read_to_end(&mut bytes);
            let _ = io::copy(&mut from, &mut io::sink());
        }
        let _ = ended.send(());
        bytes
    })
}

fn directory_size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => directory_size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// The line of a message that says what went wrong.
fn error_line(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let line = lines().find(is_error).or_else(|| lines().next()).unwrap_or("no message");
    // Before a message such as "could not read from remote repository", the other program says why.
    let why = lines().next().filter(|first| *first != line && line.contains("remote"));
    let line = line.trim_start_matches("fatal: ").trim_start_matches("error: ");
    let shown = why.map_or_else(|| line.to_owned(), |why| format!("{line} ({why})"));
    shown.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// The program `git` of the search path. Relative directories of the path are not searched: a workspace could have a
/// program of that name.
fn find_program() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let name = OsString::from(format!("git{}", env::consts::EXE_SUFFIX));
    let absolute = env::split_paths(&path).filter(|directory| directory.is_absolute());
    absolute.map(|directory| directory.join(&name)).find(|program| program.is_file())
}
