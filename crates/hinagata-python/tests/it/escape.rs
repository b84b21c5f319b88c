//! Hooks that try to break out. Each file under `escape` is one attempt. Its head declares the expected outcome:
//!
//! | line | meaning |
//! |---|---|
//! | `# permissions: NAME, …` | what the hook declares |
//! | `# reason: OUTCOME, …` | the exceptions or the text that the attempt may end with |
//! | `# reason X: OUTCOME, …` | the same in tier X, or with the mechanism X alone |
//! | `# ends: CODE REASON` | the whole call ends with this error |
//! | `# tiers: X, …` | the tiers that stop it; the default is all |
//! | `# alone: MECHANISM, …` | the mechanisms that stop it alone |
//! | `# time: SECONDS` | the time limit of the hook |
//!
//! Before and after the attempt, the hook does permitted work, which must succeed.
#![cfg(target_os = "linux")]

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::symlink,
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use hinagata_python::{HookOptions, HookPool, Isolation, SandboxMechanisms, SandboxMode};
use serde_json::{Value, json};

use crate::support::{Ask, options, processes_with};

/// One attempt.
struct Attempt {
    name: String,
    source: String,
    head: Vec<(String, String)>,
}

impl Attempt {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("can be read");
        let line = |line: &str| {
            let (key, value) = line.strip_prefix("# ")?.split_once(": ")?;
            Some((key.to_owned(), value.to_owned()))
        };
        let head = text.lines().take_while(|line| line.starts_with('#')).filter_map(line).collect();
        let around = |name: &str| fs::read_to_string(directory().join(name)).expect("can be read");
        let source = format!("{}\n\n{text}{}", around("prelude.txt"), around("postlude.txt"));
        let name = path.file_stem().expect("has a name").to_string_lossy().into_owned();
        Self { name, source, head }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.head.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn list(&self, key: &str) -> Vec<&str> {
        self.get(key).map(|value| value.split(", ").collect()).unwrap_or_default()
    }

    /// What it may end with in `setting`, a tier or a mechanism.
    fn reasons(&self, setting: &str) -> Vec<&str> {
        match self.list(&format!("reason {setting}")) {
            own if own.is_empty() => self.list("reason"),
            own => own,
        }
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape")
}

fn attempts() -> Vec<Attempt> {
    let files = fs::read_dir(directory()).expect("is there").map(|entry| entry.expect("can be read").path());
    let mut all: Vec<Attempt> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .map(|path| Attempt::read(&path))
        .collect();
    all.sort_by(|left, right| left.name.cmp(&right.name));
    all
}

/// What an attempt could break into.
struct Scene {
    place: tempfile::TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: UnixListener,
    _named: UnixListener,
    unique: String,
    marker: String,
}

impl Scene {
    fn new() -> Self {
        static SCENES: AtomicU32 = AtomicU32::new(0);
        let place = tempfile::tempdir().expect("there is room");
        let path = |name: &str| place.path().join(name);
        for directory in ["workspace/sub", "prompts/own", "prompts/other"] {
            fs::create_dir_all(path(directory)).expect("can be made");
        }
        fs::write(path("workspace/secret.txt"), "secret").expect("can be written");
        fs::write(path("prompts/own/own.txt"), "own").expect("can be written");
        fs::write(path("prompts/other/prompt.py"), "SECRET = 1").expect("can be written");
        symlink("/etc/passwd", path("workspace/link")).expect("can be made");
        let unix = UnixListener::bind(path("workspace/socket")).expect("can be bound");
        let unique = place.path().file_name().expect("has a name").to_string_lossy().into_owned();
        let address = SocketAddr::from_abstract_name(&unique).expect("is a name");
        let named = UnixListener::bind_addr(&address).expect("can be bound");
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").expect("can be bound"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("can be bound"),
            _unix: unix,
            _named: named,
            unique,
            // A unique duration for `sleep`.
            marker: format!("98765.{}{:03}", std::process::id(), SCENES.fetch_add(1, Ordering::Relaxed)),
            place,
        }
    }

