//! Real servers for tests, and waiting for their effects.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use hinagata::{ports::Store, store::StoreSnapshot};
use hinagata_store::{RedisOptions, RedisStore};

/// Far longer than anything takes. Only a failing test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A Redis server for a test.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) directory: tempfile::TempDir,
    arguments: Vec<String>,
    child: Option<Child>,
}

/// A free TCP port.
pub(crate) fn free_port() -> u16 {
    // A cluster also uses the TCP port 10 000 above.
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("has an address").port();
        if port < 50_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

impl Server {
    /// Starts a server with additional arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_at(free_port(), arguments)
    }

    pub(crate) fn start_at(port: u16, arguments: &[&str]) -> Self {
        let mut server = Self {
            port,
            directory: tempfile::tempdir().expect("a temporary directory"),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            child: None,
        };
        server.run();
        server
    }

    /// Restarts it at the same TCP port.
    pub(crate) fn run(&mut self) {
        let mut command = Command::new("redis-server");
        if let Some(file) = self.arguments.first().filter(|first| first.ends_with(".conf")) {
            command.arg(file);
        }
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(self.directory.path());
        command.args(self.arguments.iter().filter(|argument| !argument.ends_with(".conf")));
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap_or_else(|error| {
                panic!("redis-server cannot be started ({error}): install the package redis-server")
            });
        let output = BufReader::new(child.stdout.take().expect("is piped"));
        let (ready, is_ready) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if line.contains("Ready to accept connections") || line.contains("Sentinel ID") {
                    let _ = ready.send(());
                }
            }
        });
        is_ready.recv_timeout(LONG).expect("redis-server gets ready");
        self.child = Some(child);
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills it, as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("can be killed");
            child.wait().expect("ends");
        }
    }

    /// Suspends or resumes it.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.as_ref().expect("runs").id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().expect("kill runs").success());
    }

    /// The output of `redis-cli`.
    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        cli(self.port, arguments)
    }

    /// Sets a key to a string.
    pub(crate) fn set(&self, key: &str, text: &str) {
        assert_eq!(self.cli(&["SET", key, text]), "OK");
    }
}

pub(crate) fn cli(port: u16, arguments: &[&str]) -> String {
    let output = Command::new("redis-cli")
        .args(["-p", &port.to_string()])
        .args(arguments)
        .output()
        .expect("redis-cli runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Options under which a test only sees notified changes, nothing by chance.
pub(crate) fn options() -> RedisOptions {
    RedisOptions {
        open_timeout: LONG,
        check_interval: Duration::from_secs(3_600),
        backoff: (Duration::from_millis(10), Duration::from_millis(100)),
        ..RedisOptions::default()
    }
}

pub(crate) fn open(server: &Server) -> Arc<RedisStore> {
    Arc::new(RedisStore::open(&server.url(), options()).expect("an address"))
}

/// Waits until the snapshot of a store matches `wanted`.
pub(crate) fn wait_for(
    store: &dyn Store,
    what: &str,
    wanted: impl Fn(&StoreSnapshot) -> bool,
) -> Arc<StoreSnapshot> {
    let (sender, told) = mpsc::channel();
    store.subscribe(Box::new(move |_| {
        // The receiver is gone once the test is over.
        let _ = sender.send(());
    }));
    let deadline = Instant::now() + LONG;
    loop {
        let snapshot = store.snapshot();
        if wanted(&snapshot) {
            return snapshot;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(told.recv_timeout(left).is_ok(), "{what} never happens: {snapshot:#?}");
    }
}

/// The workspace root of an engine without a workspace.
pub(crate) fn nowhere() -> &'static Path {
    Path::new("no/such/workspace")
}
