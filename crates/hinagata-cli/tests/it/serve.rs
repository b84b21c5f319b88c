//! `hina serve` as its users run it: the program itself, over HTTP, with curl, with its signals.
#![cfg(unix)]

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use fake_provider::FakeProvider;
use serde_json::{Value, json};

/// Far longer than anything takes: only a test that fails waits for it.
const LONG: Duration = Duration::from_secs(60);

/// A daemon that runs until it is dropped.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: String,
    place: tempfile::TempDir,
    /// Everything that it said on standard error, once it ended.
    said: mpsc::Receiver<String>,
}

impl Daemon {
    pub(crate) fn start(prepare: impl FnOnce(&Path), arguments: &[&str]) -> Self {
        Self::start_in(&[], prepare, arguments)
    }

    /// One that finds `variables` in its environment.
    fn start_in(variables: &[(&str, &str)], prepare: impl FnOnce(&Path), arguments: &[&str]) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().join("root");
        std::fs::create_dir_all(&root).expect("a directory");
        prepare(&root);
        let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
        command.args(["serve", "--root"]).arg(&root).args(arguments).stdin(Stdio::null());
        command.env_remove("OPENAI_API_KEY").envs(variables.iter().copied());
        Self::spawn(command, place)
    }

    /// One that gets `listener` as a service manager passes it.
    fn start_on(listener: &TcpListener) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let mut command = activated(listener, 1);
        command.args(["serve", "--root"]).arg(place.path());
        Self::spawn(command, place)
    }

    fn spawn(mut command: Command, place: tempfile::TempDir) -> Self {
        let mut child = command
            .env("HINAGATA_STATE", place.path().join("state"))
            .env("XDG_CONFIG_HOME", place.path().join("config"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut errors = child.stderr.take().expect("is piped");
        let (tell, said) = mpsc::channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            let _ = tell.send(text);
        });
        let (tell, told) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().expect("is piped"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        let line = told
            .recv_timeout(LONG)
            .unwrap_or_else(|_| panic!("nothing listens: {:?}", said.recv_timeout(LONG)));
        let address = line.strip_prefix("listening on http://").expect("tells where it listens").to_owned();
        let port = address.rsplit(':').next().expect("has a port");
        let token = place.path().join(format!("state/daemon/token-{port}"));
        let token = std::fs::read_to_string(token).expect("the token is kept").trim().to_owned();
        Self { child, address, token, place, said }
    }

    fn open() -> Self {
        Self::start(|_| {}, &["--listen", "127.0.0.1:0"])
    }

    /// What a shell prints.
    fn shell(&self, command: &str) -> String {
        let output =
            Command::new("sh").args(["-c", command]).env("TOKEN", &self.token).output().expect("runs");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    fn get(&self, path: &str) -> String {
        self.shell(&format!("curl -s http://{}{path}", self.address))
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("runs").success());
    }

    /// Sends a signal and waits for the end; its exit code and what it said.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        let status = self.child.wait().expect("ends");
        (status.code(), self.said.recv_timeout(LONG).expect("says something"))
    }
}