    fn variables(&self) -> Value {
        json!({
            "engine": std::process::id(), "own": self.path("prompts/own"), "other": self.path("prompts/other"),
            "tcp": self.tcp.local_addr().expect("is bound").port(), "udp": self.udp.local_addr().expect("is bound").port(),
            "unix": self.path("workspace/socket"), "abstract": self.unique,
            "marker": self.marker,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The contents of the workspace and the prompts, to check that they are unchanged.
    fn check(&self) {
        let names = |directory: &str| {
            let entries = fs::read_dir(self.path(directory)).expect("is there");
            let mut names: Vec<String> = entries
                .map(|entry| entry.expect("can be read").file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names("workspace"), ["link", "secret.txt", "socket", "sub"]);
        assert_eq!(names("prompts/own"), ["own.txt"]);
        assert_eq!(fs::read_to_string(self.path("workspace/secret.txt")).expect("is there"), "secret");
    }
}

/// Runs an attempt and returns what is wrong with its outcome.
fn make(attempt: &Attempt, setting: &str, scene: &Scene, pool: &HookPool) -> Result<(), String> {
    let seconds: u64 = attempt.get("time").map_or(60, |time| time.parse().expect("is a number"));
    let mut ask = Ask::new(&attempt.source)
        .permissions(&attempt.list("permissions"))
        .workspace(&scene.path("workspace"))
        .variables(scene.variables())
        .time(Duration::from_secs(seconds));
    ask.own_directory = scene.path("prompts/own");
    ask.root = scene.path("prompts");
    let result = ask.pre_render(pool);
    match (attempt.get("ends"), result) {
        (Some(ends), Err(error)) => {
            let actual = format!("{} {}", error.code(), error.reason().map_or("", hinagata::Reason::as_str));
            if actual == ends { Ok(()) } else { Err(format!("ended with {actual}: {error:?}")) }
        }
        (Some(ends), Ok(value)) => Err(format!("did not end with {ends}: {value}")),
        (None, Err(error)) => Err(format!("{error:?}")),
        (None, Ok(value)) => {
            let outcome = value["outcome"].as_str().unwrap_or_default();
            if value["legal"] != json!(["done", "done"]) {
                return Err(format!("legal work: {value}"));
            }
            let wanted = attempt.reasons(setting);
            if wanted.contains(&outcome) { Ok(()) } else { Err(format!("{outcome}, not {wanted:?}")) }
        }
    }
}

/// Runs all attempts that `chosen` selects, with these mechanisms.
#[expect(clippy::print_stderr, reason = "tells that there was nothing to test")]
fn run(setting: &str, wanted: HookOptions, chosen: impl Fn(&Attempt) -> bool) {
    let mechanisms = wanted.mechanisms;
    let pool = HookPool::new(wanted);
    let report = pool.sandbox_report().expect("the launcher starts");
    if report.mechanisms != mechanisms {
        // This machine cannot test it.
        eprintln!("not tested, as this system cannot do it: {:?}", report.missing);
        return;
    }
    let scene = Scene::new();
    let mut count = 0;
    let mut wrong = Vec::new();
    for attempt in attempts().iter().filter(|attempt| chosen(attempt)) {
        count += 1;
        if let Err(what) = make(attempt, setting, &scene, &pool) {
            wrong.push(format!("{}: {what}", attempt.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} in {setting}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 0);
    scene.check();
    drop(pool);
    processes_with(&scene.marker, 0);
}

fn tier(name: &str, mechanisms: SandboxMechanisms) {
    let stops = |attempt: &Attempt| {
        let tiers = attempt.list("tiers");
        tiers.is_empty() || tiers.contains(&name)
    };
    run(name, HookOptions { mechanisms, ..options() }, stops);
}

fn alone(name: &str, mechanisms: SandboxMechanisms) {
    let wanted = HookOptions { mechanisms, sandbox: SandboxMode::BestEffort, ..options() };
    run(name, wanted, |attempt| attempt.list("alone").contains(&name));
}

#[test]
fn tier_a_stops_every_attempt() {
    tier("A", SandboxMechanisms::ALL);
}

#[test]
fn tier_b_stops_every_attempt() {
    tier("B", SandboxMechanisms { namespaces: false, ..SandboxMechanisms::ALL });
}

#[test]
fn tier_c_stops_every_attempt() {
    tier("C", SandboxMechanisms { landlock: false, ..SandboxMechanisms::ALL });
}

#[test]
fn a_spawned_interpreter_is_confined_equally() {
    let wanted = HookOptions { isolation: Isolation::Spawn, ..options() };
    // There is no zygote to break into: the parent is not visible.
    run("A", wanted, |attempt| !attempt.source.contains("os.getppid()"));
}

#[test]
fn landlock_alone_stops_its_attempts() {
    alone("landlock", SandboxMechanisms { landlock: true, ..SandboxMechanisms::NONE });
}

#[test]
fn namespaces_alone_stop_their_attempts() {
    alone("namespaces", SandboxMechanisms { namespaces: true, ..SandboxMechanisms::NONE });
}

#[test]
fn seccomp_alone_stops_its_attempts() {
    alone("seccomp", SandboxMechanisms { seccomp: true, ..SandboxMechanisms::NONE });
}

#[test]
fn without_sandbox_mechanisms_nothing_runs_by_default() {
    let bare = HookOptions { mechanisms: SandboxMechanisms::NONE, ..options() };
    let ask = Ask::new("def pre_render(variables, context):\n    return {'ran': True}");
    let error = ask.pre_render(&HookPool::new(bare.clone())).expect_err("is not confined");
    assert_eq!((error.code().as_str(), error.reason()), ("hook", Some(hinagata::Reason::Sandbox)));
    assert!(error.hint().is_some_and(|hint| hint.to_string().contains("best-effort")), "{error:?}");
    for mode in [SandboxMode::BestEffort, SandboxMode::Off] {
        let pool = HookPool::new(HookOptions { sandbox: mode, ..bare.clone() });
        assert_eq!(ask.pre_render(&pool).expect("was asked for"), json!({"ran": true}));
    }
}

#[test]
fn the_broadcast_attempt_only_runs_in_a_pid_namespace() {
    let attempt = Attempt::read(&directory().join("broadcast_kill.py"));
    for mechanisms in
        [SandboxMechanisms::NONE, SandboxMechanisms { namespaces: false, ..SandboxMechanisms::ALL }]
    {
        let pool = HookPool::new(HookOptions { mechanisms, sandbox: SandboxMode::BestEffort, ..options() });
        let scene = Scene::new();
        let mut ask = Ask::new(&attempt.source)
            .permissions(&attempt.list("permissions"))
            .workspace(&scene.path("workspace"))
            .variables(scene.variables());
        (ask.own_directory, ask.root) = (scene.path("prompts/own"), scene.path("prompts"));
        assert_eq!(ask.pre_render(&pool).expect("runs")["outcome"], "refused", "{mechanisms:?}");
    }
}

#[test]
fn broadcast_attempts_are_limited_to_namespaces() {
    for attempt in attempts().iter().filter(|attempt| attempt.source.contains("os.kill(-1")) {
        assert!(
            !attempt.list("tiers").is_empty() && !attempt.list("tiers").contains(&"B"),
            "{}",
            attempt.name
        );
        assert_eq!(attempt.list("alone"), ["namespaces"], "{}", attempt.name);
    }
}