/// The program with `listener` as the first of `count` sockets that a service manager passes. The socket comes as the
/// standard input of a shell, which moves it to where the protocol wants it.
fn activated(listener: &TcpListener, count: usize) -> Command {
    let socket = OwnedFd::from(listener.try_clone().expect("can be cloned"));
    let mut command = Command::new("sh");
    command
        .args(["-c", r#"exec 3<&0 0</dev/null && LISTEN_PID=$$ exec "$0" "$@""#, env!("CARGO_BIN_EXE_hina")])
        .env("LISTEN_FDS", count.to_string())
        .stdin(Stdio::from(socket));
    command
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn calls_answer_as_the_pages_about_the_daemon_say() {
    for (page, least) in [
        ("docs/reference/http.md", 8),
        ("docs/guides/run-the-daemon.md", 2),
        ("docs/guides/operate-the-daemon.md", 2),
    ] {
        let daemon = Daemon::open();
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = std::fs::read_to_string(text).expect("the page exists");
        let mut run = 0;
        for block in text.split("```console\n").skip(1) {
            let block = block.split("```").next().expect("ends");
            for example in block.split("$ ").skip(1) {
                let (command, expected) = example.split_once('\n').expect("has a command and an answer");
                let printed = daemon.shell(&command.replace("127.0.0.1:8700", &daemon.address));
                assert_eq!(printed.trim_end(), expected.trim_end(), "{page}: {command}");
                run += 1;
            }
        }
        assert!(run >= least, "{page} shows {run} calls");
    }
}

#[test]
fn what_it_prints_to_try_works() {
    let daemon = Daemon::open();
    let address = daemon.address.clone();
    let (code, said) = daemon.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("stopped\n"), "{said}");
    let command: String =
        said.lines().skip_while(|line| !line.contains("curl")).take(3).collect::<Vec<_>>().join("\n");
    assert!(command.contains(&address), "{said}");
    let daemon = Daemon::open();
    let printed = daemon.shell(&command.replace(&address, &daemon.address));
    assert!(printed.contains("You are Rumi"), "{printed}");
    assert_eq!(daemon.end("-INT").0, Some(0));
}

#[test]
fn the_configuration_of_an_older_daemon_starts_it() {
    let server = redis::Server::start(&["--requirepass", "p@ss"]);
    let provider = FakeProvider::start();
    let config = format!(
        "app_name: \"ai-prompt-shell\"\nserver:\n  listen_addr: \"127.0.0.1:0\"\n  debug: true\nlogger:\n  level: \"info\"\n  \
         format: \"text\"\n  output: \"stdout\"\nredis:\n  addr: \"127.0.0.1:{}\"\n  password: \"p@ss\"\n  db: 1\nrefresh:\n  tool: \"5m\"\n\
         llm:\n  api_key: \"sk-old\"\n  api_base: \"{}\"\n",
        server.port,
        provider.url(),
    );
    let set = Command::new("redis-cli")
        .args(["-p", &server.port.to_string(), "-a", "p@ss", "--no-auth-warning", "-n", "1", "SET"])
        .args(["shenma:templates:old:greet", "{\"name\": \"greet\", \"prompt\": \"Hello {{.args.who}}\"}"])
        .output()
        .expect("runs");
    assert!(set.status.success(), "{set:?}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), config).expect("is written");
    let daemon = Daemon::start(|_| {}, &["--config", file.path().to_str().expect("is text")]);
    let answer = daemon.shell(&format!(
        "curl -s http://{}/api/prompts/old.greet/render -d '{{\"args\": {{\"who\": \"you\"}}}}'",
        daemon.address
    ));
    assert_eq!(answer, "{\"kind\":\"prompt\",\"prompt\":\"Hello you\"}");
    daemon.shell(&format!(
        "curl -sf http://{}/api/prompts/old.greet/chat -H \"authorization: Bearer $TOKEN\" -d '{{\"model\": \"gpt-4o\"}}'",
        daemon.address
    ));
    let asked: Vec<String> = provider.received().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, ["/v1/chat/completions"], "the older daemon adds the version to the address");
    let (_, said) = daemon.end("-TERM");
    assert!(!said.contains("p@ss") && !said.contains("sk-old"), "{said}");
}

#[test]
fn a_log_tells_no_values_and_no_keys() {
    let daemon = Daemon::start(|_| {}, &["--listen", "127.0.0.1:0", "--set", "server.log=trace"]);
    let token = daemon.token.clone();
    let body = "{\"variables\": {\"agent_name\": \"private-value\"}}";
    let url = format!("http://{}/api", daemon.address);
    daemon.shell(&format!("curl -s {url}/render/prompts/general_system -d '{body}'"));
    daemon.shell(&format!(
        "curl -s -XPUT {url}/environs/e -H \"authorization: Bearer $TOKEN\" -d '\"private-value\"'"
    ));
    daemon.shell(&format!("curl -s {url}/prompts -H 'authorization: Bearer private-key'"));
    let metrics = daemon.get("/metrics");
    let (_, log) = daemon.end("-TERM");
    assert!(log.contains("/api/render/prompts/{id}"), "{log}");
    for secret in ["private-value", "private-key", &token] {
        assert!(!log.contains(secret) && !metrics.contains(secret), "{secret}: {log}");
    }
}

/// What is not a terminal is usually kept: a journal, a file, a collector.
#[test]
fn output_that_is_kept_has_the_path_of_the_token_but_not_the_token() {
    use std::os::unix::fs::PermissionsExt as _;

    let daemon = Daemon::open();
    let port = daemon.address.rsplit(':').next().expect("has a port");
    let file = daemon.place.path().join(format!("state/daemon/token-{port}"));
    let mode = std::fs::metadata(&file).expect("exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = daemon.token.clone();
    let (_, said) = daemon.end("-TERM");
    assert!(!said.contains(&token) && said.contains(&format!("Token:  {}\n", file.display())), "{said}");
    assert!(!file.exists(), "the token of a daemon that ended is useless");
}

#[test]
fn a_terminal_shows_the_token() {
    let place = tempfile::tempdir().expect("a directory");
    let command = format!("exec '{}' serve --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_hina"));
    let mut terminal = Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .current_dir(place.path())
        .env("HINAGATA_STATE", place.path().join("state"))
        .env("XDG_CONFIG_HOME", place.path().join("config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut shown = BufReader::new(terminal.stdout.take().expect("is piped")).lines().map_while(Result::ok);
    let page = shown.find(|line| line.starts_with("Page:")).expect("shows the page");
    let directory = std::fs::read_dir(place.path().join("state/daemon")).expect("a directory");
    let paths = directory.map(|entry| entry.expect("readable").path());
    let is_token = |path: &PathBuf| path.display().to_string().contains("token-");
    let token =
        std::fs::read_to_string(paths.into_iter().find(is_token).expect("is kept")).expect("readable");
    assert!(page.trim_end().ends_with(&format!("/#token={}", token.trim_end())), "{page}");
    assert!(shown.any(|line| line.starts_with("Stop with Ctrl-C.")));
    let mut keyboard = terminal.stdin.take().expect("is piped");
    std::io::Write::write_all(&mut keyboard, b"\x03").expect("typed");
    assert!(shown.any(|line| line.contains("stopped")));
    terminal.wait().expect("ends");
}

/// A service manager that has to be told what the daemon does.
struct ServiceManager {
    socket: std::os::unix::net::UnixDatagram,
    place: tempfile::TempDir,
}

impl ServiceManager {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let socket = std::os::unix::net::UnixDatagram::bind(place.path().join("notify")).expect("bound");
        socket.set_read_timeout(Some(LONG)).expect("set");
        Self { socket, place }
    }

    fn path(&self) -> String {
        self.place.path().join("notify").display().to_string()
    }

    /// The next report that is not a sign of life.
    fn next_report(&self) -> String {
        loop {
            let report = self.next_datagram();
            if report != "WATCHDOG=1\n" {
                return report;
            }
        }
    }

    fn next_datagram(&self) -> String {
        let mut buffer = [0; 512];
        let length = self.socket.recv(&mut buffer).expect("a report");
        String::from_utf8(buffer[..length].to_vec()).expect("is text")
    }
}

#[test]
fn a_service_manager_learns_when_the_daemon_is_ready_reloads_and_stops() {
    let manager = ServiceManager::new();
    let daemon =
        Daemon::start_in(&[("NOTIFY_SOCKET", manager.path().as_str())], |_| {}, &["--listen", "127.0.0.1:0"]);
    let ready = format!("READY=1\nSTATUS=listening on http://{}\n", daemon.address);
    assert_eq!(manager.next_datagram(), ready);
    for _ in 0..2 {
        daemon.signal("-HUP");
        assert!(manager.next_datagram().starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!(manager.next_datagram(), ready);
    }
    assert!(daemon.get("/healthz").contains("ok"));
    let (code, said) = daemon.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(manager.next_datagram().starts_with("STOPPING=1\n"));
    assert!(said.contains("reloaded"), "{said}");
}

#[test]
fn a_service_manager_gets_signs_of_life_until_the_daemon_ends() {
    let manager = ServiceManager::new();
    let daemon = Daemon::start_in(
        &[("NOTIFY_SOCKET", manager.path().as_str()), ("WATCHDOG_USEC", "20000")],
        |_| {},
        &["--listen", "127.0.0.1:0"],
    );
    assert!(manager.next_report().starts_with("READY=1\n"));
    (0..3).for_each(|_| assert_eq!(manager.next_datagram(), "WATCHDOG=1\n"));
    assert_eq!(daemon.end("-TERM").0, Some(0));
    assert!(manager.next_report().starts_with("STOPPING=1\n"));
}

#[test]
fn a_check_tells_whether_the_daemon_is_ready() {
    let check = |address: &str, more: &[&str]| {
        let place = tempfile::tempdir().expect("a directory");
        let output = Command::new(env!("CARGO_BIN_EXE_hina"))
            .args(["serve", "--check", "--listen", address])
            .args(more)
            .current_dir(place.path())
            .env("HINAGATA_STATE", place.path().join("state"))
            .env("XDG_CONFIG_HOME", place.path().join("config"))
            .output()
            .expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said)
    };
    let daemon = Daemon::open();
    let address = daemon.address.clone();
    assert_eq!(check(&address, &[]), (Some(0), "ready\n".to_owned(), String::new()));
    let (code, printed, _) = check(&address, &["--json"]);
    let answer: Value = serde_json::from_str(&printed).expect("is JSON");
    assert_eq!((code, &answer["status"]), (Some(0), &Value::from("ready")));
    daemon.end("-TERM");
    let (code, printed, said) = check(&address, &[]);
    assert!(
        code == Some(5) && printed.is_empty() && said.contains("no daemon answers on"),
        "{code:?} {said}"
    );

    // A daemon that never saw its store has nothing to serve yet.
    let nobody = format!("store.url=redis://127.0.0.1:{}", redis::free_port());
    let daemon = Daemon::start(|_| {}, &["--listen", "127.0.0.1:0", "--set", &nobody]);
    let (code, printed, said) = check(&daemon.address, &[]);
    assert_eq!((code, printed.as_str()), (Some(5), "waiting\n"), "{said}");
    assert!(said.contains("is not ready: waiting"), "{said}");
    assert_eq!(check("127.0.0.1:0", &[]).0, Some(2));
}

/// The spans that a daemon with `settings` sends when it renders and chats for a caller that has a trace, by their names;
/// and all that was sent, as text.
fn spans(settings: &[&str]) -> (HashMap<String, Value>, String) {
    let (collector, provider) = (FakeProvider::start(), FakeProvider::start());
    let prompt = "---\nname: greeting\nversion: 1.2.3\ninputs:\n  who: string\n  word: {type: string, secret: true}\n---\n\
                  Hello {{ who }}, {{ word }}";
    let prepare = |root: &Path| {
        let directory = root.join("user_data/shared/prompts/greeting");
        std::fs::create_dir_all(&directory).expect("a directory");
        std::fs::write(directory.join("template.md"), prompt).expect("is written");
    };
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json".to_owned()),
        ("OPENAI_BASE_URL", provider.base_url()),
        ("OPENAI_API_KEY", "sk-private".to_owned()),
    ];
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let arguments = [&["--listen", "127.0.0.1:0"], settings].concat();
    let daemon = Daemon::start_in(&environment, prepare, &arguments);
    let body = r#"{"model": "gpt-5", "variables": {"who": "Ada", "word": "hunter2"}}"#;
    let answer = daemon.shell(&format!(
        "curl -s http://{}/api/chat/prompts/greeting -H 'traceparent: 00-{TRACE}-00f067aa0ba902b7-01' \
         -H \"authorization: Bearer $TOKEN\" -d '{body}'",
        daemon.address
    ));
    assert!(answer.contains("choices"), "{answer}");
    daemon.end("-TERM");
    let received = collector.received();
    let sent: Vec<Value> = received
        .iter()
        .filter(|request| request.path == "/v1/traces")
        .flat_map(|request| request.body["resourceSpans"].as_array().cloned().unwrap_or_default())
        .flat_map(|resource| resource["scopeSpans"].as_array().cloned().unwrap_or_default())
        .flat_map(|scope| scope["spans"].as_array().cloned().unwrap_or_default())
        .collect();
    let named = |span: Value| (span["name"].as_str().unwrap_or_default().to_owned(), span);
    (sent.into_iter().map(named).collect(), format!("{received:?}"))
}

/// The trace of the caller.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The attribute `name` of a span.
fn attribute<'s>(span: &'s Value, name: &str) -> &'s Value {
    let all = span["attributes"].as_array().expect("has attributes");
    let found = all.iter().find(|attribute| attribute["key"] == name).map(|attribute| &attribute["value"]);
    let value = found.and_then(Value::as_object).and_then(|value| value.values().next());
    value.unwrap_or_else(|| panic!("there is no {name} in {span}"))
}

#[test]
fn spans_go_to_the_collector_that_the_environment_names() {
    let (spans, text) = spans(&[]);
    let route = "POST /api/chat/prompts/{id}";
    for name in [route, "render", "chat gpt-5"] {
        assert_eq!(spans[name]["traceId"], TRACE, "{name} is in the trace of the caller");
    }
    assert_eq!(spans[route]["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(spans["render"]["parentSpanId"], spans[route]["spanId"]);
    for name in [route, "render"] {
        assert_eq!(attribute(&spans[name], "gen_ai.prompt.name"), "greeting");
        assert_eq!(attribute(&spans[name], "gen_ai.prompt.version"), "1.2.3");
    }
    assert_eq!(attribute(&spans[route], "http.route"), "/api/chat/prompts/{id}");
    assert_eq!(attribute(&spans["chat gpt-5"], "gen_ai.provider.name"), "openai");
    for value in ["Ada", "hunter2", "sk-private"] {
        assert!(!text.contains(value), "{value}: {text}");
    }
}

#[test]
fn spans_hold_values_that_are_asked_for_but_never_secret_ones() {
    let (spans, text) = spans(&["--set", "server.trace_values=true"]);
    let variables = attribute(&spans["render"], "hinagata.variables").as_str().expect("is text");
    assert!(variables.contains("Ada") && variables.contains("•••"), "{variables}");
    assert!(!text.contains("hunter2") && !text.contains("sk-private"), "{text}");
}

#[test]
fn an_address_that_is_taken_is_told() {
    let daemon = Daemon::open();
    let start = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_hina"))
            .args(["serve", "--listen", &daemon.address, "--root"])
            .arg(daemon.place.path().join("root"))
            .args(arguments)
            .env("HINAGATA_STATE", daemon.place.path().join("state"))
            .output()
            .expect("runs");
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = start(&[]);
    assert!(said.contains("another program uses this TCP port"), "{said}");
    let said = start(&["--json"]);
    let error: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("is JSON");
    let (code, reason) = (&error["error"]["code"], &error["error"]["details"]["reason"]);
    assert_eq!((code, reason), (&json!("system"), &json!("listen")), "{said}");
}

/// What the requests of the next test find: prompts in files and in the store, an agent, documents of every kind.
fn fill_workspace(root: &Path) {
    for (file, text) in [
        ("hinagata.toml", "[agents.manager]\nprompt = \"You manage.\"\n"),
        ("README.md", "# Example\n"),
        ("user_data/shared/prompts/hello/template.md", "Hello {{ name }}"),
    ] {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().expect("is in a directory")).expect("a directory");
        std::fs::write(file, text).expect("is written");
    }
}

const DOCUMENTS: [(&str, &str); 6] = [
    ("templates/team.talk", r#"{"messages": [{"role": "user", "content": "Hello {{.variables.name}}"}]}"#),
    ("templates/kept", r#"{"prompt": "Hello"}"#),
    (
        "extensions/review",
        r#"{"name": "review", "contributes": {"prompts": [{"name": "summary", "prompt": "Sum"}]}}"#,
    ),
    ("extensions/kept", r#"{"name": "kept", "contributes": {}}"#),
    ("environs/team.kept", r#"{"color": "blue"}"#),
    ("tools/team.kept", r#"{"url": "http://127.0.0.1:9/none"}"#),
];

/// Thousands of requests made of the description of the routes, odd ones among them: each is answered as described,
/// what the description allows is accepted, and what it forbids is refused.
#[test]
fn requests_made_of_the_description_are_answered_as_it_says() {
    let Some(python) = std::env::var_os("HINAGATA_TEST_PYTHON").map(PathBuf::from) else {
        panic!("HINAGATA_TEST_PYTHON names a Python with schemathesis; ./test sets it");
    };
    let provider = FakeProvider::start();
    let model = [("OPENAI_BASE_URL", provider.base_url()), ("OPENAI_API_KEY", "sk-test".to_owned())];
    let variables = model.each_ref().map(|(name, value)| (*name, value.as_str()));
    let listen = ["--listen", "127.0.0.1:0", "--set", "llm.model=gpt-4o"];
    let daemon = Daemon::start_in(&variables, fill_workspace, &listen);
    for (path, document) in DOCUMENTS {
        let (address, token) = (&daemon.address, &daemon.token);
        let call = format!("curl -sf -X PUT http://{address}/api/{path} -H 'authorization: Bearer {token}'");
        let output =
            Command::new("sh").args(["-c", &format!("{call} -d '{document}'")]).output().expect("runs");
        assert!(output.status.success(), "{path}: {output:?}");
    }
    let command = python.with_file_name("st");
    let output = Command::new(command)
        .args(["--config-file", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemathesis.toml")])
        .args(["run", &format!("http://{}/openapi.json", daemon.address)])
        .args(["--header", &format!("Authorization: Bearer {}", daemon.token)])
        .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "25", "--seed", "7"])
        // One never ends; the other has a protocol of its own, with a suite of its own.
        .args(["--exclude-path", "/api/events", "--exclude-path", "/mcp", "--no-color"])
        .current_dir(daemon.place.path())
        .output()
        .expect("runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(daemon.get("/healthz").contains("ok"));
}

#[path = "../../../hinagata-store/tests/it/support/mod.rs"]
#[expect(dead_code, reason = "the tests of the store use the rest")]
pub(crate) mod redis;

#[test]
fn clients_wait_on_a_passed_socket_while_the_daemon_restarts() {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = socket.local_addr().expect("has an address").to_string();
    let first = Daemon::start_on(&socket);
    assert_eq!(first.address, address, "the setting does not count");
    assert!(first.get("/healthz").contains("\"ok\""));
    assert_eq!(first.end("-TERM").0, Some(0));

    let mut waiting = TcpStream::connect(&address).expect("the socket is open");
    write!(waiting, "GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
        .expect("is sent");
    let _second = Daemon::start_on(&socket);
    waiting.set_read_timeout(Some(LONG)).expect("can be set");
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).expect("is answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn sockets_that_the_daemon_cannot_serve_are_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let refused = |command: &mut Command| {
        let output = command.arg("serve").current_dir(place.path());
        let output = output.env("HINAGATA_STATE", place.path().join("state")).output().expect("runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    assert!(refused(&mut activated(&socket, 2)).contains("passed 2 sockets"));
    let local = std::os::unix::net::UnixListener::bind(place.path().join("socket")).expect("bound");
    let mut command = activated(&socket, 1);
    command.stdin(Stdio::from(OwnedFd::from(local)));
    assert!(refused(&mut command).contains("ListenStream="));
}
